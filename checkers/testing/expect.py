"""Checking a model within a test: what is expected is said in the call, and a failure is told as a story."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from reassure.checkers.api import LoadedModel, check, loaded_with
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.request.engine_results import CoverResult
from reassure.checkers.request.options import DEFAULT_ENGINE
from reassure.checkers.request.result import CheckResult, PropertyResult, PropertyStatus, bound_of
from reassure.checkers.testing import ModelCheckFailed
from reassure.checkers.traces.render import told
from reassure.spec.semantics.interpreter import BoundModel

ESTABLISHED = (PropertyStatus.HOLDS, PropertyStatus.HOLDS_WITHIN_BOUNDS, PropertyStatus.PROVED)


def wrong(result: PropertyResult | CoverResult, bound: BoundModel) -> str:
    """The reason why a property or cover is not established, with its counterexample; empty if it is."""
    if isinstance(result, CoverResult):
        return "" if result.reached else f"cover {result.name} is not reached"
    if result.status in ESTABLISHED:
        return ""
    if result.trace is not None:
        return told(result.trace, bound_of(result, bound))
    note = f" ({result.note})" if result.note else ""
    return f"{result.name}: {str(result.status).replace('_', ' ')}{note}"


def remaining(result: CheckResult) -> str:
    """The reason why a run as a whole is not a pass, beside its properties and covers; empty if it is."""
    if not result.properties and not result.covers:
        return "nothing was checked"
    if result.stats.undeclared:
        return f"{result.stats.undeclared:,} steps leave bounds that the model does not declare"
    return "" if result.complete else f"the search did not end: {result.stopped_because}"


class Expecting:
    """The fixture `reassure_check`."""

    def __init__(self, folder: Path, engine: str | None) -> None:
        self.folder = folder
        self.engine = engine or DEFAULT_ENGINE

    def __call__(
        self,
        model: str | Path | LoadedModel,
        *,
        violated: Collection[str] = (),
        unreached: Collection[str] = (),
        properties: Sequence[str] = (),
        budget: float | None = None,
        **settings: Any,
    ) -> CheckResult:
        """Searches every reachable state; the result.

        Args:
            model: a name, a path relative to the test's file, or what `reassure.load` gives.
            violated: exactly these properties are violated.
            unreached: exactly these covers are never reached.
            properties: names or patterns of properties and covers (none: all).
            budget: seconds; a search that does not end fails.
            settings: the configuration.

        Raises:
            ModelCheckFailed: something else is so, there is no such model, or a setting is wrong.
        """
        __tracebackhide__ = True
        try:
            loaded = loaded_with(model if isinstance(model, LoadedModel) else self._path(model), settings)
            result = check(loaded, engine=self.engine, properties=properties, budget=budget)
        except Failure as failure:
            raise ModelCheckFailed(str(failure)) from None
        problems = _problems(result, loaded.bound, set(violated), set(unreached))
        if problems:
            head = f"{loaded.name}: {result.verdict}; again: {result.repro}"
            raise ModelCheckFailed("\n\n".join([head, *problems]))
        return result

    def _path(self, model: str | Path) -> str:
        beside = self.folder / model
        return str(beside) if beside.is_file() else str(model)


def _problems(result: CheckResult, bound: BoundModel, violated: set[str], unreached: set[str]) -> list[str]:
    """Lists what is not as expected, the shortest counterexample first; only that one is printed in full."""
    fallen = {p.name for p in result.properties if p.status is PropertyStatus.VIOLATED}
    idle = {c.name for c in result.covers if not c.reached}
    open_ones = [p for p in result.properties if p.name not in violated and p.status not in ESTABLISHED]
    open_ones.sort(key=lambda p: len(p.trace) if p.trace is not None else 0)
    example = next((p for p in open_ones if p.trace is not None), None)
    problems = [wrong(p, bound) for p in open_ones if p is example or p.trace is None]
    others = [p.name for p in open_ones if p is not example and p.trace is not None]
    problems += [f"also violated: {', '.join(others)}"] if others else []
    problems += [f"cover {name} is not reached" for name in sorted(idle - unreached)]
    problems += [f"not violated: {name}" for name in sorted(violated - fallen)]
    problems += [f"{name} is not an unreachable cover" for name in sorted(unreached - idle)]
    rest = remaining(result)
    return [*problems, rest] if rest else problems
