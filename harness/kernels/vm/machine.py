"""Boots another Debian kernel under QEMU's software emulation, on this machine's own root file system.

The machine sees this machine's root file system, and its own writes are lost when it stops. It has no network and no
disk. The kernel's messages go to build/vm/PACKAGE/console.log.
"""

from __future__ import annotations

import contextlib
import gzip
import lzma
import os
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.base.protocols import REPOSITORY

WORK = REPOSITORY / "build/vm"
TOOLS = {
    "apt-get": "apt",
    "busybox": "busybox-static",
    "depmod": "kmod",
    "dpkg": "dpkg",
    "modprobe": "kmod",
    "qemu-system-x86_64": "qemu-system-x86",
}
VIRTIOFSD = "/usr/lib/qemu/virtiofsd"
# The machine needs these to see the root file system. It loads all others from there, as any kernel does.
BOOT_MODULES = ("virtio_pci", "virtiofs", "overlay")
KEPT_ENVIRONMENT = re.compile(r"HOME|LANG|LC_\w+|PATH|PYTHON\w+|STEPWISE_\w+|TERM|TLA2TOOLS_JAR|VIRTUAL_ENV")
BEGAN = "harness.kernels.vm: begins\n"
END = "harness.kernels.vm: ended with "
NAMES_SHOWN = 8

FIRST_STAGE = """\
#!/bin/busybox sh
# The machine's first process: makes the root file system, and hands over to the second stage in it.
set -e
/bin/busybox --install -s /bin
export PATH=/bin
mkdir -p /proc /below /above /new
mount -t proc proc /proc
while read -r module; do insmod "/modules/$module"; done < /modules/order
mount -t virtiofs -o ro host /below
mount -t tmpfs -o mode=0755 above /above
mkdir /above/upper /above/work
mount -t overlay -o lowerdir=/below,upperdir=/above/upper,workdir=/above/work root /new
mkdir -p /new/usr/lib/modules /new/run /new/tmp /new/proc /new/sys /new/dev
mount -t tmpfs -o mode=0755 run /new/run
mount -t tmpfs -o mode=1777 tmp /new/tmp
cp /second /command /new/run/
umount /proc
exec switch_root /new /bin/sh /run/second
"""

SECOND_STAGE = """\
# In the root file system: mounts the rest, runs the command with its output to the second serial line, ends.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm "/usr/lib/modules/$(uname -r)"
mount -t devpts pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount --bind {modules} "/usr/lib/modules/$(uname -r)"
ln -sf /proc/self/fd /dev/fd
ip link set lo up
stty -F /dev/ttyS1 raw
printf '{began}' >/dev/ttyS1
setsid sh /run/command </dev/null >/dev/ttyS1 2>&1
printf '\\n{end}%d\\n' $? >/dev/ttyS1
stty -F /dev/ttyS1 raw # waits until all of it is out
echo o >/proc/sysrq-trigger
sleep 60
"""


class MachineError(RuntimeError):
    """The machine could not be made, or stopped before the command ended."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel. folder: build/vm/PACKAGE. tree: the package's files."""

    release: str
    folder: Path

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def image(self) -> Path:
        return self.tree / f"boot/vmlinuz-{self.release}"

    @property
    def modules(self) -> Path:
        return self.tree / f"lib/modules/{self.release}"


def check_tools() -> None:
    """Raise MachineError if a tool is not installed, or this process is not root."""
    missing = {package for tool, package in TOOLS.items() if not shutil.which(tool)}
    if not Path(VIRTIOFSD).exists():
        missing.add("qemu-system-common")
    if missing:
        raise MachineError(f"not installed: `apt-get install --no-install-recommends {' '.join(sorted(missing))}`")
    if os.geteuid() != 0:
        raise MachineError("run this as root: the machine uses the whole root file system")


