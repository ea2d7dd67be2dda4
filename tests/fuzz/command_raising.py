"""Commands on models that raise: each says so, and what it found on the levels before is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.request.result import RAISES
from reassure.spec.semantics.interpreter import BoundModel, Clipped, FailedCall, ModelError, Step
from tests.fuzz.command_frame import Found, Frame
from tests.fuzz.subject import STATES, STEPS, truth


@dataclass
class Raised:
    """What plain Python meets on the levels up to the first one on which something raises; all of that level is met."""

    level: int = 0
    """Of that one, from 1; 0: in an initial function."""
    in_action: bool = False
    hits: dict[str, int] = field(default_factory=dict)
    """By property of states or steps, cover, and "deadlock", the first level that violates or reaches it."""


def raised(bound: BoundModel) -> Raised | None:
    """The first error of a model; None if there is none in the first states."""
    found = Raised()
    try:
        frontier = list(dict.fromkeys(s for _, _, s in bound.initial_states() if not isinstance(s, Clipped)))
    except ModelError:
        return found
    seen, count = set(frontier), 0
    while frontier and len(seen) < STATES and count < STEPS:
        found.level += 1
        outcomes = {state: list(bound.attempts(state)) for state in frontier}
        if sum(_met(bound, state, found, outcomes[state]) for state in frontier):  # each is met
            return found
        count += sum(map(len, outcomes.values()))
        after = [o.after for row in outcomes.values() for o in row if isinstance(o, Step)]
        frontier = [s for s in dict.fromkeys(after) if s not in seen and not isinstance(s, Clipped)]
        seen.update(frontier)
    return None


def _met(bound: BoundModel, state: Any, found: Raised, outcomes: list[Step | FailedCall]) -> bool:
    """Notes what is hit in a state and on its steps; whether an action or a claim raises."""
    steps = [o for o in outcomes if isinstance(o, Step)]
    error = len(steps) < len(outcomes)
    found.in_action |= error

    def ask(name: str, call: Callable[[], bool], hit: bool, level: int) -> None:
        nonlocal error
        value = truth(call)
        error |= value is None
        if value is hit:
            found.hits[name] = min(level, found.hits.get(name, level))

    for claim in (*bound.properties, *bound.covers):
        if claim.temporal:
            continue
        hit = claim.kind == "cover"
        if not claim.over_steps:
            ask(claim.name, lambda c=claim: bound.holds(c, state), hit, found.level)
        for step in steps if claim.over_steps else ():
            if not isinstance(step.after, Clipped) and bound.concerns(claim, step.action):
                ask(claim.name, lambda c=claim, s=step: bound.holds_on(c, state, s), hit, found.level + 1)
    if not steps and not error and bound.model.deadlock:
        ask("deadlock", lambda: bound.is_terminal(state), False, found.level)
    return error


TOLD = {
    "stuck": ("leads_to",),
    "fairness": ("leads_to", "recurrence", "persistence"),
    "graph": (),
    "traces": (),
    "diff": (),
    "guards": (),
}
"""Commands that need every state, with the kinds of properties that they are about: they end as the model raises."""


def raising(f: Frame, found: Raised) -> Found:
    """`check` tells the first error and what was violated before; other commands end with the same code."""
    bound = f.subject.bound
    for more in ((), ("--symmetry", "auto")):
        ran = f.run("check", f.path, *more)
        rows = {row["name"]: row for row in ran.record.get("properties", ())}
        if ran.code is not Exit.MODEL:
            yield "another exit code", (ran.code, found)
        elif not found.level:
            continue
        elif rows[RAISES]["depth"] is None or rows[RAISES]["status"] != "raised":
            yield "another error", (rows[RAISES], found)
        fallen = {name: row["depth"] for name, row in rows.items() if row["status"] == "violated"}
        want = {name: level for name, level in found.hits.items() if name not in {c.name for c in bound.covers}}
        if fallen != want:
            yield "other violations before the error", (more, fallen, want)
        for name, row in rows.items():
            if row["status"] not in ("violated", "raised", "unknown", "not_checked", "vacuous"):
                yield "establishes a property", (name, row["status"])
    if not found.in_action:
        return  # commands that ask no property end without an error
    kinds = {p.kind for p in bound.properties}
    for command in f.rng.sample([c for c, asked in TOLD.items() if not asked or kinds & set(asked)], 2):
        more = (
            [f.path] if command == "diff" else ["--out", f.folder / command] if command in ("traces", "graph") else []
        )
        ran = f.run(command, f.path, *more, record=False)
        if ran.code is not Exit.MODEL:
            yield f"{command}: another exit code", (ran.code, found, ran.out[-200:], ran.err[-200:])
    ran = f.run("simulate", f.path, "--walks", 20, "--depth", 10)
    if ran.code in (Exit.OK, Exit.VACUOUS):
        yield "simulate: another exit code", ran.code
