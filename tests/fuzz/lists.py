"""Random models whose steps and claims are about lists of ids: kept, put together, sorted, compared, chosen from."""

from __future__ import annotations

import random

STATE = """
@dataclass(frozen=True)
class State:
    up: Nodes
    line: Annotated[tuple[Node, ...], MaxLen("nodes")]
    kept: Annotated[tuple[Node, ...], MaxLen("nodes")]
    first: Node | None

@initial
def start(c: Config) -> State:
    return State(every(Node, c), {line}, {kept}, None)

@action(who="one")
def choose(s: State) -> State:
    return replace(s, first=min(s.up, default=None))

@action(who="one")
def fail(s: State, node: Node) -> State:
    require(node in s.up)
    return replace(s, up=s.up - {{node}})
"""


class Lists:
    """Draws one model by its number."""

    def __init__(self, number: int) -> None:
        self.rng = random.Random(number)

    def text(self) -> str:
        """The text of the model's declarations behind `tests.helpers.alike_models.HEAD`."""
        starts = ["()", "tuple(sorted(every(Node, c)))", "(Node(2), Node(1))"]
        parts = [STATE.format(line=self.one_of(*starts), kept=self.one_of(*starts))]
        for k in range(self.rng.randrange(2, 4)):
            fields = self.rng.sample(["line", "kept", "first", "up"], self.rng.randrange(1, 3))
            changes = ", ".join(f"{name}={self.of_field(name)}" for name in fields)
            parts.append(
                f'@action(who="one")\ndef step_{k}(s: State, node: Node) -> State:\n'
                f"    require({self.formula(1, ['s'])})\n    return replace(s, {changes})\n"
            )
        for k in range(3):
            parts.append(f"@invariant\ndef state_{k}(s: State) -> bool:\n    return {self.formula(2, ['s'])}\n")
            over = "before: State, after: State"
            names = ["before", "after"]
            parts.append(f"@step_property\ndef step_claim_{k}({over}) -> bool:\n    return {self.formula(2, names)}\n")
        parts.append(f"@cover\ndef reached({over}) -> bool:\n    return {self.formula(2, names)}\n")
        return "\n".join(parts)

    def one_of(self, *texts: str) -> str:
        return self.rng.choice(texts)

    def of_field(self, name: str) -> str:
        if name == "first":
            return f"next((n for n in {self.sequence(1, ['s'])} if n in s.up), None)"
        return self.members(["s"]) if name == "up" else self.sequence(2, ["s"])

    def members(self, states: list[str]) -> str:
        s = self.rng.choice(states)
        return self.one_of(f"{s}.up", f"frozenset({s}.line)", f"(frozenset({s}.kept) | {s}.up)")

    def sequence(self, depth: int, states: list[str]) -> str:
        s = self.rng.choice(states)
        what = self.rng.randrange(6) if depth else 0
        if what < 2:
            return f"{s}.{self.one_of('line', 'kept')}"
        inner = self.sequence(depth - 1, states)
        if what == 2:
            return f"tuple(n for n in {inner} if n in {self.members(states)})"
        if what == 3:
            return f"({inner} if {self.formula(0, states)} else {self.sequence(depth - 1, states)})"
        if what == 4:
            return f"tuple(n for n in {inner} if n not in {self.members(states)})"
        rest = f"tuple(n for n in {inner} if n not in {s}.up and n not in {s}.line)"
        return f"(tuple(n for n in {s}.line if n in {s}.up) + {rest})"

    def formula(self, depth: int, states: list[str]) -> str:
        what = self.rng.randrange(7)
        if depth and what < 3:
            a, b = self.formula(depth - 1, states), self.formula(depth - 1, states)
            return self.one_of(f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"({a} if {b} else {a} != {b})")
        if what < 6:
            a, b = self.sequence(1, states), self.sequence(1, states)
            return f"({a} {self.one_of('==', '!=')} {b})"
        return f"(len({self.sequence(1, states)}) > {self.rng.randrange(3)})"
