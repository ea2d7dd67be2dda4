"""The model that is explored: loaded once, and again when one of its files has changed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.request.digest import module_files, source
from reassure.checkers.request.model_loader import config_values, own_file
from reassure.checkers.request.outside_values import values_digest
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.traces.refusals import ExplainingModel
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import JsonObject, PlainConfig

Stamp = dict[Path, tuple[int, int]]
"""Time of the last change and size of files."""


@dataclass(frozen=True)
class Loaded:
    """A model under its configuration."""

    bound: BoundModel
    explaining: ExplainingModel
    digest: str

    @cached_property
    def values(self) -> str:
        """The digest of the values that the model reaches."""
        return values_digest(self.bound)

    @property
    def config(self) -> PlainConfig:
        """The configuration as plain JSON."""
        return config_values(self.bound.config)


class ModelSource:
    """The source of the model: its name or path, and its settings."""

    def __init__(self, model: str, settings: list[str]) -> None:
        """settings: KEY=VALUE."""
        self.model, self.settings = model, settings
        self._loaded: Loaded | None = None
        self._files: Stamp = {}

    def loaded(self) -> Loaded:
        """The model as its files are now; `Failure` if they hold none."""
        if self._loaded is not None and _stamp(self._files) == self._files:
            return self._loaded
        self._forget()
        before = set(sys.modules)
        try:
            bound, digest = prepare_plain(self.model, self.settings)
        except Failure:
            for name in set(sys.modules) - before:  # what the file has imported may be edited before the file is
                if not name.startswith("reassure.checkers") and source(name) is not None:
                    _remove(name)
            raise
        self._files = _stamp(module_files(bound.model))
        self._loaded = Loaded(bound, ExplainingModel(bound), digest)
        return self._loaded

    def meta(self, loaded: Loaded) -> JsonObject:
        """The metadata of a trace: the model, its digest and configuration."""
        meta = {"model": loaded.bound.model.name, "model_sha256": loaded.digest, "config": loaded.config}
        return meta | ({"model_file": self.model} if own_file(self.model) else {})

    def _forget(self) -> None:
        """Makes the next import read the modules of the model anew."""
        self._loaded = None
        for name, module in list(sys.modules.items()):
            if getattr(module, "__file__", None) and Path(str(module.__file__)) in self._files:
                _remove(name)
        importlib.invalidate_caches()


def _remove(name: str) -> None:
    """Makes the next import of a module read it anew, also where it is imported from its package."""
    del sys.modules[name]
    package, _, last = name.rpartition(".")
    if hasattr(sys.modules.get(package), last):
        delattr(sys.modules[package], last)


def _stamp(files: Iterable[Path]) -> Stamp:
    stamp: Stamp = {}
    for path in files:
        try:
            status = path.stat()
            stamp[path] = (status.st_mtime_ns, status.st_size)
        except OSError:  # an editor may remove a file before it writes it anew
            stamp[path] = (0, 0)
    return stamp
