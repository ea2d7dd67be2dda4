"""The record of mutants: what is planned, what is kept, what is stale, what is unexercised."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reassure.checkers.analyses.mutants.record import (
    ModelRecord,
    MutantPlan,
    Plans,
    Survivor,
    Unexercised,
    read_plans,
    read_records,
    shipped_models,
    stale_records,
    unexercised,
    write_records,
)
from reassure.checkers.ledger import ledger, pages, verdicts
from reassure.checkers.ledger.html_page import claims_html
from reassure.checkers.ledger.mutant_page import index, mutants_page, unexercised_remarks
from reassure.checkers.ledger.subjects import RunSpec
from reassure.checkers.ledger.verdicts import Entry, ReadingVerdict
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.digest import digest
from reassure.checkers.request.model_loader import load_model, names
from reassure.spec import claims

PLAN = """
max = 7
seed = 3
[[run]]
model = "kraft"
set = { brokers = 4, unclean = "off", flag = true }
max = 9
[[reason]]
properties = ["a", "b"]
models = ["kraft"]
why = "it has none"
[[reason]]
properties = ["c"]
why = "nobody has"
"""
SURVIVOR = Survivor("core.py:56", "lowest", "function exchanged", "min(a | b) -> max(a | b)", "survived", "others")


def record(**changed: object) -> ModelRecord:
    fields = {
        "sha256": "abc", "set": [], "seed": 3, "mutants": 12, "judged": 7, "counts": {"killed": 6, "survived": 1},
        "kills": {"a": 6, "b": 0, "c": 0}, "violated": ["c"], "unexercised": ["b"], "survivors": [SURVIVOR],
    }  # fmt: skip
    return ModelRecord(**{**fields, **changed})  # type: ignore[arg-type]


@pytest.fixture
def plans(tmp_path: Path) -> Plans:
    path = tmp_path / "mutants.toml"
    path.write_text(PLAN)
    return read_plans(path)


def test_a_plan_for_every_model(plans: Plans) -> None:
    assert list(plans.plans) == shipped_models()
    assert plans.plans["core"] == MutantPlan("core", (), 7, 100, 3)
    assert plans.plans["kraft"] == MutantPlan("kraft", ("brokers=4", "unclean=off", "flag=true"), 9, 100, 3)
    assert [plans.reason(*asked, {}) for asked in (("kraft", "a"), ("core", "a"), ("core", "c"))] == [
        "it has none",
        "",
        "nobody has",
    ]
    assert plans.excused("kraft", {}) == {"a", "b", "c"}
    assert plans.excused("core", {}) == {"c"}


def test_what_kills_a_mutant_of_the_model_whose_text_is_shared_is_exercised(tmp_path: Path) -> None:
    path = tmp_path / "mutants.toml"
    path.write_text(PLAN + '[[run]]\nmodel = "kraft_racks"\nshares = "core"\n')
    plans = read_plans(path)
    records = {"core": record(kills={"a": 6, "b": 0, "c": 0})}
    assert plans.reason("kraft_racks", "a", records) == "it kills mutants of core, which has most of this model's text"
    assert [plans.reason("kraft_racks", name, records) for name in ("b", "c", "d")] == ["", "nobody has", ""]
    path.write_text(PLAN + '[[run]]\nmodel = "kraft_racks"\nshares = "kraft"\n')
    assert read_plans(path).reason("kraft_racks", "b", {}) == "it has none"
    assert plans.reason("kraft_racks", "a", {}) == ""
    assert plans.excused("kraft_racks", records) == {"a", "c"}
    assert unexercised(plans, {**records, "kraft_racks": record(unexercised=["a", "b"])})[1:] == [
        Unexercised("kraft_racks", "a", "it kills mutants of core, which has most of this model's text"),
        Unexercised("kraft_racks", "b", ""),
    ]


def test_models_with_a_deliberate_flaw_have_none() -> None:
    flawed = {name for name, path in names().items() if path.parent.name == "mutants"}
    assert flawed and not flawed & set(shipped_models())
    assert len(shipped_models()) == len(names()) - len(flawed)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("max = ", "TOMLDecodeError"),
        ("max = 0", "max of at least 1"),
        ("further = true", "further and seed are numbers"),
        ('max = "many"', "max of at least 1"),
        ("seed = -1", "seed are numbers of at least 0"),
        ("most = 3", "'most'"),
        ('[[run]]\nmodel = "no_such"', "'no_such'"),
        ("[[run]]\nset = {}", "'model'"),
        ('[[run]]\nmodel = "core"\nlimit = 3', "'limit' is not a setting"),
        ('[[run]]\nmodel = "core"\nwider = 3', "mutants.toml"),
        ('[[run]]\nmodel = "core"\nshares = "no_such"', "'no_such'"),
        ('[[reason]]\nproperties = ["a"]', "'why'"),
        ('[[reason]]\nproperties = ["a"]\nwhy = "b"\nmodels = ["no_such"]', "'no_such'"),
        ('[[reason]]\nproperties = ["a"]\nwhy = "b"\nbecause = "c"', "not 'because'"),
        ("run = 3", "mutants.toml"),
    ],
)
def test_a_plan_that_says_nothing_sensible(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "mutants.toml"
    path.write_text(text)
    with pytest.raises(Failure, match=why) as failed:
        read_plans(path)
    assert failed.value.code is Exit.USAGE
    assert "\n" not in str(failed.value)


def test_without_a_plan_every_model_is_judged_by_default(tmp_path: Path) -> None:
    assert read_plans(tmp_path / "none.toml").plans["core"] == MutantPlan("core", (), 100, 100, 0)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mutants.json"
    told = replace(SURVIVOR, verdict="killed", note="with brokers=4: killed: a (5 steps)")
    records = {
        "core": record(),
        "kraft": record(survivors=[], unexercised=[]),
        "throttle": record(wider=[["brokers=4"], ["min_isr=1"]], equivalent=[told]),
    }
    write_records(records, path)
    assert read_records(path) == records
    assert '    ["core.py:56", "lowest", "function exchanged", ' in path.read_text()
    assert read_records(tmp_path / "none.json") == {}


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 9}', '{"schema": 1, "models": {"core": {"sha": 1}}}'])
def test_a_file_that_is_no_record(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mutants.json"
    path.write_text(text)
    with pytest.raises(Failure, match=r"mutants\.json is not a record of mutants"):
        read_records(path)


@pytest.mark.parametrize(
    ("changed", "is_stale"),
    [
        ({"unexercised": []}, False),
        ({}, True),
        ({"judged": 12}, False),
        ({"sha256": "abc"}, True),
        ({"set": ["brokers=4"]}, True),
        ({"seed": 4}, True),
        ({"judged": 6}, True),
        ({"judged": 5, "mutants": 5}, False),
        ({"judged": 107, "mutants": 200}, False),
        ({"judged": 106, "mutants": 200}, True),
        ({"judged": 106, "mutants": 200, "unexercised": ["c"]}, False),
        ({"judged": 12, "wider": [["brokers=4"]]}, True),
    ],
)
def test_a_record_is_of_one_text_and_one_plan(changed: dict[str, object], is_stale: bool, plans: Plans) -> None:
    core = Plans({"core": plans.plans["core"]}, plans.reasons)
    made = record(**{"sha256": digest(load_model("core")), **changed})
    assert stale_records(core, {"core": made}) == ["core"] * is_stale


def test_records_of_what_is_no_model_are_stale(plans: Plans) -> None:
    none = Plans({}, ())
    assert stale_records(none, {"gone": record()}) == ["gone"]
    assert stale_records(Plans({"core": plans.plans["core"]}, ()), {}) == ["core"]


def test_what_is_unexercised(plans: Plans) -> None:
    records = {"kraft": record(), "core": record()}
    assert unexercised(plans, records) == [Unexercised("core", "b", ""), Unexercised("kraft", "b", "it has none")]


def test_the_page_lists_survivors_and_what_is_unexercised(plans: Plans) -> None:
    records = {"kraft": record(), "core": record(set=["brokers=4"], mutants=7, judged=7)}
    text = index(records, lambda model: f"of_{model}")
    assert "| [`kraft`](mutants-of_kraft.md#kraft) | default | 7 of 12 | 6 | 0 | 1 | 0 | 0 | 0 | 0 | 1 |\n" in text
    assert "| [`core`](mutants-of_core.md#core) | brokers=4 | 7 | 6 | 0 | 1 | 0 | 0 | 0 | 0 | 1 |\n" in text
    assert "- unexercised: `b`: it has none\n" in mutants_page(plans, records, "of_kraft", ["kraft"])
    text = mutants_page(plans, records, "examples", ["core"])
    assert "- unexercised: `b`: **no reason is stated**\n" in text
    assert "| `core.py:56` lowest | function exchanged: `min(a \\| b) -> max(a \\| b)` | survived: others |\n" in text


def test_the_page_says_which_bound_hides_a_mutant(plans: Plans) -> None:
    """What a wider search gave up on is not told from the model."""
    notes = {
        "killed": "with brokers=4: killed: a (5 steps)",
        "equivalent": "the same with brokers=4",
        "undecided": "with brokers=4: undecided: 200,000 states",
    }
    equivalent = [replace(SURVIVOR, verdict=verdict, note=note) for verdict, note in notes.items()]
    records = {"core": record(counts={"killed": 4, "equivalent": 3}, equivalent=equivalent, wider=[["brokers=4"]])}
    text = mutants_page(plans, records, "examples", ["core"])
    assert "\n3 mutants are equivalent in this configuration; wider ones tell 1 of them from the model.\n" in text
    assert text.count("| `core.py:56` lowest | ") == 4
    assert "`min(a \\| b) -> max(a \\| b)` | with brokers=4: killed: a (5 steps) |\n" in text
    assert "| 4 | 3 (1 by its bounds) | 0 |" in index(records, lambda model: f"of_{model}")


def test_a_verdict_says_which_of_its_properties_are_unexercised(plans: Plans) -> None:
    records = {"kraft": record(), "core": record()}
    assert unexercised_remarks(plans, records, "kraft", "abc", ["a", "b"]) == [
        "unexercised: b kills no mutant of kraft (it has none)"
    ]
    assert unexercised_remarks(plans, records, "core", "abc", ["b"]) == [
        "unexercised: b kills no mutant of core (no reason is stated)"
    ]
    assert unexercised_remarks(plans, records, "kraft", "another text", ["b"]) == []
    assert unexercised_remarks(plans, records, "throttle", "abc", ["b"]) == []


def test_the_ledger_says_so_beside_a_verdict_that_holds(plans: Plans, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [c for c in claims.read() if any(RunSpec.of(r).key == "check kraft" for r in c.readings)]
    found = verdicts.entries(chosen[:3], ledger.read_ledger())
    claim, answer = next(
        (e.claim, a)
        for e in found
        for a in e.answers
        if a.verdict is ReadingVerdict.HOLDS and a.run.method == "check" and a.run.subject == "kraft"
    )
    assert answer.record is not None
    name = answer.reading.properties[0]
    text = f"unexercised: {name} kills no mutant of kraft (no reason is stated)"
    records = {"kraft": record(sha256=answer.record.sha256, unexercised=[name])}
    monkeypatch.setattr(pages, "of_the_project", lambda: (plans, records))
    assert pages.cautions(answer) == [text]
    entry = Entry(claim, [replace(answer, traces={})])
    assert text in pages.markdown_page([entry])
    assert text in claims_html([entry])
    assert pages.data([entry])["claims"][0]["readings"][0]["unexercised"] == [text]
    records.clear()
    assert pages.cautions(answer) == []
