"""Searches against the reference engine: the same verdicts, counts and traces."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest.mock import patch

from reassure.checkers.encoding import state_layout
from reassure.checkers.engines.native import engine
from reassure.checkers.request.engine_results import EngineResult
from reassure.checkers.request.options import SearchOptions, SparkOptions
from reassure.checkers.request.result import CheckResult
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.semantics.interpreter import ModelError
from reassure.spec.semantics.trace import from_itf, replay, to_itf
from tests.fuzz.subject import Difference, Subject, error_kind
from tests.helpers.runs import plain_result, result_of


def everything(verdict: CheckResult) -> dict[str, object]:
    """All that engines must agree on."""
    record = verdict.record({})
    found = {k: record[k] for k in ("verdict", "complete", "stopped_because", "properties", "covers", "actions")}
    found |= {k: record["stats"][k] for k in ("generated", "distinct", "depth", "clipped", "clipped_at", "frontier")}
    found["undeclared"] = verdict.stats.undeclared
    for p in [*verdict.properties, *verdict.covers]:
        if p.trace is not None:
            found[f"trace of {p.name}"] = (p.trace.states, [(s.action, s.params) for s in p.trace.steps])
    return found


def searched(subject: Subject, check: Callable[..., CheckResult], **options: Any) -> dict[str, object] | str:
    """What an engine says of the levels that were searched; of a model that raises, that it does."""
    chosen = SearchOptions(depth=subject.depth, witness=True, **options)
    try:
        return everything(check(chosen))
    except ModelError as error:
        return f"ModelError {error}"


def plain(subject: Subject) -> dict[str, object] | str:
    return searched(subject, lambda o: plain_result(subject.bound, o))


def wide(subject: Subject) -> Iterator[Difference]:
    """States of many words, none with more bits than the widest field has; the canonical order is theirs."""
    widest = max((f.code.bits for f in state_layout.state_layout(subject.bound).fields), default=1)
    with patch.object(state_layout, "layout_of", partial(state_layout.layout_of, room=widest)):
        yield from native(subject, (1, 3), "wide")


def native(subject: Subject, threads: tuple[int, ...] = (1, 2, 3), name: str = "native") -> Iterator[Difference]:
    """The native engine on several numbers of threads. name: of the comparison."""

    def check(options: SearchOptions) -> CheckResult:
        return result_of(engine.check, subject.bound, options, subject.lowered)

    want = plain(subject)
    for workers in threads:
        found = _different(want, lambda w=workers: searched(subject, check, workers=w))
        if found is not None:
            yield Difference(name, found[0], f"{workers} threads: {found[1]}")
            return


def on_cluster(*given: Any) -> EngineResult:
    """The distributed engine, as an engine of this process."""
    from reassure.checkers.engines.spark import engine as distributed

    return distributed.check(*given, SparkOptions("local[2]", small=1))


def spark(subject: Subject) -> Iterator[Difference]:
    """The distributed engine, every level of it on the cluster. Needs a Java runtime."""

    def check(options: SearchOptions) -> CheckResult:
        return result_of(on_cluster, subject.bound, options, subject.lowered)

    found = _different(plain(subject), lambda: searched(subject, check))
    if found is not None:
        yield Difference("spark", *found)


def _different(want: dict[str, object] | str, run: Callable[[], dict[str, object] | str]) -> tuple[str, str] | None:
    try:
        return differing(want, run())
    except Disagreement as error:
        return "plain Python contradicts it", str(error)


def differing(want: dict[str, object] | str, got: dict[str, object] | str) -> tuple[str, str] | None:
    """Where two answers differ, the worst first."""
    if isinstance(want, str) or isinstance(got, str):
        if isinstance(want, str) and isinstance(got, str):
            return None
        kind = (
            f"Python raises {error_kind(want)}, it does not" if isinstance(want, str) else "it raises, Python does not"
        )
        return kind, f"{want if isinstance(want, str) else got}"
    for key in ("properties", "covers", "distinct", "generated", "clipped", "clipped_at", "actions", *want):
        if want[key] != got.get(key):
            return f"another value of {key.split(' of ')[0]}", f"{key}: Python {want[key]}, it {got.get(key)}"
    return None


def replays(subject: Subject) -> Iterator[Difference]:
    """Traces of plain Python, written and read again, are replayed."""
    try:
        verdict = plain_result(subject.bound, SearchOptions(depth=subject.depth, witness=True))
    except ModelError:
        return
    for found in [*verdict.properties, *verdict.covers]:
        if found.trace is None:
            continue
        again = from_itf(json.loads(to_itf(found.trace, subject.bound)), subject.bound)
        if again.states != found.trace.states:
            yield Difference("replay", "a trace is read as another", found.name)
        replay(again, subject.bound)
