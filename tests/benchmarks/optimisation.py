"""Levels of optimisation of a kernel: what LLVM takes for the code, and what the search takes with it.

For each model that the gate checks, in the check with the most states: without optimisation (the level that a kernel
begins with), by a short list of passes (which no command uses: it is measured here to see whether it would pay), and at
level 3, which a kernel gets once it has worked for long enough (decision 026). Counts of all three are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TypeVar

import llvmlite.binding as llvm

from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.conclusion import state_claims
from reassure.checkers.engines.native.exploration import CompiledKernel, Exploration, Limits, Start, explore, shape_of
from reassure.checkers.engines.native.kernels.kernel_shape import LEVEL, QUICK, _functions
from reassure.checkers.engines.native.model.kernel_numbers import ModelKernel
from reassure.checkers.engines.native.model.model_kernel import model_kernel
from reassure.checkers.engines.native.search import Search
from reassure.checkers.engines.native.translator.llvm import _load, _machine, object_code
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.request.prepare import prepare
from tests.benchmarks.second_opinion import Answer, checks, pinned

RUNS, ENOUGH = 3, 2.0
"""Runs of what is measured, and the seconds after which there is not another one."""
SMALLER = {"raft_membership": ["servers=3"], "raft_membership_fixed": ["servers=3"]}
"""Configurations in place of those in which the gate searches classes of states."""
Result = TypeVar("Result")


def some_passes(ir: str) -> bytes:
    """The object code after a short list of passes, among them LLVM's dearest, InstCombine, once."""
    machine = _machine(QUICK)
    module = llvm.parse_assembly(ir)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_aggressive_dce_pass()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=LEVEL))
    passes.run(module, builder)
    code: bytes = _machine(LEVEL).emit_object(module)
    return code


WAYS: dict[str, Callable[[str], bytes]] = {
    "none": lambda ir: object_code(ir, QUICK),
    "some": some_passes,
    "level 3": lambda ir: object_code(ir, LEVEL),
}
"""By name, from the text of a kernel to its object code."""


class FixedKernel(CompiledKernel):
    """A kernel with this object code, which is never optimised further."""

    def __init__(self, model: ModelKernel, code: bytes) -> None:
        self.model, self.shape = model, shape_of(model)
        self._until_optimised = self._until_kept = float("inf")
        self._lock = Lock()
        self._holds_code, self.addresses = _load(code, self.shape.functions)
        self.code = self._code(**_functions(self.addresses))


def largest() -> list[Check]:
    """Of each model that the gate's searches are about, the check with the most states, by that number."""
    by_model: dict[str, Check] = {}
    for check in checks():  # those with few states first
        by_model[check.request().model] = check
    return sorted(by_model.values(), key=lambda check: pinned(check) or 0)


def least(work: Callable[[], Result]) -> tuple[float, Result]:
    """The least of the processor seconds that some runs of this take, and what it returns."""
    took: list[float] = []
    while len(took) < RUNS and sum(took) < ENOUGH:
        began = time.process_time()
        result = work()
        took.append(time.process_time() - began)
    return min(took), result


