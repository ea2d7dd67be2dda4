"""LLVM IR text -> machine code of this process's own processor, kept on disk.

The key of stored code covers what it is made from (the caller's key), the version of llvmlite, the processor with its
features, and the level of optimisation: code of another machine or version is never found. LLVM is imported where code
is made: what is stored is loaded by `object_loader`, and by LLVM only where that cannot.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reassure.checkers.engines.native.translator.object_loader import CannotLoad, load_object
from reassure.checkers.machine.own_files import KeptFiles, cache_folder

if TYPE_CHECKING:
    import llvmlite.binding as llvm


KEPT = KeptFiles(lambda: cache_folder("kernels"), b"reassure object 1\n", ".object", 4000)
"""Some 30 KB each: of fewer, a run of a large suite of models would find none, as each is then the longest unused."""
FORMAT = 2
"""Raised when this module makes other code of the same text."""

_holders: list[Any] = []
"""What holds the machine code: kept for the life of the process."""
Loaded = dict[str, dict[str, int]]
"""Addresses of functions by name, by the key of the code that has them."""
_loaded: Loaded = {}
"""What this process has loaded."""


class CompileError(Exception):
    """LLVM does not take the text: a bug of the emitter."""


def compiled_functions(
    key: str, ir: Callable[[], str], names: Sequence[str], level: int = 2, loaded: Loaded | None = None
) -> dict[str, int]:
    """The addresses of functions, by name.

    key: a digest of everything the text is made from. ir: makes the text; called only if nothing is stored. level: of
    optimisation, 0 to 3. loaded: code that is there, to which this is added; None: this process's. Raises
    `CompileError`.
    """
    loaded, identity = _loaded if loaded is None else loaded, _identity(key, level)
    if identity not in loaded:
        code = KEPT.read(identity)
        if code is None:
            with KEPT.one_writer(identity):
                code = KEPT.read(identity)  # another process may have made it while this one waited
                if code is None:
                    code = object_code(ir(), level)
                    KEPT.write(identity, code)
        _keep(identity, code, names, loaded)
    return loaded[identity]


def stored_functions(key: str, names: Sequence[str], level: int) -> dict[str, int] | None:
    """As `compiled_functions`; None if nothing is stored."""
    identity = _identity(key, level)
    if identity not in _loaded:
        code = KEPT.read(identity)
        if code is None:
            return None
        _keep(identity, code, names, _loaded)
    return _loaded[identity]


def _keep(identity: str, code: bytes, names: Sequence[str], loaded: Loaded) -> None:
    holder, loaded[identity] = _load(code, names)
    _holders.append(holder)


def unkept_functions(ir: str, names: Sequence[str], level: int) -> tuple[Any, dict[str, int]]:
    """As `compiled_functions`, but nothing is stored: the code is gone with what holds it, the first of the pair."""
    return _load(object_code(ir, level), names)


def code_key(text: str) -> str:
    """A key for text that is the whole of what machine code is made from."""
    return hashlib.sha256(text.encode()).hexdigest()


def _identity(key: str, level: int) -> str:
    parts = (str(FORMAT), key, _version(), *_processor(), str(level))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


@cache
def _version() -> str:
    """Of llvmlite: the text of its module that says so, which is read without importing the others."""
    spec = find_spec("llvmlite")
    try:
        return (Path(spec.origin).parent / "_version.py").read_text()  # type: ignore[union-attr, arg-type]
    except (AttributeError, TypeError, OSError):  # it is in an archive
        import llvmlite

        return str(llvmlite.__version__)


@cache
def _processor() -> tuple[str, ...]:
    """The machine, the processor and its features; those that Linux tells, where it does, decide what LLVM finds."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb") as file:
            lines = file.read(PROCESSOR).split(b"\n\n")[0].splitlines()
            about = dict(line.split(b":", 1) for line in lines if b":" in line)
            told = {name.strip(): value.strip().decode() for name, value in about.items()}
            if told.keys() >= TELLS:  # the list of an x86 processor
                return os.uname().machine, *(told[name] for name in sorted(TELLS))
    return llvm_processor()


PROCESSOR = 1 << 13
"""Bytes of Linux's list of processors that have all of the first one."""
TELLS = {b"vendor_id", b"cpu family", b"model", b"model name", b"stepping", b"flags"}
"""What that list says of a processor."""


@cache
def llvm_processor() -> tuple[str, str, str]:
    """The machine, the processor's name and its features for LLVM."""
    import llvmlite.binding as llvm

    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM does not know them on this platform
        features = ""
    return llvm.get_default_triple(), llvm.get_host_cpu_name(), features


@cache
def _initialize() -> None:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine(level: int) -> llvm.TargetMachine:
    import llvmlite.binding as llvm

    _initialize()
    _, name, features = llvm_processor()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=features, opt=level, jit=True)


def object_code(ir: str, level: int) -> bytes:
    """The object file that LLVM makes of a module's text. Raises `CompileError`."""
    import llvmlite.binding as llvm

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


def _load(code: bytes, names: Sequence[str]) -> tuple[Any, dict[str, int]]:
    """Links an object file into this process: what holds the machine code, and the addresses of functions."""
    with contextlib.suppress(CannotLoad):
        return load_object(code, names)
    return load_by_llvm(code, names)


def load_by_llvm(code: bytes, names: Sequence[str]) -> tuple[llvm.ExecutionEngine, dict[str, int]]:
    """The same by LLVM."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(2))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine, {name: int(engine.get_function_address(name)) for name in names}
