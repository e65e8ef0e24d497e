"""`python -m harness.builds [PROTOCOL...]`: compiles programs and daemons in the form that this kernel can load.

generated/ has the form for newer kernels. For an older kernel, the form that the layout has for it is generated into
build/<protocol>/older/ (docs/how-to/kernels.md). Then build/<protocol>/ is compiled from that.
"""

from __future__ import annotations

import sys

from harness.base import command
from harness.base.protocols import UnknownProtocol, chosen
from harness.builds import freshness
from harness.builds.make import BuildError
from harness.builds.protocol import build, lacking


def main(arguments: list[str]) -> int:
    try:
        # A recipe passes several names as one argument, and no name as an empty one.
        for protocol in chosen(" ".join(arguments).split()):
            freshness.warn(protocol)
            if sentence := lacking(protocol):
                print(f"warning: {sentence}; built as for newer kernels", file=sys.stderr)
            build(protocol)
    except (BuildError, UnknownProtocol) as error:
        print(f"build: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(command.run("build", lambda: main(sys.argv[1:])))
