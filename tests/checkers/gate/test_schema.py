"""The format of a gate's file: its schema, and that a mistake in it is one clear line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.gate.gate_file import schema
from reassure.checkers.gate.kinds import KINDS
from reassure.checkers.gate.values import fits
from tests.helpers.command import said

ROOT = Path(__file__).parents[3]


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "gate", "--schema")
    assert (code, json.loads(out)) == (0, schema())
    kinds = json.loads(out)["properties"]["check"]["items"]["anyOf"]
    assert [k["properties"]["kind"]["const"] for k in kinds] == list(KINDS)


def test_the_gate_of_the_project_is_of_the_schema() -> None:
    shipped = tomllib.loads((ROOT / "gate.toml").read_text(encoding="utf-8"))
    assert len(shipped["check"]) > 50
    assert fits(shipped, schema())


def entry(**more: Any) -> dict[str, Any]:
    return {"check": [{"model": "core", "expect": "pass", **more}]}


@pytest.mark.parametrize(
    ("data", "good"),
    [
        (entry(), True),
        (entry(kind="prove", method="pdr", seed=3), True),
        (entry(kind="simulate", weight={"expand": 3}, budget="5s"), True),
        ({"budget": "10m", "check": [{"kind": "replay", "trace": "traces", "expect": "pass"}]}, True),
        ({"check": [{"kind": "kafka conform", "model": "kraft_kafka", "release": ["4.1.0"], "expect": "pass"}]}, True),
        (entry(method="pdr"), False),  # no option of check
        (entry(kind="prove", method="magic"), False),
        (entry(kind="pray"), False),
        (entry(pin={"distinct": "many"}), False),
        (entry(pin={"lemmas": 1}), False),
        (entry(fail_fast=1), False),
        ({"check": [{"model": "core"}]}, False),  # what is expected?
        ({"check": {"model": "core"}}, False),
        ({"checks": []}, False),
    ],
)
def test_schema(data: dict[str, Any], good: bool) -> None:
    """As `fits` has it where nothing is required, and as the required keys say."""
    kinds = schema()["properties"]["check"]["items"]["anyOf"]
    entries = data.get("check", [])
    complete = isinstance(entries, list) and all(
        any(fits(e, k) and set(k["required"]) <= set(e) for k in kinds) for e in entries
    )
    assert (fits(data, schema()) and complete) == good


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('kind = "pray"', "kind is one of check, prove, verify, "),
        ('modle = "core"', "unknown modle; did you mean model?"),
        ('model = "core"\nspeed = 3', "unknown speed; a check of kind check has accept_clipping, budget, depth, "),
        ('model = "core"\nmethod = "pdr"', "unknown method; a check of kind check has "),
        ('kind = "prove"\nmodel = "core"\nmethod = "magic"', "method is one of auto, bmc, induction, "),
        ('model = "core"\nengine = "spark"', "engine is one of native, reference, not 'spark'"),
        (
            'model = "core"\npin = { lemmas = 3 }',
            "pin is a table of distinct, generated, depth, clipped, without_fair_run, properties, ",
        ),
        ('model = "core"\npin = { distinct = -1 }', "pin is a table of distinct, "),
        ('model = "core"\npin = { properties = 3 }', "pin is a table of distinct, "),
        ('model = "core"\nset = ["brokers=3"]', "set is a table of configuration values, not ['brokers=3']"),
        ('model = "core"\nset = { brokers = 1.5 }', "set is a table of configuration values, not {'brokers': 1.5}"),
        (
            'model = "core"\nviolated = "all"',
            "violated is a list of properties, or a table property = states, ",
        ),
        ('model = "core"\nviolated = { a = 0 }', "violated is a list of properties, or a table property = states"),
        ('model = "core"\nunreached = [1]', "unreached is a list of covers, not [1]"),
        ("model = 3", 'model is a name or a path, such as "core", not 3'),
        ('model = "core"\ndepth = "deep"', "depth is a whole number of at least 1, not 'deep'"),
        ('model = "core"\naccept_clipping = "yes"', "accept_clipping is true or false, not 'yes'"),
        ('model = "core"\nbudget = []', 'budget is a time, such as "60s", not []'),
        ('model = "core"\nbudget = "soon"', "budget: 'soon' is not a duration; write 60s, 5m or 2h"),
        ('kind = "simulate"\nmodel = "core"\nweight = { grow = "much" }', "weight is a table action = weight, not "),
        ('kind = "simulate"\nmodel = "core"\nwalks = 0', "walks is a whole number of at least 1, not 0"),
        ('kind = "plan"\ncluster = "c.json"', "current is missing; it is a text"),
        ('kind = "verify"', "certificate is missing; it is a text"),
        ('kind = "replay"\ntrace = 4', "trace is a text, not 4"),
    ],
)
def test_a_mistake_is_one_line(text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.toml"
    path.write_text(f'[[check]]\nexpect = "pass"\n{text}\n')
    code, out, err = said(capsys, "gate", str(path))
    assert (code, out, len(err.splitlines())) == (64, "", 1)
    assert err.startswith(f"reassure: {path}, check 1: {says}"), err


@pytest.mark.parametrize("budget", ["[1]", "true", '"soon"', "0"])
def test_the_budget_of_a_gate(budget: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.toml"
    path.write_text(f'budget = {budget}\n[[check]]\nmodel = "core"\nexpect = "pass"\n')
    code, _, err = said(capsys, "gate", str(path))
    assert (code, err.startswith(f"reassure: {path}: budget"), len(err.splitlines())) == (64, True, 1)
