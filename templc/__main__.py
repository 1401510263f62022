"""`templc`, also as `python -m templc`: the commands are in `templc.cli`."""

from __future__ import annotations

import sys

from templc.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
