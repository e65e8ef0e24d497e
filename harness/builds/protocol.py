"""Builds a protocol as shipped, in the form that a kernel can load."""

from __future__ import annotations

import os
from pathlib import Path

from codegen.compile import load
from codegen.emit import generate
from codegen.errors import SpecErrors
from harness.base.folder_lock import alone
from harness.base.protocols import BUILD, GENERATED, SPEC
from harness.base.write_files import renew
from harness.builds.make import BuildError, make
from harness.builds.program_variants import OLDER, SHIPPED, Form, form_for


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
