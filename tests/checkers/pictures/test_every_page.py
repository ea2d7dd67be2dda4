"""Every page that a command writes or serves is opened in a real browser, on a telephone and on a screen.

No page scrolls sideways, no text is cut or covers another, and no script fails. The page of claims is looked at where
the claims are read: `ledger/test_project_claims.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.pictures.html_page import html_page
from tests.helpers.browser import WIDTHS, chromium, faults
from tests.helpers.committed_traces import committed_file
from tests.helpers.explorer_pages import ended, served, told
from tests.helpers.metadata_log_text import LOGS
from tests.helpers.posting_model import posting, taken

WIDE = committed_file("batching_literal", "every_reassignment_ends", deaths=0)
GATE = """
[[check]]
model = "die_hard"
expect = "pass"

[[check]]
model = "die_hard"
set = { goal = 9 }
expect = "pass"
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


PAGES: dict[str, tuple[list[str], int]] = {
    "trace.html": (["show", str(WIDE), "--format=html", "--out"], 0),
    "graph.html": (["graph", "die_hard", "--quiet", "--out"], 0),
    "groups.html": (["graph", "core", "--by=s.leader, len(s.isr)", "--quiet", "--out"], 0),
    "explorer.html": (["explore", "two_phase_commit", "--set=managers=2", "--workers=1", "--out"], 0),
    "gate.html": (["gate", "gate.toml", "-j", "1", "--html"], 151),
    "audit.html": (["audit", str(LOGS / "4.1.0.log"), "--quiet", "-j", "1", "--html"], 12),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_written(
    name: str, browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gate.toml").write_text(GATE)
    words, code = PAGES[name]
    assert main([*words, name]) == code, capsys.readouterr()
    for width in WIDTHS:
        assert faults((tmp_path / name).as_uri(), browser, width) == [], width


HEADS = (
    "() => [...document.querySelectorAll('.head')].map((e) => e.getBoundingClientRect()).map((r) => [r.left, r.right])"
)


def test_names_at_lifelines_are_whole_and_apart(browser: Any, tmp_path: Path) -> None:
    """Heads, and marks of what a step changes."""
    made = posting(tmp_path, 5, clerk="coordinator", Node="Member", score="partitions_revoked")
    letter = made.Letter(made.Member(2), 1)
    steps = ("write", {"to": letter.to, "body": 1}), ("read", {"letter": letter, "reader": letter.to})
    file = tmp_path / "lifelines.html"
    file.write_text(html_page(*taken(made, *steps)), encoding="utf-8")
    for width in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto(file.as_uri())
        heads = page.evaluate(HEADS)
        assert all(right + 5 < left for (_, right), (left, _) in pairwise(heads)), (width, heads)
        shown = page.locator(".head, .mark").evaluate_all("(texts) => texts.map((e) => e.firstChild.data)")
        assert shown[:2] == ["coordinator", "member 1"]
        assert "".join(shown[6:]).replace(" ", "") == "partitions_revoked→1"  # what it was is in the details
        page.close()


def test_a_picture_alone_on_a_screen(browser: Any, tmp_path: Path) -> None:
    """Its window scrolls where it is larger: the file of a drawing is as wide as the drawing."""
    file = tmp_path / "graph.svg"
    assert main(["graph", "die_hard", "--quiet", f"--out={file}"]) == 0
    assert faults(file.as_uri(), browser, 1280) == []


@pytest.fixture(scope="module")
def explorer() -> Iterator[str]:
    with served("core") as serving:
        told(serving, "search", do="start")
        assert ended(serving, "search")["state"] == "complete"
        yield serving.address


@pytest.mark.parametrize("width", WIDTHS)
def test_the_explorer_with_all_that_it_shows(width: int, browser: Any, explorer: str) -> None:
    def everything(page: Any) -> None:
        page.wait_for_selector("#enabled a.step")
        page.fill("#expression", "s.leader == Broker(2)")
        page.press("#expression", "Enter")
        page.wait_for_selector("#found a")
        page.wait_for_function("location.hash.split('/').length > 2")
        page.fill("#watched", "s.isr | s.unfenced")
        page.press("#watched", "Enter")
        page.wait_for_selector("#values li")
        page.select_option("#radius", "2")
        page.wait_for_selector("#graph svg")
        for folded in page.locator("details").all():
            folded.evaluate("element => element.open = true")

    assert faults(explorer, browser, width, everything) == []


BROKEN = """<!DOCTYPE html><body style="margin: 0"><script>console.log("told")</script>
<p style="width: 2000px">wide</p><p style="width: 3rem; overflow: hidden; white-space: nowrap">a long text</p>
<div style="position: relative; height: 3rem"><p style="position: absolute; top: 0; margin: 0">one text</p>
<p style="position: absolute; top: 2px; margin: 0">another</p></div>
<svg width="20" height="20"><text x="0" y="10">picture</text></svg>
<div style="width: 3rem; overflow: auto; white-space: nowrap">this may be scrolled</div></body>"""


def test_what_is_wrong_is_found(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "broken.html"
    file.write_text(BROKEN)
    assert faults(file.as_uri(), browser, 390) == [
        "told",
        "the page is 2000 wide",
        "a long text is cut",
        "picture is cut",
        "one text and another overlap",
    ]
