"""WHAT TO WATCH: selection of files, the atomicity specification, and instrumentation.

loading -> selection -> instrument -> statements, expressions -> plan        cache keeps the result between runs
"""
