"""Explanation of disabled actions: the guard that refuses each choice of parameters, and the values that it read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from reassure.checkers.traces.explain import (
    Scene,
    evaluated,
    explained,
    false_because,
    values_read,
    within_calls,
    within_members,
)
from reassure.spec.frontend.introspection import find_source
from reassure.spec.language.vocabulary import Action, GuardRefused
from reassure.spec.semantics.interpreter import BoundModel, FailedCall, Params, Step

EXAMPLES = 20
"""Choices of parameters that are explained for each guard; the others are counted."""
GUARDS = ("require", "some", "refuse")


@dataclass(frozen=True)
class RefusedChoice:
    """A choice of parameters that a guard refuses. values: what made the guard false."""

    params: Params
    values: tuple[str, ...]


@dataclass
class RefusingGuard:
    """A guard that refuses an action in a state. count: choices of parameters that it refuses."""

    file: str
    line: int
    text: str
    note: str
    count: int = 0
    examples: list[RefusedChoice] = field(default_factory=list)


@dataclass
class Attempts:
    """The outcomes of an action in a state, over all choices of its parameters."""

    enabled: list[Step] = field(default_factory=list)
    """Steps; one that leaves a bound is among them."""
    failed: list[FailedCall] = field(default_factory=list)
    guards: list[RefusingGuard] = field(default_factory=list)
    undrawn: list[str] = field(default_factory=list)
    """Parameters without a value in this state: the set that they are drawn from is empty."""


class ExplainingModel(BoundModel):
    """A bound model that notes which guard refuses what."""

    def __init__(self, bound: BoundModel) -> None:
        super().__init__(bound.model, bound.config)
        self._printed = (bound.model.state, bound.model.config, *bound.views)
        self._guards: dict[tuple[str, str, int], RefusingGuard] = {}
        """By action, file and line."""

    def attempts_by_action(self, state: Any) -> dict[str, Attempts]:
        """The outcomes of each action in a state, in the order of declaration."""
        self._guards = {}
        attempts_of = {action.name: Attempts() for action in self.model.actions}
        for outcome in self.attempts(state):
            if isinstance(outcome, FailedCall):
                attempts_of[outcome.action.name].failed.append(outcome)
            else:
                attempts_of[outcome.action.name].enabled.append(outcome)
        for (name, _, _), guard in self._guards.items():
            attempts_of[name].guards.append(guard)
        for declared, callee in self._actions:
            attempts = attempts_of[declared.name]
            if not attempts.failed:
                attempts.undrawn = [name for name, draw in callee.drawn.items() if not tuple(draw(state))]
        return attempts_of

    def refusal(self, state: Any, name: str, params: Params) -> RefusingGuard | None:
        """The guard that refuses a step; None if none does."""
        self._guards = {}
        try:
            self.take(state, name, params)
        except GuardRefused as refused:
            return next(iter(self._guards.values()), None) or RefusingGuard("", 0, str(refused), "", 1)
        return None

    def _run(self, name: str, callee: Any, positional: tuple[Any, ...], params: Params) -> Any:
        try:
            return super()._run(name, callee, positional, params)
        except GuardRefused as refused:
            self._note(name, params, refused)
            raise

    def _note(self, name: str, params: Params, refused: GuardRefused) -> None:
        """Counts a refusal, and explains the first ones of each guard."""
        place = _place_of(refused)
        if place is None:
            return
        if place[0].f_code is Action.__call__.__code__:
            self._note_added(name, params, refused, place[0].f_locals)
            return
        frame, line = place
        file = frame.f_code.co_filename
        guard = self._guards.get((name, file, line))
        called = None if guard is not None and guard.count >= EXAMPLES else _guard_call(file, line, _modified(file))
        if guard is None:
            text = ast.unparse(called.call) if called is not None else _source_line(file, line)
            guard = self._guards[name, file, line] = RefusingGuard(file, line, text, str(refused))
        guard.count += 1
        if called is not None:
            scene = Scene({**frame.f_globals, **frame.f_locals}, frozenset(frame.f_code.co_varnames), self._printed)
            values = explained(partial(_values, called, scene))
            guard.examples.append(RefusedChoice(params, tuple(values)))

    def _note_added(self, name: str, params: Params, refused: GuardRefused, local: Mapping[str, Any]) -> None:
        """Counts the refusal of a guard that a variant added, and explains the first ones."""
        condition = local["guard"]
        tree, file, lines = find_source(condition)
        key = name, file, tree.lineno
        if key not in self._guards:
            text = ast.unparse(tree.body) if isinstance(tree, ast.Lambda) else lines[tree.lineno - 1].strip()
            self._guards[key] = RefusingGuard(file, tree.lineno, text, str(refused))
        guard = self._guards[key]
        guard.count += 1
        if isinstance(tree, ast.Lambda) and guard.count <= EXAMPLES:
            given = local["given"]
            scene = Scene({**condition.__globals__, **given}, frozenset(given), self._printed)
            called = _GuardCall(ast.Call(ast.Name("require", ast.Load()), [tree.body], []), None)
            guard.examples.append(RefusedChoice(params, tuple(explained(partial(_values, called, scene)))))


COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)


@dataclass(frozen=True)
class _GuardCall:
    """A guard in the text of a model. condition: of the innermost `if` in whose body it stands."""

    call: ast.Call
    condition: ast.expr | None


def _place_of(refused: GuardRefused) -> tuple[FrameType, int] | None:
    """The frame and line that called the guard."""
    places: list[tuple[FrameType, int]] = []
    trace: TracebackType | None = refused.__traceback__
    while trace is not None:
        places.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return places[-2] if len(places) > 1 else None


@lru_cache(maxsize=4096)
def _guard_call(file: str, line: int, modified: int) -> _GuardCall | None:
    """The guard that is called on a line of a file; None if it cannot be read there. modified: when the file was."""
    tree = _tree(file, modified)
    if tree is None:
        return None
    calls = [call for call in _guards_in(tree) if call.lineno <= line <= (call.end_lineno or line)]
    if not calls:
        return None
    call = min(calls, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    around = (node for node in ast.walk(tree) if isinstance(node, ast.If) and call in _statements(node.body))
    inner = max(around, key=lambda node: node.lineno, default=None)
    return _GuardCall(call, inner.test if inner is not None else None)


def _guards_in(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in GUARDS:
            yield node


def _statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for statement in body:
        yield from ast.walk(statement)


def _values(called: _GuardCall, scene: Scene) -> list[str]:
    """Lines that show the values for which a guard refuses."""
    call, condition = called.call, called.condition
    kind = call.func.id if isinstance(call.func, ast.Name) else ""
    if kind == "refuse" and condition is not None:
        return [f"because true: {ast.unparse(condition)}", *values_read(_compared(condition, scene), scene)]
    if kind != "require" or not call.args:
        return values_read(call.args[:1], scene)
    lines = false_because(call.args[0], scene)
    lines = lines[1:] if lines[0] == f"false: {ast.unparse(call.args[0])}" else lines
    within = [*within_calls(call.args[0], scene), *within_members(call.args[0], scene)]
    return [line.strip() for line in lines + within]


def _compared(condition: ast.expr, scene: Scene) -> list[ast.expr]:
    """The operands of the comparisons that a condition evaluates, constants apart.

    A comprehension has names of its own.
    """
    operands: list[ast.expr] = []
    nodes: list[ast.AST] = [condition]
    for node in nodes:  # grows meanwhile
        if isinstance(node, (ast.BoolOp, ast.Compare, ast.IfExp)):
            parts = evaluated(node, scene)
            operands += parts if isinstance(node, ast.Compare) else []
            nodes += parts
        elif not isinstance(node, COMPREHENSIONS):
            nodes += ast.iter_child_nodes(node)
    return [side for side in operands if not isinstance(side, ast.Constant)]


def _modified(file: str) -> int:
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _tree(file: str, modified: int) -> ast.Module | None:
    """The syntax tree of a file, as it was modified last."""
    try:
        return ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None


def _source_line(file: str, line: int) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()[line - 1].strip()
    except (OSError, IndexError, UnicodeDecodeError):
        return "a guard"
