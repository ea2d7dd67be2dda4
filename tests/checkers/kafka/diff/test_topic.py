"""A topic that is deleted, created again and given a second partition: what releases do, and changes that it finds."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.builds.patched_build import make_build
from reassure.checkers.kafka.controller.controller_itf import commands_from_itf, executed, run_of_controller, run_to_itf
from reassure.checkers.kafka.controller.explained import ReleaseRules
from reassure.checkers.kafka.controller.explore import ControllerExploration, ExploreLimits, Scope, explore_with
from reassure.checkers.kafka.controller.explore_logs import LogStep
from reassure.checkers.kafka.controller.explore_properties import evaluate, names_of_promises
from reassure.checkers.kafka.controller.explore_report import WITHOUT_REMOVAL, harm
from reassure.checkers.kafka.controller.junit import junit_method
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.replay import replayed
from reassure.checkers.kafka.controller.words import (
    LISTED_OTHERWISE,
    REMEMBERED,
    Command,
    ControllerState,
    Kind,
)
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from tests.helpers.kafka_jars import EACH, class_path, kafka_sources, shared_driver

SCOPE = Scope(2, unclean=(False,), topic=True)
OF_TOPIC = [
    "reassignments_are_listed_as_they_are",
    "deleted_topics_are_forgotten",
    "new_partitions_are_as_asked",
    "added_partitions_have_the_topics_factor",
    "parts_of_a_request_are_independent",
]
KNOWN = "added_partitions_have_the_topics_factor"
"""Every release breaks it: partitions that are added in a move."""


@cache
def searched(version: str, depth: int) -> ControllerExploration:
    return explore_with([shared_driver(version)], SCOPE, ExploreLimits(depth), Progress(quiet=True))


def ran(version: str, *commands: Command) -> tuple[list[ControllerState], list[str], list[str]]:
    """States, answers and Kafka's words of a run, nothing set in between."""
    steps = [LogStep(command, 0, 0) for command in commands]
    run, texts = executed(SCOPE.initial_states()[0], steps, shared_driver(version), SCOPE.setup)
    return run.states, run.answers, texts


def reassign(*brokers: int, partition: int = 0) -> Command:
    return Command(Kind.REASSIGN, 0, brokers, partition=partition)


@pytest.mark.parametrize("version", EACH)
def test_releases_keep_the_promises_of_a_topic_but_one(version: str) -> None:
    graph = searched(version, 3)
    findings = evaluate(graph)
    assert [name for name in OF_TOPIC if name in findings.violated] == [KNOWN]
    assert findings.properties[-len(OF_TOPIC) :] == OF_TOPIC and not (graph.second >> LISTED_OTHERWISE).any()
    assert [p for p in names_of_promises(topic=True) if p not in names_of_promises()] == OF_TOPIC


def test_every_state_of_a_topic_within_a_depth() -> None:
    graph = searched("4.3.1", 4)
    assert graph.levels == [1, 11, 70, 288, 934] and (len(graph.states), graph.steps) == (1304, 16011)
    assert len(np.unique(graph.keys)) == len(graph.states)
    numbers = range(0, len(graph.states), 7)
    assert all(graph.number_of(graph.state(number)) == number for number in numbers)
    kinds = {graph.commands[number].kind for number in np.nonzero(graph.applies)[1]}
    assert kinds >= {Kind.DELETE_TOPIC, Kind.CREATE_TOPIC, Kind.ADD_PARTITION, Kind.REASSIGN_BOTH}
    assert any(c.partition and graph.applies[:, i].any() for i, c in enumerate(graph.commands))


def test_a_run_does_what_the_search_did() -> None:
    """Every 20th state is reached again by its path, by one controller that nothing is set in."""
    graph = searched("4.3.1", 4)
    for number in range(0, len(graph.states), 20):
        states, _, _ = ran("4.3.1", *graph.path(number)[1])
        assert graph.number_of(states[-1]) == number


@pytest.mark.parametrize("version", ["3.9.0", "4.4.0"])
def test_a_topic_that_is_created_again_in_a_move_begins_anew(version: str) -> None:
    """The old topic's reassignment is not the new one's, and the new one is led by a live broker of its assignment."""
    commands = (reassign(1), reassign(2), Command(Kind.DELETE_TOPIC), Command(Kind.FENCE, 1))
    states, answers, texts = ran(version, *commands, Command(Kind.CREATE_TOPIC, 0, (1, 2)), reassign(2))
    assert answers[1:] == ["NONE"] * 6
    moving, gone, created = states[2], states[3], states[5]
    assert moving.partition.adding == {2} and gone.partition.replicas == () and gone.partition.leader is None
    p = created.partition
    assert (p.replicas, p.isr, p.leader, p.adding, p.removing) == ((1, 2), {2}, 2, frozenset(), frozenset())
    assert "RemoveTopicRecord(topicId=AAAAAAAAAAEAAAAAAAAAAQ)" in texts[3]
    assert "topicId=AAAAAAAAAAEAAAAAAAAAAg" in texts[5] and "topicId=AAAAAAAAAAEAAAAAAAAAAg" in texts[6]


