"""A kernel is optimised once it has worked for as long as that takes; what it computes stays the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native import engine
from reassure.checkers.engines.native.exploration import CompiledKernel, compiled
from reassure.checkers.engines.native.kernels import kernel_shape
from reassure.checkers.engines.native.kernels.partitioning import edge_list
from reassure.checkers.engines.native.translator import llvm
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions
from tests.helpers.runs import bind, everything, result_of


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and nothing that this process has loaded."""
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    monkeypatch.setattr(llvm, "_loaded", {})
    return tmp_path / "kernels"


@pytest.fixture
def optimise_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Sets after how many seconds of work a kernel is optimised."""
    return lambda seconds: monkeypatch.setattr(kernel_shape, "OPTIMISED_AFTER", seconds)


def kernel() -> CompiledKernel:
    bound, lowered = bind(load_model("core"), {"brokers": 3})
    return compiled(lowered, state_layout(bound))


def objects(cache: Path) -> int:
    return len(list(cache.glob("*.object")))


def steps(of: CompiledKernel) -> list[list[int]]:
    bound, _ = bind(load_model("core"), {"brokers": 3})
    rows = np.array([state_layout(bound).encode(s) for _, _, s in bound.initial_states()], np.uint64).view(np.int64)
    found: list[list[int]] = edge_list(of, rows)[0].tolist()
    return found


def test_work_makes_it_optimised(cache: Path, optimise_after: Callable[[float], None]) -> None:
    optimise_after(1e6)
    quick = kernel()
    begun, before = dict(quick.addresses), steps(quick)
    assert quick.addresses == begun
    optimise_after(1e-9)
    worked = kernel()
    assert worked.addresses == begun
    assert steps(worked) == before
    assert worked.addresses != begun and worked.code.expand.address == worked.addresses["expand"]
    assert steps(worked) == before
    stored = objects(cache)
    optimise_after(1e6)
    assert kernel().addresses == worked.addresses  # of the next run, from the start
    assert objects(cache) == stored


def test_work_of_several_runs_counts_together(cache: Path) -> None:
    quick = kernel()
    enough = kernel_shape.OPTIMISED_AFTER * kernel_shape.SECONDS_BY_CHARACTER * len(quick.shape.ir)
    quick._note(0.05 * enough)
    assert list(cache.glob("*.worked")) == [], "so little is not kept"
    for share in (0.35, 0.35):
        run = kernel()
        run._note(share * enough)
        assert run.addresses == quick.addresses
    (worked,) = cache.glob("*.worked")
    kept = worked.read_bytes()
    worked.write_bytes(kept[:-1] + b"9")
    damaged = kernel()
    damaged._note(0.4 * enough)
    assert damaged.addresses == quick.addresses
    worked.write_bytes(kept)
    last = kernel()
    last._note(0.25 * enough)
    assert last.addresses == quick.addresses
    last._note(0.1 * enough)
    assert last.addresses != quick.addresses
    assert kernel().addresses == last.addresses


def test_at_once_and_never(
    cache: Path, optimise_after: Callable[[float], None], optimise_no_more: Callable[[], None]
) -> None:
    optimise_after(0)
    at_once = kernel().addresses
    optimise_no_more()
    optimise_after(1e-9)
    never = kernel()
    assert never.addresses != at_once
    steps(never)
    assert never.addresses != at_once


@pytest.mark.parametrize("workers", [1, 3])
def test_a_search_goes_on(
    workers: int, cache: Path, optimise_after: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the whole result of the search that is optimised from the start."""
    bound, lowered = bind(load_model("core"), {"brokers": 4})
    options = SearchOptions(workers=workers)
    optimise_after(1e6)
    whole = result_of(engine.check, bound, options, lowered)
    optimise_after(0.02)
    made: list[CompiledKernel] = []

    def noted(*given: Any) -> CompiledKernel:
        made.append(compiled(*given))
        return made[-1]

    monkeypatch.setattr(engine, "compiled", noted)
    found = result_of(engine.check, bound, options, lowered)
    assert everything(found) == everything(whole)
    (one,) = made
    assert one.addresses == llvm.stored_functions(
        llvm.code_key(one.shape.ir), kernel_shape.FUNCTIONS, kernel_shape.LEVEL
    )
