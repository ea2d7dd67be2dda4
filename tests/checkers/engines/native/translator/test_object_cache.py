"""Machine code on disk: what is damaged, half written or another's is compiled again, never used."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import re
import struct
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import llvmlite
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reassure.checkers.engines.native.translator import llvm, object_loader
from reassure.checkers.engines.native.translator.object_loader import CannotLoad, LoadedObject, load_object
from reassure.checkers.machine.own_files import KeptFiles


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
    return tmp_path / "cache" / "kernels"


def run(text: str, level: int = 1) -> tuple[int, bool]:
    """What f(1) is where nothing is loaded, as in a new process, and whether it had to be compiled."""
    compiled: list[str] = []

    def made() -> str:
        compiled.append(text)
        return text

    return call(llvm.compiled_functions(llvm.code_key(text), made, ["f"], level, {})["f"], 1), bool(compiled)


def test_code_is_compiled_once(cache: Path) -> None:
    assert run(adder(2)) == (3, True)
    assert run(adder(2)) == (3, False)
    assert run(adder(3)) == (4, True)
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
def test_a_damaged_file_is_not_used(damage: object, cache: Path) -> None:
    run(adder(2))
    (path,) = files(cache)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert run(adder(2)) == (3, True)
    assert run(adder(2)) == (3, False)


def test_the_code_of_another_key_is_not_used(cache: Path) -> None:
    run(adder(2))
    (first,) = files(cache)
    run(adder(3))
    (second,) = set(files(cache)) - {first}
    second.write_bytes(first.read_bytes())
    assert run(adder(3)) == (4, True)


@pytest.mark.parametrize("what", ["version", "processor", "level", "format"])
def test_code_of_another_machine_or_version_is_not_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(adder(2))
    machine = llvm._processor()
    other = {
        "version": ("_version", lambda: "0.0.1"),
        "format": ("FORMAT", llvm.FORMAT + 1),
        "processor": ("_processor", lambda: (*machine, "-avx2")),
    }
    if what in other:
        monkeypatch.setattr(llvm, *other[what])
    assert run(adder(2), level=2 if what == "level" else 1) == (3, True)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "file"))
    assert run(adder(2)) == (3, True)
    assert run(adder(2)) == (3, True)


def test_a_write_that_fails_leaves_nothing(cache: Path) -> None:
    """A folder stands in the place of the file."""
    run(adder(2))
    (path,) = files(cache)
    path.unlink()
    path.mkdir()
    assert run(adder(2)) == (3, True)
    assert files(cache) == [path]


def test_the_files_longest_unused_are_removed(cache: Path) -> None:
    three = KeptFiles(lambda: cache, b"three\n", ".object", 3)
    for number in range(5):
        three.write(f"key{number}", b"content")
        os.utime(cache / f"key{number}.object", (number, number))
    three.write("newest", b"content")
    assert {p.stem for p in files(cache)} == {"key3", "key4", "newest"}


def test_many_processes_share_a_folder(cache: Path) -> None:
    program = (
        "import ctypes\nfrom reassure.checkers.engines.native.translator import llvm\n"
        "for n in range(6):\n"
        "    text = 'define i64 @f(i64 %a) {\\n  %b = add i64 %a, ' + str(n) + '\\n  ret i64 %b\\n}\\n'\n"
        "    at = llvm.compiled_functions(llvm.code_key(text), lambda: text, ['f'], 1)['f']\n"
        "    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(at)(1) == n + 1\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program], env=dict(os.environ)) for _ in range(6)]
    assert [p.wait() for p in running] == [0] * 6
    assert len(files(cache)) == 6


def test_wrong_text_is_an_error_of_the_emitter() -> None:
    with pytest.raises(llvm.CompileError):
        llvm.compiled_functions("key", lambda: "define i64 @f() { ret i32 0 }", ["f"])


def test_processes_that_want_the_same_code_compile_it_once() -> None:
    """The one that comes second waits, and takes what the first has made."""
    text = adder(5)
    identity = llvm._identity(llvm.code_key(text), 1)
    code = llvm.object_code(text, 1)
    found: list[tuple[int, bool]] = []

    def second() -> None:
        found.append(run(text))

    thread = threading.Thread(target=second)
    with llvm.KEPT.one_writer(identity):
        thread.start()
        thread.join(0.3)
        assert found == []
        llvm.KEPT.write(identity, code)
    thread.join(20)
    assert found == [(6, False)]


def test_a_lock_that_cannot_be_had_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path / "file" / "below"))
    with llvm.KEPT.one_writer("key"):
        assert llvm.KEPT.read("key") is None


def test_code_that_others_can_write_is_compiled_again(cache: Path) -> None:
    """The file, and then the whole folder, though the seal is right."""
    run(adder(2))
    (path,) = files(cache)
    path.chmod(0o666)
    assert run(adder(2)) == (3, True)
    assert run(adder(2)) == (3, False)
    cache.chmod(0o777)
    assert run(adder(2)) == (3, True)
    assert run(adder(2)) == (3, True)


def test_links_and_pipes_of_others_are_left_alone(cache: Path, tmp_path: Path) -> None:
    """A link in the place of a lock, and pipes in the place of another lock and of the code."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    cache.mkdir(mode=0o700, parents=True)
    for number in range(256):
        (cache / f".lock-{number:02x}").symlink_to(victim)
    assert run(adder(2)) == (3, True) and victim.read_text() == "precious"
    (code,) = files(cache)
    for path in [code, *cache.glob(".lock-*")]:
        path.unlink()
        os.mkfifo(path, 0o600)
    assert run(adder(2)) == (3, True)