def compared(check: Check) -> Answer:
    """The row of a check. Raises `AssertionError` if counts differ from each other, or from what the gate expects."""
    request = check.request()
    classes = request.options.symmetry != "off"
    prepared = prepare(request.model, SMALLER[request.model] if classes else list(request.set))
    claims = [*prepared.bound.properties, *prepared.bound.covers]
    asked = [p.name for p in claims if not p.temporal and request.options.wants(p.name)]
    options = replace(request.options, workers=1, symmetry="off", properties=[*asked, "deadlock"])
    bound, layout = prepared.bound, state_layout(prepared.bound)
    model = model_kernel(prepared.lowered.only(options.wants), layout)
    start = Start.of(bound, layout)
    ways, counts = {}, []

    def search() -> Exploration:
        return explore(bound, kernel, start, Search(kernel, 1), Limits.of(options, state_claims(bound, options)))

    for way, code_of in WAYS.items():
        compiling, code = least(partial(code_of, model.ir))
        kernel = FixedKernel(model, code)
        Search(kernel, 1).warm_up()
        searching, found = least(search)
        ways[way] = {"compile": compiling, "search": searching}
        stats, hits = found.stats, found.violated(options.properties)
        counts.append((found.complete, stats.distinct, stats.generated, stats.clipped, stats.depth, hits))
    complete, distinct, generated, clipped, depth, hits = counts[0]
    assert complete and counts == [counts[0]] * len(WAYS), f"{check.repro()}: {counts}"
    assert classes or pinned(check) in (None, distinct), f"{check.repro()}: {distinct} states"
    counted = {"distinct": distinct, "generated": generated, "clipped": clipped, "depth": depth, "hits": hits}
    settings = list(prepared.settings)
    return {"model": request.model, "settings": settings, "characters": len(model.ir), **counted, "ways": ways}


def measure() -> Iterator[Answer]:
    """The rows, one after the other."""
    return map(compared, largest())


HEAD = """
## Levels of optimisation

Commit {commit}. For each model that the gate file searches: its check with the most states, on one thread, without
properties of whole runs. Processor seconds of LLVM for the model's code, and of the search with it; each the least of
{runs}, of fewer if it takes long. "none" is the level that a kernel begins with; "level 3" is the one that it gets once
it has worked for as long as that takes ([decision 026](../../spec/decisions/026-optimised-when-it-pays.md)). "some"
inlines, combines instructions once and removes what is not needed; no command uses it. States, steps, depth, what is
violated or reached, and how soon, are equal in all three, and states are as many as the gate file expects. Of a check
of classes the row is about all states of a smaller configuration.

"""
COLUMNS = ["model", "configuration", "distinct", "generated"]
COLUMNS += [f"{what}: {way}" for what in ("compile", "search", "ns a state") for way in WAYS]
SUMS = """
Compiled and searched once, without anything on disk, that is {none} s of processor for all these checks without
optimisation, {some} s with some passes, and {full} s at level 3. Who knew the best choice for each would need {two} s
without the list of passes, and {three} s with it, which is the best choice for {pays} of {all} models. With code from
disk the searches take {search_some} s with some passes, and {search_full} s at level 3.
"""


def table(data: Answer) -> str:
    """The second part of the page."""
    lines: list[tuple[str, ...]] = []
    for row in data["rows"]:
        ways = [row["ways"][way] for way in WAYS]
        cells = [f"{way['compile']:.3f}" for way in ways] + [f"{way['search']:.3f}" for way in ways]
        cells += [f"{way['search'] / row['distinct'] * 1e9:.0f}" for way in ways]
        settings = " ".join(row["settings"])
        lines.append((row["model"], settings, f"{row['distinct']:,}", f"{row['generated']:,}", *cells))
    return HEAD.format(**data) + markdown(COLUMNS, lines) + sums(data["rows"])


def markdown(columns: Sequence[str], lines: list[tuple[str, ...]]) -> str:
    """A table."""
    return "".join(f"| {' | '.join(line)} |\n" for line in (columns, ["---"] * len(columns), *lines))


def sums(rows: list[Answer]) -> str:
    """What the choice of a level costs in all."""
    whole = [[sum(row["ways"][way].values()) for way in WAYS] for row in rows]
    none, some, full = (f"{sum(column):.1f}" for column in zip(*whole, strict=True))
    search_some, search_full = (f"{sum(row['ways'][way]['search'] for row in rows):.1f}" for way in list(WAYS)[1:])
    two, three = sum(min(none, full) for none, _, full in whole), sum(map(min, whole))
    pays = sum(some < min(none, full) for none, some, full in whole)
    named = {"search_some": search_some, "search_full": search_full, "two": f"{two:.1f}", "three": f"{three:.1f}"}
    return SUMS.format(none=none, some=some, full=full, pays=pays, all=len(rows), **named)
