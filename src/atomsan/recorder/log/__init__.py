"""The log of a recorded program and its reader, for programs in any language: each recorder passes in its `Language`.

program --records--> ring --> resolver --> names --> batches --> tape or live events

`runner.py` starts the program, `recording.py` reads its log, and `_raw.h` is the layout that recorders write.
"""
