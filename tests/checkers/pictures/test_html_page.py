"""The page of a trace: whole in itself, safe whatever the model says, and written where it is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.pictures.html_page import html_page, introduction, script_json
from reassure.checkers.pictures.lifelines import picture
from tests.helpers.command import said
from tests.helpers.html_page import Reader
from tests.helpers.posting_model import posting, story

TRACE = Path(__file__).parents[3] / "counterexamples" / "die_hard" / "goal_not_reached.itf.json"
OPEN, CLOSE = '<script type="application/json" id="picture">', "</script>"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return posting(tmp_path_factory.mktemp("models"))


def data_of(page: str) -> Any:
    """The JSON in a page."""
    start = page.index(OPEN) + len(OPEN)
    return json.loads(page[start : page.index(CLOSE, start)])


def test_the_page_holds_everything(made: Any) -> None:
    trace, bound = story(made)
    page = html_page(trace, bound)
    assert data_of(page) == picture(trace, bound)
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert (reader.open, reader.links) == ([], [])
    for text in (
        "posting: few is violated after 4 steps",
        "Otherwise nobody counts.",
        "Configuration: nodes=3.",
        "reassure check posting.py",
        "clerk: write(to=2, body=1)",
        "sent: + (to 2, body 1)",
        "score[2]: 0 → 1",
        "violated: few",
        "false: s.count < 1",
        "The picture needs JavaScript; the story below does not.",
    ):
        assert text in reader.text, text


def test_a_property_without_text_and_no_property(made: Any) -> None:
    """The introduction then has no paragraph of text; a trace of `find` is of no property."""
    trace, bound = story(made)
    assert html_page(trace, bound).count('<p class="text">') == 1
    data = picture(trace, bound)
    for property_of_trace in (None, {**data["property"], "text": ""}):
        parts = introduction({**data, "property": property_of_trace})
        assert [part.partition(">")[0] for part in parts] == ['<p class="quiet"'] * 2
    trace.meta = {"model": "posting"}
    assert '<p class="text">' not in html_page(trace, bound)


def test_nothing_is_loaded_from_elsewhere(made: Any) -> None:
    page = html_page(*story(made))
    assert "default-src &#x27;none&#x27;" in page
    # The namespace of SVG is a name, not an address that is read.
    assert [word for word in page.split('"') if word.startswith(("http:", "https:"))] == ["http://www.w3.org/2000/svg"]
    assert "@import" not in page
    assert "url(" not in page


NASTY = "</script><script>alert(1)</script><!-- \u2028\u2029 & ' \" é"


def test_no_text_ends_the_script() -> None:
    text = script_json({"text": NASTY})
    assert json.loads(text) == {"text": NASTY}
    assert not {"<", ">", "&", "\u2028", "\u2029"} & set(text)


def test_no_text_becomes_a_tag(made: Any) -> None:
    trace, bound = story(made)
    trace.meta |= {"repro": NASTY, "property": NASTY, "model": NASTY}
    page = html_page(trace, bound)
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<!--" not in page
    assert data_of(page)["repro"] == NASTY


def test_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pages" / "page.html"
    code, out, _ = said(capsys, "show", str(TRACE), "--format", "html", "--out", str(file))
    assert (code, out) == (0, f"html: {file}\n")
    assert data_of(file.read_text(encoding="utf-8"))["property"]["name"] == "goal_not_reached"
    code, out, _ = said(capsys, "show", str(TRACE), "--format", "html")
    assert (code, out) == (0, file.read_text(encoding="utf-8"))
