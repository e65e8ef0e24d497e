"""Updates the expected files to the generator's present output: `python tests/golden/update.py [CASE...]`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))


def cases() -> list[str]:
    return sorted(entry.parent.parent.name for entry in HERE.glob("*/spec/layout.yaml"))


def files(case: str) -> dict[str, str]:
    """Returns the files that the generator writes for a case."""
    from codegen.emit import generate
    from codegen.compile import load

    return generate(load(HERE / case / "spec"))


def main(names: list[str]) -> int:
    for case in names or cases():
        expected = HERE / case / "expected"
        expected.mkdir(exist_ok=True)
        made = files(case)
        for path in expected.iterdir():
            if path.name not in made:
                path.unlink()
        for name, text in made.items():
            (expected / name).write_text(text)
        print(f"updated {case}: review what git diff says")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
