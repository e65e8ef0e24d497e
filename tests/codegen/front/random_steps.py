"""Makes random steps over the cell of kit.py: well-typed, on one line, not always provably in bounds."""

from __future__ import annotations

import random


class Writer:
    """Writes random expressions; `variables` are the numbers that loops around have bound."""

    def __init__(self, draw: random.Random):
        self.draw = draw
        self.variables: list[str] = []
        self.fresh = 0

    def name(self) -> str:
        self.fresh += 1
        return f"v{self.fresh}"

    def number(self, depth: int) -> str:
        leaves = [
            "cell.count",
            "cell.total",
            "msg.delta",
            "msg.chosen",
            "msg.where",
            "env.index",
            *map(str, (0, 1, 2, 3, 7, 255)),
        ]
        leaves += self.variables * 3
        if depth == 0:
            return self.draw.choice(leaves)
        number, condition, clients = self.number, self.condition, self.clients
        kinds = [
            lambda: self.draw.choice(leaves),
            lambda: f"({number(depth - 1)} + {number(depth - 1)})",
            lambda: f"({number(depth - 1)} - {number(depth - 1)})",
            lambda: f"({number(depth - 1)} * {self.draw.randint(0, 4)})",
            lambda: f"({number(depth - 1)} % {self.draw.choice([2, 3, 4, 16, 255, 256])})",
            lambda: f"({number(depth - 1)} \\div {self.draw.choice([1, 2, 5])})",
            lambda: f"(IF {condition(depth - 1)} THEN {number(depth - 1)} ELSE {number(depth - 1)})",
            lambda: f"Cardinality({clients(depth - 1)})",
            lambda: "Len(cell.queue)",
            lambda: self.counting(depth),
            lambda: self.let(depth, number),
        ]
        return self.draw.choice(kinds)()

    def counting(self, depth: int) -> str:
        name = self.name()
        self.variables.append(name)
        test = f"cell.slots[{name}].used" if self.draw.random() < 0.5 else self.condition(depth - 1)
        self.variables.pop()
        operator = self.draw.choice(["CountIndex(1, 4, ", "FirstIndex(1, 4, 0, "])
        return f"{operator}LAMBDA {name} : {test})"

    def let(self, depth: int, body) -> str:
        name = self.name()
        value = self.number(depth - 1)
        self.variables.append(name)
        text = f"(LET {name} == {value} IN {body(depth - 1)})"
        self.variables.pop()
        return text

    def clients(self, depth: int) -> str:
        if depth == 0:
            return self.draw.choice(
                ["cell.members", "msg.seen", "{msg.client}", "{1, 2}", "{}", "{cell.slots[1].owner}"]
            ).replace("{}", "msg.seen")
        clients = self.clients
        name = self.name()
        kinds = [
            lambda: f"({clients(depth - 1)} \\cup {clients(depth - 1)})",
            lambda: f"({clients(depth - 1)} \\cap {clients(depth - 1)})",
            lambda: f"({clients(depth - 1)} \\ {clients(depth - 1)})",
            lambda: f"{{{name} \\in {clients(depth - 1)} : {name} > msg.client}}",
            lambda: f"{{{name} \\div 2 : {name} \\in {clients(depth - 1)}}}",
            lambda: clients(0),
        ]
        return self.draw.choice(kinds)()

    def condition(self, depth: int) -> str:
        if depth == 0:
            return self.draw.choice(
                [
                    "cell.open",
                    "cell.slots[2].used",
                    'cell.state = "Busy"',
                    'msg.state \\in {"Idle", "Gone"}',
                    "cell.members = {}",
                    "msg.client \\in cell.members",
                    "cell.state = msg.state",
                    "msg.chosen \\in cell.marks",
                    "cell.count < 200",
                    "Cardinality(cell.members) < 4",
                    "Len(cell.queue) > 0",
                    "Len(cell.queue) < 4",
                    "cell.key = msg.key",
                ]
            )
        number, condition, clients = self.number, self.condition, self.clients
        name = self.name()
        kinds = [
            lambda: f"{number(depth - 1)} {self.draw.choice(['<', '<=', '>', '>=', '=', '#'])} {number(depth - 1)}",
            lambda: f"({condition(depth - 1)} /\\ {condition(depth - 1)})",
            lambda: f"({condition(depth - 1)} \\/ {condition(depth - 1)})",
            lambda: f"({condition(depth - 1)} => {condition(depth - 1)})",
            lambda: f"~ ({condition(depth - 1)})",
            lambda: f"{clients(depth - 1)} \\subseteq {clients(depth - 1)}",
            lambda: f"{number(depth - 1)} \\in 2..{number(0)}",
            lambda: f"(\\E {name} \\in {clients(depth - 1)} : {name} < {number(depth - 1)})",
            lambda: f"(\\A {name} \\in 1..Len(cell.queue) : cell.queue[{name}] # {number(depth - 1)})",
            lambda: self.let(depth, condition),
        ]
        return self.draw.choice(kinds)()

    def changed_cell(self, depth: int) -> str:
        number, condition = self.number, self.condition
        kinds = [
            lambda: "cell",
            lambda: f"[cell EXCEPT !.count = {number(depth)} % 256]",
            lambda: f"[cell EXCEPT !.count = IF @ < {number(0)} THEN @ + 1 ELSE @, !.open = {condition(1)}]",
            lambda: f"[cell EXCEPT !.total = {number(depth)}]",
            lambda: f"[cell EXCEPT !.members = {self.clients(2)}]",
            lambda: "[cell EXCEPT !.members = @ \\cup {msg.client}]",
            lambda: (
                f"[cell EXCEPT !.slots[({number(1)} % 4) + 1].used = {condition(1)}, !.slots[2].owner = msg.client]"
            ),
            lambda: (
                '[[cell EXCEPT !.state = "Gone", !.count = 3] EXCEPT !.open = ~ @, !.total = @ \\div 2, !.count = '
                f"{number(1)}]"
            ),
            lambda: "[cell EXCEPT !.queue = Append(@, msg.client)]",
            lambda: "[cell EXCEPT !.queue = IF Len(@) > 0 THEN Tail(@) ELSE <<msg.client>>]",
            lambda: f"[cell EXCEPT !.marks = (@ \\ {{msg.chosen}}) \\cup {{{number(0)}}}]",
            lambda: f"(IF {condition(1)} THEN [cell EXCEPT !.count = {number(1)}] ELSE cell)",
            lambda: "[cell EXCEPT !.spare = cell.slots[1], !.slots[1] = cell.slots[2], !.slots[2] = cell.spare]",
            lambda: f"[cell EXCEPT !.slots = [i \\in 1..4 |-> [used |-> {condition(1)}, owner |-> i]]]",
        ]
        return self.draw.choice(kinds)()

    def changed_message(self) -> str:
        kinds = [
            "msg",
            "[msg EXCEPT !.state = cell.state, !.delta = cell.count]",
            "[msg EXCEPT !.seen = cell.members, !.chosen = 3]",
            f"[msg EXCEPT !.chosen = {self.number(1)} % 16]",
        ]
        return self.draw.choice(kinds)

    def result(self, depth: int) -> str:
        if depth == 0 or self.draw.random() < 0.2:
            verdict = self.draw.choice(["Continue", "Reply", "Forward", "Drop"])
            # A change that xdp would not write into the packet that it forwards is refused.
            message = "msg" if verdict == "Forward" else self.changed_message()
            return f"{verdict}({self.changed_cell(2)}, {message})"
        kinds = [
            lambda: f"(IF {self.condition(2)} THEN {self.result(depth - 1)} ELSE {self.result(depth - 1)})",
            lambda: (
                f"(CASE {self.condition(2)} -> {self.result(depth - 1)} [] {self.condition(1)} -> {self.result(0)}"
                f" [] OTHER -> {self.result(depth - 1)})"
            ),
            lambda: self.let(3, lambda _: self.result(depth - 1)),
        ]
        return self.draw.choice(kinds)()


def random_step(draw: random.Random) -> str:
    """The body of a step with the parameters cell, msg and env."""
    return Writer(draw).result(draw.choice([1, 1, 2]))
