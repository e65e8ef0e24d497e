"""Prints the demonstration: one line a step, and a sign of life while a step takes long."""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_SIGN_SECONDS = 10
LABEL_WIDTH = 11


class Screen:
    """A terminal or a log file. Lines of a log file are never rewritten."""

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        self._lock = threading.Lock()

    def _styled(self, text: str, code: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._live else text

    def title(self, text: str) -> None:
        print(f"\n{self._styled(text, '1')}", flush=True)

    def say(self, label: str, text: str, good: bool | None = None) -> None:
        """Print a finished step: its result, and whether it is as it should be."""
        mark = {None: " ", True: self._styled("✓", "32"), False: self._styled("✗", "31")}[good]
        first, *rest = text.split("\n")
        with self._lock:
            self._wipe()
            print(f" {mark} {self._styled(label.ljust(LABEL_WIDTH), '1')} {first}", flush=True)
            for line in rest:
                print(f"   {' ' * LABEL_WIDTH} {line}", flush=True)

    def _wipe(self) -> None:
        if self._live:
            print("\r\033[K", end="")

    @contextlib.contextmanager
    def working(self, label: str, doing: str) -> Iterator[Callable[[str], None]]:
        """Show that something is under way until the block ends. Yields a function that takes the progress."""
        over, at = threading.Event(), [doing]
        sign = threading.Thread(target=self._sign, args=(label, at, over), daemon=True)
        sign.start()
        try:
            yield lambda text: at.__setitem__(0, f"{doing}: {text}")
        finally:
            over.set()
            sign.join()
            with self._lock:
                self._wipe()

    def _sign(self, label: str, at: list[str], over: threading.Event) -> None:
        begun, turn = time.monotonic(), 0
        while not over.wait(0.1 if self._live else PLAIN_SIGN_SECONDS):
            seconds, turn = time.monotonic() - begun, turn + 1
            line = f"{label.ljust(LABEL_WIDTH)} {at[0]} ({seconds:.0f} s)"
            with self._lock:
                if self._live:
                    print(f"\r\033[K {SPINNER[turn % len(SPINNER)]} {line}"[: self._width()], end="", flush=True)
                else:
                    print(f" … {line}", flush=True)

    @staticmethod
    def _width() -> int:
        """The characters that fit on one line, with the escape sequence that clears it."""
        return shutil.get_terminal_size().columns + 3
