"""`python -m harness.build [PROTOCOL...]`: compiles programs and daemons in the form that this kernel can load.

generated/ has the form for newer kernels. For an older kernel, the form that the layout has for it is generated into
build/<protocol>/older/ (docs/how-to/kernels.md). Then build/<protocol>/ is compiled from that.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from codegen.compile import load
from codegen.emit import generate
from codegen.errors import SpecErrors
from harness import command, freshness
from harness.exclusive import alone
from harness.files import renew
from harness.forms import OLDER, SHIPPED, Form, form_for
from harness.protocols import BUILD, GENERATED, REPOSITORY, SPEC, UnknownProtocol, chosen


class BuildError(RuntimeError):
    """Something cannot be built; the message says what, and has the compiler's output."""


def make(
    protocol: str,
    generated: Path,
    folder: Path,
    *targets: str,
    doing: str,
    defines: str = "",
    runtime: Path = REPOSITORY / "runtime",
) -> None:
    """Call make for a protocol; it does nothing if all is up to date. Raises BuildError.

    generated: the folder of the generated code. folder: for all that is made. targets: of runtime/Makefile; `all` by
    default. doing: begins the message of an error. defines: options for the compiler.
    """
    command = [
        "make",
        "--no-print-directory",
        "-s",
        "-C",
        str(runtime),
        f"PROTOCOL={protocol}",
        f"GENERATED={generated}",
        f"BUILD={folder}",
        *([f"DEFINES={defines}"] if defines else []),
        *targets,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    except FileNotFoundError:
        raise BuildError(f"{doing}: there is no `make` on the PATH; run ./bootstrap") from None
    if done.returncode:
        raise BuildError(f"{doing}:\n{done.stdout}{done.stderr}".rstrip())


def build(protocol: str, home: Path | None = None, release: str | None = None) -> Path:
    """Build a protocol in a folder (build/<protocol>), for a kernel (the running one).

    make does nothing if all is up to date. Returns the folder of the generated code. Raises BuildError.
    """
    home = home or BUILD / protocol
    form = _form(protocol, release)
    with alone(home):
        generated = GENERATED / protocol
        if form.name == OLDER:
            generated = home / "older"
            _generate(protocol, form, generated)
        stamp, doing = home / "form", f"building {protocol} (the paths below are relative to runtime/)"
        if (stamp.read_text() if stamp.exists() else SHIPPED) != form.name:
            make(protocol, generated, home, "clean", doing=doing)
        make(protocol, generated, home, doing=doing)
        renew(stamp, form.name)
    return generated


def lacking(protocol: str) -> str | None:
    """Return the reason why the running kernel can load nothing of a protocol; None if it can."""
    since = _form(protocol, None).since
    return f"{protocol} has no programs for kernels before {since}, and this is {os.uname().release}" if since else None


def _form(protocol: str, release: str | None) -> Form:
    """Return the form for a kernel. A wrong specification gives SHIPPED: generated/ has its earlier code."""
    try:
        form = form_for(SPEC / protocol, release)
    except SpecErrors:
        return Form(SHIPPED)
    return form if form.since is None else Form(SHIPPED, since=form.since)


def _generate(protocol: str, form: Form, folder: Path) -> None:
    try:
        files = generate(load(SPEC / protocol, form.laid_over, name=protocol))
    except SpecErrors as errors:
        raise BuildError(f"generating {protocol} for older kernels: {errors.errors[0]}") from None
    for name, text in files.items():
        renew(folder / name, text)


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
