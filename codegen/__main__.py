"""Runs `python -m codegen`."""

import signal
import sys

from codegen.broken_pipe import read_or_left

if __name__ == "__main__":
    try:
        from codegen.cli import main  # The import is here because it takes long enough to be interrupted.

        with read_or_left():
            code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    sys.exit(code)
