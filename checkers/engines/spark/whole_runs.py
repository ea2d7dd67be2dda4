"""Properties about whole runs after a distributed search: decided in the driver, by the native engine's code.

The states come from the run directory, one file at a time; the driver keeps those of one property's region with their
graph. Where these need more memory than the driver may take, the property is not checked, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from reassure.checkers.base.options import SearchOptions
from reassure.checkers.base.progress import Progress
from reassure.checkers.base.result import CheckResult, PropertyStatus
from reassure.checkers.engines.native.compiled_kernel import CompiledKernel, compiled
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.kernels.growing_table import memory_of_machine
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.liveness.decide import Liveness, decide, needs_parameters
from reassure.checkers.engines.native.search import OutOfMemory
from reassure.checkers.engines.spark.distributed_search import Run
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.liveness import assumptions_of


class StoredLevels:
    """The levels of a run, read from its directory whenever they are gone through."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def __iter__(self) -> Iterator[Iterator[Rows]]:
        for commit in self.run.commits:
            yield (self.run.directory.read_states(name) for names in commit.files.values() for name in names)


def decide_in_driver(
    bound: BoundModel,
    lowered: LoweredModel,
    kernel: CompiledKernel,
    levels: Iterable[Iterable[Rows]],
    paths: Paths,
    options: SearchOptions,
    verdict: CheckResult,
    progress: Progress,
    look: Callable[[], None],
) -> None:
    """Gives every property about whole runs that was asked for its status, all states being known.

    kernel: of the search; another one is compiled where fairness needs the parameters of steps. look: called now and
    then; raises to end the work.
    """
    limit = min(options.memory or memory_of_machine(), memory_of_machine())

    def allow(wanted: int) -> None:
        if wanted > limit:
            raise OutOfMemory(f"more than {limit:,} bytes")

    if needs_parameters(assumptions_of(bound.model)) and kernel.shape.parameter_words is None:
        kernel = compiled(lowered, kernel.model.layout, parameters=True)
    try:
        decide(Liveness(bound, lowered, kernel, levels, allow, look), paths, verdict, progress)
    except (OutOfMemory, MemoryError):
        for p in verdict.properties:
            if p.temporal and p.status is PropertyStatus.UNKNOWN:
                p.status = PropertyStatus.NOT_CHECKED
                p.note = f"its graph needs more than the driver's {limit / 2**20:,.0f} MiB: give more with --memory"


__all__ = ["StoredLevels", "decide_in_driver"]
