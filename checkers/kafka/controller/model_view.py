"""A model's states and steps as those of Kafka's controller.

A model can be driven if its state has `partition`, `unclean`, `unfenced` and `broker_epochs` (and perhaps
`shutting_down`, `min_isr`, `cordoned`, `unregistered`), its configuration `brokers` and `min_isr` (and perhaps
`replicas_of_partition_zero`, `elr`, `metadata_version`, `directory_moves`), and if its actions have the names of
`COMMANDS`. All else in its state is a ghost here: logs, requests in flight, counters.
A module that defines `controller_answer(before, config, action, params, after)` also says which error code it expects.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from reassure.checkers.kafka.controller.releases import Release, own_release
from reassure.checkers.kafka.controller.words import Command, ControllerState, Kind, Request, Setup, few_enough
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.model_loader import load_model
from reassure.spec.kafka.partition import NOBODY, Broker
from reassure.spec.kafka.releases import RELEASES_OF_RULES, minor, rules_of
from reassure.spec.language.annotations import hints_of
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import BoundModel, Clipped

ELECTIONS = ("elect_from_elr", "elect_unclean")
"""Actions that Kafka takes within the unfencing of a broker; a model may take them on their own, later."""
EVENTS = frozenset({"fence", "unfence", "shut_down_uncleanly", "restart_cleanly", "shut_down_in_control"})
EVENTS |= {"register_again", "unregister", "cordon", "uncordon", "assign_directory"}
"""Actions that always change the state: one that changes nothing is a step at which the controller resigns."""
NEWEST = "newest"
"""A model's name for the newest metadata version of a release."""
_FIELDS = ("partition", "unclean", "unfenced", "broker_epochs")


def _incarnations(epochs: Map[Broker, int]) -> tuple[int, ...]:
    """Of brokers 1, 2, ..."""
    return tuple(epochs[b] for b in sorted(epochs.keys()))


def _target(params: Mapping[str, Any]) -> Command:
    target = params["target"]
    return Command(Kind.REASSIGN, 0, tuple(target) if isinstance(target, tuple) else tuple(sorted(target)))


def _alter_partition(params: Mapping[str, Any]) -> Command:
    r = params["request"]
    request = Request(r.leader_epoch, r.partition_epoch, _incarnations(r.broker_epochs))
    return Command(Kind.ALTER_PARTITION, int(r.source), tuple(int(b) for b in sorted(r.isr)), request)


def _of_broker(kind: Kind) -> Callable[[Mapping[str, Any]], Command]:
    return lambda params: Command(kind, int(params["broker"]))


def _plain(kind: Kind) -> Callable[[Mapping[str, Any]], Command]:
    return lambda params: Command(kind)


COMMANDS: dict[str, Callable[[Mapping[str, Any]], Command]] = {
    "start": _target,
    "retarget": _target,
    "cancel": _plain(Kind.CANCEL),
    "alter_partition": _alter_partition,
    "fence": _of_broker(Kind.FENCE),
    "unfence": _of_broker(Kind.UNFENCE),
    "shut_down_uncleanly": _of_broker(Kind.RESTART_UNCLEANLY),
    "restart_cleanly": _of_broker(Kind.RESTART_CLEANLY),
    "shut_down_in_control": _of_broker(Kind.CONTROLLED_SHUTDOWN),
    "elect_from_elr": _plain(Kind.ELECT_LEADERLESS),
    "elect_unclean": _plain(Kind.MAYBE_ELECT_UNCLEAN),
    "elect_preferred": _plain(Kind.BALANCE),
    "balance": _plain(Kind.BALANCE),
    "change_min_isr": lambda params: Command(Kind.CHANGE_MIN_ISR, int(params["value"])),
    "change_unclean": lambda params: Command(Kind.CHANGE_UNCLEAN, int(params["allowed"])),
    "register_again": _of_broker(Kind.RESTART_UNCLEANLY),
    "unregister": _of_broker(Kind.UNREGISTER),
    "cordon": _of_broker(Kind.CORDON),
    "uncordon": _of_broker(Kind.UNCORDON),
    "assign_directory": _of_broker(Kind.ASSIGN_DIRECTORY),
}
"""The command to Kafka's controller, by the model's action."""


@dataclass(frozen=True)
class Expected:
    """The result that a model expects. error: None if the model leaves it open. resigns: the controller throws."""

    state: ControllerState
    error: str | None
    resigns: bool = False


