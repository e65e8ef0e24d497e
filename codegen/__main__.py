"""`python -m codegen`"""

import os
import signal
import sys

if __name__ == "__main__":
    try:
        from codegen.cli import main  # takes long enough to be interrupted

        try:
            code = main(sys.argv[1:])
        finally:
            sys.stdout.flush()  # here, and not when the interpreter ends, where nothing can be caught
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BrokenPipeError:  # nobody reads any more, as behind `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still in the buffer
        code = 128 + signal.SIGPIPE
    sys.exit(code)
