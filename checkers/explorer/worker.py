"""The work of the processes beside the explorer: a native search of every state, or for an expression."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any, NoReturn, NotRequired, TypedDict

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.console.failures import as_failure
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import quantity
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.outside_values import values_digest
from reassure.checkers.request.result import CheckResult, PropertyResult
from reassure.checkers.traces.named_path import named_path, to_text
from reassure.checkers.traces.render import step_call
from reassure.spec.semantics.interpreter import BoundModel

BEAT = 0.2
"""Seconds between two messages about how far a search is."""


class ClaimFound(TypedDict):
    """A property or cover after a search. path: of the run that shows it. loop: where that goes on for ever, if so."""

    name: str
    kind: NotRequired[str]
    status: str
    note: NotRequired[str]
    depth: int | None
    path: str | None
    loop: NotRequired[str]


class SearchFound(TypedDict):
    """A search that has ended. digest, values: of the model that was searched. traced: properties with a run."""

    state: str
    text: str
    verdict: str
    exit_code: int
    digest: str | None
    values: str
    states: int
    levels: int
    clipped: int
    properties: list[ClaimFound]
    covers: list[ClaimFound]
    traced: int
    repro: str


class StateFound(TypedDict):
    """The answer to a search for an expression. state: found, unreachable or unknown."""

    expression: str
    path: str | None
    reasons: list[str]
    state: str
    text: str


class SentProgress(Progress):
    """Progress as messages to the process that waits for them."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(quiet=True)
        self.connection = connection
        self.sent = 0.0

    def report(self, depth: int, generated: int, distinct: int, frontier: int, memory: int, more: str = "") -> None:
        """See `Progress`."""
        if time.monotonic() >= self.sent + BEAT:
            self.sent = time.monotonic()
            far = {
                "levels": depth,
                "states": distinct,
                "frontier": frontier,
                "seconds": round(self.sent - self.began, 1),
            }
            self.connection.send({"progress": far})


def serve(connection: Connection, model: str, settings: list[str], options: SearchOptions, expression: str) -> None:
    """The whole of a process: searches, or finds a state if there is an expression, and sends what comes out."""
    signal.signal(signal.SIGTERM, _interrupt)
    progress = SentProgress(connection)
    answer: Mapping[str, object]
    try:
        answer = (
            _state_at(model, settings, options, expression, progress)
            if expression
            else searched(model, settings, options, progress)
        )
    except KeyboardInterrupt:
        answer = {"state": "interrupted", "text": "stopped before there was anything to tell"}
    except BrokenPipeError:
        return  # the explorer has gone
    except BaseException as error:
        answer = {"state": "refused", "text": str(as_failure(error))}
    connection.send({"answer": answer})


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def searched(model: str, settings: list[str], options: SearchOptions, progress: Progress) -> SearchFound:
    """A search of every reachable state."""
    result, bound = run(CheckRequest(model, settings, "native", options), progress)
    record = result.record({})
    return {
        "state": "complete" if result.complete else "incomplete",
        "text": result.stopped_because,
        "verdict": record["verdict"],
        "exit_code": record["exit_code"],
        "digest": result.identity.model_sha256,
        "values": values_digest(bound),
        "states": result.stats.distinct,
        "levels": result.stats.depth,
        "clipped": result.stats.clipped,
        "properties": [_property(p, bound) for p in result.properties],
        "covers": [
            {"name": c.name, "status": _cover_status(c.reached, result), "depth": c.depth, "path": _path(c, bound)}
            for c in result.covers
        ],
        "traced": sum(a.trace is not None for a in result.answers),
        "repro": result.repro,
    }


def _property(result: PropertyResult, bound: BoundModel) -> ClaimFound:
    return {
        "name": result.name,
        "kind": result.kind,
        "status": result.status,
        "note": result.note,
        "depth": result.depth,
        "path": _path(result, bound),
        "loop": _loop(result, bound),
    }


def _cover_status(reached: bool, result: CheckResult) -> str:
    if reached:
        return "reached"
    return "unreachable" if result.complete and not result.stats.clipped else "not reached so far"


def _path(result: Any, bound: BoundModel) -> str | None:
    return None if result.trace is None else to_text(named_path(result.trace, bound))


def _loop(result: PropertyResult, bound: BoundModel) -> str:
    """Of a run that never ends: where it goes on, in words."""
    trace = result.trace
    if trace is None or trace.loop is None:
        return ""
    if trace.closing is None:
        return "the run stays in its last state for ever"
    return f"{step_call(trace.closing)} leads back to state {trace.loop}, and so on for ever"


def _state_at(
    model: str, settings: list[str], options: SearchOptions, expression: str, progress: Progress
) -> StateFound:
    """The shortest path to a state, or over a step, of which an expression is true."""
    from reassure.checkers.analyses.find.analysis import find

    answer = find(model, settings, expression, options, progress, weigh_guards=False)
    states = quantity(answer.result.stats.distinct, "state")
    path = _path(answer, answer.bound)
    if answer.exit is Exit.OK:
        steps = len(answer.trace) - 1 if answer.trace is not None else 0
        state, text = "found", f"found after {quantity(steps, 'step')}, among {states}"
    elif answer.unreachable:
        state, text = "unreachable", f"never true in this configuration: all {states} were visited"
    elif answer.exit is Exit.MODEL:
        state, text = "unknown", f"unknown: something raises first, in a search of {states}"
    else:
        clipped = answer.result.stats.clipped
        more = f"; {quantity(clipped, 'step')} beyond a bound" if clipped else ""
        why = answer.result.stopped_because
        state, text = "unknown", f"unknown: not found among {states}{more}; stopped because {why}"
    return {"expression": expression, "path": path, "reasons": answer.reasons, "state": state, "text": text}
