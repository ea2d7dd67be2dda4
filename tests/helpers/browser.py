"""A real browser for tests of pages: Debian's chromium, driven by playwright; both are optional."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, or the test is skipped."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no test in a browser")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: no test in a browser")
    with driver.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
