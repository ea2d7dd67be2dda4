"""The scripts that repeat the findings with Kafka's shell tools: their form; executed, that each shows its effect."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from reassure.checkers.kafka.pages.headlines import HEADLINES
from tests.helpers.kafka_shell import CLASSES, write_tools

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "repeat-a-finding-by-hand.md"
SCRIPTS = {
    name: text for text, name in re.findall(r"^```sh\n(# ([\w.-]+).*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
}
"""The page's scripts, by file name."""


def test_seven_scripts_and_the_cluster() -> None:
    assert list(SCRIPTS) == ["cluster.sh", *(f"finding-{number}.sh" for number in range(1, 8))]
    titles = re.findall(r"^## (\d)\. (.*)$", PAGE.read_text(), re.MULTILINE)
    assert titles == [(str(number), headline.title) for number, headline in enumerate(HEADLINES, 1)]


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_a_script_is_short_and_right_for_a_shell(name: str) -> None:
    lines = SCRIPTS[name].splitlines()
    assert len(lines) < (30 if name == "cluster.sh" else 21)
    assert set(re.findall(r"bin/([\w.-]+)", SCRIPTS[name])) <= set(CLASSES)
    assert subprocess.run(["bash", "-n"], input=SCRIPTS[name], text=True, capture_output=True).stderr == ""
    if name != "cluster.sh":
        assert ". ./cluster.sh" in lines[1:3]


def output(name: str, folder: Path) -> str:
    """The output of a script that is executed with Kafka's tools."""
    write_tools(folder)
    for script, text in SCRIPTS.items():
        (folder / script).write_text(text)
    ran = subprocess.run(["bash", name], cwd=folder, capture_output=True, text=True, timeout=900)
    return ran.stdout


def left(text: str) -> int:
    """Of 20,000 acknowledged records, those that are left."""
    assert "20000 records sent" in text
    (offset,) = re.findall(r"^t:0:(\d+)$", text, re.MULTILINE)
    return int(offset)


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_acknowledged_records_are_lost(number: int, tmp_path: Path) -> None:
    assert left(output(f"finding-{number}.sh", tmp_path)) < 10_000


@pytest.mark.slow
def test_a_reassignment_is_pending_until_it_is_cancelled(tmp_path: Path) -> None:
    text = output("finding-3.sh", tmp_path)
    assert text.count("t-0: replicas: 1,2,3. adding: 3. removing: 3.") == 1
    assert text.rstrip().endswith("No partition reassignments found.")


@pytest.mark.slow
def test_the_controller_resigns_again_and_again(tmp_path: Path) -> None:
    before, after = map(int, re.findall(r"^LeaderEpoch:\s+(\d+)$", output("finding-4.sh", tmp_path), re.MULTILINE))
    assert after >= before + 3


@pytest.mark.slow
def test_the_replicas_are_others_than_were_asked_for(tmp_path: Path) -> None:
    text = output("finding-5.sh", tmp_path)
    assert re.findall(r"Leader: \d\s+Replicas: ([\d,]+)", text) == ["2,3,1", "2,3"]


@pytest.mark.slow
def test_nobody_leads_until_an_unclean_election(tmp_path: Path) -> None:
    leaders = re.findall(r"Leader: (\S+)", output("finding-6.sh", tmp_path))
    assert leaders[:2] == ["none", "none"]
    assert leaders[2] in ("1", "2")


@pytest.mark.slow
def test_a_broker_that_lost_records_leads(tmp_path: Path) -> None:
    text = output("finding-7.sh", tmp_path)
    assert "600 records sent" in text
    (offset,) = re.findall(r"^t:0:(\d+)$", text, re.MULTILINE)
    assert int(offset) < 600
