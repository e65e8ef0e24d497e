"""The layout of C structs, from the BTF that the compiler put into an object file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from harness.data.packing import Member, Struct


class ShapeError(Exception):
    """The object file has no such struct."""


class Shapes:
    """The structs of a BPF object file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        command = ["bpftool", "--json", "btf", "dump", "file", str(path), "format", "raw"]
        run = subprocess.run(command, check=False, capture_output=True, text=True)
        if run.returncode:
            raise ShapeError(f"reading the types of {path}: {run.stderr.strip() or run.stdout.strip()}")
        self._types: dict[int, dict[str, Any]] = {each["id"]: each for each in json.loads(run.stdout)["types"]}

    def struct(self, name: str) -> Struct:
        """The struct with that tag."""
        for each in self._types.values():
            if each["kind"] == "STRUCT" and each["name"] == name:
                return self._struct(each)
        raise ShapeError(f"{self._path} has no struct {name}")

    def _struct(self, described: dict[str, Any]) -> Struct:
        members = {
            each["name"]: self._member(each["type_id"], each["bits_offset"] // 8) for each in described["members"]
        }
        return Struct(described["name"], described["size"], members)

    def _member(self, type_id: int, offset: int) -> Member:
        described = self._resolved(type_id)
        match described["kind"]:
            case "STRUCT" | "UNION":
                return Member(offset, described["size"], struct=self._struct(described))
            case "ARRAY":
                element = self._member(described["type_id"], 0)
                count = described["nr_elems"]
                return Member(offset, element.size * count, elements=(count, element))
            case "PTR":
                return Member(offset, 8)
        return Member(offset, described["size"])

    def _resolved(self, type_id: int) -> dict[str, Any]:
        described = self._types[type_id]
        while described["kind"] in ("TYPEDEF", "CONST", "VOLATILE", "TYPE_TAG"):
            described = self._types[described["type_id"]]
        return described
