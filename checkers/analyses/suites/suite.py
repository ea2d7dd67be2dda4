"""A suite as files: traces, an index of what they take, and what becomes of a suite when its model changes.

Also here: random walks as traces, by plain Python: the same seed gives the same walks everywhere.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from reassure.checkers.analyses.suites.goals import Attempt, Path, Selection
from reassure.checkers.engines.native.state_graph import StateGraph
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.request.run_identity import trace_stem
from reassure.checkers.traces.reconstruct import replayed_trace
from reassure.checkers.traces.replay import RefusedAttempt, to_steps
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Step
from reassure.spec.semantics.trace import (
    JsonObject,
    ReplayRefused,
    Trace,
    TraceError,
    encode,
    from_itf,
    read_itf,
    replay,
    to_itf,
)

ITF, STEPS = ".itf.json", ".steps.json"
"""The suffixes of traces' names."""
INDEX = ".suite.json"
"""The suffix of an index's name."""


@dataclass(frozen=True)
class SuiteName:
    """The parts of a suite's name: traces of two configurations or two criteria never have the same name."""

    model: str
    settings: tuple[str, ...]
    criterion: str

    @property
    def stem(self) -> str:
        """The prefix of the names of all its files."""
        return trace_stem(self.model, self.settings, self.criterion, "traces")

    def file(self, number: int) -> str:
        """The name of a trace, from 1."""
        return f"{self.stem}-{number:03}.itf.json"

    def write(self, folder: FilePath, file: str, trace: Trace, bound: BoundModel, plain_steps: bool) -> None:
        """Writes a trace. plain_steps: also as plain steps."""
        write_atomically(folder / file, to_itf(trace, bound))
        if plain_steps:
            write_atomically(folder / file.replace(ITF, STEPS), to_steps(trace, bound))

    def remove_others(self, folder: FilePath, files: list[str]) -> list[str]:
        """Removes the traces of this suite that are not among these files; their names."""
        others = [f for f in sorted(p.name for p in folder.iterdir()) if self.number_in(f) and f not in files]
        for file in others:
            (folder / file).unlink()
            (folder / file.replace(ITF, STEPS)).unlink(missing_ok=True)
        return others

    def number_in(self, file: str) -> int | None:
        """The number of a trace of this suite by its name; None of any other file."""
        match = re.fullmatch(re.escape(self.stem) + r"-(\d{3,})\.itf\.json", file)
        return int(match[1]) if match else None


@dataclass
class KeptSuite:
    """A suite that is there already, after its traces were replayed."""

    files: list[str] = field(default_factory=list)
    """Of the traces that still replay, in the order of `paths`."""
    paths: list[Path] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    """By file: why the model does not have the trace any more."""


def read_kept(folder: FilePath, name: SuiteName, graph: StateGraph) -> KeptSuite:
    """Replays the traces of a suite in a folder; those that the model has are kept."""
    kept = KeptSuite()
    numbered = {n: p for p in folder.iterdir() if (n := name.number_in(p.name)) is not None}
    for _, path in sorted(numbered.items()):
        try:
            trace = from_itf(read_itf(path), graph.bound)
            replay(trace, graph.bound)
            walked = path_of(trace, graph)
        except (TraceError, ReplayRefused) as error:
            kept.replaced[path.name] = str(error)
            continue
        kept.files.append(path.name)
        kept.paths.append(walked)
    return kept


def path_of(trace: Trace, graph: StateGraph) -> Path:
    """The path of a trace that was replayed; `ReplayRefused` where it leaves the states that were visited."""
    start = here = graph.find(trace.states[0])
    edges = []
    for i, step in enumerate(trace.steps[1:], 1):
        edge = graph.edge_of(here, step.action, step.params) if here >= 0 else -1
        here = int(graph.targets[edge]) if edge >= 0 else -1
        if here < 0:
            raise ReplayRefused(i, step.action, "it leads beyond the states that were visited")
        edges.append(edge)
    return Path(start, tuple(edges))


@dataclass
class WrittenSuite:
    """The files that were written."""

    traces: list[str]
    """Files, in the order of the selection's paths."""
    lengths: list[int]
    """Steps of each."""
    removed: list[str]
    index: FilePath


