"""Draws a counterexample as a sequence diagram: an SVG, or an HTML file that needs no other file."""

from __future__ import annotations

from html import escape

from harness.tla.trace import Step

WIDTH = 1060
_NUMBERS_WIDTH = 30
_MARGIN = 46
_LINE_HEIGHT = 15
_CHARACTER_WIDTH = 7.3
_LINE_CHARACTERS_MAX = 62
STYLE = """
.sequence { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; max-width: 100%; }
.sequence text { fill: #222; }
.sequence .lane { stroke: #aaa; stroke-dasharray: 3 3; }
.sequence .head { font-weight: bold; }
.sequence .arrow { stroke: #1558b0; stroke-width: 1.5; }
.sequence .tip { fill: #1558b0; }
.sequence .sent { fill: #1558b0; font-weight: bold; }
.sequence .change { fill: #8a3000; font-style: italic; }
.sequence .number { fill: #666; }
"""
"""CSS for the page around the diagram. Weight and slant, as well as colour, tell a message from a change."""

_PAGE_STYLE = "body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }"


def _lanes(steps: list[Step]) -> list[str]:
    """Lifelines from left to right: clients, then the programs, then the daemon and its sweep."""
    order = {"network": 1, "XDP": 2, "TC": 3, "daemon": 4, "sweep": 5, "model": 6}
    names = {name for step in steps for name in (step.source, step.target)}
    return sorted(names, key=lambda name: (order.get(name, 0), name))


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


class _Drawing:
    """A diagram while it is drawn.

    A text stands beside its lifeline, on the side with more room. Nothing else is at its height.
    """

    def __init__(self, lanes: list[str]) -> None:
        room = WIDTH - _NUMBERS_WIDTH - 2 * _MARGIN
        self.x = {
            name: round(_NUMBERS_WIDTH + _MARGIN + room * (at + 0.5) / len(lanes)) for at, name in enumerate(lanes)
        }
        self.y = 40
        self.parts: list[str] = []

    def text(self, x: float, text: str, css: str, anchor: str = "start") -> None:
        end = ' text-anchor="end"' if anchor == "end" else ""
        self.parts.append(f'<text x="{x}" y="{self.y}" class="{css}"{end}>{escape(text)}</text>')

    def paragraph(self, x: int, text: str, css: str) -> None:
        to_the_right = WIDTH - x >= x - _NUMBERS_WIDTH
        room = WIDTH - x - 8 if to_the_right else x - _NUMBERS_WIDTH - 8
        for line in _wrapped(text, min(_LINE_CHARACTERS_MAX, int(room / _CHARACTER_WIDTH))):
            self.y += _LINE_HEIGHT
            self.text(x + 8 if to_the_right else x - 8, line, css, "start" if to_the_right else "end")

    def step(self, step: Step) -> None:
        source, target = self.x[step.source], self.x[step.target]
        self.y += 10
        if step.source == step.target:
            self.paragraph(source, step.title, "title")
            self.parts.append(f'<circle cx="{source}" cy="{self.y - 4}" r="3.5" fill="#222"/>')
        else:
            self.paragraph(source, step.sent, "sent")
            self.y += 6
            tip = -7 if target > source else 7
            self.parts.append(f'<line x1="{source}" y1="{self.y}" x2="{target}" y2="{self.y}" class="arrow"/>')
            self.parts.append(f'<path d="M{target},{self.y} l{tip},-4 l0,8 z" class="tip"/>')
        self.text(4, str(step.number), "number")
        for change in step.changes:
            self.paragraph(source, change, "change")


def as_svg(title: str, steps: list[Step]) -> str:
    """Draws the diagram alone, WIDTH wide. The page around it must include STYLE."""
    drawing = _Drawing(_lanes(steps))
    for step in steps:
        drawing.step(step)
    height = drawing.y + 20
    frame = [
        f'<line x1="{x}" y1="30" x2="{x}" y2="{height}" class="lane"/>'
        f'<text x="{x}" y="20" class="head" text-anchor="middle">{escape(name)}</text>'
        for name, x in drawing.x.items()
    ]
    body = "\n".join([*frame, *drawing.parts])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sequence" role="img" aria-label="{escape(title)}" '
        f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">\n{body}\n</svg>'
    )


def as_html(title: str, subtitle: str, steps: list[Step]) -> str:
    """Puts the diagram on a page, below `title` and `subtitle`, a sentence on what it shows."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_PAGE_STYLE}{STYLE}</style></head>\n<body><h1>{escape(title)}</h1><p>{escape(subtitle)}</p>\n"
        f"{as_svg(title, steps)}</body></html>\n"
    )
