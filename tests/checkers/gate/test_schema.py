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
from reassure.spec.semantics.trace import JsonObject
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


def entry(**more: Any) -> JsonObject:
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
def test_schema(data: JsonObject, good: bool) -> None:
    """As `fits` has it where nothing is required, and as the required keys say."""
    kinds = schema()["properties"]["check"]["items"]["anyOf"]
    entries = data.get("check", [])
    complete = isinstance(entries, list) and all(
        any(fits(e, k) and set(k["required"]) <= set(e) for k in kinds) for e in entries
    )
    assert (fits(data, schema()) and complete) == good


@pytest.mark.parametrize("budget", ["[1]", "true", '"soon"', "0"])
def test_the_budget_of_a_gate(budget: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.toml"
    path.write_text(f'budget = {budget}\n[[check]]\nmodel = "core"\nexpect = "pass"\n')
    code, _, err = said(capsys, "gate", str(path))
    assert (code, err.startswith(f"reassure: {path}: budget"), len(err.splitlines())) == (64, True, 1)
