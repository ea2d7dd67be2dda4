"""The meaning of properties about whole runs: which runs are fair, and which of them violate a property.

A run is infinite, or it stops, which is to stutter for ever in its last state. Steps that change nothing are
stuttering too. As in TLA+, with `<A>` a step of the action A that changes the state:

- weak fairness of A: if `<A>` is enabled from some point on in every state, steps `<A>` are taken again and again;
- strong fairness of A: if `<A>` is enabled again and again, steps `<A>` are taken again and again.

A step is judged by its two states: where another action leads from one to the other as well, both were taken. A step
that leaves a bound is enabled, and no run goes on with it: so a bound never holds back what fairness would bring about.
So there may be states that no fair run within the bounds goes through, and a property says nothing about these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reassure.spec.language.light_dataclasses import dataclass
from reassure.spec.language.vocabulary import Model, Property
from reassure.spec.semantics.interpreter import BoundModel, Step


@dataclass(frozen=True)
class Assumption:
    """The assumption that an action is fair, for each value of the parameters that `each` names, if any."""

    action: str
    strength: str
    each: tuple[str, ...] = ()

    def __str__(self) -> str:
        each = f" for each {' and '.join(self.each)}" if self.each else ""
        return f"{self.strength} fairness of {self.action}{each}"


Assumptions = Mapping[str, Assumption]
"""By the name of the action."""


def assumptions_of(model: Model) -> dict[str, Assumption]:
    """The fairness that a model declares."""
    return {a.name: Assumption(a.name, a.fair, a.fair_each) for a in model.actions if a.fair is not None}


@dataclass(frozen=True)
class Constraint:
    """One condition on fair runs: an assumption, for one value of each parameter that it names."""

    assumption: Assumption
    values: tuple[Any, ...] = ()

    @property
    def strong(self) -> bool:
        return self.assumption.strength == "strong"


def constraint_of(step: Step, assumptions: Assumptions) -> Constraint | None:
    """The condition that a step of this action and these parameters counts for, if there is one."""
    assumed = assumptions.get(step.action.name)
    if assumed is None:
        return None
    return Constraint(assumed, tuple(step.params[name] for name in assumed.each))


def in_order(bound: BoundModel, constraints: Iterable[Constraint]) -> list[Constraint]:
    """Constraints in canonical order: by action as declared, then by values."""
    position = {a.name: i for i, a in enumerate(bound.model.actions)}

    def key(c: Constraint) -> tuple[int, list[int]]:
        kinds = dict(bound.parameters(c.assumption.action))
        return position[c.assumption.action], [
            kinds[name].rank(value) for name, value in zip(c.assumption.each, c.values, strict=True)
        ]

    return sorted(constraints, key=key)


def enabled(bound: BoundModel, state: Any, assumptions: Assumptions) -> set[Constraint]:
    """The constraints of which a step that changes something is enabled in a state."""
    constraints = {constraint_of(step, assumptions) for step in bound.steps(state) if step.after != state}
    return {c for c in constraints if c is not None}


def taken(bound: BoundModel, before: Any, after: Any, assumptions: Assumptions) -> set[Constraint]:
    """The constraints that going from one state to another state counts for."""
    if before == after:
        return set()
    constraints = {constraint_of(step, assumptions) for step in bound.steps(before) if step.after == after}
    return {c for c in constraints if c is not None}


@dataclass(frozen=True)
class Fate:
    """The fate of one constraint in a loop; places are counted from the loop's first state, 0."""

    constraint: Constraint
    taken_after: int | None
    """The first state whose step to the next one counts for it."""
    disabled_in: int | None
    """The first state in which it is not enabled."""
    ever_enabled: bool

    @property
    def fair(self) -> bool:
        """Whether going round for ever is fair to it."""
        if self.taken_after is not None or not self.ever_enabled:
            return True
        return not self.constraint.strong and self.disabled_in is not None


def fates(bound: BoundModel, loop: Sequence[Any], assumptions: Assumptions) -> list[Fate]:
    """The fate of each constraint that is enabled or taken in a loop, whose first state follows its last."""
    can = [enabled(bound, s, assumptions) for s in loop]
    does = [taken(bound, s, loop[(i + 1) % len(loop)], assumptions) for i, s in enumerate(loop)]
    places = range(len(loop))
    return [
        Fate(
            constraint=c,
            taken_after=next((i for i in places if c in does[i]), None),
            disabled_in=next((i for i in places if c not in can[i]), None),
            ever_enabled=any(c in here for here in can),
        )
        for c in in_order(bound, set().union(*can, *does))
    ]


@dataclass(frozen=True)
class Pattern:
    """The fair runs that violate a property: from a state of `starts` on they stay in `stays`, and come back to
    `returns` again and again.
    """

    starts: Callable[[Any], bool]
    stays: Callable[[Any], bool]
    returns: Callable[[Any], bool]


def pattern_of(bound: BoundModel, claim: Property) -> Pattern:
    """The runs that violate a temporal property; `ValueError` for a property of another kind."""

    def fails(state: Any) -> bool:
        return not bound.holds(claim, state)

    if claim.kind == "leads_to":

        def waits(state: Any) -> bool:
            return not bound.goal_holds(claim, state)

        return Pattern(lambda s: waits(s) and bound.holds(claim, s), waits, waits)
    if claim.kind == "recurrence":
        return Pattern(fails, fails, fails)
    if claim.kind == "persistence":
        return Pattern(lambda _: True, lambda _: True, fails)
    raise ValueError(f"{claim.name} is not about whole runs")


def violated_by(bound: BoundModel, claim: Property, states: Sequence[Any], loop: int) -> bool:
    """Whether a run that goes through these states, and from `states[loop]` on for ever, violates a property.

    That it is a run of the model, and a fair one, is another question.
    """
    pattern = pattern_of(bound, claim)
    if not any(pattern.returns(s) for s in states[loop:]):
        return False
    waiting = False
    for state in states:
        waiting = (waiting or pattern.starts(state)) and pattern.stays(state)
    # A start within the loop counts if the run stays from there on, all round.
    return waiting and all(pattern.stays(s) for s in states[loop:])
