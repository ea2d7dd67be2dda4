"""What actions can change, by the graph, against the steps of plain Python: each change must be foreseen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from reassure.spec.frontend.declarations import Changes
from reassure.spec.semantics.interpreter import Clipped, ModelError
from tests.fuzz.subject import Difference, Subject

STATES = 60
"""States whose steps are looked at."""


def watching(subject: Subject) -> Iterator[Difference]:
    """Fields that a step changes though the graph says that its action cannot."""
    foreseen = {
        step.name: _foreseen(subject, Changes(subject.lowered.graph, step, subject.lowered.leaves))
        for step in subject.lowered.actions
    }
    names = [f.name for f in fields(subject.bound.model.state)]
    claims = [p for p in subject.bound.properties if p.watches]
    for state in subject.states[:STATES]:
        try:
            steps = [s for s in subject.bound.steps(state) if not isinstance(s.after, Clipped)]
        except ModelError:
            continue
        for step in steps:
            for claim in claims:
                concerned = subject.bound.concerns(claim, step.action)
                changed = [n for n in claim.watches or () if getattr(state, n) != getattr(step.after, n)]
                if changed and not concerned:
                    yield Difference("watching", "a watched field changes", f"{step.action.name} changes {changed}")
                    return
            for name in names:
                if getattr(state, name) != getattr(step.after, name) and name not in foreseen[step.action.name]:
                    yield Difference("watching", "unforeseen change", f"{step.action.name} changes {name}: {state}")
                    return


def _foreseen(subject: Subject, changes: Changes) -> set[str]:
    """Fields of the state that an action can change."""
    graph = subject.lowered.graph
    return {
        re.split(r"[.?\[#]", leaf.path)[0]
        for leaf in subject.lowered.leaves
        if changes.of(graph.var(leaf.path, leaf.type))
    }
