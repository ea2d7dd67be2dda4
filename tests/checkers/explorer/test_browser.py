"""A person's session in a browser, from the start to a test that is exported and passes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reassure.checkers.explorer.server import ExplorerServer
from tests.helpers import raising_model
from tests.helpers.browser import chromium
from tests.helpers.explorer_pages import ended, served, told

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SOLUTION = "empty/fill_big/big_to_small/empty_small/big_to_small/fill_big/big_to_small"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def server() -> Iterator[ExplorerServer]:
    with served("die_hard") as serving:
        told(serving, "search", do="start")
        assert ended(serving, "search")["state"] == "complete"
        yield serving


@pytest.fixture
def page(browser: Browser, server: ExplorerServer) -> Iterator[Page]:
    """The page at its start; an error in its scripts fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    opened.goto(server.address)
    opened.wait_for_selector("#enabled a.step")
    yield opened
    context.close()
    assert problems == []


def state_of(page: Page) -> dict[str, str]:
    """The fields of the state that the page shows, with their values."""
    rows = page.locator("#state tr")
    return {row.locator("th").inner_text(): row.locator("td").inner_text().split()[0] for row in rows.all()}


def at(page: Page, path: str) -> None:
    """Waits until the page shows a path."""
    page.wait_for_function("path => location.hash === '#' + path", arg=path)
    last = path.rsplit("/", 1)[-1]
    page.wait_for_selector(f"#path li[aria-current=step] a[href='#{path}']:has-text('{last}')", state="attached")


def test_a_session_from_the_start_to_an_exported_test(page: Page, tmp_path: Path) -> None:
    assert page.title() == "die_hard: reassure explore"
    assert state_of(page) == {"small": "0", "big": "0"}
    page.click("#enabled a.step:has-text('fill_big')")
    at(page, "empty/fill_big")
    assert state_of(page) == {"small": "0", "big": "5"}
    assert page.locator("#said").inner_text() == "After 1 step, the last one fill_big()"
    page.keyboard.press("6")  # big_to_small
    at(page, "empty/fill_big/big_to_small")
    page.keyboard.press("Backspace")
    at(page, "empty/fill_big")
    page.keyboard.press("ArrowRight")
    at(page, "empty/fill_big/big_to_small")
    page.go_back()
    at(page, "empty/fill_big")
    page.click("#results li[data-result=goal_not_reached] a")
    at(page, SOLUTION)
    violated = page.locator("#properties li[data-property=goal_not_reached]")
    assert violated.inner_text().splitlines()[0].split() == ["✗", "violated", "goal_not_reached"]
    assert "s.big = 4" in violated.inner_text()
    with page.expect_download() as download:
        page.click("#export a[data-form=test]")
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "test_path_of_die_hard.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


def test_the_message_of_a_search_ends_with_the_page(browser: Browser, server: ExplorerServer) -> None:
    opened = browser.new_page()
    opened.goto(server.address)
    opened.wait_for_selector("#enabled a.step")
    opened.fill("#expression", "s.smal == 2")
    opened.press("#expression", "Enter")
    opened.wait_for_selector("#found:has-text('smal` is not a field')")
    other = browser.new_page()
    for page in (opened, other):
        page.goto(server.address)
        page.reload()
        page.wait_for_selector("#enabled a.step")
        assert (page.locator("#expression").input_value(), page.locator("#found").inner_text()) == ("", "")
        page.close()


def test_a_step_that_is_undone_violates_nothing(page: Page) -> None:
    page.goto(f"{page.url.partition('#')[0]}#{SOLUTION}")
    at(page, SOLUTION)
    violated = page.locator("section.of-path :text('violated')")
    assert violated.count() > 0
    page.keyboard.press("Backspace")
    at(page, SOLUTION.rpartition("/")[0])
    page.wait_for_selector("#properties li[data-property=goal_not_reached]:has-text('holds')")
    assert violated.count() == 0


