"""A real browser for tests of pages: Debian's chromium, driven by playwright; both are optional."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

WIDTHS = (390, 1280)
"""Of a telephone and of a screen, in pixels."""
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


def faults(address: str, browser: Any, width: int, ready: Callable[[Any], None] = lambda page: None) -> list[str]:
    """What a person would see that is wrong with a page, at a width: the errors of its scripts and of its layout.

    ready: what is done on the page before that.
    """
    page = browser.new_page(viewport={"width": width, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text))
    page.goto(address)
    ready(page)
    found = errors + page.evaluate(LOOK)
    page.close()
    return found


LOOK = """() => {
  const found = [], seen = [];
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) found.push(`the page is ${root.scrollWidth} wide`);
  const texts = document.createTreeWalker(document.body ?? root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const owner = texts.currentNode.parentElement, text = texts.currentNode.data.trim().slice(0, 40);
    if (!text || owner.closest("script, style, title, option, noscript")) continue;
    if (!owner.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const range = document.createRange();
    range.selectNodeContents(texts.currentNode);
    for (const whole of range.getClientRects()) {
      let box = whole, scrolled = false; // what is seen of a line; what scrolls may hide the rest of it
      for (let up = owner; up && box && up !== document.body && up !== root; up = up.parentElement) {
        const style = getComputedStyle(up), kinds = [style.overflowX, style.overflowY];
        if (up.localName !== "svg" && kinds.every((kind) => kind === "visible")) continue;
        const frame = up.getBoundingClientRect();
        if (frame.width < 3) { box = null; break; } // for screen readers alone
        const scrolls = kinds.some((kind) => kind === "auto" || kind === "scroll");
        const inside = whole.left >= frame.left - 1 && whole.right <= frame.right + 1
          && whole.top >= frame.top - 1 && whole.bottom <= frame.bottom + 1;
        scrolled ||= scrolls;
        if (!scrolled && !inside) found.push(`${text} is cut`);
        const left = Math.max(box.left, frame.left), top = Math.max(box.top, frame.top);
        const width = Math.min(box.right, frame.right) - left, height = Math.min(box.bottom, frame.bottom) - top;
        box = width > 0 && height > 0 ? new DOMRect(left, top, width, height) : null;
      }
      if (box?.width && box.bottom > 0) seen.push([box, text]);
    }
  }
  seen.sort(([a], [b]) => a.top - b.top);
  seen.forEach(([one, text], i) => {
    for (let j = i + 1; j < seen.length && seen[j][0].top < one.bottom; j++) {
      const [other, words] = seen[j];
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - other.top;
      if (across > 1 && down > Math.min(one.height, other.height) / 3) found.push(`${text} and ${words} overlap`);
    }
  });
  return found;
}"""
"""Lists a page that is wider than its window, texts that are cut, and texts that overlap."""