def run(command: Sequence[str | Path], what: str, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode:
        raise MachineError(
            f"{what}: `{shlex.join(map(str, command))}` failed with {done.returncode}:\n{done.stderr.strip()}"
        )
    return done.stdout


def check_known(package: str) -> None:
    """Raise MachineError if apt has no package of that name: apt-get would take the name for a pattern."""
    names = run(["apt-cache", "pkgnames", package], f"looking up {package}").split()
    if package not in names:
        others = sorted(name for name in names if not name.endswith("-dbg"))
        why = (
            f"choose from: {', '.join(others[:NAMES_SHOWN])}"
            if others
            else "`apt-get update` fetches the lists of packages"
        )
        raise MachineError(f"apt knows no package {package}; {why}")


def depends(package: str) -> str:
    """Return the package of the image itself, if `package` only depends on it."""
    for line in run(["apt-cache", "depends", "--important", package], f"looking up {package}").splitlines():
        _, found, name = line.partition("Depends: ")
        if found and re.match(r"linux-image-\d", name):
            return name
    return package


def fetch(package: str) -> Kernel:
    """Download and unpack a kernel, unless that was done before."""
    check_known(package)
    package = depends(package)
    folder = WORK / package
    if not (folder / "tree").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            os.chmod(scratch, 0o777)  # apt downloads as another user
            run(["apt-get", "download", package], f"downloading {package}", cwd=Path(scratch))
            [archive] = Path(scratch).glob("*.deb")
            tree = Path(scratch) / "tree"
            run(["dpkg", "-x", archive, tree], f"unpacking {archive.name}")
            [image] = (tree / "boot").glob("vmlinuz-*")
            run(["depmod", "-b", tree, image.name.partition("-")[2]], f"listing the modules of {package}")
            tree.rename(folder / "tree")
    [image] = (folder / "tree/boot").glob("vmlinuz-*")
    return Kernel(image.name.partition("-")[2], folder)


# --- Files for the machine's start -----------------------------------------------------------------


def archive_entry(name: str, mode: int, content: bytes, number: int) -> bytes:
    """Make one file of a cpio archive ("newc")."""
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
    return head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)


def boot_modules(kernel: Kernel) -> list[Path]:
    """The modules to insert, in order. Modules built into the kernel are left out."""
    found: dict[Path, None] = {}
    for module in BOOT_MODULES:
        listed = run(
            ["modprobe", "--show-depends", "-d", kernel.tree, "-S", kernel.release, module], f"looking up {module}"
        )
        found.update((Path(line.split()[1]), None) for line in listed.splitlines() if line.startswith("insmod "))
    return list(found)


def decompressed(module: Path) -> bytes:
    content = module.read_bytes()
    return lzma.decompress(content) if module.suffix == ".xz" else content


def command_file(command: Sequence[str]) -> str:
    kept = [
        f"export {name}={shlex.quote(value)}" for name, value in os.environ.items() if KEPT_ENVIRONMENT.fullmatch(name)
    ]
    return "\n".join([*kept, f"cd {shlex.quote(os.getcwd())}", f"exec {shlex.join(command)}", ""])


def initramfs(kernel: Kernel, command: Sequence[str]) -> bytes:
    busybox = shutil.which("busybox")
    if busybox is None:
        raise MachineError(f"not installed: `apt-get install --no-install-recommends {TOOLS['busybox']}`")
    modules = {path.name.removesuffix(".xz"): decompressed(path) for path in boot_modules(kernel)}
    second = SECOND_STAGE.format(modules=shlex.quote(str(kernel.modules)), began=BEGAN.replace("\n", "\\n"), end=END)
    files: dict[str, tuple[int, bytes]] = dict.fromkeys(("bin", "dev", "modules"), (16877, b""))
    files["init"] = 0o100755, FIRST_STAGE.encode()
    files["second"] = 0o100644, second.encode()
    files["command"] = 0o100644, command_file(command).encode()
    files["bin/busybox"] = 0o100755, Path(busybox).read_bytes()
    files["modules/order"] = 0o100644, "".join(f"{name}\n" for name in modules).encode()
    files.update({f"modules/{name}": (0o100644, content) for name, content in modules.items()})
    entries = [
        archive_entry(name, mode, content, number) for number, (name, (mode, content)) in enumerate(files.items(), 1)
    ]
    return gzip.compress(b"".join([*entries, archive_entry("TRAILER!!!", 0, b"", 0)]), 1)


