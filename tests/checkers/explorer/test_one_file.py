"""The explorer as one file: what is in it, and what a browser makes of it without a server."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

import pytest

from reassure.checkers.explorer.one_file import PageData
from tests.helpers.browser import chromium
from tests.helpers.command import said
from tests.helpers.labelled_graph import Steps, graph_file

SOLUTION = "empty/fill_big/big_to_small/empty_small/big_to_small/fill_big/big_to_small"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from reassure.checkers.cli.main import main

    file = tmp_path_factory.mktemp("pages") / "die_hard.html"
    assert main(["explore", "die_hard", f"--out={file}"]) == 0
    return file


def data_of(file: Path) -> PageData:
    packed = re.search(r'id="offline-data">([^<]*)</script>', file.read_text())
    assert packed is not None
    data: PageData = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    return data


def test_every_state_and_step_is_in_it(written: Path) -> None:
    data = data_of(written)
    space = data["space"]
    assert (len(space["states"]), sum(len(row) // 2 for row in space["steps"])) == (16, 96)
    assert SOLUTION in data["views"]
    assert list(data["pictures"]) == [SOLUTION]
    assert [len(numbers) for numbers in space["state_hits"].values()] == [2]
    assert data["views"]["empty"]["actions"][0]["name"] == "fill_small"
    assert all(len(guards) == len(space["actions"]) for guards in space["explained"])


def test_it_loads_nothing(written: Path) -> None:
    text = written.read_text()
    assert not re.search(r"<link|<script[^>]* src=|\bimport \{", text)
    assert "default-src 'none'" in text
    assert len(text) < 100_000


def test_a_model_without_properties_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ring = graph_file(tmp_path, {"walk": Steps(((0, 1), (1, 0)))}, "")
    assert said(capsys, "explore", ring, f"--out={tmp_path / 'x.html'}")[0] == 0
    data = data_of(tmp_path / "x.html")
    assert (data["search"], len(data["space"]["states"])) == (None, 2)


def test_a_large_space_needs_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from reassure.checkers.explorer import one_file

    monkeypatch.setattr(one_file, "MOST_STATES", 4)
    ring = graph_file(tmp_path, {"walk": Steps(tuple((n, (n + 1) % 6) for n in range(6)))}, "")
    code, _, err = said(capsys, "explore", ring, f"--out={tmp_path / 'x.html'}")
    assert (code, "up to 4; here the limit of 4 states was reached, and the search has no path" in err) == (64, True)
    assert said(capsys, "explore", "die_hard", f"--out={tmp_path / 'x.html'}")[0] == 0
    data = data_of(tmp_path / "x.html")
    assert (data["begin"], data["space"], len(data["views"])) == ("", None, 7)  # a path to what the search finds
    assert said(capsys, "check", "die_hard", f"--trace-dir={tmp_path}", "--quiet")[0] == 12
    trace = next(tmp_path.glob("*.json"))
    assert said(capsys, "explore", "die_hard", f"--out={tmp_path / 'x.html'}", f"--trace={trace}")[0] == 0
    data = data_of(tmp_path / "x.html")
    assert (data["begin"], data["space"], len(data["views"])) == (SOLUTION, None, 7)


PHASES = """
from dataclasses import dataclass
from enum import Enum

from reassure import Model, action, initial, replace, require


class Phase(Enum):
    CALM = "calm"
    BUSY = "busy"


@dataclass(frozen=True)
class State:
    phase: Phase


@dataclass(frozen=True)
class Config: ...


@initial
def calm() -> State:
    return State(Phase.CALM)


@action(who="machine")
def begin(s: State) -> State:
    require(s.phase == Phase.CALM)
    return replace(s, phase=Phase.BUSY)


@action(who="machine")
def end(s: State) -> State:
    require(s.phase == Phase.BUSY)
    return replace(s, phase=Phase.CALM)


MODEL = Model.of(__name__, state=State, config=Config)
"""


def test_a_model_of_a_file_with_an_enum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An enum has no equal in a second import of the file: states and explanations are of one."""
    (tmp_path / "phases.py").write_text(PHASES)
    code, out, _ = said(capsys, "explore", str(tmp_path / "phases.py"), f"--out={tmp_path / 'x.html'}")
    assert (code, "every one of 2 states and 2 steps" in out) == (0, True)
    space = data_of(tmp_path / "x.html")["space"]
    assert space["starts"] == {"calm": 0}
    texts = [[space["guards"][n]["text"] for n in numbers] for numbers in space["explained"][1]]
    assert texts == [["require(s.phase == Phase.CALM)"], []]


@pytest.mark.parametrize("width", [390, 1280])
def test_in_a_browser(width: int, written: Path) -> None:
    """The violation, back, another way, and a path of the space that is in no picture."""
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(written.as_uri())
        page.click("#results a")
        page.wait_for_selector('#properties [data-property="goal_not_reached"] .bad')
        page.keyboard.press("Backspace")
        page.wait_for_selector('#properties [data-property="goal_not_reached"] .good')
        assert page.locator(".picture-note:visible").count() == 0
        page.goto(f"{written.as_uri()}#empty/fill_small/small_to_big/fill_small")
        page.wait_for_function("document.querySelector('#state').innerText.includes('was 0')")
        assert page.locator("#find:visible").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert problems == []


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("nowhere", "step 0 is not possible: this is not an initial state of the model"),
        ("empty/pour_all", "step 1 is not possible: die_hard has no action pour_all"),
    ],
)
def test_a_path_that_the_model_does_not_have_makes_no_file(
    at: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.html"
    code, _, err = said(capsys, "explore", "die_hard", f"--out={file}", f"--at={at}")
    assert (code, err.startswith(f"reassure: --at: {says}"), file.exists()) == (64, True, False)
