"""Does a run of a model match a log? The search over sets of possible states, line by line.

Linear in the log: after each line only the states are kept that the model can be in, each with one run to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from reassure.checkers.analyses.validate.observations import Line, differences, matches_observation
from reassure.checkers.analyses.validate.steppers import Key, Stepper
from reassure.checkers.machine.stop import Interrupted, StopReason
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.reconstruct import Disagreement, replayed_trace
from reassure.spec.language.vocabulary import GuardRefused
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Params, Step
from reassure.spec.semantics.trace import Trace, guard_of

EXAMINED = 1000
"""Possible states for which the reasons are asked of plain Python."""


class LogNode:
    """A possible state with the run that leads to it; runs that lead nowhere are freed with their last state."""

    __slots__ = ("before", "key", "line")

    def __init__(self, key: Key, before: LogNode | None, line: Line | None) -> None:
        self.key, self.before, self.line = key, before, line
        """line: that the step to it is of; None: a hidden step, or an initial state."""


@dataclass
class LogExplanation:
    """The explanation of a log: its lines, and the first that no behaviour explains."""

    bound: BoundModel
    lines: int = 0
    """That are explained."""
    observes: bool = False
    """Whether one of them says anything of a run."""
    failed: Line | None = None
    """The first line that no behaviour explains."""
    possible: list[Any] = field(default_factory=list)
    """The possible states at the end: after the last line, or when the line that failed comes."""
    possible_count: int = 0
    widest: int = 0
    """States that were possible at once, hidden steps included, at most."""
    hidden_steps: int = 0
    """Of the behaviour."""
    examined: int = 0
    """Possible states that were asked for reasons."""
    clipped: bool = False
    """Whether a step that might have explained a line leaves a bound."""
    behaviour: Trace | None = None
    """One that explains the lines, replayed in plain Python."""

    @cached_property
    def reasons(self) -> list[tuple[str, int]]:
        """Reasons against the line that failed: each with the number of possible states of which it is true."""
        return [] if self.failed is None else _reasons(self.bound, self.possible, self.failed)


def explain_log(
    bound: BoundModel,
    stepper: Stepper,
    lines: Iterable[Line],
    hidden: frozenset[str],
    most: int,
    look: Callable[[int, int], None],
) -> LogExplanation:
    """Matches a log to the model. hidden: actions that may be taken between lines without being observed.

    most: states that may be possible at once; `Interrupted` where there are more. look: called with the number of lines
    and of possible states; raises to end the search.
    """
    answer = LogExplanation(bound)
    layer = {key: LogNode(key, None, None) for key in stepper.initial()}
    for line in lines:
        look(answer.lines, len(layer))
        before = _with_hidden(stepper, layer, hidden, most, line) if hidden else layer
        answer.widest = max(answer.widest, len(before))
        layer = _after(stepper, before, line)
        _allow(layer, most, line)
        if not layer:
            answer.failed = line
            layer = before
            break
        answer.lines += 1
        answer.observes |= line.observes
    answer.widest, answer.clipped = max(answer.widest, len(layer)), stepper.clipped
    nodes = list(layer.values())
    answer.possible_count = len(nodes)
    answer.possible = [stepper.state(node.key) for node in nodes[:EXAMINED]]
    if answer.failed is not None:
        answer.examined = len(answer.possible)
    answer.behaviour = _behaviour(bound, stepper, nodes[0], hidden, answer)
    return answer


def _allow(layer: dict[Key, LogNode], most: int, line: Line) -> None:
    if len(layer) > most:
        raise Interrupted(
            StopReason.MEMORY,
            f"at line {line.number} more than {most:,} states are possible: observe more fields, hide fewer actions, "
            "or raise --width",
        )


def _with_hidden(
    stepper: Stepper, layer: dict[Key, LogNode], hidden: frozenset[str], most: int, line: Line
) -> dict[Key, LogNode]:
    """The possible states, with those that hidden steps lead to."""
    reached, frontier = dict(layer), list(layer)
    while frontier:
        fresh = []
        for source, key in stepper.moved(frontier, hidden):
            if key not in reached:
                reached[key] = LogNode(key, reached[frontier[source]], None)
                fresh.append(key)
        _allow(reached, most, line)
        frontier = fresh
    return reached


def _after(stepper: Stepper, before: dict[Key, LogNode], line: Line) -> dict[Key, LogNode]:
    """The possible states after a line; where several runs lead to one, the first is kept."""
    keys = list(before)
    if line.actions is None:
        return {key: before[key] for key, fits in zip(keys, stepper.matching(keys, line), strict=True) if fits}
    reached: dict[Key, LogNode] = {}
    for source, key in stepper.after(keys, line):
        if key not in reached:
            reached[key] = LogNode(key, before[keys[source]], line)
    return reached


def _behaviour(
    bound: BoundModel, stepper: Stepper, last: LogNode, hidden: frozenset[str], answer: LogExplanation
) -> Trace:
    """The run to a possible state, its steps found in plain Python and replayed."""
    nodes = [last]
    while (before := nodes[-1].before) is not None:
        nodes.append(before)
    nodes.reverse()
    answer.hidden_steps = sum(node.line is None for node in nodes[1:])
    states, steps = [stepper.state(nodes[0].key)], []
    for node in nodes[1:]:
        after = stepper.state(node.key)
        steps.append(_step(bound, states[-1], after, node.line, hidden))
        states.append(after)
    return replayed_trace(bound, states, steps)


def _step(bound: BoundModel, before: Any, after: Any, line: Line | None, hidden: frozenset[str]) -> Step:
    for step in bound.steps(before):
        if step.after == after and (
            step.action.name in hidden if line is None else _is_of(step.action.name, step.params, line)
        ):
            return step
    raise Disagreement(f"plain Python has no step from {before} to {after} that explains line {line and line.number}")


def _is_of(action: str, params: Params, line: Line) -> bool:
    """Whether a step is one that a line may be of."""
    if line.actions is None or action not in line.actions:
        return False
    return all(matches_observation(params[name], value) for name, value in line.params.items())


class _Refusals(BoundModel):
    """A bound model that notes which guard refuses what."""

    def __init__(self, bound: BoundModel) -> None:
        super().__init__(bound.model, bound.config)
        self.refused: list[tuple[str, Params, str]] = []

    def undrawn(self, name: str, state: Any) -> list[str]:
        """Parameters of an action without a value in a state: the set that they are drawn from is empty."""
        (drawn,) = [callee.drawn for declared, callee in self._actions if declared.name == name]
        return [parameter for parameter, draw in drawn.items() if not tuple(draw(state))]

    def _run(self, name: str, callee: Any, positional: tuple[Any, ...], params: Params) -> Any:
        try:
            return super()._run(name, callee, positional, params)
        except GuardRefused as refused:
            self.refused.append((name, params, guard_of(refused)))
            raise


def _reasons(bound: BoundModel, states: list[Any], line: Line) -> list[tuple[str, int]]:
    """The reasons why none of these states explains a line: guards that refuse, and what is otherwise than observed."""
    watched, counts = _Refusals(bound), Counter[str]()
    for state in states:
        if line.actions is None:
            counts.update({_difference(path, value, seen) for path, value, seen in differences(state, line.state)})
            continue
        watched.refused = []
        texts = set()
        for step in watched.steps(state):
            if not _is_of(step.action.name, step.params, line):
                continue
            if isinstance(step.after, Clipped):
                texts.add(f"{step.action.name} leaves the bound of {step.after.path}")
            else:
                unlike = differences(step.after, line.state)
                texts |= {f"{step.action.name} is enabled, and then {_difference(*one)}" for one in unlike}
        tried = [(name, params, guard) for name, params, guard in watched.refused if _is_of(name, params, line)]
        texts |= {f"{name} is not enabled: {guard}" for name, _, guard in tried}
        if not texts:
            texts = {_without_parameters(name, watched.undrawn(name, state)) for name in sorted(line.actions)}
        counts.update(texts)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _without_parameters(name: str, undrawn: list[str]) -> str:
    """The reason why a state has no call of an action with the parameters of a line. undrawn: those without a value."""
    if undrawn:
        hint = "; an action that is not in the log may have to fill it: --hidden ACTION"
        return f"{name} has no value for {', '.join(undrawn)}: the set that it is drawn from is empty{hint}"
    return f"no call of {name} has the parameters of the line"


def _difference(path: str, value: Any, seen: Any) -> str:
    return f"{path} is {plain(value)}; the line says {plain(seen)}"
