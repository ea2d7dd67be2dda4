"""A search by Spark answers as the native engine does, level by level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from reassure.checkers.console.report import report
from reassure.checkers.engines.spark import owner_table
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import budget_ended
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.model_loader import load_model, settings
from reassure.checkers.request.options import SparkOptions
from reassure.checkers.request.result import CheckResult, PropertyStatus
from tests.helpers.alike_models import CHANGED, HEAD
from tests.helpers.command import said
from tests.helpers.configurations import VARIANTS, WIDEST, every_model, mutants, small
from tests.helpers.runs import bind, everything
from tests.helpers.spark_runs import MASTER, checked, far, needs_spark

pytestmark = needs_spark


@pytest.mark.parametrize(
    ("model", "pairs"),
    [
        ("die_hard", []),
        ("two_phase_commit", ["managers=4"]),
        ("core_liveness", []),
        pytest.param("kraft", small("kraft"), marks=pytest.mark.slow),
    ],
)
def test_as_native(model: str, pairs: list[str], context: Any) -> None:
    """Counts, depths, covers, actions, and the traces themselves, runs that repeat for ever among them."""
    found, native = checked(model, pairs, far()), checked(model, pairs)
    assert everything(found) == everything(native)
    assert [(p.name, p.note) for p in found.properties] == [(p.name, p.note) for p in native.properties]
    assert found.record({}).get("fairness") == native.record({}).get("fairness")


@pytest.mark.parametrize("model", every_model(slow=[*mutants(), *VARIANTS, WIDEST]))
def test_every_model(model: str, context: Any) -> None:
    """The first levels, all of them by Spark; kernels that `conformance/test_engines.py` has compiled too."""
    found = checked(model, small(model), far(), depth=4)
    assert everything(found) == everything(checked(model, small(model), depth=4))
    assert found.stats.generated > 5


@pytest.mark.parametrize("partitions", [1, 7])
def test_partitions_change_nothing(partitions: int, context: Any) -> None:
    verdict = checked("die_hard", [], far(partitions=partitions))
    assert everything(verdict) == everything(checked("die_hard", []))
    assert verdict.search.cluster["partitions"] == partitions


@pytest.mark.parametrize("options", [{}, {"fingerprints": True}, {"small": 40}])
def test_classes_are_those_of_the_native_search(options: dict[str, Any], context: Any) -> None:
    """Counts, the states of the classes, and the traces, which are runs of the model."""
    cluster = SparkOptions(MASTER, **{"small": 1, **options})
    found = checked("two_phase_commit", ["managers=5"], cluster, symmetry="on")
    native = checked("two_phase_commit", ["managers=5"], symmetry="on")
    assert found.search is not None and native.search is not None
    assert everything(found) == everything(native)
    assert found.search.symmetry == native.search.symmetry
    assert (found.stats.distinct, found.search.symmetry["states"]) == (314, 8_832)
    assert found.covers[0].reached and sent_levels(found)


def test_classes_and_properties_of_whole_runs(tmp_path: Path, context: Any) -> None:
    """They take the graph of all states: the search of classes leaves them out and says so, and `auto` searches all."""
    model = tmp_path / "leaving.py"
    model.write_text(HEAD + CHANGED)
    found = checked(str(model), ["nodes=5"], far(), symmetry="on")
    assert found.search is not None and found.search.symmetry["renamed"] == ["Node 3-5", "Job 0,1"]
    notes = {p.note for p in found.properties if p.status is PropertyStatus.NOT_CHECKED}
    assert notes == {"it takes the graph of all states: leave out --symmetry, or give it to --engine native"}
    every = checked(str(model), ["nodes=5"], far(), symmetry="auto")
    assert every.search is not None and every.search.symmetry["renamed"] == []
    assert everything(every) == everything(checked(str(model), ["nodes=5"]))


@pytest.mark.parametrize(
    ("symmetry", "says"), [("any-order", "is for --engine native, not for spark"), ("on", "reads the order of Broker")]
)
def test_classes_that_spark_does_not_have(symmetry: str, says: str, context: Any) -> None:
    with pytest.raises(Failure, match=says):
        checked("core", [], far(), symmetry=symmetry)


def sent_levels(result: CheckResult) -> list[int]:
    """The levels that jobs of Spark found."""
    return [level["level"] for level in result.search.cluster["levels"] if level["shuffled_bytes"]]


@pytest.mark.parametrize("options", [{}, {"fingerprints": True}, {"out": "run"}])
def test_small_levels_are_searched_in_the_driver(
    options: dict[str, Any], context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those at the start, and those at the end with the tables of the owners."""
    monkeypatch.chdir(tmp_path)
    wanted = everything(checked("core", ["brokers=4"]))
    verdict = checked("core", ["brokers=4"], SparkOptions(MASTER, small=8_000, **options))
    assert everything(verdict) == wanted
    assert (sent_levels(verdict), len(verdict.search.cluster["levels"])) == ([9, 10, 11, 12], 16)
    assert owner_table._maps == {}, "memory of the tables"
    if not options:
        return
    for level in (14, 15, 16):
        Path(f"run/commits/{level:04}.json").unlink(missing_ok=True)
    if "out" in options:
        resumed = checked("core", ["brokers=4"], SparkOptions(MASTER, small=8_000, resume=True, **options))
        assert (everything(resumed), sent_levels(resumed)) == (wanted, [9, 10, 11, 12])
        rows = [pq.read_metadata(path).num_rows for path in Path("run/edges").glob("*.parquet")]
        assert sum(rows) == resumed.stats.generated - 1


