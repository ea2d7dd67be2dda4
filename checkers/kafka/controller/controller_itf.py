"""Runs of Kafka's controller as ITF files: the trace format of the models, without a model.

`#meta.kafka` holds the release, and the configuration; a state has the partition, what is known of the brokers, and, of
a counterexample about lost records, who holds everything committed. Actions are the driver's commands, `catch_up` and
`commit`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from reassure.checkers.console.files import trace_file
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore_logs import LogStep
from reassure.checkers.kafka.controller.replay import ControllerTrace, TraceCommand
from reassure.checkers.kafka.controller.words import (
    LISTS,
    NO_PARTITION,
    PROPOSALS,
    REGISTRATIONS,
    Command,
    ControllerState,
    Kind,
    Setup,
    answer_of,
    packed_second,
    packed_state,
    unpacked_set,
    unpacked_words,
)
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import NOBODY, Broker, Brokers, Partition, Replicas
from reassure.spec.language.annotations import record_type, resolve
from reassure.spec.language.types import Range, RecordType
from reassure.spec.language.values import Map
from reassure.spec.semantics.interpreter import Params
from reassure.spec.semantics.trace import Itf, JsonObject, TraceError, decode, encode, read_itf

Value = Annotated[int, Range(0, 255)]
_USUAL: JsonObject = {"min_isr": {"#bigint": "0"}, "cordoned": {"#set": []}, "unregistered": {"#set": []}}
"""Fields of a state that older files do not have."""
CHANGES = (Kind.CHANGE_MIN_ISR, Kind.CHANGE_UNCLEAN)
"""Commands with a value."""


@dataclass(frozen=True)
class Bounds:
    """The sizes that the types of a state depend on."""

    brokers: int
    max_epoch: int = 2**31 - 1


@dataclass(frozen=True)
class Recorded:
    """A state in a file."""

    partition: Partition
    unclean: bool
    unfenced: Brokers
    shutting_down: Brokers
    registrations: Map[Broker, Annotated[int, Range(0, REGISTRATIONS)]]
    keeps_nobody: bool
    """The last known leader is written down as -1."""
    complete: Brokers
    """Ghost: who holds everything committed; empty where nothing is said of logs."""
    min_isr: Value = 0
    """0: as the controller began."""
    cordoned: Brokers = NOBODY
    unregistered: Brokers = NOBODY


@dataclass(frozen=True)
class RecordedWithTopic(Recorded):
    """A state of a controller whose topic may be deleted, and may have a second partition, in a file."""

    second: Partition = NO_PARTITION
    """Without replicas: there is none."""
    second_keeps_nobody: bool = False
    listed_otherwise: bool = False
    remembered: bool = False


@dataclass
class ControllerRun:
    """A run of the controller: states, the steps between them, and each answer. complete: as in `Recorded`."""

    version: str
    setup: Setup
    states: list[ControllerState]
    steps: list[tuple[str, Command | None, int]]
    """Action, command, follower of `catch_up`."""
    answers: list[str]
    complete: list[Brokers]

    @property
    def brokers(self) -> int:
        return self.setup.brokers


def executed(
    start: ControllerState, steps: list[LogStep], driver: Driver, setup: Setup
) -> tuple[ControllerRun, list[str]]:
    """The run of these steps, nothing set in between, and Kafka's own words for each."""
    driver.begin(setup)
    logs = start.partition.isr if any(step.command is None for step in steps) else frozenset()
    run = ControllerRun(driver.release.version, setup, [start], [("initial", None, 0)], [""], [logs])
    words: tuple[int, ...] = packed_state(start) + (packed_second(start) if setup.topic else ())
    texts = [""]
    first = True
    for step in steps:
        if step.command is None:
            name = "catch_up" if step.follower else "commit"
            answer, records = "", ""
        else:
            name = step.command.kind.name.lower()
            words, word, records = driver.execute(words, step.command, first)
            first, answer = False, str(answer_of(word))
        run.states.append(unpacked_words(words, start.brokers))
        run.steps.append((name, step.command, step.follower))
        run.answers.append(answer)
        run.complete.append(unpacked_set(step.logs))
        texts.append(records)
    return run, texts


def _type(setup: Setup) -> RecordType:
    return record_type(RecordedWithTopic if setup.topic else Recorded, Bounds(setup.brokers))


def _params(command: Command | None, follower: int, brokers: int) -> JsonObject:
    kinds = {
        "broker": resolve(Broker, Bounds(brokers)),
        "target": resolve(Replicas, Bounds(brokers)),
        "isr": resolve(Brokers, Bounds(brokers)),
        "value": resolve(Value, Bounds(brokers)),
        "second_target": resolve(Replicas, Bounds(brokers)),
        "partition": resolve(Value, Bounds(brokers)),
    }
    params: Params = {}
    if follower:
        params["broker"] = Broker(follower)
    if command is not None and command.kind in CHANGES:
        return {"value": encode(command.broker, kinds["value"])}
    if command is not None and command.broker:
        params["broker"] = Broker(command.broker)
    if command is not None and command.kind in LISTS:
        params["target"] = tuple(Broker(b) for b in command.brokers)
    if command is not None and command.kind is Kind.REASSIGN_BOTH:
        params["second_target"] = tuple(Broker(b) for b in command.others)
    if command is not None and command.partition:
        params["partition"] = command.partition
    if command is not None and command.kind in PROPOSALS:
        params["isr"] = frozenset(Broker(b) for b in command.brokers)
    return {name: encode(value, kinds[name]) for name, value in params.items()}


