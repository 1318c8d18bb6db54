"""`python -m atomsan` is `atomsan`."""

import sys

from atomsan.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
