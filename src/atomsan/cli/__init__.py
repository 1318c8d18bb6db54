"""The command line: one verb a file, thin. `main.py` has the list of verbs; `atomsan.config` the table of options.

A new verb is a module of its name with a function of its name, and a line in `main.VERBS`. The function's parameters
are names of the tables in `atomsan.config`; its docstring is its help; it returns an exit code. What is heavy (numpy,
rich, pyarrow, the trace itself) is imported inside the function: `--help` needs none of it.
"""