def run_to_itf(run: ControllerRun, meta: JsonObject) -> str:
    """The run as ITF text."""
    kind, states = _type(run.setup), []
    for i, state in enumerate(run.states):
        name, command, follower = run.steps[i]
        fields = (
            state.partition,
            state.unclean,
            state.unfenced,
            state.shutting_down,
            Map((Broker(b + 1), n) for b, n in enumerate(state.incarnations)),
            state.keeps_nobody,
            run.complete[i],
            state.min_isr,
            state.cordoned,
            state.unregistered,
        )
        recorded = Recorded(*fields)
        if run.setup.topic:
            second = state.second or NO_PARTITION
            recorded = RecordedWithTopic(
                *fields, second, state.second_keeps_nobody, state.listed_otherwise, state.remembered
            )
        about = {
            "index": i,
            "action": name,
            "params": _params(command, follower, run.brokers),
            "answer": run.answers[i],
        }
        states.append({"#meta": about, **encode(recorded, kind)})
    config = {"release": run.version, **run.setup.data()}
    head = {"format": "ITF", "kafka": config, **meta}
    return json.dumps({"#meta": head, "vars": sorted(n for n, _ in kind.fields), "states": states}, indent=1) + "\n"


def itf(path: Path) -> Itf:
    """The JSON of an ITF file, or of that of a short name; `Failure` if it is none."""
    try:
        return read_itf(trace_file(path))
    except TraceError as error:
        raise Failure(Exit.USAGE, str(error)) from None


def run_of_controller(path: Path) -> Itf | None:
    """The JSON of an ITF file if it is a run of the controller rather than of a model."""
    data = itf(path)
    return data if isinstance(data["#meta"].get("kafka"), dict) else None


def commands_from_itf(data: Itf, name: str) -> ControllerTrace:
    """The commands of such a file; `Failure` if it is not what it says."""
    try:
        config = data["#meta"]["kafka"]
        usual = {"brokers": int(config["brokers"]), "min_isr": int(config["min_isr"])}
        setup = Setup(**{**{name: value for name, value in config.items() if name != "release"}, **usual})
        brokers = setup.brokers
        kind = _type(setup)
        states = [_state(raw, kind, brokers) for raw in data["states"]]
        commands = []
        for i in range(1, len(states)):
            about = data["states"][i]["#meta"]
            command = _command(about["action"], about["params"], brokers)
            if command is None:
                if states[i] != states[i - 1]:
                    raise ValueError(f"step {i}, {about['action']}, is none of the controller's, and its state changes")
                continue
            error = str(about["answer"]).split(",")[0] or None
            commands.append(TraceCommand(i, str(command), command, states[i - 1], states[i], error))
    except (KeyError, TypeError, ValueError, AttributeError, TraceError) as error:
        raise Failure(
            Exit.TRACE, f"{name} is not a run of Kafka's controller: {type(error).__name__} {error}"
        ) from None
    resigns = [bool("resigns" in str(raw["#meta"]["answer"])) for raw in data["states"]]
    commands = [replace(c, resigns=resigns[c.number]) for c in commands]
    return ControllerTrace(setup, states[0], tuple(commands), len(states) - 1)


def _state(raw: JsonObject, kind: RecordType, brokers: int) -> ControllerState:
    fields = {**_USUAL, **{key: value for key, value in raw.items() if key != "#meta"}}
    r = decode(fields, kind)
    incarnations = tuple(r.registrations[Broker(b)] for b in range(1, brokers + 1))
    return ControllerState(
        r.partition,
        r.unfenced,
        incarnations,
        r.unclean,
        r.shutting_down,
        r.keeps_nobody,
        r.min_isr,
        r.cordoned,
        r.unregistered,
        *((r.second if r.second.replicas else None, *_flags(r)) if isinstance(r, RecordedWithTopic) else ()),
    )


def _flags(r: RecordedWithTopic) -> tuple[bool, bool, bool]:
    return r.second_keeps_nobody, r.listed_otherwise, r.remembered


def _command(action: str, params: JsonObject, brokers: int) -> Command | None:
    if action in ("catch_up", "commit"):
        return None
    bounds = Bounds(brokers)
    if "value" in params:
        return Command(Kind[action.upper()], decode(params["value"], resolve(Value, bounds)))
    broker = int(decode(params["broker"], resolve(Broker, bounds))) if "broker" in params else 0
    listed: tuple[Broker, ...] = ()
    if "target" in params:
        listed = decode(params["target"], resolve(Replicas, bounds))
    elif "isr" in params:
        listed = tuple(sorted(decode(params["isr"], resolve(Brokers, bounds))))
    others = decode(params["second_target"], resolve(Replicas, bounds)) if "second_target" in params else ()
    partition = int(decode(params["partition"], resolve(Value, bounds))) if "partition" in params else 0
    brokers_of = tuple(tuple(int(b) for b in ids) for ids in (listed, others))
    return Command(Kind[action.upper()], broker, brokers_of[0], partition=partition, others=brokers_of[1])
