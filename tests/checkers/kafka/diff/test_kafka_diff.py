"""Two releases compared: the known rules, the promise that one breaks, nothing where nothing changed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from reassure.checkers.base.exit_codes import Exit
from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller.words import Command, Kind
from reassure.checkers.kafka.diff.analysis import BuildComparison
from reassure.checkers.kafka.diff.promises import compare_promises
from reassure.checkers.kafka.diff.runs import run_of_both
from tests.helpers.kafka_explored import explored
from tests.helpers.kafka_jars import class_path, shared_driver


@cache
def comparison(base: str, head: str) -> BuildComparison:
    """Of two brokers, explored once for all tests."""
    return BuildComparison(explored(base), explored(head))


def texts(commands: tuple[Command, ...]) -> list[str]:
    return [str(command) for command in commands]


def test_the_rules_that_changed_with_4_3_are_printed() -> None:
    """PR 21114: completion, and a rollback by the original assignment that 4.2 completes at once."""
    both = comparison("4.2.0", "4.3.0")
    differences = both.differences()
    assert (both.both, both.only, both.steps, both.differing_steps) == (1540, (0, 48), 25600, 784)
    assert (len(differences), sum(d.count for d in differences)) == (17, 784)
    first = differences[0]
    assert (first.kind, first.count, first.side) == (Kind.REASSIGN, 260, None)
    assert first.fields == ("replicas", "adding", "removing", "leader epoch")
    assert texts((*first.before, first.last)) == ["reassign([1])", "reassign([2])", "reassign([1])"]
    assert all("adding" in d.fields for d in differences)
    run = run_of_both(both, first, (shared_driver("4.2.0"), shared_driver("4.3.0")))
    assert run.rows() == [
        ("replicas", "[1]", "[1, 2]"),
        ("adding", "{}", "{2}"),
        ("removing", "{}", "{2}"),
        ("leader epoch", "2", "1"),
    ]
    assert all(text.startswith("PartitionChangeRecord(") for text in run.texts)


def test_every_difference_is_executed_again() -> None:
    """The fields that its run shows are the fields that it was found by."""
    both, drivers = comparison("4.2.0", "4.3.0"), (shared_driver("4.2.0"), shared_driver("4.3.0"))
    for difference in both.differences():
        shown = [field for field, _, _ in run_of_both(both, difference, drivers).rows()]
        names = {"error code": "answer"}
        assert set(shown) == {names.get(f, f) for f in difference.fields if f != "records"}


def test_the_rollback_that_never_ends_is_a_promise_that_only_head_breaks() -> None:
    promises = compare_promises(comparison("4.2.0", "4.3.0"), [], (shared_driver("4.2.0"), shared_driver("4.3.0")))
    assert [list(side) for side in promises.only] == [[], ["a_led_reassignment_can_end"]]
    run = promises.only[1]["a_led_reassignment_can_end"].run
    assert [str(command) for _, command, _ in run.steps[1:]] == ["reassign([1])", "reassign([2])", "reassign([1])"]
    assert (len(promises.both), len(promises.kept), promises.undecided) == (17, 20, {})
    assert promises.exit is Exit.LIVENESS


def test_the_last_known_leader_was_backported() -> None:
    """PR 20655: 4.1.0 forgets who led, or writes -1 down; 4.1.2 does neither."""
    both = comparison("4.1.0", "4.1.2")
    differences = both.differences()
    assert {d.fields for d in differences} == {("last known leader",)}
    assert {d.kind for d in differences} == {Kind.CANCEL, Kind.RESTART_CLEANLY, Kind.RESTART_UNCLEANLY}
    assert (both.only, sum(d.count for d in differences)) == ((348, 56), 284)


def test_a_patch_that_changes_nothing() -> None:
    both = comparison("4.3.0", "4.3.1")
    assert both.differences() == [] and both.only == (0, 0) and both.steps == 26400


def test_the_runs_are_shortest_and_alike_until_the_last_step() -> None:
    both = comparison("4.1.0", "4.1.2")
    base, head = both.graphs
    for difference in both.differences():
        if difference.side is not None:
            continue
        numbers = [difference.initial, difference.initial]
        for command in difference.before:
            k = base.commands.index(command)
            assert base.answers[numbers[0], k] == head.answers[numbers[1], k]
            numbers = [int(base.targets[numbers[0], k]), int(head.targets[numbers[1], k])]
            assert base.states[numbers[0]] == head.states[numbers[1]]
        assert tuple(numbers) == difference.place.numbers


def test_a_state_that_only_one_build_reaches_before_a_difference() -> None:
    """Every first step differs in its error code, and one step of the last state in its exception."""
    base, head = explored("4.3.0"), explored("4.3.1")
    answers = head.answers.copy()
    answers[: head.levels[0]] ^= head.applies[: head.levels[0]]
    command = int(np.flatnonzero(head.applies[-1])[0])
    answers[-1, command] ^= 1 << 16
    changed = type(head)(**{**vars(head), "answers": answers})
    *first, last = BuildComparison(base, changed).differences()
    assert all(d.side is None and d.before == () and d.fields == ("error code",) for d in first)
    assert (last.side, last.fields, last.count) == (1, ("exception",), 1)
    assert len(last.before) == len(base.levels) - 1 and last.last == base.commands[command]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for version in ("4.2.0", "4.3.0"):
        class_path(version)
    record = tmp_path / "record.json"
    words = ["kafka", "diff", "4.2.0", "4.3.0", "--depth", "4", "--unclean", "off", "--json", str(record)]
    assert main(words) == Exit.EXPECTATION.value
    out = capsys.readouterr().out
    assert "BASE Kafka 4.2.0: " in out and "reassign: replicas, adding, removing, leader epoch differ in " in out
    assert "not decided: a_led_reassignment_can_end" in out
    last = "within these bounds: 2 brokers, MinISR 2, 2 replicas at first, unclean election off, depth 4"
    assert last in out.splitlines()[-1] and out.endswith(" (exit code 15)\n")
    data = json.loads(record.read_text())
    assert (data["exit_code"], data["complete"], data["stop_reason"]) == (15, False, "depth")
    assert data["diff"]["promises"]["not_decided"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["4.2.0", "4.3.0", "--replicas", "3"], "--replicas 3 is more than --brokers 2"),
        (["4.2.0", "4.3.0", "--brokers", "7"], "--brokers has 7 brokers"),
        (["4.2.0", "4.3.0", "--property", "nosuch"], "there is no promise 'nosuch'"),
        (["4.2.0"], "the following arguments are required: HEAD"),
    ],
)
def test_wrong_arguments_are_a_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "diff", *words]) == Exit.USAGE.value
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1
