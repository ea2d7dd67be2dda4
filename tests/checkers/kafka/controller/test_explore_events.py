"""Explorations with other clusters and other events: every step explained, the promises that they break, company."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explained import ReleaseRules, explain
from reassure.checkers.kafka.controller.explore import (
    EVENTS,
    ControllerExploration,
    ExploreLimits,
    Scope,
    explore_with,
    keys_of,
    prepare_driver,
)
from reassure.checkers.kafka.controller.explore_properties import evaluate
from reassure.checkers.kafka.controller.explore_report import counterexamples
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.words import (
    Command,
    ControllerState,
    Kind,
    Setup,
    answer_of,
    packed_state,
    unpacked_state,
)
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.spec.kafka.partition import NOBODY, Partition
from tests.helpers.brokers import b, seq
from tests.helpers.kafka_jars import shared_driver

QUIET = Progress(quiet=True)


def searched(version: str, scope: Scope, depth: int | None = None) -> ControllerExploration:
    return explore_with([shared_driver(version)], scope, ExploreLimits(depth), QUIET)


def unexplained(graph: ControllerExploration) -> dict[str, int]:
    """Steps that the rules of the release take otherwise, by kind of command."""
    rules = ReleaseRules("kraft_kafka", release(graph.version), graph.scope.setup)
    explanation = explain(graph, rules, QUIET)
    assert explanation.steps == graph.steps
    return {kind: steps.count for kind, steps in explanation.unexplained.items()}


# -- other clusters ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "metadata_version", "events", "states", "steps"),
    [
        ("3.9.0", "", (), 792, 12452),
        ("4.0.0", "", (), 476, 8280),
        ("4.4.0", "", (), 500, 8712),
        ("3.9.0", "3.0-IV1", ("controlled-shutdown", "directories"), 596, 10936),
        ("3.9.0", "3.3-IV2", ("controlled-shutdown",), 988, 16120),
        ("4.4.0", "3.5-IV2", ("cordon", "directories"), 500, 9712),
    ],
)
def test_every_step_without_elr_is_explained(
    version: str, metadata_version: str, events: tuple[str, ...], states: int, steps: int
) -> None:
    """Older metadata versions: the leader epoch rises when the ISR shrinks, and there are no log directories."""
    graph = searched(version, Scope(2, events=events, elr=False, metadata_version=metadata_version))
    assert graph.complete and (len(graph.states), graph.steps) == (states, steps)
    assert not (graph.states >> 24 & 63).any()  # nobody is ever eligible
    assert unexplained(graph) == {}


def test_a_metadata_version_that_the_release_does_not_know_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--brokers", "2", "--release", "4.4.0", "--elr", "off", "--metadata-version", "3.2-IV0"]
    assert main(["kafka", "explore", *options, "--quiet"]) == Exit.USAGE.value
    assert capsys.readouterr().err.startswith(
        "reassure: Kafka 4.4.0 has no metadata version 3.2-IV0; it has 3.3-IV3, 3.4-IV0, "
    )


def test_settings_of_more_brokers_than_a_key_has_room_for_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for more in (["--configuration", "changes"], ["--events", "unregister"], ["--min-isr", "128"]):
        assert main(["kafka", "explore", "--brokers", "5", *more]) == Exit.USAGE.value
    said = capsys.readouterr().err
    assert said.count("settings are searched with 4 brokers at most") == 2 and "--min-isr 128 is more than 127" in said


def test_a_key_is_of_one_state() -> None:
    graph = searched("4.4.0", Scope(2, configuration_changes=True, events=tuple(EVENTS)), depth=3)
    rows = np.unique(np.stack([graph.states, graph.settings], axis=1), axis=0)
    assert len(rows) == len(graph.states) == len(np.unique(graph.keys))
    assert (keys_of(graph.states, graph.settings, 2) == graph.keys).all()
    assert all(graph.number_of(graph.state(number)) == number for number in range(0, len(rows), 101))


# -- other events --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3.9.0", "4.0.0", "4.2.0", "4.4.0"])
def test_steps_with_every_event_are_explained(version: str) -> None:
    graph = searched(version, Scope(2, configuration_changes=True, events=tuple(EVENTS)), depth=3)
    kinds = {graph.commands[number].kind for number in np.nonzero(graph.applies)[1]}
    cordons = {Kind.CORDON, Kind.UNCORDON} if version == "4.4.0" else set()
    of_events = {Kind.CONTROLLED_SHUTDOWN, Kind.ASSIGN_DIRECTORY, Kind.UNREGISTER, *cordons}
    assert kinds >= of_events | {Kind.CHANGE_MIN_ISR, Kind.CHANGE_UNCLEAN}
    assert bool(cordons) == (Kind.CORDON in kinds) and unexplained(graph) == {}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.9.0", "4.0.0", "4.1.0", "4.2.0", "4.3.0", "4.4.0"])
@pytest.mark.parametrize("events", [("directories", "controlled-shutdown"), ("unregister",), ("cordon",)])
def test_every_step_with_an_event_is_explained(version: str, events: tuple[str, ...]) -> None:
    graph = searched(version, Scope(2, events=events))
    assert graph.complete and unexplained(graph) == {}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.9.0", "4.1.0", "4.4.0"])
def test_every_step_with_changes_of_the_configuration_is_explained(version: str) -> None:
    graph = searched(version, Scope(2, configuration_changes=True))
    assert graph.complete and unexplained(graph) == {}
    assert len(graph.states) == {"3.9.0": 6576, "4.1.0": 5944, "4.4.0": 6424}[version]


def broken(graph: ControllerExploration, name: str) -> list[str] | None:
    """The shortest run to a promise that is broken, as commands; None if it is kept."""
    findings = evaluate(graph)
    assert name in findings.properties
    runs = counterexamples(graph, findings, None, shared_driver(graph.version), [name])
    return [str(command) for _, command, _ in runs[name].run.steps[1:]] if name in findings.violated else None


@pytest.mark.parametrize("version", ["4.2.0", "4.3.0"])
def test_a_new_directory_takes_the_right_to_lead_up_to_4_2(version: str) -> None:
    """AssignReplicasToDirs was made as if eligible leader replicas were off."""
    graph = searched(version, Scope(2, unclean=(False,), events=("directories",)))
    runs = [broken(graph, name) for name in ("somebody_may_still_lead", "directories_are_not_about_who_may_lead")]
    wrong = [["reassign([1])", "fence(1)", "assign_directory(1)"], ["propose({1})", "assign_directory(1)"]]
    assert runs == (wrong if version == "4.2.0" else [None, None])


def test_a_new_min_isr_takes_the_right_to_lead() -> None:
    graph = searched("4.4.0", Scope(2, unclean=(False,), configuration_changes=True), depth=4)
    assert broken(graph, "somebody_may_still_lead") == ["reassign([1])", "fence(1)", "change_min_isr(1)"]


def test_the_present_min_isr_again_leaves_the_elr() -> None:
    """A value that the topic has already is not written, so nothing is cleared."""
    driver = shared_driver("4.4.0")
    driver.begin(Setup(2))
    partition = Partition(seq(1, 2), b(1), b(2), NOBODY, NOBODY, seq(1)[0], 0, 0, False, None)
    state = ControllerState(partition, b(1, 2), (0, 0), False, min_isr=2)
    for value, elr in ((2, b(2)), (1, NOBODY)):
        row = [*packed_state(state), *Command(Kind.CHANGE_MIN_ISR, value).words(set_state=True)]
        (*words, _), _ = driver.describe(row)
        assert unpacked_state(*words, 2).partition.elr == elr


def test_what_is_not_searched_has_no_promise() -> None:
    findings = evaluate(searched("4.4.0", Scope(2), depth=2))
    assert {"somebody_may_still_lead", "cordoned_replicas_may_stay"} <= set(findings.not_applicable)


# -- cordoned brokers ----------------------------------------------------------------------------------------


def answers(driver: Driver, *commands: Command) -> list[str]:
    """The answers to commands in turn, four brokers alive, replicas 1 and 2 in sync."""
    driver.begin(Setup(4))
    partition = Partition(seq(1, 2), b(1, 2), NOBODY, NOBODY, NOBODY, seq(1)[0], 0, 0, False, None)
    start = packed_state(ControllerState(partition, b(1, 2, 3, 4), (0,) * 4, False))
    rows = [[*start, *command.words(set_state=i == 0)] for i, command in enumerate(commands)]
    return [str(answer_of(int(row[3]))) for row in driver.steps(np.array(rows))]


def reassign(*target: int) -> Command:
    return Command(Kind.REASSIGN, 0, target)


def cordon(broker: int) -> Command:
    return Command(Kind.CORDON, broker)


REFUSED = "INVALID_REPLICA_ASSIGNMENT"


@pytest.mark.parametrize(("version", "answer"), [("4.3.0", "NONE"), ("4.4.0", REFUSED)])
def test_a_replica_that_stays_on_a_cordoned_broker_is_refused(version: str, answer: str) -> None:
    """By 4.4.0; 4.3.0 cordons, but looks at it only where topics are made."""
    driver = shared_driver(version)
    assert answers(driver, cordon(1), reassign(1, 3)) == ["NONE", answer]
    rollback = [reassign(3, 4), cordon(1), reassign(1, 2), Command(Kind.CANCEL)]
    assert answers(driver, *rollback) == ["NONE", "NONE", answer, "NONE"]
    draining = [cordon(1), cordon(2), reassign(1, 3), reassign(3, 4)]
    assert answers(driver, *draining) == ["NONE", "NONE", answer, "NONE"]
    lifted = [cordon(1), reassign(1, 3), Command(Kind.UNCORDON, 1), reassign(1, 3)]
    assert answers(driver, *lifted) == ["NONE", answer, "NONE", "NONE"]


def test_the_promise_about_cordoned_replicas() -> None:
    graph = searched("4.4.0", Scope(2, unclean=(False,), events=("cordon",)), depth=3)
    assert broken(graph, "cordoned_replicas_may_stay") == ["cordon(1)", "reassign([1])"]
    graph = searched("4.3.0", Scope(2, unclean=(False,), events=("cordon",)), depth=3)
    assert broken(graph, "cordoned_replicas_may_stay") is None


@pytest.mark.parametrize("version", ["3.9.0", "4.2.0", "4.4.0"])
def test_a_broker_that_is_unregistered_comes_back(version: str) -> None:
    driver = shared_driver(version)
    commands = [Command(Kind.UNREGISTER, 2), Command(Kind.UNFENCE, 2), reassign(2), Command(Kind.RESTART_UNCLEANLY, 2)]
    back = [*commands, Command(Kind.UNFENCE, 2), reassign(2)]
    expected = ["NONE", "not applicable", REFUSED, "NONE", "NONE", "NONE"]
    assert answers(driver, *back) == expected


# -- several partitions in one request -----------------------------------------------------------------------


@pytest.mark.parametrize(("version", "differing"), [("3.9.0", 5225), ("4.4.0", 4022)])
def test_a_partition_does_to_another_what_an_exception_does(version: str, differing: int) -> None:
    """Every step of two brokers alone, and with a partition that throws: elections of all are lost, nothing else is.

    Reassignments answer for each partition; no AlterPartition throws in any state that a release reaches.
    """
    scope = Scope(2)
    graph = searched(version, scope)
    driver = shared_driver(version)
    prepare_driver(driver, replace(scope, company=True))
    rows = np.stack([graph.states, graph.settings], axis=-1)
    got = np.concatenate([driver.expand(rows[i : i + 256]) for i in range(0, len(rows), 256)])
    words, settings = got["state"].astype(np.int64), got["settings"].astype(np.int64)
    alone = np.where(graph.targets >= 0, graph.keys[graph.targets], -1)
    differs = (keys_of(words, settings, 2) != alone) | (got["answer"] != graph.answers)
    differs &= graph.applies
    assert int(differs.sum()) == differing
    assert (got["answer"][differs] >> 16 & 1).all() and not (graph.answers[differs] >> 16 & 1).any()
    kinds = {graph.commands[number].kind for number in np.nonzero(differs)[1]}
    elections = {Kind.ELECT_PREFERRED, Kind.ELECT_UNCLEAN, Kind.MAYBE_ELECT_UNCLEAN, Kind.BALANCE}
    assert kinds == elections | {Kind.ELECT_LEADERLESS, Kind.UNFENCE}
    proposals = [number for number, c in enumerate(graph.commands) if c.kind is Kind.PROPOSE]
    assert not (graph.answers[:, proposals] >> 16 & 1).any()


def test_there_are_no_rules_for_company(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["kafka", "explore", "--release", "4.4.0", "--brokers", "2", "--company", "--explain"]
    assert main(words) == Exit.USAGE.value
    assert "kraft_kafka has no rules for requests of several partitions" in capsys.readouterr().err
    with pytest.raises(Failure, match="kraft_kafka has no rules for requests of several partitions"):
        ReleaseRules("kraft_kafka", release("4.4.0"), Setup(2, company=True))
