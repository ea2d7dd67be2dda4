"""The state space as data: states, edges, queries, sweeps."""

from __future__ import annotations

import functools
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.request.model_loader import load_model, settings
from reassure.checkers.request.options import SparkOptions
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.command import said
from tests.helpers.constructs import bound_model
from tests.helpers.drawn_states import drawn
from tests.helpers.runs import bind
from tests.helpers.spark_runs import MASTER, checked, needs_spark

pytestmark = needs_spark


def value_of(value: Any) -> Any:
    """A Python value of a model as Arrow gives it back."""
    from reassure.spec.language.values import Map

    if hasattr(value, "__dataclass_fields__"):
        return {name: value_of(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Map):
        return [(value_of(k), value_of(v)) for k, v in value.pairs()]
    if isinstance(value, frozenset):
        if any(hasattr(v, "__dataclass_fields__") for v in value):
            return sorted((value_of(v) for v in value), key=str)
        return sorted(value_of(v) for v in value)
    if isinstance(value, tuple):
        return [value_of(v) for v in value]
    if isinstance(value, bool) or value is None:
        return value
    return value.value if hasattr(value, "value") else int(value)


def test_maps_from_numbers_and_from_tuples(tmp_path: Path) -> None:
    """A key that is a tuple is a struct."""
    from reassure.checkers.encoding.state_layout import state_layout
    from reassure.checkers.engines.spark.datasets import Columns

    bound = bound_model("map number", tmp_path)
    layout, rng = state_layout(bound), random.Random(1)
    states = [drawn(bound.type, rng) for _ in range(20)]
    rows = np.array([layout.encode(state) for state in states], np.uint64).view(np.int64)
    for shown, state in zip(Columns.of(layout).array(rows).to_pylist(), states, strict=True):
        assert shown["votes"] == [(k, state.votes[k]) for k in range(-1, 3)]
        assert shown["term"] == [({"_1": int(a), "_2": r.value}, n) for (a, r), n in state.term.pairs()]
        assert [(tuple(key.values()), by) for key, by in shown["cube"]] == [
            ((on, k, r.value), by) for (on, k, r), by in state.cube.pairs()
        ]


def test_tuples(tmp_path: Path) -> None:
    """A tuple is a struct, as a key that is one; in maps, sequences, optional values and sets of records too."""
    from reassure.checkers.encoding.state_layout import state_layout
    from reassure.checkers.engines.spark.datasets import Columns

    def struct(*parts: Any) -> JsonObject:
        return {f"_{place}": value_of(part) for place, part in enumerate(parts, 1)}

    bound = bound_model("tuple items", tmp_path)
    layout, rng = state_layout(bound), random.Random(1)
    states = [drawn(bound.type, rng) for _ in range(20)]
    rows = np.array([layout.encode(state) for state in states], np.uint64).view(np.int64)
    for shown, state in zip(Columns.of(layout).array(rows).to_pylist(), states, strict=True):
        assert shown["pair"] == struct(*state.pair)
        assert shown["last"] == struct(*state.last)
        assert shown["held"] == (None if state.held is None else struct(*state.held))
        assert shown["log"] == [struct(*stamp) for stamp in state.log]
        assert shown["at"] == [(struct(*key), struct(*value)) for key, value in state.at.pairs()]
        assert sorted(str(mail["stamp"]) for mail in shown["sent"]) == sorted(str(struct(*m.stamp)) for m in state.sent)
    assert {state.held is None for state in states} == {True, False}
    assert any(state.sent for state in states) and any(len(state.log) == 2 for state in states)


def test_sets_of_numbers(tmp_path: Path) -> None:
    """A list of the numbers in it, ascending; in records, maps, sequences and sets of records too."""
    from reassure.checkers.encoding.state_layout import state_layout
    from reassure.checkers.engines.spark.datasets import Columns

    bound = bound_model("numbers function", tmp_path)
    layout, rng = state_layout(bound), random.Random(1)
    states = [drawn(bound.type, rng) for _ in range(20)]
    rows = np.array([layout.encode(state) for state in states], np.uint64).view(np.int64)
    for shown, state in zip(Columns.of(layout).array(rows).to_pylist(), states, strict=True):
        assert {**shown, "sent": sorted(shown["sent"], key=str)} == value_of(state)
    assert {len(state.waiting) for state in states} >= {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("model", "pairs", "options"),
    [
        ("core", [], {"small": 1, "partitions": 3}),
        ("core", [], {"small": 30, "fingerprints": True}),
        pytest.param("kraft", ["unclean=off"], {"depth": 5}, marks=pytest.mark.slow),
    ],
)
def test_states_and_edges(model: str, pairs: list[str], options: dict[str, int], tmp_path: Path, context: Any) -> None:
    """Every state with its level, its origin by the canonical trace, and every step, as plain Python has them."""
    import pyarrow.dataset

    from reassure.checkers.encoding.state_layout import state_layout
    from reassure.checkers.engines.spark.datasets import state_ids

    place = tmp_path / "run"
    end = options.pop("depth", 100)
    verdict = checked(model, pairs, SparkOptions(MASTER, out=str(place), **options), depth=end)
    made = load_model(model)
    bound, _ = bind(made, settings(made, pairs))
    layout = state_layout(bound)

    @functools.cache
    def id_of(state: Any) -> str:
        return str(state_ids(np.array([layout.encode(state)], np.uint64).view(np.int64))[0])

    def params_of(step: Any) -> dict[str, dict[str, object]]:
        return {step.action.name: {name: value_of(v) for name, v in step.params.items()}} if step.params else {}

    level = [state for _, _, state in bound.initial_states()]
    known, edges, depth = {id_of(s): (1, s) for s in level}, [], 1
    origins: dict[str, tuple[str | None, str | None, object]] = {id_of(s): (None, None, {}) for s in level}
    while level and depth <= end:
        depth, after = depth + 1, []
        for state in sorted(level, key=layout.encode):  # so the first to reach a state is its smallest parent
            for step in bound.steps(state):
                edges.append((id_of(state), step.action.name, params_of(step), id_of(step.after), depth - 1))
                if id_of(step.after) not in known:
                    known[id_of(step.after)] = (depth, step.after)
                    origins[id_of(step.after)] = (id_of(state), step.action.name, params_of(step))
                    after.append(step.after)
        level = after

    def given(row: JsonObject) -> dict[str, object]:
        return {name: params for name, params in (row["params"] or {}).items() if params is not None}

    states = pyarrow.dataset.dataset(place / "states").to_table().to_pylist()
    assert len(states) == len(known) == verdict.stats.distinct
    for row in states:
        depth, state = known[row["id"]]
        want = {**value_of(state), "id": row["id"], "level": depth}
        assert (row.pop("parent"), row.pop("action"), given({"params": row.pop("params")})) == origins[row["id"]]
        for key in row:
            got = row[key]
            if key == "requests":
                got = sorted(got, key=str)
            assert got == want[key], key
    table = pyarrow.dataset.dataset(place / "edges").to_table()
    found = [(e["source"], e["action"], given(e), e["target"], e["level"]) for e in table.to_pylist()]
    assert sorted(found, key=str) == sorted(edges, key=str)
    levels = pyarrow.dataset.dataset(place / "levels").to_table().to_pylist()
    assert [row["visited"] for row in levels][-1] == len(known)
    told = (Path(__file__).parents[4] / "docs/reference/state-space.md").read_text(encoding="utf-8")
    for name in ("edges", "levels", "properties"):
        columns = pyarrow.dataset.dataset(place / name).schema.names
        assert [column for column in columns if f"`{column}`" not in told] == []
    properties = pyarrow.dataset.dataset(place / "properties").to_table().to_pylist()
    assert {p["name"]: p["status"] for p in properties if p["kind"] != "cover"} == {
        p.name: p.status for p in verdict.properties
    }


WITHOUT_FIELDS = """
from dataclasses import dataclass
from typing import Annotated
from reassure import MaxSize, Model, action, initial, replace

@dataclass(frozen=True)
class Config:
    pass

@dataclass(frozen=True)
class Empty:
    pass

@dataclass(frozen=True)
class State:
    one: Empty
    some: Empty | None
    many: Annotated[frozenset[Empty], MaxSize(1)]

@initial
def start() -> State:
    return State(Empty(), None, frozenset())

@action(who="x")
def put(s: State, it: Empty) -> State:
    return replace(s, some=it, many=frozenset({it}))

MODEL = Model.of(__name__, state=State, config=Config)
"""


def test_a_record_without_fields_is_true(tmp_path: Path) -> None:
    """Parquet has none; a state without fields has no columns of its own."""
    import pyarrow as pa
    import pyarrow.parquet

    from reassure.checkers.encoding.state_layout import state_layout
    from reassure.checkers.engines.spark.datasets import Columns, Tables

    def rows(text: str, name: str) -> dict[str, list[object]]:
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        bound, _ = bind(load_model(str(path)), {})
        layout, (_, _, first) = state_layout(bound), next(iter(bound.initial_states()))
        packed = [layout.encode(state) for state in (first, *(step.after for step in bound.steps(first)))]
        columns = Tables(Columns.of(layout), (), ()).fields(np.array(packed, np.uint64).view(np.int64))
        pyarrow.parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        return dict(pyarrow.parquet.read_table(tmp_path / f"{name}.parquet").to_pydict())

    assert rows(WITHOUT_FIELDS, "fields") == {"one": [True, True], "some": [None, True], "many": [[], [True]]}
    bare = re.sub("    (one|some|many): .*\n", "", WITHOUT_FIELDS).replace("class State:", "class State:\n    pass")
    bare = re.sub(r"return replace.*", "return s", bare).replace("State(Empty(), None, frozenset())", "State()")
    assert rows(bare, "bare") == {}


class TestQuery:
    def ask(self, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
        return said(capsys, "query", *words)

    @pytest.mark.slow
    def test_the_questions_of_the_documentation(self, tmp_path: Path, context: Any) -> None:
        """They are legal SQL, and each has an answer: here of the first levels."""
        from reassure.checkers.engines.spark.sql import run_sql

        page = (Path(__file__).parents[4] / "docs/how-to/query-a-state-space.md").read_text(encoding="utf-8")
        asked = re.findall(r'reassure query /tmp/kraft "([^"]+)"', page)
        checked("kraft", ["unclean=off"], SparkOptions(MASTER, out=str(tmp_path / "kraft")), depth=6)
        found = [run_sql(str(tmp_path / "kraft"), sql, SparkOptions(MASTER), 20).rows for sql in asked]
        assert len(found) == 4
        assert found[0] == [(241,)]
        assert dict(found[1])["hear"] == 59
        assert found[2] == [(6,)]
        assert [row[0] for row in found[3]] == list(range(1, len(found[3]) + 1))
        assert (found[3][0][1], found[3][-1][4]) == (None, None)

    def test_sql(self, kept: Path, capsys: pytest.CaptureFixture[str], context: Any) -> None:
        sql = "select action, count(*) n from edges group by action order by n desc limit 2"
        code, out, _ = self.ask(capsys, str(kept), sql, "--format=csv")
        assert (code, out.splitlines()) == (0, ["action,n", "fence,2928", "unfence,2076"])
        code, out, _ = self.ask(
            capsys, str(kept), "select level, isr, leader from states where level = 1", "--format=json"
        )
        assert [json.loads(line) for line in out.splitlines()] == [{"level": 1, "isr": [0, 1, 2], "leader": 0}]
        code, out, err = self.ask(capsys, str(kept), "select states from levels order by level", "--limit=2")
        assert (code, out.split()) == (0, ["states", "1", "9"])
        assert "only the first 2 rows" in err

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["KEPT", "select nosuch from states"], "name `nosuch` cannot be resolved"),
            (["KEPT", "this is not SQL"], "Syntax error"),
            (["nowhere", "select 1"], "nowhere has no run"),
            (["KEPT", "select 1", "--limit=-1"], "--limit -1"),
        ],
    )
    def test_wrong(
        self, words: list[str], message: str, kept: Path, capsys: pytest.CaptureFixture[str], context: Any
    ) -> None:
        code, out, err = self.ask(capsys, *(w.replace("KEPT", str(kept)) for w in words))
        assert (code, out, len(err.splitlines())) == (64, "", 1)
        assert message in err