def test_what_is_not_there_is_refused() -> None:
    both = Command(Kind.REASSIGN_BOTH, 0, (2,), others=(1,))
    states, answers, _ = ran("4.3.1", both, Command(Kind.DELETE_TOPIC), reassign(1), Command(Kind.DELETE_TOPIC))
    assert answers[1:] == ["NONE", "NONE", "UNKNOWN_TOPIC_OR_PARTITION", "not applicable"]
    assert (states[1].partition.replicas, states[1].second) == ((2,), None)
    _, answers, _ = ran("4.3.1", Command(Kind.ADD_PARTITION, 0, (1,)), Command(Kind.CREATE_TOPIC, 0, (1,)))
    assert answers[1:] == ["INVALID_REPLICA_ASSIGNMENT", "not applicable"]


def test_partitions_that_are_added_in_a_move_take_both_assignments() -> None:
    _, answers, _ = ran("4.3.1", reassign(1), reassign(2), Command(Kind.ADD_PARTITION, 0, (1,)))
    assert answers[-1] == "INVALID_REPLICA_ASSIGNMENT"
    states, answers, _ = ran("4.3.1", reassign(1), reassign(2), Command(Kind.ADD_PARTITION, 0, (1, 2)))
    assert answers[-1] == "NONE" and states[-1].second is not None and states[-1].second.replicas == (1, 2)


def spoiled(name: str) -> ControllerExploration:
    """The exploration with one word of one step or state changed, so that a property has to refuse it."""
    graph = searched("4.3.1", 4)
    if name in OF_TOPIC[:2]:
        bit = LISTED_OTHERWISE if name == OF_TOPIC[0] else REMEMBERED
        second = graph.second.copy()
        second[5] |= 1 << bit
        return replace(graph, second=second)
    kind = Kind.REASSIGN_BOTH if name == OF_TOPIC[4] else Kind.CREATE_TOPIC
    number = next(i for i, c in enumerate(graph.commands) if c.kind is kind)
    row = int(np.flatnonzero(graph.applies[:, number] & (graph.answers[:, number] & 0xFFFF == 0))[0])
    targets = graph.targets.copy()
    targets[row, number] = 0
    return replace(graph, targets=targets)


@pytest.mark.parametrize("name", [name for name in OF_TOPIC if name != KNOWN])
def test_a_property_refuses_what_breaks_it(name: str) -> None:
    broken = evaluate(spoiled(name)).violated
    assert name in broken and name not in evaluate(searched("4.3.1", 4)).violated


WRONG_CHANGES = {
    "a deleted topic stays in the index of in-sync brokers": "@@ 562,1 bc557e25c6a9\n",
    "one of two reassignments ends, and none is listed": "@@ 485,1 b38bedc6dcb1\n+            if (true) {\n",
    "an error throws away the other partition's records": (
        "@@ 2153,1 974f4f0dff43\n+                    error = ApiError.fromThrowable(e);\n"
        "+                    records.clear();\n"
    ),
    "a new partition on dead brokers is refused otherwise": "@@ 1966,1 118e542c7a04\n+                    toList();\n",
}
"""Small wrong changes of 4.3.1's `ReplicationControlManager`, each of its own lines."""
BOUNDS = ["--brokers", "2", "--unclean", "off", "--configuration", "fixed"]


