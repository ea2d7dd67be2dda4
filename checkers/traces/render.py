"""Traces told as stories: who did what, with which parameters, and what changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from reassure.checkers.machine.terminal import Console, StyledText, printed, quantity
from reassure.checkers.request.result import RAISES
from reassure.checkers.traces.explain import claim_of, reasons
from reassure.checkers.traces.format_value import map_entries, natural, place_text, plain
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel, Params, Step
from reassure.spec.semantics.trace import Trace, TraceStep, of_each_property

CLAIMS = re.compile(r"^[A-Z]\d+[a-z]?(?:, [A-Z]\d+[a-z]?)*[.:] ")
"""Numbers of claims, at the beginning of a docstring: `K9, K12. Otherwise ...`."""
ROW = 100
"""Most letters of a line of steps."""
ONE_LINE = 80
"""Most letters of a record that stands on one line."""


def flat(value: Any, path: str = "") -> dict[str, object]:
    """Fields by path, records taken apart."""
    if hasattr(value, "__dataclass_fields__"):
        fields: dict[str, object] = {}
        for name in value.__dataclass_fields__:
            fields.update(flat(getattr(value, name), f"{path}.{name}" if path else name))
        return fields
    if isinstance(value, Map):
        fields = {}
        for k, v in map_entries(value):
            fields.update(flat(v, f"{path}[{place_text(k)}]"))
        return fields
    return {path: value}


class Change(NamedTuple):
    """A change of a field. Of a set of records a member that has gone has no `new`, one that has come no `old`."""

    field: str
    old: str
    new: str

    @property
    def line(self) -> str:
        """The change in one line."""
        if self.old and self.new:
            return f"{self.field}: {self.old} -> {self.new}"
        return f"{self.field}: - {self.old}" if self.old else f"{self.field}: + {self.new}"


def beside(before: Any, after: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The fields of two states by path, with both values: records and maps are taken apart where both states have one.

    An optional record that only one of them has is one field.
    """
    if isinstance(before, Map) and isinstance(after, Map):
        for key, value in map_entries(after):
            yield from beside(before[key], value, f"{path}[{place_text(key)}]")
    elif type(before) is type(after) and hasattr(after, "__dataclass_fields__"):
        for name in after.__dataclass_fields__:
            yield from beside(getattr(before, name), getattr(after, name), f"{path}.{name}" if path else name)
    else:
        yield path, before, after


def changes(before: Any, after: Any) -> list[Change]:
    """The changes between two states, as `beside` takes them apart. Of sets of records, the members."""
    rows: list[Change] = []
    for path, old, new in beside(before, after):
        if old == new:
            continue
        if isinstance(old, frozenset) and isinstance(new, frozenset) and _of_records(old | new):
            rows += [Change(path, text, "") for text in _members(old - new)]
            rows += [Change(path, "", text) for text in _members(new - old)]
        else:
            rows.append(Change(path, plain(old), plain(new)))
    return rows


def _of_records(value: frozenset[Any]) -> bool:
    """Whether there are records in a set: messages, as a rule, each of which fills a line."""
    return any(hasattr(member, "__dataclass_fields__") for member in value)


def _members(value: frozenset[Any]) -> list[str]:
    """The members of a set as people write them, in order."""
    return sorted((plain(member) for member in value), key=natural)


def call_text(action: str, params: Params) -> str:
    """An action with its parameters."""
    return f"{action}({', '.join(f'{name}={plain(value)}' for name, value in params.items())})"


def step_call(step: TraceStep) -> str:
    """The action of a step with its parameters."""
    return call_text(step.action, step.params)


def in_a_row(steps: Sequence[TraceStep]) -> list[str]:
    """Steps one after another; where they are long, in several lines that break between steps."""
    first, *others = filled([step_call(step) for step in steps], " > ") or [""]
    return [first, *(f"> {line}" for line in others)] if steps else []


