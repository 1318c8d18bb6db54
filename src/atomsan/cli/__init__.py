"""The command line: one verb a file. `main.py` lists the verbs, `atomsan.config.table` their options.

To add a verb: a module with a function of its name, and a line in `main.VERBS`. The function's parameters are names of
options (`config.table`), arguments (`arguments`) or groups of options (`option_groups`); its docstring is the help; it
returns an exit code. Heavy modules (numpy, rich, pyarrow, the trace itself) are imported inside the function: `--help`
needs none of them.
"""
