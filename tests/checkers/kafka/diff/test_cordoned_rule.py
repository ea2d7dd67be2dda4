"""4.4's rule about cordoned log directories in 4.3.1, and its repair: which requests each of them refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reassure.checkers.kafka.builds.patched_build import make_build
from reassure.checkers.kafka.controller.class_path import ClassPath, fetch
from reassure.checkers.kafka.controller.controller_itf import commands_from_itf, run_of_controller
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explore import ExploreLimits, Scope, explore_with
from reassure.checkers.kafka.controller.explore_scope import with_late_proposals
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.reproduction import reproduction, run_program
from reassure.checkers.kafka.controller.words import CORDONED, answer_of, packed_set
from reassure.checkers.kafka.diff.analysis import BuildComparison
from reassure.checkers.kafka.diff.promises import compare_promises
from reassure.checkers.machine.progress import Progress
from tests.helpers.kafka_jars import class_path, kafka_sources

ROOT = Path(__file__).parents[4]
FOLDER = ROOT / "docs" / "findings"
RUN = ROOT / "checkers" / "kafka" / "controller" / "defects" / "cordoned-replica-may-not-stay.itf.json"
SCOPE = with_late_proposals(Scope(2, events=("cordon",)))
PROMISE = "cordoning_is_for_new_replicas"


def built(name: str, folder: Path) -> ClassPath:
    make_build([FOLDER / f"{name}.patch"], release("4.3.1"), folder / name)
    return fetch(release(str(folder / name)))


@pytest.mark.slow
def test_the_repair_accepts_what_the_rule_refuses_but_for_new_replicas_on_cordoned_brokers(tmp_path: Path) -> None:
    """Every command in every state of two brokers; the program of the finding fails by the rule and passes repaired."""
    kafka_sources("4.3.1")
    rule, repaired = built("cordoned-as-in-4.4", tmp_path), built("cordoned-replicas-may-stay", tmp_path)
    drivers = [Driver(path) for path in (class_path("4.3.1"), class_path("4.4.0"), rule, repaired)]
    try:
        graphs = [explore_with([driver], SCOPE, ExploreLimits(), Progress(quiet=True)) for driver in drivers]
        as_431, as_440, as_rule, as_repaired = graphs
        assert [(len(graph.states), graph.steps) for graph in graphs] == [(6352, 127_200)] * 4
        assert BuildComparison(as_rule, as_440).differences() == []
        comparison = BuildComparison(as_rule, as_431)
        refused = comparison.differing
        accepted = BuildComparison(as_rule, as_repaired).differing
        assert (refused.sum(), accepted.sum(), (accepted & ~refused).sum()) == (15_880, 15_016, 0)
        for row, command in zip(*np.nonzero(refused), strict=True):
            number = int(comparison.numbers[0][comparison.expanded[row]])
            assert answer_of(int(as_rule.answers[number, command])).error == "INVALID_REPLICA_ASSIGNMENT"
            state, target = as_rule.state(number), packed_set(as_rule.commands[command].brokers)
            new_on_cordoned = as_rule.settings[number] >> CORDONED & target & ~packed_set(state.partition.replicas)
            assert accepted[row, command] == (new_on_cordoned == 0)
        promises = compare_promises(BuildComparison(as_rule, as_repaired), [], (drivers[2], drivers[3]))
        assert [list(side) for side in promises.only] == [["cordoned_replicas_may_stay"], []]
        assert promises.undecided == {}
    finally:
        for driver in drivers:
            driver.close()
    trace = commands_from_itf(run_of_controller(RUN) or {}, RUN.name)
    outcomes = [
        run_program(reproduction(trace, path.release, PROMISE, PROMISE), path)
        for path in (rule, class_path("4.4.0"), repaired, class_path("4.3.1"))
    ]
    assert [outcome.message for outcome in outcomes] == ["AssertionError: expected: <0> but was: <39>"] * 2 + [""] * 2