def test_the_keyboard_alone_finds_a_state(page: Page) -> None:
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.querySelector('.call').textContent") == "fill_big()"
    page.keyboard.press("Enter")
    at(page, "empty/fill_big")
    page.keyboard.press("/")
    page.keyboard.type("s.small == 2")
    page.keyboard.press("Enter")
    at(page, "empty/fill_big/big_to_small/empty_small/big_to_small")
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    at(page, "empty")


def test_a_path_that_does_not_replay_shows_what_comes_before(page: Page) -> None:
    page.evaluate("location.hash = 'empty/fill_big/pour/fill_small'")
    page.wait_for_selector("#problem:not([hidden])")
    expected = "Step 2 of the path is not possible: pour: die_hard has no action pour. Shown is what comes before it."
    assert page.locator("#problem").inner_text() == expected
    assert state_of(page) == {"small": "0", "big": "5"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_small_screen_needs_no_sideways_scrolling(browser: Browser, server: ExplorerServer, scheme: str) -> None:
    context = browser.new_context(viewport={"width": 400, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
    opened = context.new_page()
    opened.goto(f"{server.address}#{SOLUTION}")
    opened.wait_for_selector("#enabled a.step")
    opened.select_option("#radius", "2")
    opened.wait_for_selector("#graph svg")
    assert opened.evaluate("document.documentElement.scrollWidth") == 400
    ground = opened.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert ground == {"light": "rgb(251, 251, 250)", "dark": "rgb(22, 24, 27)"}[scheme]
    context.close()


def test_an_edit_of_the_model_is_shown_and_a_broken_model_shows_nothing(browser: Browser, tmp_path: Path) -> None:
    model = Path(raising_model.written(tmp_path, ""))
    text = model.read_text()
    with served(str(model)) as serving:
        opened = browser.new_page()
        opened.goto(f"{serving.address}#start/crash(node=0)/crash(node=1)")
        opened.wait_for_selector("#enabled a.step")
        model.write_text(text.replace("require(node in s.alive)", "require(node in s.alive and len(s.alive) > 2)"))
        opened.wait_for_selector("#problem:has-text('Step 2 of the path is not possible: crash(node=1)')")
        assert "len(s.alive) = 2" in opened.locator("#problem").inner_text()
        assert len(opened.locator("#path li").all()) == 2
        model.write_text("def (:")
        opened.wait_for_selector("#problem:has-text('raising.py cannot be imported: SyntaxError')")
        assert not opened.locator("#enabled").is_visible()
        model.write_text(text)
        opened.wait_for_selector("#enabled a.step")
        assert not opened.locator("#problem").is_visible()
        assert len(opened.locator("#path li").all()) == 3
        opened.close()


def test_a_page_whose_explorer_has_ended_says_how_to_go_on(browser: Browser, server: ExplorerServer) -> None:
    opened = browser.new_page()
    opened.goto(f"{server.address}#empty/fill_big")
    opened.wait_for_selector("#enabled a.step")
    opened.route("**/api/**", lambda route: route.abort())
    opened.wait_for_selector("#problem:not([hidden])")
    expected = "The explorer has ended. To go on here: reassure explore die_hard --at 'empty/fill_big'"
    assert opened.locator("#problem").inner_text() == expected
    opened.close()


def test_the_value_of_an_expression_along_the_path(page: Page) -> None:
    page.evaluate("location.hash = 'empty/fill_big/big_to_small'")
    at(page, "empty/fill_big/big_to_small")
    page.fill("#watched", "s.big + s.small")
    page.press("#watched", "Enter")
    page.wait_for_selector("#values li")
    assert page.locator("#values li").all_inner_texts() == ["0", "5", "the same"]
    page.fill("#watched", "s.bg")
    page.press("#watched", "Enter")
    page.wait_for_function("document.querySelector('#values').innerText.includes('AttributeError')")
