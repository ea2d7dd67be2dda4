"""Each section of the pages in this folder is what its commands print now."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.publish import ROOT, sessions

PAGES = {path.stem: sessions.sections(path.read_text(encoding="utf-8")) for path in Path(__file__).parent.glob("*.md")}


SECTIONS = [(name, heading) for name, parts in sorted(PAGES.items()) for heading in parts if heading]


@pytest.mark.parametrize(("page", "heading"), SECTIONS, ids=[": ".join(section) for section in SECTIONS])
def test_session(page: str, heading: str) -> None:
    """If another text is right: `python -m reassure.checkers.publish --promote PAGE` writes it."""
    parts = PAGES[page]
    assert sessions.retold(parts[heading], parts[""], ROOT).splitlines() == parts[heading].splitlines()
