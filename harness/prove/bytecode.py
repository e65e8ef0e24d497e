"""Decodes the BPF instructions of functions in an object file of clang."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

LOAD_IMMEDIATE, LOAD, STORE_IMMEDIATE, STORE, ALU32, JUMP64, JUMP32, ALU64 = range(8)
"""The class of an instruction: its three lowest bits."""
JA, CALL, EXIT, JSLE, END = 0x00, 0x80, 0x90, 0xD0, 0xD0
WIDE = 0x18
MEMORY_MODE = 0x60


@dataclass(frozen=True)
class Instruction:
    """One instruction. An immediate of 64 bits takes two slots; the second is None in the list.

    constant: the section and offset of the data that a 64-bit immediate is the address of.
    """

    code: int
    destination: int
    source: int
    offset: int
    immediate: int
    constant: tuple[str, int] | None = None

    @property
    def family(self) -> int:
        """Its class."""
        return self.code & 7

    @property
    def operation(self) -> int:
        """Its operation, in the four highest bits."""
        return self.code & 0xF0

    @property
    def from_register(self) -> bool:
        """Whether the second operand is a register."""
        return bool(self.code & 8)

    @property
    def known(self) -> bool:
        """Whether machine.py knows the meaning of this instruction of -mcpu=v3."""
        match self.family:
            case family if family == LOAD_IMMEDIATE:
                return self.code == WIDE and not self.source
            case family if family in (LOAD, STORE, STORE_IMMEDIATE):
                return self.code & 0xE0 == MEMORY_MODE
            case family if family in (ALU32, ALU64):  # an offset makes it signed, or a move that extends the sign
                swaps = self.operation == END
                widths = not swaps or (self.immediate in (16, 32, 64) and not (family == ALU64 and self.from_register))
                return self.operation <= END and not self.offset and widths
            case family if family == JUMP32:
                return self.operation not in (JA, CALL, EXIT) and self.operation <= JSLE
        return self.operation <= JSLE


@dataclass(frozen=True)
class Function:
    """The instructions of a function, and the bytes that they were decoded from."""

    name: str
    instructions: tuple[Instruction | None, ...]
    code: bytes


class DecodeError(Exception):
    """The object file has something that is not decoded; the message says what."""


class ObjectFile:
    """A BPF object file: its functions, each in a section of its own, and its constant data."""

    def __init__(self, path: Path) -> None:
        self._file = ELFFile(io.BytesIO(path.read_bytes()))
        self.data = {
            section.name: section.data()
            for section in self._file.iter_sections()
            if section.name.startswith((".rodata", ".data.rel.ro"))
            and self._file.get_section_by_name(f".rel{section.name}") is None
        }
        symbols = self._file.get_section_by_name(".symtab")
        if not isinstance(symbols, SymbolTableSection):
            raise DecodeError(f"{path} has no symbols")
        self._symbols = symbols

    def function(self, name: str, section_name: str) -> Function:
        """Decodes the function that is alone in a section."""
        section = self._file.get_section_by_name(section_name)
        if section is None:
            raise DecodeError(f"there is no section {section_name}")
        code = section.data()
        relocations = self._relocations(section_name)
        decoded: list[Instruction | None] = []
        at = 0
        while at < len(code):
            operation, registers, offset, immediate = struct.unpack_from("<BBhi", code, at)
            constant = None
            wide = operation == WIDE
            if wide:
                immediate = (immediate & 0xFFFFFFFF) | struct.unpack_from("<i", code, at + 12)[0] << 32
                if at in relocations:
                    constant = (relocations[at][0], relocations[at][1] + immediate)
            elif at in relocations:
                raise DecodeError(f"{name} calls {relocations[at][0]}, which is not inlined")
            decoded.append(Instruction(operation, registers & 15, registers >> 4, offset, immediate, constant))
            at += 8
            if wide:
                decoded.append(None)
                at += 8
        return Function(name, tuple(decoded), code)

    def _relocations(self, section_name: str) -> dict[int, tuple[str, int]]:
        """The section (or undefined symbol) and offset that each relocated instruction refers to."""
        section = self._file.get_section_by_name(f".rel{section_name}")
        if not isinstance(section, RelocationSection):
            return {}
        found = {}
        for relocation in section.iter_relocations():
            symbol = self._symbols.get_symbol(relocation["r_info_sym"])
            home = symbol["st_shndx"]
            name = self._file.get_section(home).name if isinstance(home, int) else symbol.name
            found[relocation["r_offset"]] = (name, symbol["st_value"])
        return found
