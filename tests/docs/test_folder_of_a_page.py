"""The folder in which the sessions of a page run: names mean the files of the page, and afterwards what they meant."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from reassure.checkers.publish import sessions

PAGE = """
```python
# shown.py
VALUE = 1
```
"""


def test_a_name_means_the_file_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another page, or a test, has left a module of this name, and its folder on the path."""
    other = ModuleType("shown")
    monkeypatch.setitem(sys.modules, "shown", other)
    (tmp_path / "shown.py").write_text("VALUE = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    folders = list(sys.path)
    with sessions.folder(PAGE, tmp_path):
        import shown  # type: ignore[import-not-found]

        assert shown.VALUE == 1
    assert sys.modules["shown"] is other
    assert sys.path == folders


def test_a_model_that_a_page_writes_is_its_own_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another test has left a `lease` of its own, such as the test of `reassure new`."""
    other = ModuleType("lease")
    monkeypatch.setitem(sys.modules, "lease", other)
    with sessions.folder("```console\n$ reassure new lease\n```\n", tmp_path):
        assert "lease" not in sys.modules
    assert sys.modules["lease"] is other
