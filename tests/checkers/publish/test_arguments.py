"""The program that writes pages takes its options and nothing else."""

from __future__ import annotations

import pytest

from reassure.checkers.publish import __main__ as program


@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["--nonsense"], 2), (["pages"], 2)])
def test_nothing_is_written_for_other_words(words: list[str], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("session_pages", "pages", "entries", "files", "gate_runs"):
        monkeypatch.setattr(program, name, lambda *given: pytest.fail("it works instead of refusing"))
    with pytest.raises(SystemExit) as ended:
        program.main(words)
    assert ended.value.code == code