def write_suite(
    folder: FilePath,
    name: SuiteName,
    graph: StateGraph,
    chosen: Selection,
    kept: KeptSuite,
    meta: Mapping[str, Any],
    plain_steps: bool = False,
) -> WrittenSuite:
    """Writes the traces and the index; removes the traces of this suite that are not in it any more.

    Kept traces keep their names; new ones get the numbers after the last. plain_steps: each also as plain steps.
    """
    bound = graph.bound
    numbers = [n for file in kept.files if (n := name.number_in(file)) is not None]
    following = max(numbers, default=0) + 1
    written = WrittenSuite([], [], [], folder / f"{name.stem}{INDEX}")
    for i, path in enumerate(chosen.paths):
        if i < len(kept.files):
            file = kept.files[i]
        else:
            file, following = name.file(following), following + 1
        trace = graph.trace(path.start, path.edges)
        trace.meta |= {**meta, "suite": {"cover": name.criterion, "adds": chosen.adds[i] or chosen.added[i]}}
        if chosen.attempts[i]:
            trace.meta["suite"]["refused"] = [refused_record(bound, attempt) for attempt in chosen.attempts[i]]
        name.write(folder, file, trace, bound, plain_steps)
        written.traces.append(file)
        written.lengths.append(len(path))
    written.removed += name.remove_others(folder, written.traces)
    write_record(written.index, suite_record(name, graph, chosen, kept, written, meta))
    return written


def refused_record(bound: BoundModel, attempt: Attempt) -> RefusedAttempt:
    """An action that is not enabled in a state of a trace: what a negative test tries."""
    kinds = dict(bound.parameters(attempt.action))
    params = {name: encode(value, kinds[name]) for name, value in attempt.params.items()}
    return {"state": attempt.state, "action": attempt.action, "params": params, "guard": attempt.guard}


def suite_record(
    name: SuiteName,
    graph: StateGraph,
    chosen: Selection,
    kept: KeptSuite,
    written: WrittenSuite,
    meta: Mapping[str, Any],
) -> dict[str, object]:
    """The index of a suite."""
    kept_files = set(kept.files)
    return {
        "schema": 1,
        **meta,
        "cover": name.criterion,
        "complete": graph.complete,
        "stopped_because": graph.stopped.text,
        "states": graph.count,
        "steps": graph.edge_count,
        "clipped": graph.clipped,
        "goals": {
            "reachable": chosen.reachable,
            "taken": chosen.taken,
            "percent": round(chosen.percent, 2),
            "not_taken": [{"goal": g.name, "reachable": g.shortest is not None, "why": g.why} for g in chosen.missing],
            "not_taken_within_length": chosen.missing_count,
        },
        "traces": [
            {"file": file, "steps": steps, "adds": adds or added, "kept": file in kept_files}
            for file, steps, adds, added in zip(written.traces, written.lengths, chosen.adds, chosen.added, strict=True)
        ],
        "replaced": kept.replaced,
    }


def random_traces(bound: BoundModel, count: int, most: int, seed: int) -> Iterator[Trace]:
    """Walks of at most so many steps: an action by its weight among those that are enabled, then one of its steps.

    A walk ends early where no step stays within the bounds.
    """
    starts = [state for _, _, state in bound.initial_states() if not isinstance(state, Clipped)]
    for number in range(1, count + 1):
        rng = random.Random(f"{seed}-{number}")
        states, steps = [rng.choice(starts)], list[Step]()
        while len(steps) < most:
            enabled: dict[str, list[Step]] = {}
            for step in bound.steps(states[-1]):
                if not isinstance(step.after, Clipped):
                    enabled.setdefault(step.action.name, []).append(step)
            if not enabled:
                break
            weights = [steps_of_one[0].action.weight for steps_of_one in enabled.values()]
            (name,) = rng.choices(list(enabled), weights)
            steps.append(rng.choice(enabled[name]))
            states.append(steps[-1].after)
        yield replayed_trace(bound, states, steps)


def write_random_traces(
    folder: FilePath, name: SuiteName, bound: BoundModel, traces: Iterator[Trace], meta: JsonObject, plain: bool
) -> tuple[list[str], Counter[str]]:
    """Writes the traces, and removes those of an earlier run; the files, and how often each action is taken.

    plain: each also as plain steps.
    """
    files: list[str] = []
    taken = Counter({action.name: 0 for action in bound.model.actions})
    for number, trace in enumerate(traces, 1):
        trace.meta |= meta
        taken.update(step.action for step in trace.steps[1:])
        files.append(name.file(number))
        name.write(folder, files[-1], trace, bound, plain)
    name.remove_others(folder, files)
    return files, taken
