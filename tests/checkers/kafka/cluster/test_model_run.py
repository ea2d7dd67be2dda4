"""The run of the model that matches the states of a metadata log, and logs that none matches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.kafka.cluster import model_run
from reassure.checkers.kafka.cluster.model_run import ModelRun, matching_run, observations
from reassure.checkers.kafka.cluster.observed import FIRST_SEGMENT, MetadataWatch, SeenState
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.replay import controller_trace
from reassure.checkers.machine.stop import Interrupted, StopReason
from reassure.spec.kafka.partition import Broker
from tests.helpers.committed_traces import committed_trace

KEPT = Path(__file__).parents[3] / "helpers" / "kept_logs" / "4.4.0.log"


def states_of(log: Path, topic: str, folder: Path) -> list[SeenState]:
    (folder / FIRST_SEGMENT).write_bytes(log.read_bytes())
    watch = MetadataWatch(folder)
    watch.watch(topic, 4)
    watch.poll()
    return watch.states


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[SeenState]:
    """Of a log that Kafka's own controller wrote: requests and faults of four brokers."""
    return states_of(KEPT, "watched", tmp_path_factory.mktemp("log"))


def test_a_whole_log_is_matched(seen: list[SeenState]) -> None:
    assert matching_run(seen, "4.4", True) == ModelRun(steps=len(seen) - 1, hidden=1)


@pytest.mark.parametrize(("topic", "run"), [("random-1", ModelRun(11, 2)), ("random-2", ModelRun(13, 3))])
def test_the_log_of_a_real_cluster_is_matched(tmp_path: Path, topic: str, run: ModelRun) -> None:
    states = states_of(KEPT.with_name("cluster-4.4.0.log"), topic, tmp_path)
    assert matching_run(states, "4.4", True) == run


def test_the_rules_of_another_release_do_not_match(seen: list[SeenState]) -> None:
    run = matching_run(seen, "4.1", True)
    assert (run.steps, run.undecided) == (32, "")
    assert run.difference.startswith(
        "offset 46: replicas [1, 4, 2, 3] -> [3, 1, 2, 4], removing {} -> {1, 2, 4}, partition epoch 19 -> 20: "
    )


def test_a_state_that_no_step_leads_to(seen: list[SeenState]) -> None:
    first = seen[0]
    assert first.state.partition.replicas == (1, 2, 3)
    shrunk = replace(first.state.partition, isr=frozenset({Broker(2), Broker(3)}), partition_epoch=1)
    run = matching_run([first, SeenState(99, replace(first.state, partition=shrunk))], "4.4", True)
    assert (run.steps, run.hidden, run.undecided) == (0, 0, "")
    assert run.difference.startswith("offset 99: ISR {1, 2, 3} -> {2, 3}, partition epoch 0 -> 1: ")


def test_a_batch_may_hold_several_events(seen: list[SeenState]) -> None:
    first = seen[0]
    shrunk = replace(first.state.partition, isr=frozenset({Broker(1), Broker(2)}), partition_epoch=1)
    both_fenced = replace(first.state, partition=shrunk, unfenced=frozenset({Broker(1), Broker(2)}))
    assert matching_run([first, SeenState(99, both_fenced, 1)], "4.4", True) == ModelRun(2, 0)
    one_fenced = replace(both_fenced, unfenced=first.state.unfenced - {Broker(4)})  # and 3 lags
    assert matching_run([first, SeenState(99, one_fenced, 1)], "4.4", True) == ModelRun(2, 0)
    kept = replace(both_fenced, partition=first.state.partition)  # 3 is fenced, and stays in the ISR
    run = matching_run([first, SeenState(99, kept)], "4.4", True)
    assert run.steps == 1
    assert run.difference.startswith("offset 99: unfenced brokers {1, 2, 3, 4} -> {1, 2}: ")


def test_a_request_for_the_present_list_empties_the_elr(seen: list[SeenState]) -> None:
    removed = seen[1].state
    p = removed.partition
    assert (p.replicas, p.isr, p.elr) == ((3,), {3}, {1, 2})
    asked = replace(removed, partition=replace(p, elr=frozenset(), partition_epoch=p.partition_epoch + 1))
    assert matching_run([*seen[:2], SeenState(99, asked, 1)], "4.4", True) == ModelRun(2, 0)


def test_events_of_brokers(seen: list[SeenState]) -> None:
    first = seen[0].state
    fenced = replace(first, unfenced=first.unfenced - {Broker(4)})
    cases = [
        (first, fenced, {"fence"}, {"broker": 4}),
        (fenced, first, {"unfence"}, {"broker": 4}),
        (fenced, replace(fenced, incarnations=(0, 0, 0, 1)), {"shut_down_uncleanly"}, {"broker": 4}),
        (first, replace(fenced, incarnations=(0, 0, 0, 1)), {"shut_down_uncleanly"}, {"broker": 4}),
        (first, replace(first, min_isr=1), {"change_min_isr"}, {"value": 1}),
        (first, replace(first, shutting_down=frozenset({Broker(2)})), {"shut_down_in_control"}, {"broker": 2}),
        (first, replace(first, unclean=True), set(model_run.OF_PARTITION), {}),
    ]
    for before, after, actions, params in cases:
        start, step = observations([SeenState(1, before), SeenState(2, after)])
        assert (start.actions, start.params) == (None, {})
        assert (step.actions, step.params) == (actions, params)


@pytest.mark.parametrize("promise", ["nothing_lost_by_a_completion", "nothing_lost_by_a_cancellation"])
def test_the_run_of_a_finding_loses_records_by_it(promise: str) -> None:
    trace, bound = committed_trace("kraft_kafka_racks", promise, release="4.4", initial_isr=0)
    run = controller_trace(trace, ModelView(bound))
    states = [run.start, *(command.after for command in run.commands if command.after != command.before)]
    seen = [SeenState(number, replace(state, min_isr=run.min_isr)) for number, state in enumerate(states)]
    whole = matching_run(seen, "4.4", True)
    assert (whole.steps, whole.losses, whole.difference) == (len(seen) - 1, (promise,), "")
    assert matching_run(seen[:-1], "4.4", True).losses == ()


def test_too_many_possible_states_are_undecided(seen: list[SeenState], monkeypatch: pytest.MonkeyPatch) -> None:
    def explained(*others: object) -> None:
        raise Interrupted(StopReason.MEMORY, "at line 9 more than 20,000 states are possible")

    monkeypatch.setattr(model_run, "explain_log", explained)
    run = matching_run(seen, "4.4", True)
    assert run == ModelRun(0, 0, undecided="at line 9 more than 20,000 states are possible")