def filled(parts: Sequence[str], separator: str, width: int = ROW) -> list[str]:
    """Texts one after another in lines of at most `width` letters, which break between texts alone."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(separator) + len(part) <= width:
            lines[-1] += separator + part
        else:
            lines.append(part)
    return lines


def in_short(state: Any) -> list[tuple[str, str]]:
    """The fields of a whole state, as few lines say them: a record on one line where it fits, and ids of which a map
    says the same together.
    """
    rows: list[tuple[str, str]] = []
    for name in state.__dataclass_fields__:
        rows += _rows_of(name, getattr(state, name))
    return rows


def _rows_of(path: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Map):
        alike: dict[Any, list[Any]] = {}
        for key, entry in map_entries(value):
            alike.setdefault(entry, []).append(key)
        return [row for entry, keys in alike.items() for row in _rows_of(f"{path}[{_keys(keys)}]", entry)]
    if hasattr(value, "__dataclass_fields__") and (not path or len(f"{path} = {plain(value)}") > ONE_LINE):
        names = value.__dataclass_fields__
        return [row for name in names for row in _rows_of(f"{path}.{name}", getattr(value, name))]
    return [(path, plain(value))]


def _keys(keys: list[Any]) -> str:
    """Keys of a map: numbers that follow each other as a range, tuples in brackets if there are several."""
    if len(keys) == 1:
        return place_text(keys[0])
    texts = [f"({place_text(key)})" if isinstance(key, tuple) else plain(key) for key in keys]
    if len(keys) > 2 and all(text.isdigit() for text in texts):
        numbers = [int(text) for text in texts]
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return f"{numbers[0]}..{numbers[-1]}"
    return ", ".join(texts)


def told(trace: Trace, bound: BoundModel) -> str:
    """The text that `tell` prints."""
    return printed(lambda console: tell(trace, bound, console)).rstrip()


def heading(trace: Trace) -> str:
    """A line that names the violation, cover or error that the trace shows."""
    meta = trace.meta
    name = meta.get("property")
    steps = quantity(len(trace) - 1, "step")
    what = f"{name} is violated after {steps}" if name else steps
    if meta.get("property_kind") == "cover":
        what = f"{name} is reached after {steps}"
    if meta.get("property_kind") == "deadlock":
        what = f"nothing is enabled after {steps}"
    if meta.get("property_kind") == RAISES:
        what = f"{meta.get(RAISES, {}).get('by', 'the model')} raises after {steps}"
    if name and trace.loop is not None:
        what = f"{name} is violated by a run that never ends"
    return f"{meta.get('model', '')}: {what}"


def ending(trace: Trace, bound: BoundModel) -> list[str]:
    """Lines on its meaning: the docstring of the property; the guard whose removal makes the trace possible."""
    claim = claim_of(trace, bound)
    lines = promise(claim.doc).splitlines() if claim is not None else []
    without = trace.meta.get("without")
    return lines + ([f"Without the guard {without}."] if without else [])


def promise(doc: str) -> str:
    """The first paragraph of a property's docstring, without the numbers of claims that it begins with.

    One property can stand for several claims, and a run is known by the number of one of them.
    """
    whole = doc.split("\n\n")[0]
    paragraph = CLAIMS.sub("", whole)
    return whole if paragraph == whole else paragraph[:1].upper() + paragraph[1:]  # an expression stays as it is


def reasons_of_all(trace: Trace, bound: BoundModel) -> list[str]:
    """The `reasons` of a trace; of a run that violates several properties, each of the others by name."""
    lines = reasons(trace, bound)
    for other in of_each_property(trace):
        if other.meta["property"] == trace.meta["property"]:
            continue
        more = [line for line in reasons(other, bound) if line not in lines]
        lines += [f"{other.meta['property']} is violated too", *more]
    return lines


def moves(trace: Trace) -> list[tuple[TraceStep, Any, Any]]:
    """Each step with the states before and after it; of a loop, the step back to its start comes last."""
    triples = list(zip(trace.steps[1:], trace.states, trace.states[1:], strict=False))
    if trace.closing is not None and trace.loop is not None:
        triples.append((trace.closing, trace.states[-1], trace.states[trace.loop]))
    return triples


def tell(trace: Trace, bound: BoundModel, console: Console, earlier: Sequence[Trace] = ()) -> None:
    """The story as text, coloured if the console is; in a terminal with a blank line between steps.

    earlier: told already; their beginnings are not repeated.
    """
    console.print(heading(trace), style="bold")
    for line in ending(trace, bound):
        console.print("  " + line, style="bold")
    shared, same = _common_beginning(trace, earlier)
    console.print(f"  0. {step_call(trace.steps[0])}", style="cyan")
    if shared is None:
        for name, value in in_short(trace.states[0]):
            console.print(f"       {name} = {value}", style="dim")
    else:
        first = ("the initial state is that", "the initial state and step 1 are those")
        begins = first[same] if same < len(first) else f"the initial state and steps 1 to {same} are those"
        console.print(f"       {begins} of {_named(shared)}", style="dim")
    for i, (step, before, after) in enumerate(moves(trace), 1):
        if i <= same:
            continue
        if console.is_terminal:
            console.print()
        did = StyledText(f"  {i}. ", style="cyan")
        did.append(f"{step.actor}: ", style="bold cyan")
        did.append(step_call(step), style="cyan")
        console.print(did)
        changed = changes(before, after)
        for change in changed:
            console.print(_row(change))
        if not changed:
            console.print("       nothing changes", style="dim")
    because = reasons_of_all(trace, bound)
    if because and console.is_terminal:
        console.print()
    for line in because:
        console.print("  " + line, style="bold red")


def _common_beginning(trace: Trace, earlier: Sequence[Trace]) -> tuple[Trace | None, int]:
    """The earlier trace that has the longest beginning in common, and its steps; the last step is always told."""
    best: tuple[Trace | None, int] = (None, 0)
    for other in earlier:
        same = 0
        for mine, theirs in zip(zip(trace.states, trace.steps), zip(other.states, other.steps), strict=False):  # noqa: B905
            if mine != theirs:
                break
            same += 1
        same = min(same, len(trace) - 1) if len(trace) > 1 else same
        if same and (best[0] is None or same - 1 > best[1]):
            best = (other, same - 1)
    return best


def _named(trace: Trace) -> str:
    name = trace.meta.get("property")
    return f"{name}, above" if name else "the trace above"


def _row(change: Change) -> StyledText:
    """A change as a line: what was is dim, what is bold. Red is for what is violated."""
    row = StyledText(f"       {change.field}: ")
    if not change.old or not change.new:
        sign, text, style = ("-", change.old, "dim") if change.old else ("+", change.new, "bold")
        return row.append(f"{sign} {text}", style=style)
    row.append(change.old, style="dim")
    row.append(" -> ")
    return row.append(change.new, style="bold")


def tell_astray(name: str, states: Sequence[Any], bound: BoundModel, console: Console) -> None:
    """A counterexample to induction: its first state in full, and then each step and what it changes."""
    console.print(f"{name} is not preserved by this step; perhaps no run reaches its state", style="bold")
    for field, value in in_short(states[0]):
        console.print(f"       {field} = {value}", style="dim")
    for k in range(1, len(states)):
        console.print(f"  {k}. {_step_of(states[k - 1], states[k], bound)}", style="cyan")
        for change in changes(states[k - 1], states[k]):
            console.print(_row(change))


def _step_of(before: Any, after: Any, bound: BoundModel) -> str:
    """The first step by which plain Python leads from a state, which may be unreachable, to another one."""
    for step in bound.attempts(before):  # in a state that no run reaches an action may raise
        if isinstance(step, Step) and step.after == after:
            return f"{step.action.who}: {call_text(step.action.name, step.params)}"
    return "a step"


def markdown(trace: Trace, bound: BoundModel) -> str:
    """The story as Markdown."""
    lines = [f"# {heading(trace)}", ""]
    matters = ending(trace, bound)
    lines += [*matters, ""] if matters else []
    config = ", ".join(f"{k}={v}" for k, v in trace.meta.get("config", {}).items())
    if config:
        lines += [f"Configuration: {config}.", ""]
    lines += [f"0. `{step_call(trace.steps[0])}`", ""]
    lines += [f"   {name} = {value}  " for name, value in in_short(trace.states[0])]
    for i, (step, before, after) in enumerate(moves(trace), 1):
        lines += ["", f"{i}. **{step.actor}**: `{step_call(step)}`", ""]
        rows = changes(before, after)
        lines += [f"   {_marked(change)}  " for change in rows] or ["   nothing changes"]
    because = reasons_of_all(trace, bound)
    if because:
        lines += ["", "```", *because, "```"]
    if "repro" in trace.meta:
        lines += ["", f"Found by `{trace.meta['repro']}`."]
    return "\n".join(lines) + "\n"


def _marked(change: Change) -> str:
    """A change as Markdown, what is new in bold."""
    if change.old and change.new:
        return f"{change.field}: {change.old} → **{change.new}**"
    return f"{change.field}: - {change.old}" if change.old else f"{change.field}: + **{change.new}**"