class OutOfTime(Progress):
    """The budget ends when the progress is reported for the nth time, or with so many levels."""

    def __init__(self, reports: int = 10**9, levels: int = 10**9) -> None:
        super().__init__(quiet=True)
        self.reports, self.levels = reports, levels

    def report(self, depth: int, *figures: Any) -> None:
        self.reports -= 1
        if self.reports < 0 or depth >= self.levels:
            raise budget_ended(9)


def test_a_small_level_at_the_end_looks_at_the_budget(context: Any) -> None:
    verdict = checked("core", ["brokers=4"], SparkOptions(MASTER, small=8_000), OutOfTime(levels=14), budget=9)
    assert (verdict.stopped_because, verdict.exit()) == ("the budget of 9 s ended", Exit.INCONCLUSIVE)
    assert (len(verdict.search.cluster["levels"]), sent_levels(verdict)) == (14, [9, 10, 11, 12])


def test_no_memory_for_a_small_level_at_the_end(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise MemoryError("no more memory for the states visited")

    monkeypatch.setattr(owner_table.OwnerTable, "take_in", full)
    with pytest.raises(Failure, match=r"^no more memory for the states visited$") as failure:
        checked("core", ["brokers=4"], SparkOptions(MASTER, small=8_000))
    assert failure.value.code is Exit.SYSTEM


def test_shuffle_follows_the_frontier_within_the_memory_limit(context: Any) -> None:
    """What was visited is not sent again: by Spark's own count of bytes. The owners' tables count: two of 65,536 slots
    are a mebibyte."""
    verdict = checked("core", ["brokers=4"], far(partitions=2), memory=2**20)
    assert verdict.complete
    levels = verdict.search.cluster["levels"]
    sent = [level for level in levels if level["shuffled_bytes"]]
    assert len(sent) > 8
    for level in sent:
        # Eight bytes a state, compressed; each step at most once; some hundred bytes of counts from each task.
        assert level["shuffled_bytes"] <= 8 * level["generated"] + 8_000
    assert sent[-1]["shuffled_bytes"] < 8_000 < max(level["shuffled_bytes"] for level in sent)
    assert sent[-1]["visited"] == 68_064


@pytest.mark.parametrize("options", [{"depth": 5}, {"fail_fast": True}, {"depth": 1}])
def test_stopped_early(options: dict[str, Any], context: Any) -> None:
    assert everything(checked("die_hard", [], far(), **options)) == everything(checked("die_hard", [], **options))


def test_budget(context: Any) -> None:
    verdict = checked("core", ["brokers=4"], far(), budget=0.3)
    assert verdict.stopped_because == "the budget of 0.3 s ended"
    assert verdict.exit() is Exit.INCONCLUSIVE


def test_memory_limit(context: Any) -> None:
    """A byte less than the two tables take."""
    verdict = checked("core", ["brokers=4"], far(partitions=2), memory=2**20 - 1)
    assert verdict.stopped_because == "the memory limit of 1 MiB would be passed"
    assert (verdict.exit(), verdict.stats.memory) == (Exit.INCONCLUSIVE, 2**20)


@pytest.mark.usefixtures("survey_excludes_nothing")
def test_a_graph_larger_than_the_drivers_memory_is_not_checked(context: Any) -> None:
    """Of two owners' tables of a mebibyte that fit; the searches of the driver itself keep to the same limit.

    The property does not need its graph; here nothing else decides it.
    """
    pairs, asked = ["brokers=4"], ["a_leader_comes_back"]
    sent = checked("core_liveness", pairs, far(partitions=2), properties=asked, memory=2**20)
    (finding,) = sent.properties
    assert (finding.status, sent.exit(), sent.complete) == ("not_checked", Exit.INCONCLUSIVE, True)
    assert finding.note == "its graph needs more than the driver's 1 MiB: give more with --memory"
    # Each of the 68,064 states takes eight bytes in the table and in its level: more than the limit, whatever a thread
    # has left over in its chunk.
    kept = checked("core_liveness", pairs, SparkOptions(MASTER), properties=asked, memory=2**20)
    assert (kept.properties[0].status, kept.exit(), kept.complete) == ("unknown", Exit.INCONCLUSIVE, False)
    few_jobs = SparkOptions(MASTER, small=8_000, partitions=2)
    enough = checked("core_liveness", pairs, few_jobs, properties=asked, memory=2**30)
    assert (enough.properties[0].status, enough.exit()) == ("holds", Exit.OK)


def test_budget_in_the_driver(context: Any) -> None:
    """What was found before it ended has its trace, and is counted."""
    cluster = SparkOptions(MASTER, small=10**9)
    verdict = checked("kraft_kafka", small("kraft_kafka"), cluster, OutOfTime(reports=12), budget=9)
    assert verdict.stopped_because == "the budget of 9 s ended"
    fallen = [p for p in verdict.properties if p.status == "violated"]
    assert fallen and all(p.trace is not None for p in fallen)
    assert verdict.stats.distinct > 500


# -- fingerprints ----------------------------------------------------------------------------------------------------


def test_fingerprints(context: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The same answers, with the probability of a wrong one."""
    verdict = checked("core", [], far(fingerprints=True))
    assert everything(verdict) == everything(checked("core", []))
    assert verdict.search.cluster["fingerprints"] == {"bits": 120, "collision_bound": 1_668 * 1_667 / 2**121}
    assert verdict.stats.bytes_per_state == 16
    model = load_model("core")
    report(verdict, bind(model, settings(model, []))[0], Console())
    out = capsys.readouterr().out
    assert "fingerprints of 120 bits" in out and "a probability of at most 1.0e-30" in out
    # Where all was searched in the driver, nothing was kept but whole states.
    code, out, _ = said(capsys, "check", "core", "--engine=spark", "--fingerprints")
    assert (code, "fingerprints of" in out, "8 bytes a state" in out) == (0, False, True)
    assert "--fingerprints" in out.splitlines()[-1]


def test_fingerprints_are_what_is_compared(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a key that gives all states one fingerprint, each owner takes in the first that arrive and no more."""
    monkeypatch.setattr("reassure.checkers.engines.spark.engine.new_key", lambda words: ((0,) * (2 * words + 1),) * 4)
    stats = checked("core", [], far(fingerprints=True)).stats
    assert 1 < stats.distinct < 100 and stats.depth < 13, "of 1,668 states in 13 levels"


def test_fingerprint() -> None:
    """Four lanes: the upper half of a sum of products with 32 bits each; 120 bits of them."""
    from reassure.checkers.engines.native.kernels.fingerprints import fingerprints, new_key

    rng = np.random.default_rng(1)
    rows = rng.integers(-(2**63), 2**63 - 1, (50, 4))
    rows[:, 0] &= 2**56 - 1
    key = new_key(3)
    got = fingerprints(rows, key).view(np.uint64).tolist()
    for row, found in zip(rows.view(np.uint64).tolist(), got, strict=True):
        halves = [half for word in row[:3] for half in (word % 2**32, word >> 32)]
        lanes = [(first + sum(k * h for k, h in zip(rest, halves, strict=True))) % 2**64 >> 32 for first, *rest in key]
        assert found == [lanes[0] << 24 | lanes[1] >> 8, lanes[2] << 32 | lanes[3]]


def test_resume_with_fingerprints(tmp_path: Path, context: Any) -> None:
    """The tables are made anew with the key of the run."""
    place = str(tmp_path / "run")
    checked("core", [], far(out=place, data=False, fingerprints=True), depth=9)
    verdict = checked("core", [], far(out=place, data=False, fingerprints=True, resume=True))
    assert everything(verdict) == everything(checked("core", []))
