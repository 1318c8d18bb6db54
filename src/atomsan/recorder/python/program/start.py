"""Starts a program that is to be recorded: the first file that its process runs.

It is run by its path, so that Python puts this directory in front of `sys.path`, and nothing of the user's: a
`queue.py` beside the script must not get between us and the standard library. That is why it stands alone here.
"""

import os
import sys

if __name__ == "__main__":
    if sys.path[:1] == [os.path.dirname(os.path.abspath(__file__))]:
        del sys.path[0]
    from atomsan.recorder.python.child import main

    main(sys.argv[1], sys.argv[2:])
