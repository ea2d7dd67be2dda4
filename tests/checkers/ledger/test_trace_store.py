"""The files of the project's traces: one for each run, whatever it violates and whichever releases have it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from reassure.checkers.api import check, load
from reassure.checkers.cli.main import main
from reassure.checkers.ledger.trace_store import TraceStore, TraceUse, is_sealed, paths, trace_files
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.traces.properties_here import every_property
from reassure.spec.semantics.trace import Itf
from tests.helpers.committed_traces import committed_file

RELEASES = ("4.2", "4.3", "4.4")


@pytest.fixture(scope="module")
def store() -> TraceStore:
    """Going back and a target in two steps: 4.3 and 4.4 do the same."""
    store = TraceStore()
    names = ("leads_where_it_was_asked_to", "retarget_replaces_the_target", "rolling_back_ends")
    for release in RELEASES:
        model = load("kraft_kafka", release=release, disturbances=0)
        for found in check(model, properties=names, depth=3, engine="reference").properties:
            if found.trace is not None:
                store.add(found.trace, model.bound)
    return store


def itf(path: Path) -> Itf:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(data, dict)
    return data


def test_one_file_for_each_run(store: TraceStore, tmp_path: Path) -> None:
    store.write(tmp_path)
    first, second = trace_files(tmp_path)
    assert first == tmp_path / "kraft_kafka" / "leads_where_it_was_asked_to.itf.json"
    assert second == tmp_path / "kraft_kafka" / "rolling_back_ends.itf.json"
    assert list(itf(first)["#meta"]["properties"]) == ["leads_where_it_was_asked_to", "retarget_replaces_the_target"]
    assert list(itf(second)["#meta"]["properties"]) == ["rolling_back_ends"]
    meta = itf(first)["#meta"]
    assert (meta["releases"], meta["config"]["release"]) == (["4.2", "4.3", "4.4"], "4.4")
    assert itf(second)["#meta"]["releases"] == ["4.3", "4.4"]
    assert meta["repro"] == "reassure check kraft_kafka --set=disturbances=0"
    assert not {"model_sha256", "engine_version", "property"} & set(meta)


def test_a_state_is_a_line(store: TraceStore) -> None:
    for file in store.files():
        assert len(file.text.splitlines()) == file.states + 6


def test_what_is_read_is_what_was_written(store: TraceStore, tmp_path: Path) -> None:
    store.write(tmp_path)
    assert TraceStore.read(tmp_path).traces == store.traces
    assert set(paths(trace_files(tmp_path))) == set(store.traces)
    assert [file.text for file in TraceStore.read(tmp_path).files()] == [file.text for file in store.files()]


def test_a_longer_run_of_a_release_has_a_file_if_a_claim_uses_it(store: TraceStore, tmp_path: Path) -> None:
    assert len(store.write(tmp_path)) == 2 and store.write(tmp_path) == []
    (newest,) = (
        key for key in store.traces if key.property == "rolling_back_ends" and '"release": "4.4"' in key.config
    )
    longer = json.loads(json.dumps(store.traces[newest]))
    longer["states"].append(longer["states"][-1])
    traces = {**store.traces, newest: longer}
    assert [file.name for file in TraceStore(traces).files()] == [file.name for file in store.files()]
    use = TraceUse(False, 1, ("K", 23), 0, "K23", "as released")
    TraceStore(traces, {newest: [use]}).write(tmp_path)
    claimed, _, of_4_3 = map(itf, trace_files(tmp_path))
    assert [path.parent.name for path in trace_files(tmp_path)] == ["K23", "kraft_kafka", "kraft_kafka"]
    assert [data["#meta"]["config"]["release"] for data in (of_4_3, claimed)] == ["4.3", "4.4"]
    assert len(claimed["states"]) == len(of_4_3["states"]) + 1
    TraceStore({key: data for key, data in traces.items() if key != newest}).write(tmp_path)
    assert [path.parent.name for path in trace_files(tmp_path)] == ["kraft_kafka", "kraft_kafka"]
    assert itf(trace_files(tmp_path)[1]) == of_4_3


def test_a_broken_file_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "goal.itf.json").write_text("{")
    assert TraceStore.read(tmp_path).traces == {}


def test_files_of_one_name_are_sealed_apart(store: TraceStore, tmp_path: Path) -> None:
    """By the path in the folder: the seal of the one is not that of the other."""
    for group in ("K20", "K21"):
        store.write(tmp_path / group)
    first, second = (trace_files(tmp_path / group)[0] for group in ("K20", "K21"))
    name = first.relative_to(tmp_path / "K20").as_posix()
    seals = {f"K21/{name}": hashlib.sha256(first.read_bytes()).hexdigest()}
    assert first.name == second.name and first.read_bytes() == second.read_bytes()
    assert [is_sealed(path, tmp_path, seals) for path in (first, second)] == [False, True]
    assert set(TraceStore.read(tmp_path, seals).traces) == set(paths([second]))


def test_a_replay_is_of_every_release_and_property(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SECURITY.md, 5."""
    path = committed_file("kraft_kafka", "rolling_back_ends", release="4.3", disturbances=2)
    assert main(["replay", str(path)]) == Exit.OK.value
    wider = "unclean=off, admin_requests=3, disturbances=2, shutdowns=0"
    wheres = [
        f"Kafka 4.3, {wider}",
        f"Kafka 4.4, {wider}",
        "Kafka 4.4, unclean=off, shutdowns=0, replicas_of_partition_zero=2",
        "Kafka 4.4, balancing=true",
        "Kafka 4.3",
        "Kafka 4.4",
    ]
    told = ("kraft_kafka accepts the trace: 2 steps", "rolling_back_ends is violated at its end")
    assert capsys.readouterr().out.splitlines() == [
        *(f"{where}: {text}" for where in wheres for text in told),
        "",
        "pass (exit code 0)",
        f"again: reassure replay {path}",
    ]
    data = itf(path)
    data["#meta"]["releases"].append("4.2")
    copy = tmp_path / path.name
    copy.write_text(json.dumps(data))
    assert main(["replay", str(copy)]) == Exit.TRACE.value
    assert "reassure: Kafka 4.2: kraft_kafka does not accept" in capsys.readouterr().err
    assert main(["replay", str(tmp_path)]) == Exit.TRACE.value
    assert "does not accept" in capsys.readouterr().out
    data["#meta"] |= {
        "releases": ["4.4"],
        "properties": {"rolling_back_ends": "step", "isr_within_replicas": "invariant"},
    }
    copy.write_text(json.dumps(data))
    assert main(["replay", str(copy)]) == Exit.EXPECTATION.value
    assert "isr_within_replicas holds at its end" in capsys.readouterr().out


