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
    for name in ("session_pages", "pages", "project_entries", "generated_files", "traces", "gate_runs"):
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
    monkeypatch.setattr(program, "generated_files", files)
    monkeypatch.setattr(program, "stale_files", differing)
    assert program.main(["--check"]) == 1
    assert capsys.readouterr().out == f"stale: counterexamples/die_hard/{written.name}\nstale: page.md\n"
    assert program.main([]) == 0
    assert capsys.readouterr().out == f"written: counterexamples/die_hard/{written.name}\nwritten: page.md\n"
    assert (tmp_path / "page.md").read_text() == f"[{written.name}]"
    assert ledger.read_ledger().traces == store.seals()
    assert program.main(["--check"]) == 0


def test_a_page_of_tests_is_promoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page that is named, and no other; what stands above its first heading stays."""
    pages = {name: tmp_path / "tests" / "sessions" / f"{name}.md" for name in ("one", "other")}
    text = "# Of one\n\n## Part\n\n```console\n$ reassure check nosuch\n{}```\n"
    pages["one"].parent.mkdir(parents=True)
    for page in pages.values():
        page.write_text(text.format(""))
    for module in (publish, program):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    assert program.main(["--promote", "one", "--check"]) == 1
    assert program.main(["--promote", "one"]) == 0
    assert capsys.readouterr().out == "stale: tests/sessions/one.md\nwritten: tests/sessions/one.md\n"
    message = "reassure: no model 'nosuch': `reassure new nosuch` writes one of that name; "
    message += "`reassure models` lists those that come with it\n[64]\n"
    assert pages["one"].read_text() == text.format(message)
    assert pages["other"].read_text() == text.format("")
    assert program.main(["--promote", "one", "--check"]) == 0
