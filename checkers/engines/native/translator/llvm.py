"""LLVM IR text -> machine code of this process's own processor, kept on disk.

The key of stored code covers what it is made from (the caller's key), the version of llvmlite, the processor with its
features, and the level of optimisation: code of another machine or version is never found.

Also here: machine code on disk, one file for each key; a file that is damaged, half written or another's is never
used.

Another's is also a file that others can write, and every file of a folder that they can write.

A file holds a magic word, the SHA-256 of its key and its content together, and the content. It is written under another
name and renamed, so that processes that share the folder see all of a file or nothing of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm

from reassure.checkers.machine.own_files import locked, own_folder, read_own

MAGIC = b"reassure object 1\n"
SUFFIX = ".object"
KEEP = 600
"""Files kept; the ones longest unused are removed."""
LOCK_DIGITS = 2
"""Of a key: what keys of one lock have in common."""


def folder() -> Path:
    """The folder of the machine code: REASSURE_CACHE, or the user's cache folder."""
    declared = os.environ.get("REASSURE_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(declared) if declared else base / "reassure" / "kernels"


def read(key: str) -> bytes | None:
    """The content stored under a key; None if there is none that can be trusted."""
    stored = read_own(folder() / (key + SUFFIX)) if own_folder(folder()) else None
    if stored is None:
        return None
    start = len(MAGIC) + 32
    content = stored[start:]
    intact = stored[:start] == MAGIC + _seal(key, content)
    return content if intact else None


def write(key: str, content: bytes) -> None:
    """Stores content under a key. A folder that cannot be written is not an error: the next process compiles again."""
    base = folder()
    if not own_folder(base):
        return
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=base, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + _seal(key, content) + content)
            os.replace(name, base / (key + SUFFIX))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        _tidy(base)


@contextlib.contextmanager
def one_writer(key: str) -> Iterator[None]:
    """Lets one process at a time make the content of a key: the others wait, and then find it.

    A folder that cannot be used is not an error: then they all make it. Locks are shared by a few keys, so that there
    are never many files of them.
    """
    with locked(folder() / f".lock-{key[:LOCK_DIGITS]}") if own_folder(folder()) else contextlib.nullcontext():
        yield


def _seal(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


def _tidy(base: Path) -> None:
    """Removes the files longest unused beyond `KEEP`; another process may remove them first."""
    files = []
    for path in base.glob("*" + SUFFIX):
        with contextlib.suppress(OSError):
            files.append((path.stat().st_mtime, path))
    for _, path in sorted(files, reverse=True)[KEEP:]:
        with contextlib.suppress(OSError):
            path.unlink()


FORMAT = 1
"""Raised when this module makes other code of the same text."""

_engines: list[llvm.ExecutionEngine] = []
"""The engines that hold the machine code: kept for the life of the process."""
_addresses: dict[str, dict[str, int]] = {}


class CompileError(Exception):
    """LLVM does not take the text: a bug of the emitter."""


def compiled_functions(key: str, ir: Callable[[], str], names: Sequence[str], level: int = 2) -> dict[str, int]:
    """The addresses of functions, by name.

    key: a digest of everything the text is made from. ir: makes the text; called only if nothing is stored. level: of
    optimisation, 0 to 3. Raises `CompileError`.
    """
    identity = _identity(key, level)
    if identity not in _addresses:
        code = read(identity)
        if code is None:
            with one_writer(identity):
                code = read(identity)  # another process may have made it while this one waited
                if code is None:
                    code = object_code(ir(), level)
                    write(identity, code)
        _keep(identity, code, names)
    return _addresses[identity]


def stored_functions(key: str, names: Sequence[str], level: int) -> dict[str, int] | None:
    """As `compiled_functions`; None if nothing is stored."""
    identity = _identity(key, level)
    if identity not in _addresses:
        code = read(identity)
        if code is None:
            return None
        _keep(identity, code, names)
    return _addresses[identity]


def _keep(identity: str, code: bytes, names: Sequence[str]) -> None:
    engine, _addresses[identity] = _load(code, names)
    _engines.append(engine)


def unkept_functions(ir: str, names: Sequence[str], level: int) -> tuple[llvm.ExecutionEngine, dict[str, int]]:
    """As `compiled_functions`, but nothing is stored: the code is gone with the engine, the first of the pair."""
    return _load(object_code(ir, level), names)


def digest(text: str) -> str:
    """A key for text that is the whole of what machine code is made from."""
    return hashlib.sha256(text.encode()).hexdigest()


def _identity(key: str, level: int) -> str:
    parts = (str(FORMAT), key, llvmlite.__version__, llvm.get_default_triple(), *_processor(), str(level))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


@cache
def _processor() -> tuple[str, str]:
    """Name and features."""
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM does not know them on this platform
        features = ""
    return llvm.get_host_cpu_name(), features


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine(level: int) -> llvm.TargetMachine:
    _initialize()
    name, features = _processor()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=features, opt=level, jit=True)


def object_code(ir: str, level: int) -> bytes:
    """The object file that LLVM makes of a module's text. Raises `CompileError`."""
    machine = _machine(level)
    try:
        module = llvm.parse_assembly(ir)
        module.verify()
    except RuntimeError as error:
        raise CompileError(str(error)) from None
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


def _load(code: bytes, names: Sequence[str]) -> tuple[llvm.ExecutionEngine, dict[str, int]]:
    """Links an object file into this process: what holds the machine code, and the addresses of functions."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(2))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, {name: int(engine.get_function_address(name)) for name in names}
