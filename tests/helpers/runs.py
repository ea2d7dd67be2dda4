"""Checks run in this process, and what of their results engines must agree on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from reassure import Model
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.native import exploration
from reassure.checkers.engines.native.kernels import kernel_shape
from reassure.checkers.engines.reference import search as reference
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.engine_results import EngineResult
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.checkers.request.result import CheckResult
from reassure.checkers.request.run_identity import RunIdentity
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import BoundModel, make_config
from reassure.spec.semantics.trace import PlainConfig


def checked(model: str, pairs: list[str], engine: str, **options: Any) -> tuple[CheckResult, BoundModel]:
    """A model checked by an engine. options: of `SearchOptions`."""
    return run(CheckRequest(model, pairs, engine, SearchOptions(**options)), Progress(quiet=True))


def bind(model: Model, values: PlainConfig) -> tuple[BoundModel, LoweredModel]:
    """A model with configuration values, and in the form that engines translate."""
    bound = BoundModel(model, make_config(model, values))
    return bound, lower_model(bound)


def result_of(
    engine: Callable[[Prepared, SearchOptions, Progress], EngineResult],
    bound: BoundModel,
    options: SearchOptions | None = None,
    lowered: LoweredModel | None = None,
) -> CheckResult:
    """The result of an engine on a model that need not be in a file."""
    chosen = SearchOptions() if options is None else options
    prepared = Prepared(bound, restricted=lowered)
    identity = RunIdentity.of(prepared, "", "")
    return CheckResult.of(identity, bound, chosen, engine(prepared, chosen, Progress(quiet=True)))


def plain_result(bound: BoundModel, options: SearchOptions | None = None) -> CheckResult:
    """The result of the reference engine."""
    return result_of(reference.check, bound, options)


def everything(verdict: CheckResult) -> dict[str, object]:
    """All that engines must agree on."""
    record = verdict.record({})
    kept = {k: record[k] for k in ("verdict", "complete", "stopped_because", "properties", "covers", "actions")}
    stats = {k: record["stats"][k] for k in ("generated", "distinct", "depth", "clipped", "clipped_at", "frontier")}
    traces = {
        p.name: (p.trace.states, [(s.action, s.params) for s in p.trace.steps], p.trace.loop, p.trace.closing)
        for p in [*verdict.properties, *verdict.covers]
        if p.trace is not None
    }
    return {**kept, **stats, "traces": traces}


ALLOCA = re.compile(r"^ *(%[\w.]+) = alloca ([^\n,]+)(?:, i64 (\d+))?(?:, align \d+)?$", re.MULTILINE)
"""A local variable of a function of LLVM."""


def filled(ir: str, byte: int) -> str:
    """The same text, in which every local variable begins as this byte again and again, and not as what was there."""
    fill = "llvm.memset.p0.i64"

    def begin(match: re.Match[str]) -> str:
        name, kind, count = match[1], match[2], match[3] or "1"
        if kind == "i1":  # one bit of a byte
            return f"{match[0]}\n  store i1 {byte & 1}, ptr {name}"
        size = f"i64 ptrtoint (ptr getelementptr ({kind}, ptr null, i64 {count}) to i64)"
        return f"{match[0]}\n  call void @{fill}(ptr {name}, i8 {byte}, {size}, i1 false)"

    text, number = ALLOCA.subn(begin, ir)
    assert number == ir.count(" alloca "), "a local variable is declared otherwise"
    declared = f"declare void @{fill}(ptr, i8, i64, i1)\n"
    return text if not number or declared in text else text + declared


@contextmanager
def unoptimised(byte: int) -> Iterator[None]:
    """Kernels of models that LLVM does not optimise, and whose local variables begin as a byte again and again."""
    shape_of = exploration.shape_of

    def with_fill(model: Any) -> kernel_shape.KernelShape:
        shape = shape_of(model)
        return replace(shape, ir=filled(shape.ir, byte))

    with mock.patch.object(exploration, "shape_of", with_fill), mock.patch.object(kernel_shape, "LEVEL", 0):
        yield
