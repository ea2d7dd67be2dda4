"""A model as a test of an implementation: hypothesis takes both through the same steps, and their states must agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from reassure.checkers.api import LoadedModel, StepTaken, loaded_with
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.traces.format_value import plain
from reassure.checkers.traces.render import call_text

Observed = Mapping[str, Any]


def state_machine(
    model: str | Path | LoadedModel,
    implementation: Callable[[Any], Any],
    observe: Callable[[Any], Observed],
    **settings: Any,
) -> type[Any]:
    """A `RuleBasedStateMachine` with a rule for each action: its `TestCase` is a test for pytest or unittest.

    Hypothesis chooses steps that the model enables. For each of them the method of the action's name is called on the
    implementation, with the action's parameters by name; then what `observe` gives must be what the model has.

    Args:
        model: a name, a path, or what `reassure.load` gives.
        implementation: makes what is tested, given an initial state of the model.
        observe: fields of the model's state, by name, as the implementation has them; those left out are not compared.
        settings: the configuration.

    Raises:
        Failure: there is no such model, it has no initial state, or hypothesis is not installed.
    """
    try:
        from hypothesis import strategies
        from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
    except ImportError:
        raise Failure(Exit.SYSTEM, "a state machine needs hypothesis: pip install hypothesis") from None
    loaded = loaded_with(model, settings)
    starts = loaded.initial_states()

    class Machine(RuleBasedStateMachine):
        """The model's state, and the implementation that should be in the same one."""

        state: Any = None
        tested: Any = None
        enabled: Mapping[str, list[StepTaken]] = {}

        @initialize(start=strategies.sampled_from(starts))
        def begin(self, start: Any) -> None:
            self.tested = implementation(start)
            self._arrive(start, "at the start")

        def _arrive(self, state: Any, when: str) -> None:
            self.state = state
            must_agree(loaded, state, observe(self.tested), when)
            self.enabled = by_action(loaded.steps(state))

    def rule_of(action: str) -> Any:
        """The rule that takes one of the enabled steps of an action."""

        def take(self: Any, step: StepTaken) -> None:
            getattr(self.tested, action)(**step.params)
            self._arrive(step.after, f"after {call_text(step.name, step.params)}")

        take.__name__ = action
        steps = strategies.runner().flatmap(lambda machine: strategies.sampled_from(machine.enabled[action]))
        return precondition(lambda self: action in self.enabled)(rule(step=steps)(take))

    rules = {f"take_{a.name}": rule_of(a.name) for a in loaded.bound.model.actions}
    return type(f"{loaded.name}_machine", (Machine,), rules)


def by_action(steps: list[StepTaken]) -> dict[str, list[StepTaken]]:
    """Steps within the declared bounds, by their action."""
    groups: dict[str, list[StepTaken]] = {}
    for step in steps:
        if step.after is not None:
            groups.setdefault(step.name, []).append(step)
    return groups


def must_agree(model: LoadedModel, state: Any, observed: Observed, when: str) -> None:
    """`AssertionError` where an implementation has another value than the model."""
    names = [f.name for f in fields(state)]
    if unknown := sorted(set(observed) - set(names)):
        raise Failure(Exit.USAGE, f"{model.name} has no field {', '.join(unknown)}; it has {', '.join(names)}")
    if not observed:
        raise Failure(Exit.NOTHING, f"observe gives no field of {model.name}: nothing would be compared")
    differs = [
        f"{name} is {plain(observed[name])}, the model has {plain(getattr(state, name))}"
        for name in names
        if name in observed and observed[name] != getattr(state, name)
    ]
    assert not differs, f"{when}: {'; '.join(differs)}"
