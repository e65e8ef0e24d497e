"""Uses BPF from Python: loads an object file, test-runs its programs, reads and writes its maps.

This is a thin ctypes layer over libbpf.so.1 (1.1, as in Debian 12). It knows nothing of a protocol.

    with Object.open("build/lock/lock.bpf.o") as programs:
        result = programs.program("lock_xdp").test_run(packet)
        print(result.action, result.data, programs.map("counters").lookup_on_each_cpu(0))
        programs.variable("stepwise_conform_env").write(bytes(16))
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import mmap as memory_map
import os
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT = range(5)
TC_ACT_UNSPEC, TC_ACT_OK, TC_ACT_SHOT = -1, 0, 2

XDP_FLAGS_DRV_MODE = 1 << 2

PROGRAM_TYPE_XDP = 6
MAP_TYPE_ARRAY = 2
PROGRAMS_MAP = "stepwise_programs"
PER_CPU_TYPES = {5, 6, 10}  # PERCPU_HASH, PERCPU_ARRAY, LRU_PERCPU_HASH
MAP_FLAG_MMAPABLE = 1 << 10
BTF_KIND_DATASEC = 15

STATS_RUN_TIME = 0

LOG_LINES_SHOWN = 12


class BpfError(OSError):
    """A refusal by the kernel or libbpf. The message says of what, and why; `log` has libbpf's own words."""

    def __init__(self, operation: str, error: int, log: str = "") -> None:
        super().__init__(error, f"{operation}: {os.strerror(error)}")
        self.log = log

    def __str__(self) -> str:
        """The message and the end of the log, where the verifier gives its reason."""
        return "\n".join([str(self.strerror), *self.log.rstrip().splitlines()[-LOG_LINES_SHOWN:]])


class _TestRunOptions(ctypes.Structure):
    _fields_ = [
        ("sz", ctypes.c_size_t),
        ("data_in", ctypes.c_void_p),
        ("data_out", ctypes.c_void_p),
        ("data_size_in", ctypes.c_uint32),
        ("data_size_out", ctypes.c_uint32),
        ("ctx_in", ctypes.c_void_p),
        ("ctx_out", ctypes.c_void_p),
        ("ctx_size_in", ctypes.c_uint32),
        ("ctx_size_out", ctypes.c_uint32),
        ("retval", ctypes.c_uint32),
        ("repeat", ctypes.c_int),
        ("duration", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("cpu", ctypes.c_uint32),
        ("batch_size", ctypes.c_uint32),
    ]


class _MapInfo(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("key_size", ctypes.c_uint32),
        ("value_size", ctypes.c_uint32),
        ("max_entries", ctypes.c_uint32),
        ("map_flags", ctypes.c_uint32),
        ("name", ctypes.c_char * 16),
    ]


class _ProgramInfo(ctypes.Structure):
    """The first fields of bpf_prog_info. The kernel fills only these, because it is given their size."""

    _fields_ = [
        ("type", ctypes.c_uint32),
        ("id", ctypes.c_uint32),
        ("tag", ctypes.c_uint8 * 8),
        ("jited_prog_len", ctypes.c_uint32),
        ("xlated_prog_len", ctypes.c_uint32),
        ("jited_prog_insns", ctypes.c_uint64),
        ("xlated_prog_insns", ctypes.c_uint64),
    ]


class _BtfType(ctypes.Structure):
    _fields_ = [("name_offset", ctypes.c_uint32), ("info", ctypes.c_uint32), ("size", ctypes.c_uint32)]


class _BtfVariable(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint32), ("offset", ctypes.c_uint32), ("size", ctypes.c_uint32)]


_PrintFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)

# libbpf's structures are opaque here; every pointer that it returns is a void pointer.
_RETURNS_POINTER = [
    "bpf_object__open_file",
    "bpf_object__next_program",
    "bpf_object__next_map",
    "bpf_object__find_program_by_name",
    "bpf_object__find_map_by_name",
    "bpf_object__btf",
    "btf__type_by_id",
]
_RETURNS_TEXT = ["bpf_program__name", "bpf_map__name", "btf__name_by_offset"]


def _load_library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libbpf.so.1", use_errno=True)
    except OSError as error:
        raise BpfError("opening libbpf.so.1 (./bootstrap installs it)", error.errno or 2) from None
    for name in _RETURNS_POINTER:
        getattr(library, name).restype = ctypes.c_void_p
    for name in _RETURNS_TEXT:
        getattr(library, name).restype = ctypes.c_char_p
    return library


_libbpf = _load_library()
_libc = ctypes.CDLL(None, use_errno=True)
_messages: list[str] = []


