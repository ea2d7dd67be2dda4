"""The records of the patches, and the page that is made of them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller.explore import LATE, Scope
from reassure.checkers.kafka.diff.prices import PRICES
from reassure.checkers.kafka.pages.patch_page import (
    ALL_FIXES,
    CORDONED,
    FAULTS,
    FINDINGS_FOLDER,
    FIXES,
    FIXES_OF_THREE,
    PATCHES,
    SAME,
    SECTIONS,
    TOGETHER,
    Section,
    outcomes,
    patch_page,
)
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.publish import KAFKA_PATCHES, ROOT
from tests.helpers.kafka_jars import class_path

NAMES = {path.stem: path for path in sorted((ROOT / PATCHES).glob("*.patch"))}
SAME_PATCHES = [path for name, path in NAMES.items() if name.startswith("same-")]
FIX_PATCHES = sorted((ROOT / FINDINGS_FOLDER).glob("fix-*.patch"))
CORDONED_PATCHES = sorted((ROOT / FINDINGS_FOLDER).glob("cordoned-*.patch"))
FAULT_PATCHES = [path for path in NAMES.values() if path not in SAME_PATCHES]


def digests(paths: list[Path]) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


def test_the_records_are_of_these_patches_and_the_page_of_the_records() -> None:
    of_sections = ((SAME, SAME_PATCHES), (FAULTS, FAULT_PATCHES), (FIXES, FIX_PATCHES), (CORDONED, CORDONED_PATCHES))
    for section, paths in of_sections:
        rows = {row["patch"]: row["sha256"] for row in outcomes(section)["patches"]}
        assert rows == {path.stem: digests([path]) for path in paths}
    for section, paths in ((TOGETHER, SAME_PATCHES), (ALL_FIXES, FIX_PATCHES), (FIXES_OF_THREE, FIX_PATCHES)):
        assert [row["sha256"] for row in outcomes(section)["patches"]] == [digests(paths)]
    assert KAFKA_PATCHES.read_text() == patch_page([outcomes(section) for section in SECTIONS])


def test_no_change_of_nothing_is_shown_and_every_fault_is() -> None:
    assert (len(SAME_PATCHES), len(FAULT_PATCHES)) == (10, 12)
    for row in (*outcomes(SAME)["patches"], *outcomes(TOGETHER)["patches"]):
        assert row["complete"] and not row["differences"] and not row["run"] and not row["head_breaks"]
        assert row["own_tests"] is None or not row["own_tests"]["failed"]
    for row in outcomes(FAULTS)["patches"]:
        assert row["complete"] and row["differing_steps"] and row["run"], row["patch"]


def test_the_fixes_break_no_promise_and_no_test_of_kafkas_own() -> None:
    kept = {row["patch"]: set(row["base_breaks"]) for row in outcomes(FIXES)["patches"]}
    assert "leaders_hold_what_was_committed" in kept["fix-elr-of-replicas"]
    assert kept["fix-elr-outlives-minisr"] == {"somebody_may_still_lead"}
    assert "controller_goes_on" in kept["fix-last-known-leader-is-a-replica"]
    assert "a_led_reassignment_can_end" in kept["fix-reassignment-as-requested"]
    for section in (FIXES, ALL_FIXES):
        for row in outcomes(section)["patches"]:
            assert row["complete"] and row["differing_steps"] and not row["head_breaks"], row["patch"]
            assert row["own_tests"] == {"passed": 177, "failed": 0}, row["patch"]
    (of_three,) = outcomes(FIXES_OF_THREE)["patches"]
    assert of_three["complete"] and of_three["brokers"] == 3 and not of_three["head_breaks"]


def test_every_step_that_a_fix_changes_is_in_a_group() -> None:
    for section in (FIXES, FIXES_OF_THREE):
        for row in outcomes(section)["patches"]:
            assert sum(group["steps"] for group in row["groups"]) == row["differing_steps"] > 0
            assert len(row["groups"]) == len(row["differences"]) and row["groups"][0]["run"] == row["run"]
            assert set(row["prices"]) == {price.name for price in PRICES}


def test_a_price_is_told_with_its_run_and_what_is_not_decided_as_such() -> None:
    (row,) = outcomes(FIXES_OF_THREE)["patches"]
    price = {"run": ["reassign([1])", "fence(1)"], "differs": [{"field": "leader", "base": "1", "head": "none"}]}
    texts = []
    for prices in ({"waits": None, "offline": price}, {}):
        records = [{"release": "4.3.1", "patches": [{**row, "prices": prices}]} for _ in SECTIONS]
        texts.append(patch_page(records))
    line = "- A partition is offline that has a leader in the release: "
    assert f"{line}`reassign([1])`; `fence(1)`: leader 1 → none.\n" in texts[0]
    assert "- A reassignment waits that the release has completed: after no run.\n" in texts[0]
    assert f"{line}not decided.\n" in texts[1]


def test_the_rule_about_cordoned_directories_breaks_a_promise_and_its_repair_breaks_none() -> None:
    rule, repaired = outcomes(CORDONED)["patches"]
    assert (rule["patch"], repaired["patch"]) == ("cordoned-as-in-4.4", "cordoned-replicas-may-stay")
    assert (rule["head_breaks"], repaired["head_breaks"]) == (["cordoned_replicas_may_stay"], [])
    for row, differing in ((rule, 15_880), (repaired, 864)):
        assert row["complete"] and (row["states"], row["steps"], row["differing_steps"]) == (6352, 127_200, differing)
        assert row["base_breaks"] == [] and row["own_tests"] == {"passed": 177, "failed": 0}


def test_each_run_is_of_commands_that_the_search_knows() -> None:
    names = {str(command) for n in (2, 3) for command in Scope(n, events=(LATE,)).commands()}
    assert {step for row in outcomes(FAULTS)["patches"] for step in row["run"]} <= names


def test_what_is_no_record_is_refused_with_the_command() -> None:
    with pytest.raises(Failure, match=r"none\.json is not a record of .*: write it by `reassure kafka patches x"):
        outcomes(Section("", "none.json", PATCHES, "x", ()))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_patch_is_as_the_record_has_it(name: str, tmp_path: Path) -> None:
    class_path("4.3.1", tests=True)
    rows = [row for section in (SAME, FAULTS) for row in outcomes(section)["patches"]]
    (row,) = (row for row in rows if row["patch"] == name)
    options = ["--brokers", str(row["brokers"]), "--own-tests", "--quiet", "--json", str(tmp_path / "r.json")]
    code = main(["kafka", "patches", str(NAMES[name]), *options])
    worse = row["head_breaks"] or row["own_tests"]["failed"]
    assert code == (Exit.SAFETY if worse else Exit.EXPECTATION if row["run"] else Exit.OK).value
    (again,) = json.loads((tmp_path / "r.json").read_text())["patches"]
    assert {k: v for k, v in again.items() if k != "seconds"} == {k: v for k, v in row.items() if k != "seconds"}
