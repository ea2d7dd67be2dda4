"""Properties about whole runs after a distributed search: decided in the driver, by the native engine's code.

The states come from the run directory, one file at a time; the driver keeps those of one property's region with their
graph. Where these need more memory than the driver may take, the property is not checked, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from reassure.checkers.engines.native.compiled_kernel import CompiledKernel, compiled
from reassure.checkers.engines.native.conclusion import WholeRuns, whole_runs
from reassure.checkers.engines.native.counterexample import Paths
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.liveness.decide import Liveness, needs_parameters
from reassure.checkers.engines.spark.distributed_search import DistributedRun
from reassure.checkers.machine.memory import MemoryLimit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import StopReason
from reassure.checkers.request.engine_results import Evidence, PropertyFact
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.request.prepare import Prepared
from reassure.spec.semantics.liveness import assumptions_of


class StoredLevels:
    """The levels of a run, read from its directory whenever they are gone through; where the model raises in the last
    one that is committed, also the states found after it."""

    def __init__(self, run: DistributedRun) -> None:
        self.run = run

    def __iter__(self) -> Iterator[Iterator[Rows]]:
        for commit in self.run.commits:
            yield (self.run.directory.read_states(name) for names in commit.files.values() for name in names)
        yield map(self.run.directory.read_states, self.run.files_beyond)


def whole_runs_in_driver(
    prepared: Prepared,
    kernel: CompiledKernel,
    levels: Iterable[Iterable[Rows]],
    names: list[str],
    paths: Paths,
    options: SearchOptions,
    progress: Progress,
    look: Callable[[], None],
    clipped: int,
) -> WholeRuns:
    """Decides properties about whole runs, all states being known.

    kernel: of the search; another one is compiled where fairness needs the parameters of steps. look: called now and
    then; raises to end the work. clipped: steps that leave a bound.
    """
    limit = MemoryLimit.of(options.memory)

    def liveness() -> Liveness:
        bound, lowered = prepared.bound, prepared.lowered
        parameters = needs_parameters(assumptions_of(bound.model)) and kernel.shape.parameter_words is None
        of_steps = compiled(lowered, kernel.model.layout, parameters=True) if parameters else kernel
        return Liveness(bound, lowered, of_steps, levels, names, limit.allow, look, max(1, options.workers))

    runs = whole_runs(liveness, names, paths, options, progress, clipped)
    if runs.stopped is not None and runs.stopped.reason is StopReason.MEMORY:
        note = f"its graph needs more than the driver's {limit.bytes / 2**20:,.0f} MiB: give more with --memory"
        left_out = {name: PropertyFact(Evidence.LEFT_OUT, note=note) for name in names}
        runs.facts, runs.stopped = left_out | runs.facts, None
    return runs