def _remember(level: int, template: bytes, arguments: int) -> int:
    """Keep warnings for the exception, and drop the rest. This is libbpf's log callback."""
    if level == 0:
        text = ctypes.create_string_buffer(1 << 20)  # a verifier log is one message
        _libc.vsnprintf(text, ctypes.c_size_t(len(text)), template, ctypes.c_void_p(arguments))
        _messages.append(text.value.decode(errors="replace"))
    return 0


_printer = _PrintFunction(_remember)  # a reference that lasts, because libbpf may call it at any time
_libbpf.libbpf_set_print(_printer)


def _pointer(name: str, *arguments: object) -> int | None:
    """Call a function of _RETURNS_POINTER."""
    found: int | None = getattr(_libbpf, name)(*(ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments))
    return found


def _text(name: str, item: int) -> str:
    """Call a function of _RETURNS_TEXT for an item that exists."""
    found: bytes = getattr(_libbpf, name)(ctypes.c_void_p(item))
    return found.decode()


def _check(result: int, operation: str) -> int:
    """Return the result of a libbpf call, or raise BpfError for its negative error code."""
    if result < 0:
        log = "".join(_messages)
        _messages.clear()
        raise BpfError(operation, -result, log)
    return result


def possible_cpu_count() -> int:
    return _check(_libbpf.libbpf_num_possible_cpus(), "counting the possible CPUs")


@contextlib.contextmanager
def statistics() -> Iterator[None]:
    """Let the kernel count how often programs run, for a block (BPF_ENABLE_STATS). Others cannot switch it off."""
    fd = _check(_libbpf.bpf_enable_stats(STATS_RUN_TIME), "turning on the kernel's statistics of program runs")
    try:
        yield
    finally:
        os.close(fd)


@dataclass(frozen=True)
class TestRun:
    """The result of one BPF_PROG_TEST_RUN. `duration_ns` is the mean of its repetitions, in whole ns."""

    action: int
    data: bytes
    context: bytes
    duration_ns: int

    __test__ = False  # the name is BPF's, not pytest's


@dataclass(frozen=True)
class Program:
    """A loaded program."""

    name: str
    fd: int

    def test_run(self, data: bytes = b"", *, context: bytes = b"", repeat: int = 1) -> TestRun:
        """Run the program on the packet `data` (an XDP program needs at least 14 bytes)."""
        out = ctypes.create_string_buffer(len(data) + 512)
        context_out = ctypes.create_string_buffer(max(len(context), 1))
        options = _TestRunOptions(
            sz=ctypes.sizeof(_TestRunOptions),
            data_in=ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p) if data else None,
            data_size_in=len(data),
            data_out=ctypes.addressof(out) if data else None,
            data_size_out=len(out) if data else 0,
            ctx_in=ctypes.cast(ctypes.c_char_p(context), ctypes.c_void_p) if context else None,
            ctx_size_in=len(context),
            ctx_out=ctypes.addressof(context_out) if context else None,
            ctx_size_out=len(context_out) if context else 0,
            repeat=repeat,
        )
        _check(_libbpf.bpf_prog_test_run_opts(self.fd, ctypes.byref(options)), f"test-running {self.name}")
        return TestRun(
            action=ctypes.c_int32(options.retval).value,
            data=out.raw[: options.data_size_out],
            context=context_out.raw[: options.ctx_size_out],
            duration_ns=options.duration,
        )

    def jited_bytes(self) -> int:
        """Bytes of machine code, with the functions that it calls. 0 if the program is interpreted."""
        info, size = _ProgramInfo(), ctypes.c_uint32(ctypes.sizeof(_ProgramInfo))
        _check(
            _libbpf.bpf_obj_get_info_by_fd(self.fd, ctypes.byref(info), ctypes.byref(size)),
            f"asking for the size of {self.name}",
        )
        size_bytes: int = info.jited_prog_len
        return size_bytes

    def attach_xdp(self, interface_index: int) -> None:
        """Attach to an interface of the calling thread's network namespace, for as long as the interface exists."""
        result = _libbpf.bpf_xdp_attach(interface_index, self.fd, XDP_FLAGS_DRV_MODE, None)
        _check(result, f"attaching {self.name} to interface {interface_index}")


def detach_xdp(interface_index: int) -> None:
    _check(
        _libbpf.bpf_xdp_detach(interface_index, XDP_FLAGS_DRV_MODE, None),
        f"detaching XDP from interface {interface_index}",
    )


