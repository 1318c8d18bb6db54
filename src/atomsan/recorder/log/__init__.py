"""The log of a program, and its reader. Knows no language: a recorder hands in what is special to its own.

program --records--> ring --> resolver --> names --> batches --> tape or live events

`runner.py` starts the program, `recording.py` reads its log, and `_raw.h` is the contract with what writes it.
"""