class TestSweep:
    def test_grid(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any) -> None:
        """As by processes here, but for the times."""
        told = []
        for engine in ("spark", "native"):
            record = tmp_path / f"{engine}.json"
            words = ["two_phase_commit", "--set=managers=2,3", f"--engine={engine}", f"--json={record}"]
            code, out, _ = said(capsys, "sweep", *words, *(["-j", "1"] if engine == "native" else []))
            assert code == 0
            assert [line.split()[:2] for line in out.splitlines()[2:4]] == [["2", "pass"], ["3", "pass"]]
            found = json.loads(record.read_text())["configurations"]
            told.append([(c["point"], c["stats"]["distinct"], c["properties"]) for c in found])
        assert told[0] == told[1]
        assert [point for point, _, _ in told[0]] == [{"managers": "2"}, {"managers": "3"}]

    def test_traces_of_a_model_by_path(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any) -> None:
        """Shipped as text; the traces replay on the file here."""
        path = tmp_path / "jugs.py"
        shutil.copy(Path(__file__).parents[4] / "models" / "examples" / "die_hard.py", path)
        code, out, _ = said(capsys, "sweep", str(path), "--engine=spark", f"--trace-dir={tmp_path}")
        assert (code, "goal_not_reached (7)" in out) == (12, True)
        (trace,) = tmp_path.glob("*.itf.json")
        code, out, _ = said(capsys, "replay", str(trace), f"--model={path}")
        assert (code, "goal_not_reached is violated at its end" in out) == (0, True)
