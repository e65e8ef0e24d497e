"""A counterexample as a sequence diagram: one HTML file that needs nothing else."""

from __future__ import annotations

from html import escape

from harness.check.trace import Step

_LANE_WIDTH = 250
_MARGIN = 60
_LINE_HEIGHT = 15
_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff; }
svg { font: 12px ui-monospace, monospace; }
.lane { stroke: #bbb; stroke-dasharray: 3 3; }
.head { font-weight: bold; }
.arrow { stroke: #1558b0; stroke-width: 1.5; }
.sent { fill: #1558b0; }
.title { fill: #222; }
.change { fill: #a33b00; }
.number { fill: #999; }
"""


def _lanes(steps: list[Step]) -> list[str]:
    """Lifelines from left to right: clients, then the programs, then the daemon and its sweep."""
    order = {"network": 1, "XDP": 2, "TC": 3, "daemon": 4, "sweep": 5, "model": 6}
    names = {name for step in steps for name in (step.source, step.target)}
    return sorted(names, key=lambda name: (order.get(name, 0), name))


def _wrapped(text: str, width: int = 38) -> list[str]:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


class _Drawing:
    def __init__(self, lanes: list[str]) -> None:
        self.x = {name: _MARGIN + _LANE_WIDTH * i for i, name in enumerate(lanes)}
        self.y = 40
        self.parts: list[str] = []

    def text(self, x: int, text: str, css: str, anchor: str = "start") -> None:
        self.parts.append(f'<text x="{x}" y="{self.y}" class="{css}" text-anchor="{anchor}">{escape(text)}</text>')

    def paragraph(self, x: int, text: str, css: str) -> None:
        for line in _wrapped(text):
            self.y += _LINE_HEIGHT
            self.text(x, line, css)

    def step(self, step: Step) -> None:
        source, target = self.x[step.source], self.x[step.target]
        self.y += 10
        if step.source == step.target:
            self.paragraph(source + 8, step.title, "title")
            self.parts.append(f'<circle cx="{source}" cy="{self.y - 4}" r="3.5" fill="#222"/>')
        else:
            self.paragraph(min(source, target) + 8, step.sent, "sent")
            self.y += 6
            tip = -7 if target > source else 7
            self.parts.append(f'<line x1="{source}" y1="{self.y}" x2="{target}" y2="{self.y}" class="arrow"/>')
            self.parts.append(
                f'<path d="M{target},{self.y} l{tip},-4 l0,8 z" fill="#1558b0"/>'
            )
        self.text(8, str(step.number), "number")
        for change in step.changes:
            self.paragraph(source + 8, change, "change")


def as_html(title: str, subtitle: str, steps: list[Step]) -> str:
    """The diagram, with `title` and a sentence on what it shows above it."""
    lanes = _lanes(steps)
    drawing = _Drawing(lanes)
    for step in steps:
        drawing.step(step)
    height = drawing.y + 40
    width = _MARGIN + _LANE_WIDTH * len(lanes) + _MARGIN  # a line of text is somewhat wider than a lane
    frame = [
        f'<line x1="{x}" y1="30" x2="{x}" y2="{height}" class="lane"/>'
        f'<text x="{x}" y="20" class="head" text-anchor="middle">{escape(name)}</text>'
        for name, x in drawing.x.items()
    ]
    body = "\n".join([*frame, *drawing.parts])
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{escape(title)}</h1><p>{escape(subtitle)}</p>\n"
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">\n{body}\n</svg></body></html>\n'
    )
