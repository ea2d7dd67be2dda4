"""Random walks as traces, by plain Python: the same seed gives the same walks everywhere."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from reassure.checkers.analyses.suites.suite import SuiteName
from reassure.checkers.traces.reconstruct import replayed_trace
from reassure.spec.semantics.interpreter import BoundModel, Clipped, Step
from reassure.spec.semantics.trace import Trace


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
    folder: FilePath, name: SuiteName, bound: BoundModel, traces: Iterator[Trace], meta: dict[str, Any], plain: bool
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
