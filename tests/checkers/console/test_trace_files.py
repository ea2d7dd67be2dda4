"""The short name of a trace, which every command takes, and what is said of one that is not known."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.console.files import trace_file
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.publish import COUNTEREXAMPLES
from tests.helpers.command import said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("K21/3.9", "K21/4.3", "die_hard/goal_not_reached"):
        path = tmp_path / f"{name}.itf.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    (tmp_path / "names.json").write_text('{"finding-1": "K21/4.3.itf.json", "K21": "K21/4.3.itf.json"}')
    return tmp_path


@pytest.mark.parametrize("name", ["K21/4.3", "K21", "finding-1"])
def test_a_name_is_of_a_file(name: str, folder: Path) -> None:
    assert trace_file(Path(name), folder) == folder / "K21" / "4.3.itf.json"


def test_a_path_is_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where something of that name is there, or a file that is not."""
    monkeypatch.chdir(folder)
    for path in ("K21/4.3.itf.json", "K21", "missing.json", "/K21/4.3", "a/b/c", "two words"):
        assert trace_file(Path(path), folder) == Path(path)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("k21/4.2", "; the nearest are K21/4.3, K21/3.9, K21"),
        ("K21/9.9", "; the nearest are K21, K21/3.9, K21/4.3"),
        ("finding-9", "; the nearest are finding-1"),
        ("die_hard/deadlock", "; the nearest are die_hard/goal_not_reached"),
        ("zzz", ""),
    ],
)
def test_a_name_that_is_not_known(name: str, near: str, folder: Path) -> None:
    with pytest.raises(Failure) as refused:
        trace_file(Path(name), folder)
    assert str(refused.value) == f"{name}: No such file or directory, and no trace has this name{near}"


def test_a_check_of_a_gate_file_takes_a_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the gate's file is; a file beside it of that name is that file, and another name is a path."""
    folder = tmp_path / "sub"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    entry = '[[check]]\nkind = "replay"\ntrace = "{}"\nexpect = "pass"\n'
    (folder / "gate.toml").write_text(entry.format("die_hard/goal_not_reached"))
    assert said(capsys, "gate", "sub/gate.toml", "-j", "1")[0] == 0
    (folder / "die_hard").mkdir()
    (folder / "die_hard" / "goal_not_reached").write_text("{}")
    assert said(capsys, "gate", "sub/gate.toml", "-j", "1")[0] != 0
    (folder / "gate.toml").write_text(entry.format("finding-99"))
    code, out, err = said(capsys, "gate", "sub/gate.toml", "-j", "1")
    assert code != 0 and "sub/finding-99" in out + err


def test_commands_take_names(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, by_name, _ = said(capsys, "show", "finding-3")
    assert code == 0 and "rolling_back_ends is violated after 2 steps" in by_name
    assert said(capsys, "show", "K23")[1] == by_name
    (file,) = {path for path in COUNTEREXAMPLES.glob("K23/*") if said(capsys, "show", str(path))[1] == by_name}
    assert said(capsys, "replay", file.relative_to(COUNTEREXAMPLES).as_posix()[: -len(".itf.json")])[0] == 0
    code, test, _ = said(capsys, "kafka", "test", "finding-3")
    assert code == 0 and "public void" in test
    out = tmp_path / "x.html"
    words = ["explore", "die_hard", "--trace=die_hard/goal_not_reached", f"--out={out}"]
    assert said(capsys, *words)[0] == 0 and out.is_file()
    for words in (["show"], ["replay"], ["kafka", "test"], ["kafka", "replay"], ["kafka", "cluster"]):
        assert main([*words, "finding-99"]) == 64
        assert "finding-99: No such file or directory, and no trace has this name; the nearest are finding-" in (
            capsys.readouterr().err
        )
    assert main(["explore", "die_hard", "--trace=finding-99", "--no-browser"]) == 64