# --- Running it -------------------------------------------------------------------------------------


@contextlib.contextmanager
def process(
    command: Sequence[str | Path],
    stdin: int | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    pass_fds: Sequence[int] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that does not outlive the block."""
    started = subprocess.Popen(list(map(str, command)), stdin=stdin, stdout=stdout, stderr=stderr, pass_fds=pass_fds)
    try:
        yield started
    finally:
        if started.poll() is None:
            started.terminate()
            try:
                started.wait(5)
            except subprocess.TimeoutExpired:
                started.kill()
        started.wait()


def emulator(kernel: Kernel, folder: Path, cpus: int, memory_mib: int) -> list[str | Path]:
    return [
        "qemu-system-x86_64",
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-machine",
        "q35,memory-backend=memory",
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        "Nehalem",
        "-smp",
        str(cpus),
        "-m",
        str(memory_mib),
        "-object",
        f"memory-backend-memfd,id=memory,size={memory_mib}M,share=on",
        "-chardev",
        f"socket,id=root,path={folder / 'root'}",
        "-device",
        "vhost-user-fs-pci,chardev=root,tag=host",
        "-serial",
        f"file:{kernel.folder / 'console.log'}",
        "-serial",
        "stdio",
        "-kernel",
        kernel.image,
        "-initrd",
        folder / "initramfs",
        "-append",
        "console=ttyS0 loglevel=5 panic=-1 oops=panic rdinit=/init",
    ]


@contextlib.contextmanager
def serving(socket_path: Path, log_path: Path) -> Iterator[None]:
    """Serve the root file system on a socket for a block."""
    with log_path.open("wb") as log, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(socket_path))
        listening.listen(1)
        number = listening.fileno()
        command = [VIRTIOFSD, f"--fd={number}", "-o", "source=/,sandbox=chroot,cache=always", "-f"]
        with process(command, stdout=log, stderr=log, pass_fds=[number]):
            yield


@dataclass(frozen=True)
class Ended:
    """The end of a machine's command.

    status: its exit status. boot_seconds: from the machine's start to the command's.
    """

    status: int
    boot_seconds: float


def boot(
    kernel: Kernel,
    command: Sequence[str],
    sink: Callable[[bytes], object],
    *,
    cpus: int,
    memory_mib: int,
    timeout_s: float,
) -> Ended:
    """Run a command in a machine of its own. Its output goes to `sink` as it comes. Raises MachineError."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "initramfs").write_bytes(initramfs(kernel, command))
        with serving(folder / "root", folder / "virtiofsd.log"):
            machine = emulator(kernel, folder, cpus, memory_mib)
            with process(machine, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as running:
                watch = threading.Timer(timeout_s, running.kill)
                watch.start()
                try:
                    ended = relay(running, sink)
                finally:
                    watch.cancel()
    if ended is None:
        raise MachineError(f"the machine did not finish: see {kernel.folder / 'console.log'}")
    return ended


def relay(running: subprocess.Popen[bytes], sink: Callable[[bytes], object]) -> Ended | None:
    """Pass the command's output to `sink`. Returns how the command ended, or None if the machine did not report it."""
    assert running.stdout
    started, boot_seconds = time.monotonic(), 0.0
    held = b""
    while part := os.read(running.stdout.fileno(), 1 << 16):
        held += part
        if not boot_seconds:
            _, began, held_after = held.partition(BEGAN.encode())
            if not began:
                continue
            held, boot_seconds = held_after, time.monotonic() - started
        before, ended, after = held.partition(END.encode())
        if not ended:
            # The rest may be the start of the last line, so it waits.
            shown = len(held) - len(END) if len(held) > len(END) else 0
            sink(held[:shown])
            held = held[shown:]
        elif after.endswith(b"\n"):
            sink(before)
            running.wait()
            return Ended(int(after), boot_seconds)
    return None
