"""Tests the runtime's writer of JSON: strings, commas and lines."""

from __future__ import annotations

import ctypes
import json
import subprocess
from collections.abc import Callable

import pytest

from harness.base.protocols import RUNTIME

WRITER_BYTES = 256  # more than struct json_writer has; the stream is its first member


class Writer:
    """Calls the functions of json_writer.c by their name without `json_`, and reads what they wrote."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library, self.libc = library, ctypes.CDLL(None)
        self.text, self.size = ctypes.c_void_p(), ctypes.c_size_t()
        self.libc.open_memstream.restype = ctypes.c_void_p
        self.stream = ctypes.c_void_p(
            self.libc.open_memstream(ctypes.byref(self.text), ctypes.byref(self.size)),
        )
        assert self.stream
        self.writer = ctypes.create_string_buffer(WRITER_BYTES)
        ctypes.c_void_p.from_buffer(self.writer).value = self.stream.value

    def __call__(self, what: str, *arguments: object) -> None:
        getattr(self.library, f"json_{what}")(self.writer, *arguments)

    def close(self) -> bytes:
        self.libc.fclose(self.stream)
        written = ctypes.string_at(self.text, self.size.value)
        self.libc.free(self.text)
        return written


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Writer]:
    path = tmp_path_factory.mktemp("json") / "libjson.so"
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", f"-I{RUNTIME}", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, RUNTIME / "base/json_writer.c", "-o", path], check=True)
    library = ctypes.CDLL(str(path))
    library.json_number.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64]
    library.json_bool.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_bool]
    library.json_bytes.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    return lambda: Writer(library)


@pytest.mark.parametrize(
    "text, escaped",
    [
        (b"", b""),
        (b"plain name, with: {all} [of] this/it", b"plain name, with: {all} [of] this/it"),
        (b'a "quoted" one', b'a \\"quoted\\" one'),
        (b"back\\slash", b"back\\\\slash"),
        (b'\\"', b'\\\\\\"'),
        (b"line\nand\ttab", b"line\\u000aand\\u0009tab"),
        (b"\x01\x1f\x20\x7f", b"\\u0001\\u001f\x20\x7f"),
        ("naïve – 鍵".encode(), "naïve – 鍵".encode()),
    ],
)
def test_strings_and_names_are_escaped(writer: Callable[[], Writer], text: bytes, escaped: bytes) -> None:
    one = writer()
    one("object", None)
    one("string", text, text)
    one("end")
    written = one.close()
    assert written == b'{"' + escaped + b'": "' + escaped + b'"}\n'
    assert json.loads(written) == {text.decode(): text.decode()}


def test_every_character_comes_back(writer: Callable[[], Writer]) -> None:
    text = bytes(range(1, 128))
    one = writer()
    one("array", None)
    one("string", None, text)
    one("end")
    assert json.loads(one.close()) == [text.decode()]


def test_numbers_truth_values_and_bytes(writer: Callable[[], Writer]) -> None:
    one = writer()
    one("object", None)
    one("number", b"least", 0)
    one("number", b"most", 2**64 - 1)
    one("bool", b"yes", True)
    one("bool", b"no", False)
    one("null", b"nothing")
    one("bytes", b"key", b"\x00\x0f\xff", 3)
    one("bytes", b"none", b"", 0)
    one("end")
    assert one.close() == (
        b'{"least": 0, "most": 18446744073709551615, "yes": true, "no": false, "nothing": null, '
        b'"key": "000fff", "none": ""}\n'
    )


def test_containers_on_one_line(writer: Callable[[], Writer]) -> None:
    one = writer()
    one("object", None)
    one("array", b"empty")
    one("end")
    one("array", b"two")
    for name in (b"a", b"b"):
        one("object", None)
        one("string", b"name", name)
        one("end")
    one("end")
    one("object", b"last")
    one("end")
    one("end")
    assert one.close() == b'{"empty": [], "two": [{"name": "a"}, {"name": "b"}], "last": {}}\n'


def test_containers_with_lines(writer: Callable[[], Writer]) -> None:
    """A container may also go over to lines after some items."""
    one = writer()
    one("object", None)
    one("lines")
    one("array", b"empty")
    one("lines")
    one("end")
    one("array", b"two")
    one("lines")
    one("number", None, 1)
    one("number", None, 2)
    one("end")
    one("object", b"later")
    one("bool", b"alive", True)
    one("number", b"pid", 7)
    one("lines")
    one("number", b"received", 3)
    one("end")
    one("end")
    assert one.close() == (
        b'{\n  "empty": [],\n  "two": [\n    1,\n    2],\n  "later": {"alive": true, "pid": 7,\n    "received": 3}\n}\n'
    )


def test_one_after_another(writer: Callable[[], Writer]) -> None:
    """Entries are objects, one a line."""
    one = writer()
    for number in range(3):
        one("object", None)
        one("number", b"number", number)
        one("end")
    assert one.close() == b'{"number": 0}\n{"number": 1}\n{"number": 2}\n'
