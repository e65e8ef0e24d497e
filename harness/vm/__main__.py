"""`python -m harness.vm PACKAGE [COMMAND...]`: a command on another kernel of Debian's, in an emulated machine.

    python -m harness.vm linux-image-cloud-amd64 just veristat
    python -m harness.vm linux-image-6.12.117+deb12-cloud-amd64 .venv/bin/python -m harness.conform limiter --form
    layout

The machine sees this one's root file system, and what it writes there is forgotten: so everything that is installed and
built here is there too, under the same paths. (Files that are changed here meanwhile may be lost to it.) It has no
network and no disk. The processor is emulated in software: expect a tenth of the speed. Its kernel's own words go to
build/vm/PACKAGE/console.log. Exits with the command's status, or with 2 where the machine did not come so far.

PACKAGE is a kernel image that apt knows; it is downloaded and unpacked once. Needs the packages qemu-system-x86,
qemu-system-common (virtiofsd), busybox-static and kmod, and root.
"""

from __future__ import annotations

import argparse
import sys

from harness.command import run as run_command
from harness.vm.machine import MachineError, boot, check_tools, fetch


def show(part: bytes) -> None:
    sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.vm", description="A command on another kernel.")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--memory-mib", type=int, default=2048)
    parser.add_argument("--timeout", type=float, default=1800, help="seconds until the machine is killed (%(default)s)")
    parser.add_argument("package", help="a kernel image that apt knows")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="and its arguments (uname -a)")
    arguments = parser.parse_args()
    try:
        check_tools()
        kernel = fetch(arguments.package)
        command = arguments.command or ["uname", "-a"]
        return boot(
            kernel, command, show, cpus=arguments.cpus, memory_mib=arguments.memory_mib, timeout_s=arguments.timeout
        ).status
    except MachineError as error:
        print(f"harness.vm: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(run_command("harness.vm", main))
