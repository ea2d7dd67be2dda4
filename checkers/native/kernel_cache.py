"""Compiled kernels on disk: one folder for each model text, configuration, engine text and machine.

A folder is written elsewhere and renamed into place, so that a half-written one is never used; its name is a digest of
everything the machine code depends on: one from other text, another version or another processor is never found.
Numba keeps the machine code beside the module.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import llvmlite
import llvmlite.binding
import numba

from reassure.checkers.encoding.state_layout import Layout
from reassure.checkers.native import codegen, owner_text, search_text, table_text, walk_text
from reassure.checkers.native import intrinsics as bits
from reassure.checkers.native.codegen import Kernel, generate
from reassure.spec.frontend.lowering import LoweredModel

T = TypeVar("T")
TEXTS = (bits, codegen, owner_text, search_text, table_text, walk_text)
"""The modules that make up a kernel."""
KEEP = 400
"""Kernels kept; the ones longest unused go."""


def roomy(call: Callable[[], T]) -> T:
    """Calls with room for deep calls in one piece of the interpreter's own stack.

    CPython takes that stack in pieces of 16 KiB and gives each back when it is left: where a loop of a deep compiler
    happens to cross the end of one, it asks the system for memory each time round (a million times for `kraft`, a third
    of the time). A frame that asks for much gets a piece with as much to spare.
    """
    return call()


roomy.__code__ = roomy.__code__.replace(co_stacksize=70_000)


def folder() -> Path:
    """Where kernels are kept: REASSURE_CACHE, or the user's cache folder."""
    given = os.environ.get("REASSURE_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else base / "reassure" / "kernels"


def _identity(source: str) -> str:
    whole = hashlib.sha256()
    for text in (
        source,
        *(_text_of(m) for m in TEXTS),
        numba.__version__,
        llvmlite.__version__,
        sys.version,
        platform.machine(),
        llvmlite.binding.get_host_cpu_name(),
    ):
        whole.update(text.encode() + b"\0")
    return whole.hexdigest()[:32]


def _text_of(module: ModuleType) -> str:
    """A module's source, also from the zip that Spark's executors import from."""
    loader: Any = module.__loader__
    return str(loader.get_source(module.__name__))


def compiled(
    model: LoweredModel, layout: Layout, digest: str, switches: bool = False, parameters: bool = False
) -> tuple[Kernel, ModuleType]:
    """The kernel of a model, its machine code taken from disk where it is there.

    digest: of the model's text, written into the module. If the folder cannot be written, a temporary one is used.
    """
    kernel = generate(model, layout, switches, parameters)
    kernel.source += f"\nMODEL = {digest!r}\n"
    return kernel, loaded(kernel.source)


def loaded(source: str) -> ModuleType:
    """The module of a kernel's text, its machine code taken from disk where it is there."""
    name = f"reassure_kernel_{_identity(source)}"
    if name in sys.modules:
        return sys.modules[name]
    try:
        path = _placed(folder(), name, source)
    except OSError:
        path = _placed(Path(tempfile.mkdtemp(prefix="reassure-")), name, source)
    spec = importlib.util.spec_from_file_location(name, path / "kernel.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _placed(base: Path, name: str, source: str) -> Path:
    """The kernel's folder, made if it is not there; a folder whose text is another's is replaced."""
    path = base / name
    if path.is_dir():
        text = path / "kernel.py"
        if text.is_file() and text.read_text(encoding="utf-8") == source:
            os.utime(path)
            return path
        shutil.rmtree(path, ignore_errors=True)
    base.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=base, prefix=".making-"))
    (made / "kernel.py").write_text(source, encoding="utf-8")
    try:
        made.rename(path)
    except OSError:
        shutil.rmtree(made, ignore_errors=True)  # another process was faster
        if not path.is_dir():
            raise
    _tidy(base)
    return path


def _tidy(base: Path) -> None:
    kept = sorted((p for p in base.glob("reassure_kernel_*") if p.is_dir()), key=lambda p: -p.stat().st_mtime)
    for old in kept[KEEP:]:
        shutil.rmtree(old, ignore_errors=True)