def test_one_run_under_several_configurations_is_one_file(tmp_path: Path) -> None:
    """With more requests `rolling_back_ends` has the same run, and there another property is said to fall with it."""
    store = TraceStore()
    for settings in ({}, {"admin_requests": 3}):
        model = load("kraft_kafka", release="4.4", disturbances=0, **settings)
        found = check(model, properties=["rolling_back_ends"], depth=3, engine="reference").properties[0]
        store.add(found.trace or pytest.fail("no trace"), model.bound)
    (narrow, of_narrow), (wide, of_wide) = store.traces.items()
    other = wide._replace(property="isr_within_replicas")
    about = {"property": "isr_within_replicas", "property_kind": "invariant"}
    store.traces[other] = {**of_wide, "#meta": {**of_wide["#meta"], **about}}
    (path,) = store.write(tmp_path)
    meta = itf(path)["#meta"]
    assert (path.parent.name, path.name) == ("kraft_kafka", "isr_within_replicas.itf.json")
    assert (meta["config"], meta["properties"]) == (of_narrow["#meta"]["config"], {"rolling_back_ends": "step"})
    both = {"isr_within_replicas": "invariant", "rolling_back_ends": "step"}
    assert meta["also"] == [{"set": {"admin_requests": 3}, "properties": both}]
    assert list(every_property(meta)) == ["rolling_back_ends", "isr_within_replicas"]
    assert meta["repro"] == "reassure check kraft_kafka --set=disturbances=0"
    assert TraceStore.read(tmp_path).traces == store.traces
    assert set(paths([path])) == {narrow, wide, other}
    (file,) = store.files()
    assert file.keys == {narrow, wide, other} and file.properties == ("rolling_back_ends", "isr_within_replicas")


@pytest.mark.parametrize("also", [{}, [1], [{}], [{"set": 3}], [{"settings": {}}], [{"releases": "4.4"}]])
def test_other_configurations_that_cannot_be_read(
    also: object, store: TraceStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = store.write(tmp_path)[0]
    data = itf(path)
    data["#meta"]["also"] = also
    path.write_text(json.dumps(data), encoding="utf-8")
    assert path not in paths(trace_files(tmp_path)).values()
    assert main(["replay", str(path)]) == Exit.USAGE.value
    assert "`#meta`.`also` is to list configurations" in capsys.readouterr().err


def test_a_story_says_why_each_property_is_violated(capsys: pytest.CaptureFixture[str]) -> None:
    path = committed_file("kraft_kafka", "leads_where_it_was_asked_to", release="4.4")
    assert list(itf(path)["#meta"]["properties"]) == ["leads_where_it_was_asked_to", "retarget_replaces_the_target"]
    for words in ([], ["--format=md"]):
        assert main(["show", str(path), *words]) == Exit.OK.value
        shown = capsys.readouterr().out
        assert "leads_where_it_was_asked_to is violated after 2 steps" in shown
        assert "retarget_replaces_the_target is violated too\n" in shown
        assert shown.count("false: ") == 3


def test_a_trace_of_settings_that_the_model_no_longer_has_is_left_out(store: TraceStore, tmp_path: Path) -> None:
    """A setting that is new has its default in no file: the old trace would be kept beside the new one."""
    for path in store.write(tmp_path):
        data = itf(path)
        del data["#meta"]["config"]["elr"]
        path.write_text(json.dumps(data), encoding="utf-8")
    assert TraceStore.read(tmp_path).traces == {}
    newer = TraceStore.read(tmp_path)
    newer.traces |= store.traces
    newer.write(tmp_path)
    assert TraceStore.read(tmp_path).traces == store.traces