@dataclass(frozen=True)
class Map:
    """A map. Keys are bytes, or an int, which is written little-endian. A per-CPU value is a list, one for each CPU."""

    name: str
    fd: int
    type: int
    key_size: int
    value_size: int
    capacity: int
    flags: int
    _cpu_count: int = field(default_factory=possible_cpu_count, repr=False)

    @classmethod
    def of_fd(cls, fd: int, name: str | None = None) -> Map:
        info, size = _MapInfo(), ctypes.c_uint32(ctypes.sizeof(_MapInfo))
        _check(
            _libbpf.bpf_obj_get_info_by_fd(fd, ctypes.byref(info), ctypes.byref(size)),
            "asking for the properties of a map",
        )
        return cls(
            name or info.name.decode(), fd, info.type, info.key_size, info.value_size, info.max_entries, info.map_flags
        )

    @classmethod
    def pinned(cls, path: str | Path) -> Map:
        """The map pinned at `path`. Its file descriptor stays open until the process ends."""
        fd = _check(_libbpf.bpf_obj_get(os.fsencode(path)), f"opening the pinned map {path}")
        return cls.of_fd(fd, Path(path).name)

    def pin(self, path: str | Path) -> None:
        """Pin the map in a bpffs, where it outlives this process."""
        _check(_libbpf.bpf_obj_pin(self.fd, os.fsencode(path)), f"pinning map {self.name} at {path}")

    @property
    def is_per_cpu(self) -> bool:
        return self.type in PER_CPU_TYPES

    def _key(self, key: int | bytes) -> bytes:
        return key.to_bytes(self.key_size, "little") if isinstance(key, int) else key

    def lookup(self, key: int | bytes) -> bytes:
        """Return the value, or raise KeyError. For a per-CPU map, call `lookup_on_each_cpu`."""
        if self.is_per_cpu:
            raise ValueError(f"map {self.name} has a value for each CPU: call lookup_on_each_cpu")
        return self._lookup(key, self.value_size)

    def lookup_on_each_cpu(self, key: int | bytes) -> list[bytes]:
        """Return the values of a per-CPU map, or raise KeyError."""
        if not self.is_per_cpu:
            raise ValueError(f"map {self.name} has one value for all CPUs: call lookup")
        stride = (self.value_size + 7) // 8 * 8
        values = self._lookup(key, stride * self._cpu_count)
        return [values[at : at + self.value_size] for at in range(0, len(values), stride)]

    def _lookup(self, key: int | bytes, size: int) -> bytes:
        value = ctypes.create_string_buffer(size)
        result = _libbpf.bpf_map_lookup_elem(self.fd, self._key(key), value)
        if result == -2:
            raise KeyError(key)
        _check(result, f"looking up {key!r} in map {self.name}")
        return value.raw

    def update(self, key: int | bytes, value: bytes | list[bytes]) -> None:
        if isinstance(value, list):
            stride = (self.value_size + 7) // 8 * 8
            value = b"".join(each.ljust(stride, b"\0") for each in value)
        if len(value) < self.value_size:
            raise ValueError(f"map {self.name} has values of {self.value_size} bytes, not {len(value)}")
        _check(
            _libbpf.bpf_map_update_elem(self.fd, self._key(key), value, ctypes.c_uint64(0)),
            f"writing to map {self.name}",
        )

    def mmap(self) -> memory_map.mmap:
        """Map a whole array into memory, shared with the kernel. Elements are rounded up to 8 bytes."""
        if self.type != MAP_TYPE_ARRAY or not self.flags & MAP_FLAG_MMAPABLE:
            raise ValueError(f"map {self.name} is not an array that can be mapped into memory")
        length = (self.value_size + 7) // 8 * 8 * self.capacity
        page = memory_map.PAGESIZE
        return memory_map.mmap(self.fd, (length + page - 1) // page * page)


@dataclass(frozen=True)
class Variable:
    """A global variable of an object. Its view is memory-mapped, so the programs see a write at once."""

    name: str
    size: int
    view: memoryview
    offset: int = 0  # in its section

    def read(self) -> bytes:
        return bytes(self.view)

    def write(self, value: bytes) -> None:
        if len(value) != self.size:
            raise ValueError(f"variable {self.name} has {self.size} bytes, not {len(value)}")
        self.view[:] = value


class Object:
    """A loaded BPF object file, and a context manager. Closing it unloads all that is not attached or pinned."""

    def __init__(self, handle: int, path: str) -> None:
        self._handle: int | None = handle
        self.path = path

    @classmethod
    def open(cls, path: str | Path, *, only: Collection[str] = (), as_xdp: Collection[str] = ()) -> Object:
        """Load an object file.

        only: the names of the programs to load; all by default.
        as_xdp: programs for XDP whose sections do not say so.
        Raises BpfError, with the verifier's log in `log`.
        """
        assert not isinstance(only, str) and not isinstance(as_xdp, str), "a collection of names"
        _messages.clear()
        handle = _pointer("bpf_object__open_file", os.fsencode(path), None)
        if not handle:
            raise BpfError(f"opening the BPF object {path}", ctypes.get_errno() or 2, "".join(_messages))
        opened = cls(handle, str(path))
        try:
            for item in opened._each("program"):
                name = _text("bpf_program__name", item)
                if only:
                    _libbpf.bpf_program__set_autoload(ctypes.c_void_p(item), ctypes.c_bool(name in only))
                if name in as_xdp:
                    _libbpf.bpf_program__set_type(ctypes.c_void_p(item), PROGRAM_TYPE_XDP)
            _check(_libbpf.bpf_object__load(ctypes.c_void_p(handle)), f"loading {path}")
            opened._connect_programs()
        except BaseException:
            opened.close()
            raise
        _messages.clear()
        return opened

    def _connect_programs(self) -> None:
        """Let the xdp program continue in the one for messages with operations, if that is loaded."""
        if PROGRAMS_MAP in self._names("map"):
            for name in self._names("program"):
                if name.endswith("_gathered") and self.program(name).fd >= 0:
                    self.map(PROGRAMS_MAP).update(0, struct.pack("<I", self.program(name).fd))

    def close(self) -> None:
        if self._handle is not None:
            _libbpf.bpf_object__close(ctypes.c_void_p(self._handle))
            self._handle = None

    def __enter__(self) -> Object:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _find_map(self, name: str) -> int:
        found = _pointer("bpf_object__find_map_by_name", self._handle, name.encode())
        if not found:
            raise KeyError(f"{self.path} has no map {name}; it has {', '.join(self._names('map')) or 'none'}")
        return found

    def _each(self, kind: str) -> Iterator[int]:
        item = _pointer(f"bpf_object__next_{kind}", self._handle, None)
        while item:
            yield item
            item = _pointer(f"bpf_object__next_{kind}", self._handle, item)

    def _names(self, kind: str) -> list[str]:
        prefix = {"program": "bpf_program", "map": "bpf_map"}[kind]
        return [_text(f"{prefix}__name", item) for item in self._each(kind)]

    def program(self, name: str) -> Program:
        found = _pointer("bpf_object__find_program_by_name", self._handle, name.encode())
        if not found:
            raise KeyError(f"{self.path} has no program {name}; it has {', '.join(self._names('program')) or 'none'}")
        return Program(name, _libbpf.bpf_program__fd(ctypes.c_void_p(found)))

    def programs(self) -> list[Program]:
        return [self.program(name) for name in self._names("program")]

    def map(self, name: str) -> Map:
        return Map.of_fd(_libbpf.bpf_map__fd(ctypes.c_void_p(self._find_map(name))), name)

    def maps(self) -> list[Map]:
        """The maps, including those of global variables (`.data`, `.bss`, `.rodata`)."""
        return [self.map(name) for name in self._names("map")]

    def variable(self, name: str) -> Variable:
        """Return a global variable of .data or .bss."""
        btf = _pointer("bpf_object__btf", self._handle)
        for section in (".data", ".bss"):
            place = self._variable_place(btf, section, name) if btf else None
            if place is not None:
                offset, size = place
                home = next(each for each in self.maps() if each.name.endswith(section))
                return Variable(name, size, memoryview(home.mmap())[offset : offset + size], offset)
        raise KeyError(f"{self.path} has no variable {name} in .data or .bss")

    @staticmethod
    def _variable_place(btf: int, section: str, name: str) -> tuple[int, int] | None:
        """Offset and size of a variable, from the type information of its section."""
        handle = ctypes.c_void_p(btf)
        section_id = _libbpf.btf__find_by_name_kind(handle, section.encode(), BTF_KIND_DATASEC)
        if section_id < 0:
            return None
        address = _libbpf.btf__type_by_id(handle, section_id)
        count = _BtfType.from_address(address).info & 0xFFFF
        entries = (_BtfVariable * count).from_address(address + ctypes.sizeof(_BtfType))
        for entry in entries:
            variable = _BtfType.from_address(_libbpf.btf__type_by_id(handle, entry.type))
            if _libbpf.btf__name_by_offset(handle, ctypes.c_uint32(variable.name_offset)) == name.encode():
                return entry.offset, entry.size
        return None


# --- Programs that need no compiler ----------------------------------------------------------

# R0 = XDP_PASS; exit
_XDP_PASS_INSTRUCTIONS = bytes.fromhex("b7000000020000009500000000000000")


def load_xdp_pass() -> Program:
    """Load a program that passes all packets. A veth needs one to get packets that its peer sends with XDP_TX."""
    fd = _libbpf.bpf_prog_load(
        PROGRAM_TYPE_XDP, b"stepwise_pass", b"MIT", _XDP_PASS_INSTRUCTIONS, ctypes.c_size_t(2), None
    )
    return Program("stepwise_pass", _check(fd, "loading a two-instruction XDP program (are you root?)"))