def test_wrong_changes_are_found_with_the_topic_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All in one build, to start few JVMs. By command and fields: the steps that differ, and the length of the run."""
    kafka_sources("4.3.1")
    file = "file org/apache/kafka/controller/ReplicationControlManager.java\n"
    (tmp_path / "p.patch").write_text(file + "".join(WRONG_CHANGES.values()))
    build = str(make_build([tmp_path / "p.patch"], release("4.3.1"), tmp_path / "build").folder)
    words = ["kafka", "diff", "4.3.1", build, *BOUNDS, "--depth", "4", "--json", str(tmp_path / "record.json")]
    assert main([*words, "--topic", "--trace-dir", str(tmp_path / "runs")]) == Exit.SAFETY.value
    diff = json.loads((tmp_path / "record.json").read_text())["diff"]
    assert diff["promises"]["head_breaks"] == [OF_TOPIC[0], OF_TOPIC[1], OF_TOPIC[4]]
    found = {(d["command"], *d["fields"]): (d["steps"], len(d["run"])) for d in diff["differences"]}
    assert len(found) == len(diff["differences"]) == 17
    assert found["delete_topic", "topic"] == (270, 1)
    assert found["reassign_both", "reassignments listed"] == (42, 4)
    assert found["add_partition", "error code"] == (92, 3)
    thrown_away = {key: steps for key, steps in found.items() if "records" in key}
    assert {key[0] for key in thrown_away} == {"reassign_both"} and len(thrown_away) == 14
    assert min(length for _, length in thrown_away.values()) == 1
    assert len(list((tmp_path / "runs").iterdir())) == 2 * (17 + 3)
    capsys.readouterr()
    assert main(words) == Exit.OK.value
    out = " ".join(capsys.readouterr().out.split())
    assert "creation and deletion of topics, and more partitions" in out and "no difference within" in out


def test_a_release_does_not_differ_from_itself(capsys: pytest.CaptureFixture[str]) -> None:
    class_path("4.3.1")
    assert main(["kafka", "diff", "4.3.1", "4.3.1", *BOUNDS, "--depth", "3", "--topic"]) == Exit.OK.value
    out = " ".join(capsys.readouterr().out.split())
    assert "no difference within these bounds: 2 brokers" in out and "given a second partition, depth 3" in out
    assert "no command executes: more than two partitions and more than one topic; placement of partitions" in out
    assert "(--topic)" not in out


def test_three_brokers_and_a_topic() -> None:
    scope = Scope(3, unclean=(False,), topic=True)
    graph = explore_with([shared_driver("4.3.1")], scope, ExploreLimits(1), Progress(quiet=True))
    assert len(np.unique(graph.keys)) == len(graph.states) and len(graph.commands) == 157


def test_a_run_of_a_topic_is_a_file_that_is_replayed(tmp_path: Path) -> None:
    commands = [Command(Kind.ADD_PARTITION, 0, (2, 1)), reassign(1, partition=1)]
    commands += [Command(Kind.REASSIGN_BOTH, 0, (2,), others=()), Command(Kind.DELETE_TOPIC)]
    steps = [LogStep(command, 0, 0) for command in (*commands, Command(Kind.CREATE_TOPIC, 0, (2,)))]
    run, _ = executed(SCOPE.initial_states()[0], steps, shared_driver("4.3.1"), SCOPE.setup)
    path = tmp_path / "run.itf.json"
    path.write_text(run_to_itf(run, {}))
    data = run_of_controller(path)
    assert data is not None
    trace = commands_from_itf(data, "run")
    assert [step.command for step in trace.commands] == [step.command for step in steps]
    assert [step.after for step in trace.commands] == run.states[1:] and trace.setup == SCOPE.setup
    assert replayed(trace, shared_driver("4.3.1")) is None
    wrong = replace(trace.commands[1], after=replace(trace.commands[1].after, second=None))
    different = replayed(replace(trace, commands=(trace.commands[0], wrong)), shared_driver("4.3.1"))
    assert different is not None and ("partition 1: replicas", "", "[1]") in different.rows()
    with pytest.raises(Failure, match="a second partition, which Kafka's test context does not make"):
        junit_method(trace, release("4.3.1"), "x")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--company"], "leave out --company"),
        (["--brokers", "4"], "--topic is searched with 3 brokers at most"),
        (["--brokers", "3", "--events", "cordon"], "--topic with cordon or unregister is searched with 2 brokers"),
        (["--min-isr", "8"], "--min-isr 8 is more than 7"),
    ],
)
def test_bounds_that_a_topic_has_no_room_for(options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "explore", "--release", "4.3.1", "--topic", *options]) == Exit.USAGE.value
    assert text in capsys.readouterr().err


def test_a_comparison_begins_in_a_state_of_a_run_of_a_topic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After a deletion in mid-move: the topic is created, on each of four assignments, or a broker is fenced."""
    steps = [LogStep(command, 0, 0) for command in (reassign(1), reassign(2), Command(Kind.DELETE_TOPIC))]
    run, _ = executed(SCOPE.initial_states()[0], steps, shared_driver("4.3.1"), SCOPE.setup)
    (tmp_path / "run.itf.json").write_text(run_to_itf(run, {}))
    words = ["kafka", "diff", "4.3.1", "4.3.1", "--from", str(tmp_path / "run.itf.json"), "--depth", "1"]
    assert main([*words, "--configuration", "fixed"]) == Exit.OK.value
    out = " ".join(capsys.readouterr().out.split())
    assert "from a state of a run, unclean election off, late proposals" in out and "second partition, depth 1" in out
    assert "BASE Kafka 4.3.1: 7 states" in out
    assert main([*words, "--topic"]) == Exit.USAGE.value
    assert "--topic is what the run of --from says" in capsys.readouterr().err


def test_the_harm_of_a_promise_is_that_of_the_partition_that_moves() -> None:
    """One state after another: partition 1 loses a replica, or none does."""
    first = SCOPE.initial_states()[0]
    before = replace(first, second=first.partition)
    after = replace(first, second=replace(first.partition, replicas=first.partition.replicas[:1]))
    name = "completion_needs_everything_added"
    assert "deleted" in harm(name, [before, after]) and harm(name, [before, before]) == WITHOUT_REMOVAL[name]


def test_a_model_has_no_rules_for_a_topic() -> None:
    with pytest.raises(Failure, match="no rules for requests of several partitions"):
        ReleaseRules("kraft_kafka", release("4.3.1"), SCOPE.setup)
