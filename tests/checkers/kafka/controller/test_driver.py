"""A JVM with Kafka's controller: every release answers, and one that dies or hangs is a line, not the end."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from reassure.checkers.kafka.controller.driver import Driver, JvmLost
from reassure.checkers.kafka.controller.reproduction import Program, run_program
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
from reassure.spec.kafka.partition import NOBODY, Broker, Partition
from tests.helpers.kafka_jars import EACH, class_path, shared_driver

ONE, TWO, THREE = Broker(1), Broker(2), Broker(3)


def settled(brokers: int = 3) -> ControllerState:
    """Replicas 1 and 2, both in sync, everybody alive."""
    both = frozenset({ONE, TWO})
    partition = Partition((ONE, TWO), both, NOBODY, NOBODY, NOBODY, ONE, 0, 0, False, None)
    return ControllerState(partition, frozenset({ONE, TWO, THREE}), (0,) * brokers, unclean=False)


def row(state: ControllerState, command: Command) -> list[int]:
    return [*packed_state(state), *command.words(set_state=True)]


@pytest.mark.parametrize("version", EACH)
def test_every_release_fences_and_answers(version: str) -> None:
    driver = shared_driver(version)
    driver.begin(Setup(3, 2))
    (state, epochs, incarnations, word), records = driver.describe(row(settled(), Command(Kind.FENCE, 1)))
    after = unpacked_state(state, epochs, incarnations, 3)
    assert answer_of(word).error == "NONE" and answer_of(word).records == 2
    assert (after.partition.leader, after.partition.isr, after.partition.elr) == (TWO, {TWO}, {ONE})
    assert after.unfenced == {TWO, THREE} and after.partition.leader_epoch == 1
    assert records.startswith("PartitionChangeRecord(") and "BrokerRegistrationChangeRecord(" in records


@pytest.mark.parametrize("version", EACH)
def test_a_new_incarnation_is_registered(version: str) -> None:
    driver = shared_driver(version)
    driver.begin(Setup(3, 2))
    (*words, word), _ = driver.describe(row(settled(), Command(Kind.RESTART_UNCLEANLY, 2)))
    after = unpacked_state(*words, 3)
    assert answer_of(word).error == "NONE"
    assert after.incarnations == (0, 1, 0) and TWO not in after.unfenced
    assert after.partition.isr == {ONE} and after.partition.elr == NOBODY
    (*words, word), _ = driver.describe(row(settled(), Command(Kind.RESTART_CLEANLY, 2)))
    assert answer_of(word).applies == (version != "3.9.0")
    if answer_of(word).applies:
        assert unpacked_state(*words, 3).partition.elr == {TWO}


def test_steps_go_on_from_where_they_are_unless_the_state_is_set() -> None:
    driver = shared_driver("4.4.0")
    driver.begin(Setup(3, 2))
    fence, back = Command(Kind.FENCE, 1), Command(Kind.UNFENCE, 1)
    going_on = [0, 0, 0, *back.words(set_state=False)]
    answers = driver.steps(np.array([row(settled(), fence), going_on, row(settled(), fence)]))
    assert unpacked_state(*answers[1, :3].tolist(), 3).unfenced == {ONE, TWO, THREE}
    assert answers[0].tolist() == answers[2].tolist()


def test_partition_zero_may_be_another_one() -> None:
    """Its replicas are what MinISR is limited by, whatever partition is looked at."""
    driver = shared_driver("4.4.0")
    kept = {}
    for replicas in (0, 1, 2):
        driver.begin(Setup(3, 2, replicas))
        (*words, _), _ = driver.describe(row(settled(), Command(Kind.FENCE, 2)))
        kept[replicas] = unpacked_state(*words, 3).partition.elr
    assert kept == {0: {TWO}, 1: NOBODY, 2: {TWO}}


def test_an_exception_of_the_controller_is_an_answer() -> None:
    """Broker 1 cannot register anew while the last known leader, no replica any more, is alive."""
    partition = Partition((ONE,), frozenset({ONE}), NOBODY, NOBODY, NOBODY, None, 4, 6, False, TWO)
    state = ControllerState(partition, frozenset({TWO}), (0, 0), unclean=True)
    driver = shared_driver("4.4.0")
    driver.begin(Setup(2, 1))
    (*words, word), records = driver.describe(row(state, Command(Kind.RESTART_UNCLEANLY, 1)))
    assert answer_of(word).thrown and unpacked_state(*words, 2) == state
    assert records.splitlines()[0] == "java.lang.IllegalArgumentException: Replica 2 is not assigned to this partition."
    (*words, word), _ = driver.describe(row(state, Command(Kind.FENCE, 2)))
    assert not answer_of(word).thrown


def test_a_jvm_that_is_killed_is_one_line_and_another_can_be_started() -> None:
    path = class_path("4.4.0")
    with Driver(path) as driver:
        driver.begin(Setup(3, 2))
        os.kill(driver.process.pid, signal.SIGKILL)
        with pytest.raises(JvmLost, match=r"^the JVM of Kafka 4\.4\.0 was ended by signal 9$") as caught:
            driver.describe(row(settled(), Command(Kind.BALANCE)))
        assert caught.value.code is Exit.SYSTEM
    with Driver(path) as driver:
        driver.begin(Setup(3, 2))
        assert driver.describe(row(settled(), Command(Kind.BALANCE)))[1] == ""


def test_a_jvm_that_hangs_is_one_line() -> None:
    with Driver(class_path("4.4.0")) as driver:
        driver.begin(Setup(3, 2))
        driver.silence = 0.5
        os.kill(driver.process.pid, signal.SIGSTOP)
        with pytest.raises(JvmLost, match=r"^the JVM of Kafka 4\.4\.0 gave no answer for 0\.5 s$"):
            driver.describe(row(settled(), Command(Kind.BALANCE)))


DONE = "package org.apache.kafka.controller; class Done { public static void main(String[] words) {} }"


def test_a_jvm_that_executed_steps_leaves_its_classes_to_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This Java refuses to start where it cannot take the archive that it is given."""
    path = class_path("4.4.0")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f'#!/bin/bash\nexec {shutil.which("java")} "${{@/-Xshare:auto/-Xshare:on}}"\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "cache"))
    archives = tmp_path / "cache" / "kafka-jvm"
    told = []
    for executes in (False, True, True):
        with Driver(path) as driver:
            driver.begin(Setup(3, 2))
            told.append((driver.archives, executes and driver.describe(row(settled(), Command(Kind.BALANCE)))))
        assert len([*archives.glob("*.part"), *archives.glob("*.jsa")]) == executes
    answer = told[-1][1]
    assert told == [(True, False), (True, answer), (False, answer)]
    assert run_program(Program("Done", DONE), path).passed


def test_a_fault_of_the_driver_is_one_line_with_its_reason() -> None:
    with (
        Driver(class_path("4.4.0")) as driver,
        pytest.raises(JvmLost, match=r"ended with code 1: .*NullPointerException"),
    ):
        driver.describe(row(settled(), Command(Kind.BALANCE)))


def test_a_setup_that_a_release_does_not_have_is_refused_in_a_line() -> None:
    driver = shared_driver("4.4.0")
    for setup, words in (
        (Setup(7), r"7 brokers; 1 to 6"),
        (
            Setup(2, metadata_version="3.2-IV0"),
            r"Kafka 4\.4\.0 has no metadata version 3\.2-IV0; it has 3\.3-IV3, 3\.4-IV0, ",
        ),
        (
            Setup(2, metadata_version="3.9-IV0"),
            r"the metadata version 3\.9-IV0 has no eligible leader replicas: they must",
        ),
    ):
        with pytest.raises(Failure, match=f"^{words}") as caught:
            driver.begin(setup)
        assert caught.value.code is Exit.USAGE
    driver.begin(Setup(2, metadata_version="3.9-IV0", elr=False))
    assert driver.describe(row(settled(2), Command(Kind.BALANCE)))[1] == ""
