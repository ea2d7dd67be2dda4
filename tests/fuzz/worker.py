"""A process of its own that compares models: what hangs or dies there is a difference like any other."""

from __future__ import annotations

import contextlib
import io
import itertools
import multiprocessing
import os
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.fuzz.generate import Source

_context = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Answer:
    """differences: (check, kind, detail). refused: why the language refuses it, if it does. took: seconds by check."""

    differences: tuple[tuple[str, str, str], ...] = ()
    refused: str = ""
    took: tuple[tuple[str, float], ...] = ()


def placed(source: Source, folder: Path, number: int) -> Path:
    """Writes a model's files under names of their own; the path of the last."""
    texts = dict(source.files)
    for stem in source.files:
        fresh = f"{stem}_{number}"
        texts = {k if k != stem else fresh: _renamed(t, stem, fresh) for k, t in texts.items()}
    path = folder
    for stem, text in texts.items():
        path = folder / f"{stem}.py"
        path.write_text(text, encoding="utf-8")
    return path


def _renamed(text: str, old: str, new: str) -> str:
    lines = []
    for line in text.splitlines():
        if line in (f"import {old}", f"from {old} import *"):
            line = line.replace(old, new)
        elif line.startswith(f"MODEL = {old}."):
            line = line.replace(old, new, 1)
        lines.append(line)
    return "\n".join(lines) + "\n"


def judged(source: Source, seed: int, checks: list[str], folder: Path, number: int) -> Answer:
    """Compares a model in this process."""
    from reassure.checkers.engines.native.kernels import kernel_shape
    from reassure.checkers.engines.native.model import split_steps
    from tests.fuzz.compare import compared

    kernel_shape.OPTIMISED_AFTER = float(seed % 2)  # every second model at once, the others if they work for long
    limits = split_steps.ALWAYS if seed & 2 else {}

    before = set(sys.modules)
    try:
        with contextlib.redirect_stderr(io.StringIO()), patch.dict(vars(split_steps), limits):
            found, took, refused = compared(placed(source, folder, number), seed, checks)
    finally:
        for name in set(sys.modules) - before:
            if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
    kinds = {(d.check, d.kind): d.detail for d in reversed(found)}
    return Answer(tuple((c, k, d) for (c, k), d in kinds.items()), refused, tuple(took.items()))


def _serve(pipe: Connection) -> None:
    os.setsid()  # what ends the run by a signal to its group leaves no half answer of a command
    folder = Path(tempfile.mkdtemp(prefix="reassure-fuzz-"))
    sys.path.append(str(folder))
    numbers = itertools.count()
    while True:
        try:
            source, seed, checks = pipe.recv()
        except EOFError:
            return
        pipe.send(judged(source, seed, checks, folder, next(numbers)))


class Worker:
    """The process; started again when it dies or takes too long."""

    def __init__(self, seconds: float = 40) -> None:
        self.seconds = seconds
        self._process: Any = None
        self._pipe: Connection | None = None

    def _start(self) -> Connection:
        if self._pipe is None:
            self._pipe, there = _context.Pipe()
            self._process = _context.Process(target=_serve, args=(there,), daemon=True)
            self._process.start()
            there.close()
        return self._pipe

    def judge(self, source: Source, seed: int, checks: list[str]) -> Answer:
        """What comparing a model gives; a process that dies or hangs is a difference."""
        pipe = self._start()
        try:
            pipe.send((source, seed, checks))
            if pipe.poll(self.seconds):
                answer: Answer = pipe.recv()
                return answer
            why = "the process takes too long"
        except (EOFError, OSError):
            why = "the process dies"
        self.stop()
        return Answer((("process", why, "+".join(checks)),))

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None