class ModelView:
    """A model under one configuration, as a model of Kafka's controller; `Failure` if it is none."""

    def __init__(self, bound: BoundModel) -> None:
        self.bound = bound
        names = {name for name, _ in bound.type.fields}
        missing = [name for name in _FIELDS if name not in names]
        missing += [name for name in ("brokers", "min_isr") if not hasattr(bound.config, name)]
        if missing:
            what = f"it has no {missing[0]}"
            raise Failure(Exit.USAGE, f"{bound.model.name} is not a model of Kafka's controller: {what}")
        config = bound.config
        self.brokers: int = config.brokers
        few_enough(self.brokers, bound.model.name)
        version = getattr(config, "metadata_version", None)
        self.setup = Setup(
            config.brokers,
            config.min_isr,
            getattr(config, "replicas_of_partition_zero", 0),
            elr=getattr(config, "elr", True),
            metadata_version="" if version is None or version.value == NEWEST else version.value,
            directories=2 if getattr(config, "directory_moves", 0) else 1,
        )
        self._answer = getattr(sys.modules.get(bound.model.module), "controller_answer", None)

    def state(self, state: Any) -> ControllerState:
        """The controller's part of a state of the model."""
        return ControllerState(
            partition=state.partition,
            unfenced=state.unfenced,
            incarnations=_incarnations(state.broker_epochs),
            unclean=state.unclean,
            shutting_down=getattr(state, "shutting_down", NOBODY),
            keeps_nobody=getattr(state.partition, "last_known_is_nobody", False),
            min_isr=getattr(state, "min_isr", 0),
            cordoned=getattr(state, "cordoned", NOBODY),
            unregistered=getattr(state, "unregistered", NOBODY),
        )

    def command(self, before: Any, action: str, params: Mapping[str, Any], after: Any) -> Command | None:
        """The command of a step; None if it is not the controller's, `Failure` if Kafka has no such command."""
        if action in COMMANDS:
            return COMMANDS[action](params)
        if self.state(before) == self.state(after):
            return None
        model = self.bound.model.name
        raise Failure(Exit.USAGE, f"{model}'s action {action} is not a command of Kafka's controller")

    def expected(self, before: Any, action: str, params: Mapping[str, Any], after: Any) -> Expected:
        """The result of a step by the model."""
        return Expected(self.state(after), *self.answer(before, action, params, after))

    def answer(self, before: Any, action: str, params: Mapping[str, Any], after: Any) -> tuple[str | None, bool]:
        """Error and resignation, as in `Expected`."""
        if action in EVENTS and before == after:
            return "UNKNOWN_SERVER_ERROR", True
        if self._answer is None:
            return None, False
        return self._answer(before, self.bound.config, action, params, after), False

    def elected(self, state: Any) -> list[ControllerState]:
        """The controller states after each election that the model enables in a state."""
        states = []
        for step in self.bound.steps(state):
            if step.action.name in ELECTIONS and not isinstance(step.after, Clipped):
                states.append(self.state(step.after))
        return states


def model_step_text(action: str, params: Mapping[str, Any]) -> str:
    """A step of a model in a line: the action with what it is called with."""
    values = [_parameter(value) for value in params.values()]
    return f"{action}({', '.join(values)})"


def _parameter(value: Any) -> str:
    if isinstance(value, frozenset):
        return "{" + ", ".join(str(int(b)) for b in sorted(value)) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(str(int(b)) for b in value) + "]"
    if hasattr(value, "isr"):
        members = ", ".join(str(int(b)) for b in sorted(value.isr))
        return f"from {int(value.source)}, ISR {{{members}}}, epochs {value.leader_epoch} and {value.partition_epoch}"
    return str(int(value)) if isinstance(value, int) else str(value)


def release_setting(model: str, pairs: list[str], kafka: Release) -> list[str]:
    """The settings with the rules of a release, if the model has `release` to set and it is not set already."""
    if not release_members(model) or _own_rules(pairs):
        return pairs
    return [*pairs, f"release={release_value(model, kafka).value}"]


def release_value(model: str, kafka: Release) -> Enum:
    """A model's name for the rules of a release; `Failure` if it has none."""
    members = release_members(model)
    fitting = [member for member in members if str(member.value) == kafka.rules]
    if not fitting:
        has = ", ".join(str(member.value) for member in members)
        newest = next((member.value for member in reversed(members) if rules_of(str(member.value))), "")
        hint = f"; `conform --set release={newest}` or `explore --explain {newest}` names rules" if newest else ""
        name = kafka.rules or kafka.version
        raise Failure(Exit.USAGE, f"{model} has no rules of Kafka {name}; it has {has or 'none'}{hint}")
    return fitting[0]


def rules_note(model: str, pairs: list[str], kafka: Release) -> str:
    """A line that names the rules which a release is compared with; "" if its minor version and the table say it.

    Raises `Failure` as `release_value` does.
    """
    if not release_members(model):
        return ""
    if own := _own_rules(pairs):
        return f"Kafka {kafka.version} is compared with the rules of {own}"
    rules = release_value(model, kafka).value
    if kafka.listed:
        why = "" if minor(kafka.version) == rules else ", by the table of releases"
    else:
        like = f", like {own_release(rules).version}" if rules in RELEASES_OF_RULES else ""
        state = f"the build states {kafka.stated}" if kafka.build else f"{kafka.version} is in no table of releases"
        why = f"{like}: {state}"
    return f"Kafka {kafka.version} is compared with the rules of {rules}{why}" if why else ""


def release_members(model: str) -> list[Enum]:
    """The releases of Kafka that a model's configuration can name."""
    hint = hints_of(load_model(model).config).get("release")
    return list(hint) if isinstance(hint, type) and issubclass(hint, Enum) else []


def _own_rules(pairs: list[str]) -> str:
    """The rules that the settings name, or ""."""
    return next((value for key, _, value in (pair.partition("=") for pair in pairs) if key == "release"), "")
