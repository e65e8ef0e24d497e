"""`just recover DIR`: reads rows from segment files and restores them into the tables of a store.

`<source>d recover DIR` reads the files and reports what it read, what it cut and why. `<target>d restore -` puts each
key's newest row into the kernel's tables and the daemon's. A second run changes nothing. STEPWISE_BPFFS and
STEPWISE_RUN are the daemons'.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from codegen.layout.folders import used_folders
from codegen.layout.read import layout_of
from harness.base import command
from harness.base.protocols import SPEC, UnknownProtocol, chosen, daemon, protocols
from harness.operate.service import ENVIRONMENT, ServiceError, require_built

EXIT_CORRUPT = 3  # the daemon's exit code after it has handed over all intact rows


def able(key: str) -> list[str]:
    """Returns the protocols whose layout has `key`, or has it from a layout that it uses."""
    return [name for name in protocols() if getattr(layout_of(SPEC / name), key) is not None]


def one(named: str | None, key: str, option: str, what: str) -> str:
    """Returns the named protocol, or else the only one that can.

    A protocol that uses the layout of another candidate is not a candidate itself.
    """
    found = able(key)
    if named is not None:
        chosen([named])
        if named not in found:
            raise ServiceError(
                f"{named} {what}: spec/{named}/layout.yaml has no `{key}`; these can: {', '.join(found) or 'none'}"
            )
        return named
    found = [name for name in found if not any(folder.name in found for folder in used_folders(SPEC / name))]
    if len(found) != 1:
        raise ServiceError(
            f"which protocol {'is it' if found else 'could it be'}? {', '.join(found) or 'no layout'} has `{key}`: "
            f"name one with {option} PROTOCOL"
        )
    return found[0]


def recover(folder: str, source: str, target: str, first: bool) -> bool:
    """Rebuilds the tables; returns whether all files were intact.

    Raises ServiceError if some intact rows did not reach the tables. first: no client relies on what earlier tables
    granted.
    """
    require_built(source)
    require_built(target)
    reads = [str(daemon(source)), "recover", folder]
    restores = [str(daemon(target)), "restore", "-", *(["--first"] if first else [])]
    environment = os.environ | ENVIRONMENT
    with subprocess.Popen(reads, stdout=subprocess.PIPE, env=environment) as reader:
        assert reader.stdout is not None, "it is a pipe"
        restored = subprocess.run(restores, stdin=reader.stdout, env=environment, check=False).returncode
        reader.stdout.close()  # otherwise the reader would wait for ever if `restore` stopped early
    if reader.returncode not in (0, EXIT_CORRUPT):
        raise ServiceError(
            "" if reader.returncode > 0 else f"reading {folder} was ended by signal {-reader.returncode}"
        )
    if restored != 0:
        raise ServiceError("")
    return reader.returncode == 0


def main(values: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="just recover", description="Rebuild a store from segment files.")
    parser.add_argument("folder", metavar="DIR", help="folder with the segments")
    parser.add_argument(
        "--from",
        dest="source",
        metavar="PROTOCOL",
        help="whose segments they are: where several protocols drain to files",
    )
    parser.add_argument(
        "--into",
        dest="target",
        metavar="PROTOCOL",
        help="the store: where rows can be restored to several that do not use one another's tables",
    )
    parser.add_argument(
        "--first",
        action="store_true",
        help="no client relies on grants of earlier tables, so new tables need not wait before they grant",
    )
    arguments = parser.parse_args(values)
    try:
        source = one(arguments.source, "recover", "--from", "cannot make rows from files")
        target = one(arguments.target, "restore", "--into", "cannot restore rows")
        whole = recover(arguments.folder, source, target, arguments.first)
    except (ServiceError, UnknownProtocol) as error:
        if str(error):
            print(f"recover: error: {error}", file=sys.stderr)
        return 1
    if not whole:
        print(
            "recover: error: some of the files are corrupt, see above; all whole entries are in the tables",
            file=sys.stderr,
        )
        return EXIT_CORRUPT
    return 0


if __name__ == "__main__":
    raise SystemExit(command.run("recover", main))
