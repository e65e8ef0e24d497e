"""Tests the page in a real browser: headless Chromium, which ./bootstrap installs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from html import escape, unescape
from pathlib import Path

import pytest

from harness.report.collect import load, together
from harness.report.page import render
from tests.report import made_up

WIDTH, HEIGHT = 1366, 768
NARROW = 420
SECONDS_MAX = 300
POLICY = "default-src 'none'"
CONSOLE = re.compile(r":CONSOLE[:(]")
PROBE = """<script>
document.querySelectorAll("details").forEach(each => each.open = OPEN);
window.addEventListener("load", () => {
  const scroll = each => getComputedStyle(each).overflowX;
  const scrolls = each => each.closest("table, figure") && scroll(each.closest("table, figure")) === "auto"
    && !each.matches("table, figure");
  const isWide = each => each.getBoundingClientRect().right > window.innerWidth + 0.5 && !scrolls(each);
  const isCut = each => ["hidden", "clip"].includes(scroll(each)) && each.scrollWidth > each.clientWidth + 1;
  const all = [...document.querySelectorAll("main *, nav *")];
  const wide = all.filter(each => isWide(each) || isCut(each));
  const table = document.querySelector("#summary + table");
  document.documentElement.dataset.probe = JSON.stringify({
    inner: window.innerWidth,
    scroll: document.documentElement.scrollWidth,
    height: document.documentElement.scrollHeight,
    summary: table && table.scrollWidth <= table.clientWidth,
    wide: wide.slice(0, 5).map(each => each.outerHTML.slice(0, 200)),
  });
});
</script>"""


@dataclass(frozen=True)
class Seen:
    """A page as a browser shows it. probe: what PROBE measured; console: what was logged there."""

    probe: dict
    console: list[str]


@pytest.fixture
def browse(tmp_path):
    """Runs Chromium with arguments; what it wrote to stdout and stderr."""
    assert shutil.which("chromium"), "there is no chromium on the PATH: run ./bootstrap"
    profile, size = f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={WIDTH},{HEIGHT}"
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--enable-logging=stderr",
        profile,
        size,
    ]

    def run(page: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        command = ["chromium", *options, *arguments, path.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=True)

    return run


def look(browse, page: str, is_open: bool = True, width: int = WIDTH) -> Seen:
    """With all folds open, or as the reader finds them closed. Requests against the page's own policy are on the
    console.
    """
    assert POLICY in page
    page = page.replace(POLICY, f"{POLICY}; script-src 'unsafe-inline'")
    page = page.replace("</body>", PROBE.replace("OPEN", str(is_open).lower()) + "</body>")
    done = browse(page if width == WIDTH else framed(page, width), "--dump-dom")
    found = re.search(r'data-probe="([^"]*)"', done.stdout)
    assert found, done.stdout[:500] + done.stderr
    return Seen(json.loads(unescape(found[1])), [line for line in done.stderr.splitlines() if CONSOLE.search(line)])


def framed(page: str, width: int) -> str:
    """The page in a frame, because Chromium has no window below 500 pixels. The outer page has the frame's findings."""
    return f"""<!DOCTYPE html><html><body>
<iframe style="border: 0; width: {width}px; height: {HEIGHT}px" srcdoc="{escape(page)}"></iframe>
<script>
window.addEventListener("load", () => {{
  document.documentElement.dataset.probe = frames[0].document.documentElement.dataset.probe;
}});
</script></body></html>"""


def share_of_ink(png: Path) -> tuple[tuple[int, int], float]:
    """Its width and height, and the share of bytes that do not follow from their neighbours: nearly none on a blank
    page.
    """
    content = png.read_bytes()
    size = int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big")
    data, at = b"", 8
    while at < len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        if content[at + 4 : at + 8] == b"IDAT":
            data += content[at + 8 : at + 8 + length]
        at += length + 12
    filtered = zlib.decompress(data)
    return size, 1 - filtered.count(0) / len(filtered)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory) -> str:
    """A page with more of everything that stands side by side than there is room for without care."""
    found = made_up.everything()
    builds = found["conform/ticket"]["builds"]
    builds += [{**builds[0], "name": f"four rolls of eight tickets, variant {at}"} for at in range(9)]
    builds[0]["mismatches"] = ["payload: expected " + "04010001" * 60]
    found |= {f"kernels/6.{at}": made_up._kernel(f"6.{at}.30+deb13-cloud-amd64", 1_400, 7.0) for at in range(2, 7)}
    figures = found["bench/ticket"]["sections"]["Closed loop"][0]["figures"]
    figures |= {f"p99.{at} µs from when it was due": made_up.spread(123_456) for at in range(6)}
    found["fuzz/ticket"]["failures"] = [{"text": "x" * 400, "saved": "tests/regressions/" + "y" * 150}]
    found["check/ticket"]["models"][0]["surprises"] = ["expected 'holds', found 'invariant' " + "NoTicketTwice" * 9]
    return render(together(load(made_up.write(tmp_path_factory.mktemp("crowded"), found))), made_up.COMMIT)


@pytest.mark.parametrize("name, is_open", [("crowded", True), ("full", False), ("bare", False)])
def test_it_fits_a_laptop_and_asks_for_nothing(browse, request, name, is_open):
    seen = look(browse, request.getfixturevalue(name), is_open)
    assert seen.console == []
    assert seen.probe["inner"] == WIDTH and seen.probe["scroll"] == WIDTH and seen.probe["wide"] == []
    assert seen.probe["height"] > HEIGHT


@pytest.mark.parametrize("name", ["crowded", "full", "bare"])
def test_nothing_is_cut_off_on_a_phone(browse, request, name):
    """A wide table or drawing scrolls by itself. The summary needs no scrolling."""
    seen = look(browse, request.getfixturevalue(name), width=NARROW)
    assert seen.probe["inner"] == NARROW and seen.probe["scroll"] == NARROW and seen.probe["wide"] == []
    assert seen.probe["summary"]


def test_a_page_that_is_not_as_it_should_be_is_noticed(browse):
    faults = (
        '<main><p style="width: 2000px">wide</p></main><img src="missing.png"><script>console.error("broken")</script>'
    )
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}; style-src \'unsafe-inline\'">'
    seen = look(browse, f"<!DOCTYPE html><html><head>{policy}</head><body>{faults}</body></html>")
    assert any("broken" in line for line in seen.console)
    assert any("missing.png" in line and "violates" in line for line in seen.console)
    assert seen.probe["scroll"] > WIDTH and "2000px" in seen.probe["wide"][0]


def test_it_is_not_blank(browse, full, tmp_path):
    shot = tmp_path / "shot.png"
    browse(full, f"--screenshot={shot}")
    size, ink = share_of_ink(shot)
    assert size == (WIDTH, HEIGHT) and ink > 0.02
    browse("<!DOCTYPE html><html><body></body></html>", f"--screenshot={shot}")
    assert share_of_ink(shot)[1] < 0.001
