"""Kafka's controller explored: every state of two brokers, the defects of each release, the same each time."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explained import ReleaseRules, explain, with_records
from reassure.checkers.kafka.controller.explore import LATE, ExploreLimits, Scope, explore_controller, explore_with
from reassure.checkers.kafka.controller.explore_report import harm, report_explanation
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.words import REFUSED_PROPOSALS, Command, Kind, Setup, answer_of
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from tests.helpers.kafka_explored import explored, findings_of
from tests.helpers.kafka_jars import EACH, PATCHES, class_path, shared_driver

STATES = {"3.9.0": 2136, "4.0.0": 2312, "4.1.0": 1832, "4.2.0": 1540, "4.3.0": 1588, "4.4.0": 1588}
ENDLESS = ("4.3.0", "4.4.0")
"""Releases where a reassignment that is rolled back by its original assignment never ends."""


@pytest.mark.parametrize("version", EACH)
def test_every_state_of_two_brokers(version: str) -> None:
    found = explored(version)
    assert found.complete and len(found.states) == STATES[version]
    assert len(np.unique(found.states)) == len(found.states) == sum(found.levels)
    assert (found.targets[found.applies] >= 0).all()


@pytest.mark.parametrize("version", EACH)
def test_the_defects_of_each_release_are_found(version: str) -> None:
    findings, shown = findings_of(version)
    assert set(shown) == set(findings.violated)
    assert ("a_led_reassignment_can_end" in shown) == (version in ENDLESS)
    assert ("leader_is_in_sync" in shown) == (version in ("3.9.0", "4.0.0"))
    for name in ("controller_goes_on", "requests_are_understood", "leaders_hold_what_was_committed"):
        assert name in shown
    assert {"replicas_are_distinct", "new_leader_has_a_new_epoch", "isr_and_elr_are_disjoint"}.isdisjoint(shown)


@pytest.mark.parametrize("version", [pytest.param(ENDLESS[0], marks=pytest.mark.slow), ENDLESS[1]])
def test_a_rollback_by_the_original_assignment_never_ends(version: str) -> None:
    run = findings_of(version)[1]["a_led_reassignment_can_end"].run
    p = run.states[-1].partition
    assert len(run.states) == 4 and p.leader is not None
    assert p.adding & p.removing  # what no rule of completion copes with


@pytest.mark.parametrize("version", EACH)
def test_a_broker_that_comes_back_makes_the_controller_resign(version: str) -> None:
    shown = findings_of(version)[1]["controller_goes_on"]
    assert shown.run.answers[-1] == "UNKNOWN_SERVER_ERROR, the controller resigns"
    assert "is not assigned to this partition" in shown.texts[-1]
    assert shown.run.steps[-1][0] in ("restart_uncleanly", "unfence", "elect_leaderless")


@pytest.mark.parametrize("version", EACH)
def test_committed_records_are_lost_without_any_unclean_election(version: str) -> None:
    run = findings_of(version)[1]["leaders_hold_what_was_committed"].run
    last = run.states[-1]
    assert not any(state.unclean or state.partition.recovering for state in run.states)
    assert last.partition.leader is not None and last.partition.leader not in run.complete[-1]
    assert not any(c is not None and c.kind in (Kind.RESTART_UNCLEANLY, Kind.ELECT_UNCLEAN) for _, c, _ in run.steps)


def test_the_number_of_jvms_does_not_matter() -> None:
    one, two = explored("4.4.0"), explored("4.4.0", jvms=2)
    assert np.array_equal(one.states, two.states) and np.array_equal(one.parents, two.parents)
    assert np.array_equal(one.targets, two.targets) and np.array_equal(one.answers, two.answers)


def test_paths_are_shortest() -> None:
    found = explored("4.4.0")
    for number in range(0, len(found.states), 97):
        _, commands = found.path(number)
        assert len(commands) == found.level_of(number) - 1


@pytest.mark.parametrize("version", EACH)
def test_the_models_rules_explain_every_step_of_two_brokers(version: str) -> None:
    """The same rules as `kraft_kafka`, in every state that the real class reaches, without a bound on anything."""
    found = explored(version)
    explanation = explain(found, ReleaseRules("kraft_kafka", release(version), Setup(2)), Progress(quiet=True))
    assert (explanation.steps, explanation.unexplained) == (found.steps, {})


@pytest.mark.parametrize(
    "version", [pytest.param(v, marks=[pytest.mark.slow] if v != "4.1.2" else []) for v in PATCHES]
)
def test_every_patch_release_goes_by_the_rules_of_its_row(version: str) -> None:
    """4.1.1 and 4.1.2 have a change of 4.2, and the states of 4.2.0."""
    kafka = release(version)
    found = explored(version)
    assert len(found.states) == STATES[f"{kafka.rules}.0"]
    explanation = explain(found, ReleaseRules("kraft_kafka", kafka, Setup(2)), Progress(quiet=True))
    assert kafka.listed and (explanation.steps, explanation.unexplained) == (found.steps, {})


def test_a_step_to_words_that_no_state_has_is_not_explained() -> None:
    """The words are read as the state that the rules give, and are not its words."""
    found = explored("4.4.0")
    target = int(found.targets[0].max())
    states = found.states.copy()
    states[target] |= 1 << 62
    changed = replace(found, states=states, targets=found.targets[:1], answers=found.answers[:1])
    explanation = explain(changed, ReleaseRules("kraft_kafka", release("4.4.0"), Setup(2)), Progress(quiet=True))
    assert explanation.steps == changed.steps
    assert explanation.count == (changed.targets == target).sum() > 0


def test_the_rules_of_another_release_leave_steps_unexplained(capsys: pytest.CaptureFixture[str]) -> None:
    """The first is the rollback that never ends: 4.2 completed it at once, 4.3 and 4.4 wait for what is not wanted."""
    found = explored("4.4.0")
    explanation = explain(found, ReleaseRules("kraft_kafka", release("4.2.0"), Setup(2)), Progress(quiet=True))
    assert (explanation.count, explanation.steps) == (1208, 26400)
    driver = shared_driver("4.4.0")
    with_records(explanation, found, driver)
    first = explanation.unexplained["reassign"]
    assert [str(c) for c in [*first.path, first.first.step.command]] == [
        "reassign([1])",
        "reassign([2])",
        "reassign([1])",
    ]
    assert first.first.rows() == [
        ("replicas", "[1]", "[1, 2]"),
        ("adding", "{}", "{2}"),
        ("removing", "{}", "{2}"),
        ("leader epoch", "1001", "1000"),
    ]
    report_explanation(explanation, "kraft_kafka", "4.2.0", Console(width=120))
    said = capsys.readouterr().out
    assert "the rules differ in 600 steps of reassign; the first:" in said and "PartitionChangeRecord(" in said


def test_a_release_without_rules_is_refused() -> None:
    with pytest.raises(
        Failure, match=r"kraft_kafka has no rules of Kafka 5\.0; it has 3\.9, .*; `conform --set release=4\.4` or"
    ):
        ReleaseRules("kraft_kafka", release("5.0.0"), Setup(2))
    with pytest.raises(Failure, match="die_hard has no rules for every step of Kafka's controller"):
        ReleaseRules("die_hard", release("4.4.0"), Setup(2))


def test_commands_of_three_brokers() -> None:
    commands = Scope(3).commands()
    assert sum(c.kind is Kind.REASSIGN for c in commands) == 3 + 6 + 6
    assert sum(c.kind is Kind.PROPOSE for c in commands) == 7
    assert Command(Kind.CANCEL) in commands and len(commands) == len(set(commands)) == 40


def test_proposals_with_old_epochs_and_of_a_follower_are_refused_and_change_nothing() -> None:
    scope = Scope(2, unclean=(False,), events=(LATE,))
    new = [command for command in scope.commands() if command.kind in REFUSED_PROPOSALS]
    assert [command.brokers for command in new] == [(1, 2)] * 4
    found = explore_with([shared_driver("4.4.0")], scope, ExploreLimits(depth=3), Progress(quiet=True))
    refusals = {}
    for command in new:
        column = found.commands.index(command)
        answers = found.answers[found.applies[:, column], column]
        refusals[command.kind] = {answer_of(int(answer)).error for answer in answers}
        rows = np.flatnonzero(found.applies[:, column])
        assert np.array_equal(found.targets[rows, column], rows)
    assert refusals == {
        Kind.PROPOSE_OLD_PARTITION_EPOCH: {"INVALID_UPDATE_VERSION"},
        Kind.PROPOSE_OLD_LEADER_EPOCH: {"FENCED_LEADER_EPOCH"},
        Kind.PROPOSE_OLD_BROKER_EPOCHS: {"INELIGIBLE_REPLICA", "INVALID_REQUEST"},
        Kind.PROPOSE_BY_FOLLOWER: {"INVALID_REQUEST"},
    }


def test_what_is_cut_short_holds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class_path("4.4.0")
    record = tmp_path / "record.json"
    options = ["--release", "4.4.0", "--brokers", "2", "--jvms", "1", "--quiet", "--json", str(record)]
    assert main(["kafka", "explore", *options, "--depth", "2", "--unclean", "off"]) == Exit.SAFETY.value
    said = capsys.readouterr().out
    assert "holds" not in said and "not violated so far" in said and "depth 2 was reached" in said
    (data,) = json.loads(record.read_text())["releases"]
    assert not data["complete"] and {p["status"] for p in data["properties"]} == {"violated", "unknown"}
    assert "a_led_reassignment_can_end" not in {p["name"] for p in data["properties"]}


def test_the_command_writes_runs_that_kafka_replays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class_path("4.4.0")
    options = ["--release", "4.4.0", "--brokers", "2", "--jvms", "1", "--trace-dir", str(tmp_path)]
    assert main(["kafka", "explore", *options]) == Exit.SAFETY.value == 12
    said = capsys.readouterr().out
    assert "1,588 states" in said and "IllegalArgumentException: Replica 2 is not assigned" in said
    files = sorted(tmp_path.glob("kafka-4.4.0--*.itf.json"))
    assert len(files) == said.count("trace: ") == said.count(" is violated: ")
    resigns = tmp_path / "kafka-4.4.0--controller_goes_on.itf.json"
    assert main(["kafka", "replay", str(resigns), "--release", "4.4.0"]) == Exit.OK.value
    assert main(["kafka", "replay", str(resigns), "--release", "3.9.0"]) == Exit.TRACE.value
    loss = tmp_path / "kafka-4.4.0--leaders_hold_what_was_committed.itf.json"
    assert main(["kafka", "replay", str(loss), "--release", "4.3.0"]) == Exit.OK.value


def test_a_file_that_only_says_so_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.itf.json"
    path.write_text(json.dumps({"#meta": {"kafka": {"brokers": 2}}, "vars": [], "states": [{}]}))
    assert main(["kafka", "replay", str(path)]) == Exit.TRACE.value
    assert capsys.readouterr().err.startswith(f"reassure: {path} is not a run of Kafka's controller: KeyError")


def test_a_jvm_lost_on_the_way_ends_the_search_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    path, lost = class_path("4.4.0"), []
    expand = Driver.expand

    def killed(self: Driver, states: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        if len(states) > 50 and not lost:
            lost.append(self)
            os.kill(self.process.pid, signal.SIGKILL)
        return expand(self, states)

    monkeypatch.setattr(Driver, "expand", killed)
    with pytest.raises(Exception, match=r"^the JVM of Kafka 4\.4\.0 was ended by signal 9$"):
        explore_controller(path, Scope(2), 2, ExploreLimits(), Progress(quiet=True))


def test_wrong_options_are_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "explore", "--brokers", "2", "--replicas", "3"]) == Exit.USAGE.value
    assert main(["kafka", "explore", "--brokers", "7"]) == Exit.USAGE.value
    assert capsys.readouterr().err.count("\n") == 2


def test_the_harm_is_that_of_the_run() -> None:
    """Deleted copies are spoken of where a replica is removed."""
    start = Scope(2).initial_states()[0]
    one = replace(start, partition=replace(start.partition, replicas=start.partition.replicas[:1]))
    name = "completion_needs_everything_added"
    assert harm(name, [start, one]) == "Old copies are deleted while a new one is still empty."
    assert harm(name, [one, start]).startswith("A reassignment ends, and a replica that it added is not in sync: ")
    assert harm("isr_within_replicas", [one, start]).startswith("A broker that deletes its copy still counts")
