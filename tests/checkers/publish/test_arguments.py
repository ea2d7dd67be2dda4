"""The program that writes pages takes its options and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers import publish
from reassure.checkers.api import check, load
from reassure.checkers.ledger import ledger
from reassure.checkers.ledger.trace_store import TraceStore
from reassure.checkers.publish import __main__ as program
from reassure.checkers.publish import differing


@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["--nonsense"], 2), (["pages"], 2)])
def test_nothing_is_written_for_other_words(words: list[str], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("session_pages", "pages", "entries", "files", "traces", "gate_runs"):
        monkeypatch.setattr(program, name, lambda *given: pytest.fail("it works instead of refusing"))
    with pytest.raises(SystemExit) as ended:
        program.main(words)
    assert ended.value.code == code


def test_pages_are_written_after_the_traces_that_they_link_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trace that has become another has another name; with `--check` nothing is written."""
    written = tmp_path / "counterexamples" / "die_hard" / "goal_not_reached.itf.json"
    found = check("die_hard", engine="reference")
    store = TraceStore()
    store.add(found.properties[0].trace or pytest.fail("no trace"), load("die_hard").bound)
    (text,) = (file.text for file in store.files())

    def files(ran: object) -> dict[Path, str]:
        return {written: text, tmp_path / "page.md": f"[{written.name}]" if written.is_file() else "[]"}

    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(publish, "COUNTEREXAMPLES", written.parents[1])
    monkeypatch.setattr(ledger, "PATHS", ledger.LedgerPaths(tmp_path / "ledger.json", written.parents[1]))
    monkeypatch.setattr(program, "gate_runs", lambda path: [])
    monkeypatch.setattr(program, "traces", lambda ran: store)
    monkeypatch.setattr(program, "files", files)
    monkeypatch.setattr(program, "stale", differing)
    assert program.main(["--check"]) == 1
    assert capsys.readouterr().out == f"stale: counterexamples/die_hard/{written.name}\nstale: page.md\n"
    assert program.main([]) == 0
    assert capsys.readouterr().out == f"written: counterexamples/die_hard/{written.name}\nwritten: page.md\n"
    assert (tmp_path / "page.md").read_text() == f"[{written.name}]"
    assert ledger.read().traces == store.seals()
    assert program.main(["--check"]) == 0
