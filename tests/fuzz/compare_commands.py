"""Commands on a random model against plain Python, each a comparison of its own."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from reassure.spec.semantics.interpreter import ModelError
from tests.fuzz import command_answers as answers
from tests.fuzz import command_files as files
from tests.fuzz.brute import graph_of
from tests.fuzz.command_frame import Found, Frame, Wrong, facts_of
from tests.fuzz.subject import STATES, Difference, Subject

COMMANDS: dict[str, Callable[[Frame], Found]] = {
    "check": answers.check,
    "find": answers.find,
    "stuck": answers.stuck,
    "fairness": answers.fairness,
    "simulate": answers.simulate,
    "sweep": answers.sweep,
    "diff": answers.diff,
    "traces": files.traces,
    "graph": files.graph,
    "validate": files.validate,
    "replayed": files.replay,
    "gate": files.gate,
    "explore": files.explore,
}
OF_SPARK: dict[str, Callable[[Frame], Found]] = {"query": files.query}
"""Those that need Java."""


def compared(name: str, subject: Subject) -> Iterator[Difference]:
    """One command on a model of few states that does not raise."""
    if not subject.complete or subject.error is not None:
        return
    try:
        whole = graph_of(subject.bound, 4 * STATES)
        facts = None if whole is None else facts_of(whole)
    except ModelError:
        return  # other comparisons look at what raises
    if whole is None or facts is None or not (facts.hits or facts.runs):
        return  # too large, or nothing is claimed: every command says so before it begins
    with tempfile.TemporaryDirectory(prefix="reassure-fuzz-") as folder:
        frame = Frame(subject, whole, facts, Path(folder), random.Random(subject.seed))
        facts.vacuous |= frame.silent
        try:
            for kind, detail in {**COMMANDS, **OF_SPARK}[name](frame):
                yield Difference(name, kind, f"{detail}; {frame.last}")
        except Wrong as wrong:
            yield Difference(name, f"a code that no model deserves: {str(wrong)[:60]}", f"{wrong}; {frame.last}")


COMPARISONS = {name: partial(compared, name) for name in [*COMMANDS, *OF_SPARK]}
