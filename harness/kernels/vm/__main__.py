"""`python -m harness.kernels.vm PACKAGE [COMMAND...]`: runs a command on another Debian kernel, in an emulated machine.

    python -m harness.kernels.vm linux-image-cloud-amd64 just veristat
    python -m harness.kernels.vm linux-image-6.12.117+deb12-cloud-amd64 .venv/bin/python -m harness.conform limiter \\
        --form layout

The machine sees this machine's root file system, so all that is installed and built here is there too, under the same
paths. Its own writes are lost when it stops. (It may not see files that are changed here meanwhile.) It has no network
and no disk. The processor is emulated in software: expect a tenth of the speed. The kernel's messages go to
build/vm/PACKAGE/console.log. The exit status is the command's, or 2 if the machine failed before the command ended.

PACKAGE is a Debian package with a kernel. It is downloaded and unpacked once. The command needs root, and the packages
qemu-system-x86, qemu-system-common (virtiofsd), busybox-static and kmod.
"""

from __future__ import annotations

import argparse
import sys

from harness.base.command import run as run_command
from harness.kernels.vm.machine import MachineError, boot, check_tools, fetch


def show(part: bytes) -> None:
    sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.kernels.vm", description="A command on another kernel.")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--memory-mib", type=int, default=2048)
    parser.add_argument("--timeout", type=float, default=1800, help="seconds until the machine is killed (%(default)s)")
    parser.add_argument("package", help="Debian package of a kernel image")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="command to run, and its arguments (uname -a)")
    arguments = parser.parse_args()
    try:
        check_tools()
        kernel = fetch(arguments.package)
        command = arguments.command or ["uname", "-a"]
        return boot(
            kernel, command, show, cpus=arguments.cpus, memory_mib=arguments.memory_mib, timeout_s=arguments.timeout
        ).status
    except MachineError as error:
        print(f"harness.kernels.vm: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(run_command("harness.kernels.vm", main))
