"""Machine code on disk: what is damaged, half written or another's is compiled again, never used."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reassure.checkers.engines.native.translator import llvm


def adder(number: int) -> str:
    return f"define i64 @f(i64 %a) {{\n  %b = add i64 %a, {number}\n  ret i64 %b\n}}\n"


def call(address: int, argument: int) -> int:
    return int(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(argument))


def files(cache: Path) -> list[Path]:
    """What is in the cache, but for its locks."""
    return [path for path in cache.iterdir() if not path.name.startswith(".lock-")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(llvm, "_addresses", {})
    return tmp_path / "cache"


def run(text: str, monkeypatch: pytest.MonkeyPatch, level: int = 1) -> tuple[int, bool]:
    """What f(1) is, as in a new process, and whether it had to be compiled."""
    compiled: list[str] = []

    def made() -> str:
        compiled.append(text)
        return text

    monkeypatch.setattr(llvm, "_addresses", {})
    return call(llvm.compiled_functions(llvm.digest(text), made, ["f"], level)["f"], 1), bool(compiled)


def test_code_is_compiled_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(adder(2), monkeypatch) == (3, True)
    assert run(adder(2), monkeypatch) == (3, False)
    assert run(adder(3), monkeypatch) == (4, True)
    assert len(files(cache)) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content[:200] + bytes([content[200] ^ 1]) + content[201:],
        lambda content: bytes([content[0] ^ 1]) + content[1:],
        lambda content: content + b"x",
        lambda content: b"\x7fELF" + content,
    ],
)
def test_a_damaged_file_is_not_used(damage: object, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(adder(2), monkeypatch)
    (path,) = files(cache)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert run(adder(2), monkeypatch) == (3, True)
    assert run(adder(2), monkeypatch) == (3, False)


def test_the_code_of_another_key_is_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(adder(2), monkeypatch)
    (first,) = files(cache)
    run(adder(3), monkeypatch)
    (second,) = set(files(cache)) - {first}
    second.write_bytes(first.read_bytes())
    assert run(adder(3), monkeypatch) == (4, True)


@pytest.mark.parametrize("what", ["version", "processor", "level", "format"])
def test_code_of_another_machine_or_version_is_not_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(adder(2), monkeypatch)
    if what == "version":
        monkeypatch.setattr(llvm.llvmlite, "__version__", "0.0.1")
    if what == "format":
        monkeypatch.setattr(llvm, "FORMAT", llvm.FORMAT + 1)
    if what == "processor":
        name, features = llvm._processor()
        monkeypatch.setattr(llvm, "_processor", lambda: (name, features + ",-avx2"))
    assert run(adder(2), monkeypatch, level=2 if what == "level" else 1) == (3, True)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "file"))
    assert run(adder(2), monkeypatch) == (3, True)
    assert run(adder(2), monkeypatch) == (3, True)


def test_a_write_that_fails_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(source: object, target: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(os, "replace", fail)
    assert run(adder(2), monkeypatch) == (3, True)
    assert files(cache) == []


def test_the_files_longest_unused_are_removed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "KEEP", 3)
    for number in range(5):
        llvm.write(f"key{number}", b"content")
        os.utime(cache / f"key{number}{llvm.SUFFIX}", (number, number))
    llvm.write("newest", b"content")
    assert {p.stem for p in files(cache)} == {"key3", "key4", "newest"}


def test_many_processes_share_a_folder(cache: Path) -> None:
    program = (
        "import ctypes\nfrom reassure.checkers.engines.native.translator import llvm\n"
        "for n in range(6):\n"
        "    text = 'define i64 @f(i64 %a) {\\n  %b = add i64 %a, ' + str(n) + '\\n  ret i64 %b\\n}\\n'\n"
        "    at = llvm.compiled_functions(llvm.digest(text), lambda: text, ['f'], 1)['f']\n"
        "    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(at)(1) == n + 1\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program], env=dict(os.environ)) for _ in range(6)]
    assert [p.wait() for p in running] == [0] * 6
    assert len(files(cache)) == 6


def test_wrong_text_is_an_error_of_the_emitter() -> None:
    with pytest.raises(llvm.CompileError):
        llvm.compiled_functions("key", lambda: "define i64 @f() { ret i32 0 }", ["f"])


def test_processes_that_want_the_same_code_compile_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that comes second waits, and takes what the first has made."""
    text = adder(5)
    key = llvm.digest(text)
    identity = llvm._identity(key, 1)
    code = llvm.object_code(text, 1)
    found: list[int] = []

    def refuse(ir: str, level: int) -> bytes:
        raise AssertionError("compiled twice")

    def second() -> None:
        found.append(call(llvm.compiled_functions(key, lambda: text, ["f"], 1)["f"], 1))

    monkeypatch.setattr(llvm, "object_code", refuse)
    thread = threading.Thread(target=second)
    with llvm.one_writer(identity):
        thread.start()
        thread.join(0.3)
        assert found == []
        llvm.write(identity, code)
    thread.join(20)
    assert found == [6]


def test_a_lock_that_cannot_be_had_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "file" / "below"))
    with llvm.one_writer("key"):
        assert llvm.read("key") is None


def test_code_that_others_can_write_is_compiled_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, and then the whole folder, though the seal is right."""
    run(adder(2), monkeypatch)
    (path,) = files(cache)
    path.chmod(0o666)
    assert run(adder(2), monkeypatch) == (3, True)
    assert run(adder(2), monkeypatch) == (3, False)
    cache.chmod(0o777)
    assert run(adder(2), monkeypatch) == (3, True)
    assert run(adder(2), monkeypatch) == (3, True)


def test_links_and_pipes_of_others_are_left_alone(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link in the place of a lock, and pipes in the place of another lock and of the code."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    cache.mkdir(mode=0o700)
    for number in range(256):
        (cache / f".lock-{number:02x}").symlink_to(victim)
    assert run(adder(2), monkeypatch) == (3, True) and victim.read_text() == "precious"
    (code,) = files(cache)
    for path in [code, *cache.glob(".lock-*")]:
        path.unlink()
        os.mkfifo(path, 0o600)
    assert run(adder(2), monkeypatch) == (3, True)
