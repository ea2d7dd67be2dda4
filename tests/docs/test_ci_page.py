"""The page about CI: its files in a clean folder, and the steps of its workflow run there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reassure.checkers.gate.gate_file import judged_keys
from reassure.checkers.gate.kinds import KINDS, kind_of
from tests.helpers.command import said

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "ci.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "reference" / "gate-file.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first block of a language on the page."""
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def steps() -> list[str]:
    """The commands of the workflow."""
    return re.findall(r"^ +- run: (.+)$", block("yaml"), re.MULTILINE)


@pytest.mark.usefixtures("quick_kernels")
def test_the_steps_of_the_workflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a clean folder: the gate is met, its reports are where later steps look, and a second run is answered."""
    protocols = tmp_path / "ci" / "protocols"
    protocols.mkdir(parents=True)
    (tmp_path / "ci" / "gate.toml").write_text(block("toml"))
    (protocols / "hasty.py").write_text(block("python"))
    monkeypatch.chdir(tmp_path)
    install, gate = steps()
    assert install == "python -m pip install -r requirements.txt"
    assert "REASSURE_CACHE: .reassure-cache" in block("yaml") and "path: .reassure-cache" in block("yaml")
    monkeypatch.setattr("reassure.checkers.gate.run_gate.record_folder", lambda: tmp_path / "records")
    program, *words = shlex.split(gate)
    assert program == "reassure"
    code, out, err = said(capsys, *words, "-j", "1")
    assert code == 0, out + err
    assert [line.split(": ")[0] for line in out.splitlines()[:3]] == [
        "ok   two_phase_commit managers=3",
        "ok   protocols/hasty.py",
        "ok   prove two_phase_commit managers=2",
    ]
    assert len(ElementTree.fromstring(Path("report/junit.xml").read_text())) == 3
    assert json.loads(Path("report/gate.sarif").read_text())["runs"][0]["results"] == []
    assert Path("report/gate.html").is_file()
    uploaded = re.findall(r"^ +(?:sarif_file|path): (report\S*)$", block("yaml"), re.MULTILINE)
    assert uploaded == ["report/gate.sarif", "report"] and all(Path(p).exists() for p in uploaded)
    assert said(capsys, *words, "-j", "1")[1].count("unchanged since") == 3
    shutil.rmtree("report")


def test_the_reference_names_every_kind_and_key() -> None:
    row = next(line for line in REFERENCE.splitlines() if line.startswith("| `kind` |"))
    assert set(re.findall(r"`([a-z ]+)`", row)) == {"kind", *KINDS}
    keys = set(re.findall(r"^\| `([a-z_]+)` \|", REFERENCE.partition("| kind | pins |")[0], re.MULTILINE))
    assert keys == set(judged_keys("check"))


def test_the_reference_names_every_pin_of_every_kind() -> None:
    rows = re.findall(r"^\| (.+) \| (.+) \|$", REFERENCE.partition("| kind | pins |")[2], re.MULTILINE)
    pins = {kind: re.findall(r"`(\w+)`", named) for kinds, named in rows for kind in re.findall(r"`([a-z ]+)`", kinds)}
    assert pins == {kind: list(kind_of(kind).pins) for kind in KINDS}


def test_the_example_of_the_reference_is_a_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = re.findall(r"```toml\n(.*?)```", REFERENCE, re.DOTALL)[0]
    path = tmp_path / "gate.toml"
    path.write_text(example)
    code, out, err = said(capsys, "gate", str(path), "-j", "1")
    assert (code, err) == (0, "") and out.startswith("ok   two_phase_commit managers=3")
