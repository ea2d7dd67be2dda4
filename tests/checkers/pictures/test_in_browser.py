"""Pages in a real browser: what a person sees and does; skipped where there is no browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.pictures.html_page import html_page
from tests.helpers.browser import chromium
from tests.helpers.command import said
from tests.helpers.posting_model import posting, story, taken


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def trace_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("pages") / "trace.html"
    file.write_text(html_page(*story(posting(file.parent))), encoding="utf-8")
    return file.as_uri()


def opened(browser: Any, address: str, width: int = 1200, scheme: str = "light") -> tuple[Any, list[str]]:
    """The page, and the list that its errors will stand in."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(address)
    return page, errors


def chosen(page: Any) -> str:
    return str(page.locator("[role=option][aria-selected=true]").get_attribute("aria-label"))


def test_steps_by_keyboard_and_mouse(browser: Any, trace_page: str) -> None:
    page, errors = opened(browser, trace_page)
    assert chosen(page) == "0. start()"
    assert page.locator(".picture-details h2").inner_text() == "Initial state"
    page.keyboard.press("ArrowLeft")  # there is none before the first
    page.keyboard.press("ArrowRight")  # nothing has to be in focus
    assert chosen(page) == "1. clerk: write(to=2, body=1)"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    assert chosen(page) == "1. clerk: write(to=2, body=1)"
    page.keyboard.press("End")
    assert chosen(page) == "4. worker: read(letter=(to 2, body 1), reader=2)"
    note, frame = (page.locator(c).bounding_box() for c in (".picture-note.violated", ".picture-board"))
    assert note["y"] + note["height"] <= frame["y"] + frame["height"]
    page.keyboard.press("ArrowRight")  # there is none after the last
    page.keyboard.press("ArrowUp")
    assert chosen(page) == "3. leader: resign(heir=3)"
    assert page.locator(".picture-details tr.changed").all_inner_texts() == ["up\t{1, 2, 3} → {2, 3}", "leader\t1 → 3"]
    page.get_by_role("option").nth(1).click()
    assert chosen(page) == "1. clerk: write(to=2, body=1)"
    assert "sent: Letter" in page.locator(".picture-details").inner_text()
    page.get_by_label("previous step").click()
    assert chosen(page) == "0. start()"
    assert errors == []
    page.close()


def test_the_drawing_has_every_lifeline_and_message(browser: Any, trace_page: str) -> None:
    page, _ = opened(browser, trace_page)
    assert page.locator(".head").all_text_contents() == ["clerk", "node 1", "node 2", "node 3"]
    assert page.locator(".what").all_text_contents() == ["Letter", "Letter (not taken)"]
    assert page.locator(".message.waiting").count() == 1
    assert page.locator("circle.actor").count() == 4
    assert page.locator(".picture-note.violated strong").inner_text() == "violated: few"
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_on_a_small_screen(scheme: str, browser: Any, trace_page: str) -> None:
    page, errors = opened(browser, trace_page, 400, scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    board, details = (page.locator(c).bounding_box() for c in (".picture-board", ".picture-details"))
    assert details["y"] >= board["y"] + board["height"]
    narrow = page.locator(".picture-board > svg").get_attribute("width")
    page.set_viewport_size({"width": 900, "height": 800})
    page.locator(f".picture-board > svg:not([width='{narrow}'])").wait_for()
    board, details = (page.locator(c).bounding_box() for c in (".picture-board", ".picture-details"))
    assert details["x"] >= board["x"] + board["width"]
    ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}[scheme]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    assert errors == []
    page.close()


def test_the_actor_of_a_chosen_step_is_seen(browser: Any, tmp_path: Path) -> None:
    """Where the lifelines are too many for the screen, the board scrolls to it, and back."""
    made = posting(tmp_path, nodes=8)
    letter = made.Letter(made.Node(8), 1)
    steps = [("write", {"to": made.Node(8), "body": 1}), ("read", {"letter": letter, "reader": made.Node(8)})]
    file = tmp_path / "wide.html"
    file.write_text(html_page(*taken(made, *steps)), encoding="utf-8")
    page, errors = opened(browser, file.as_uri(), 400)
    board = page.locator(".picture-board")
    board.press("End")
    frame, dot = board.bounding_box(), page.locator("circle.actor").nth(1).bounding_box()
    assert frame["x"] < dot["x"] < frame["x"] + frame["width"] - dot["width"]
    board.press("ArrowUp")
    dot = page.locator("circle.actor").nth(0).bounding_box()
    assert frame["x"] < dot["x"] < frame["x"] + frame["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    assert errors == []
    page.close()


def test_a_node_is_chosen(browser: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By mouse and by keyboard: its steps are listed, each leading to another node."""
    file = tmp_path / "graph.html"
    assert said(capsys, "graph", "die_hard", "--out", str(file), "--quiet")[0] == 0
    page, errors = opened(browser, file.as_uri(), 400)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    page.locator("[data-node=n0]").click()
    panel = page.locator("#chosen")
    assert panel.locator("h2").inner_text() == "small 0, big 0"
    steps = panel.locator("li").all_inner_texts()
    assert (len(steps), steps.count("fill_small to small 3, big 0")) == (6, 1)
    panel.get_by_role("button", name="small 0, big 5").click()
    assert panel.locator("h2").inner_text() == "small 0, big 5"
    assert page.locator(".node.near").get_attribute("data-node") == "n1"
    page.locator("[data-node=n2]").press("Enter")
    assert panel.locator("h2").inner_text() == "small 3, big 0"
    assert errors == []
    page.close()