needs_own_loader = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.uname().machine != "x86_64", reason="the own loader is for x86-64 Linux"
)
MUCH = """declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
@table = private constant [3 x i64] [i64 5, i64 70, i64 900]
define internal i64 @inner(i64 %a) noinline {
  %at = getelementptr [3 x i64], ptr @table, i64 0, i64 %a
  %b = load i64, ptr %at
  ret i64 %b
}
define i64 @f(i64 %a) {
  %room = alloca [400 x i8]
  %much = add i64 %a, 390
  call void @llvm.memset.p0.i64(ptr %room, i8 1, i64 %much, i1 false)
  %at = getelementptr [400 x i8], ptr %room, i64 0, i64 %a
  %byte = load i8, ptr %at
  %one = zext i8 %byte to i64
  switch i64 %a, label %other [i64 0, label %zero
    i64 1, label %one_
    i64 2, label %two
    i64 3, label %three
    i64 4, label %four]
zero:
  %z = call i64 @inner(i64 0)
  ret i64 %z
one_:
  %o = call i64 @inner(i64 1)
  ret i64 %o
two:
  ret i64 %one
three:
  ret i64 33
four:
  ret i64 -4
other:
  ret i64 7
}
define i64 @g(i64 %a) {
  %b = call i64 @f(i64 %a)
  %c = add i64 %b, 1000
  ret i64 %c
}
"""
"""A table, a jump table, a call of the C library, and calls of each other."""


@needs_own_loader
@pytest.mark.parametrize("level", range(4))
def test_the_own_loader_and_llvm_load_the_same(level: int) -> None:
    code, names = llvm.object_code(MUCH, level), ["f", "g"]
    assert b"memset" in code
    for loaded in (load_object(code, names), llvm.load_by_llvm(code, names)):
        _, addresses = loaded
        assert [call(addresses["f"], a) for a in range(6)] == [5, 70, 1, 33, -4, 7]
        assert [call(addresses["g"], a) for a in range(6)] == [1005, 1070, 1001, 1033, 996, 1007]


@needs_own_loader
def test_what_is_loaded_is_given_back() -> None:
    """The memory of the code is unmapped with what holds it, and cannot be written."""
    holder, addresses = load_object(llvm.object_code(adder(2), 1), ["f"])

    def mapped() -> str | None:
        found = None
        for line in Path("/proc/self/maps").read_text().splitlines():
            low, high, rights = re.match(r"(\w+)-(\w+) (\S+)", line).groups()  # type: ignore[union-attr]
            if int(low, 16) <= addresses["f"] < int(high, 16):
                found = rights
        return found

    assert mapped() == "r-xp"
    memory = weakref.ref(holder._memory)
    del holder
    gc.collect()
    assert memory() is None


class Refusing:
    """A C library of a system that allows no executable memory."""

    memset = ctypes.CDLL(None).memset

    def mprotect(self, *_: object) -> int:
        return -1


@needs_own_loader
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("X86_64", 183, "not an object file of this machine"),
        ("RELATIVE_64", 2, "a relocation of another kind"),
        ("FROM_C", (), "a relocation of another kind"),
        ("THREAD_LOCAL", object_loader.ALLOCATED, "a section of another kind"),
        ("_library", Refusing, "the system allows no executable memory"),
    ],
)
def test_what_the_own_loader_does_not_read_llvm_loads(
    name: str, value: object, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = llvm.object_code(MUCH, 0)
    monkeypatch.setattr(object_loader, name, value)
    with pytest.raises(CannotLoad, match=why):
        load_object(code, ["f"])
    engine, addresses = llvm._load(code, ["f"])
    assert engine is not None and call(addresses["f"], 1) == 70


@needs_own_loader
def test_a_function_that_is_not_there() -> None:
    with pytest.raises(CannotLoad, match="no function h"):
        load_object(llvm.object_code(adder(2), 1), ["h"])


@functools.cache
def much() -> bytes:
    """Compiled before anything is drawn: how long LLVM takes is not part of the drawing."""
    return llvm.object_code(MUCH, 1)


@needs_own_loader
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_broken_file_is_loaded_as_it_is_or_refused(data: st.DataObject) -> None:
    """No fault of the file ends the process: headers, tables and lengths of any value, and ends at any place."""
    code = bytearray(much())
    headers = struct.unpack_from("<Q", code, 40)[0]
    for _ in range(data.draw(st.integers(1, 4))):
        low = data.draw(st.sampled_from([0, headers]))
        at = data.draw(st.integers(low, min(low + 64 * 12, len(code) - 1)))
        code[at] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(code)) | st.just(len(code)))
    try:
        LoadedObject(bytes(code[:end]))
    except CannotLoad:
        return


def test_the_version_in_the_key_is_that_of_llvm() -> None:
    assert llvmlite.__version__ in llvm._version()
