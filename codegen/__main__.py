"""`python -m codegen`"""

import signal
import sys

if __name__ == "__main__":
    try:
        from codegen.cli import main  # takes long enough to be interrupted

        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    sys.exit(code)
