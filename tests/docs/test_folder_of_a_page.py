"""The folder in which the sessions of a page run: names mean the files of the page, and afterwards what they meant."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from reassure.checkers.machine.exit_codes import Failure
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
    with sessions.page_folder(PAGE, tmp_path):
        import shown  # type: ignore[import-not-found]

        assert shown.VALUE == 1
    assert sys.modules["shown"] is other
    assert sys.path == folders


def test_a_model_that_a_page_writes_is_its_own_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another test has left a `lease` of its own, such as the test of `reassure new`."""
    other = ModuleType("lease")
    monkeypatch.setitem(sys.modules, "lease", other)
    with sessions.page_folder("```console\n$ reassure new lease\n```\n", tmp_path):
        assert "lease" not in sys.modules
    assert sys.modules["lease"] is other


def test_a_session_does_not_become_empty(tmp_path: Path) -> None:
    """A command that ends with a message alone, as where no memory is left, takes no text from a page."""
    page = "```console\n$ reassure check no_such_model\n{}```\n"
    assert sessions.renewed(page.format(""), tmp_path) == page.format("")
    with pytest.raises(Failure, match=r"^`reassure check no_such_model` prints nothing where the page shows what"):
        sessions.renewed(page.format("pass (exit code 0)\n"), tmp_path)
