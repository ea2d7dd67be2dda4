"""Files of others are read up to a limit, by every command."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.gate import gate_file
from reassure.checkers.kafka.audit import log_files
from reassure.spec.semantics import trace
from tests.helpers.command import said

WORDS = {
    "replay": ["replay", "{}", "--model", "die_hard"],
    "show": ["show", "{}", "--model", "die_hard"],
    "verify": ["verify", "{}"],
    "plan": ["plan", "--cluster", "{}", "--current", "{}", "--proposed", "{}"],
    "audit": ["audit", "{}"],
    "validate": ["validate", "die_hard", "{}"],
    "gate": ["gate", "{}"],
}
"""By command: a command line that reads a file which others may have written."""


@pytest.mark.parametrize("command", WORDS)
def test_what_is_too_long_is_refused_in_one_line(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module, name in ((trace, "LONGEST"), (trace, "LONGEST_LINE"), (log_files, "LONGEST"), (gate_file, "LONGEST")):
        monkeypatch.setattr(module, name, 1 << 20)
    endless = Path("/dev/zero")  # a file that says that it has no bytes
    code, out, err = said(capsys, *(word.format(endless) for word in WORDS[command]))
    assert code in (64, 153)
    assert (out, err.count("\n")) == ("", 1)
    assert "more than 1 MiB" in err


NESTED = "[" * 100_000
DIGITS = '{"schema": ' + "9" * 5_000 + "}"
HOSTILE = {
    "nested": NESTED,
    "digits": DIGITS,
    "an object that nests": f'{{"a": {NESTED}',
    "half a letter": "\ud800",
    "TOML that nests": f"budget = {NESTED}",
    "TOML with digits": "budget = " + "9" * 5_000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("command", WORDS)
def test_what_python_does_not_read_is_refused_in_one_line(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hostile.json"
    path.write_bytes(HOSTILE[name].encode("utf-8", "surrogatepass"))
    code, _, err = said(capsys, *(word.format(path) for word in WORDS[command]))
    assert code in (6, 64)
    assert (err.count("\n"), "bug" in err) == (1, False)


def test_a_payload_that_nests_is_no_metadata_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dump.txt"
    batch = "baseOffset: 0 lastOffset: 0 count: 1\n"
    path.write_text(batch + '| offset: 0 CreateTime: 1 payload: {"type":' + NESTED + "}\n")
    code, _, err = said(capsys, "audit", str(path))
    assert (code, err.count("\n"), "line 2: a payload that is" in err) == (64, 1, True)
