"""The smallest state of a level of which something is wanted: by expanding one state after the other in order."""

from __future__ import annotations

import numpy as np

from reassure.checkers.engines.native.counterexample import Row, Wanted
from reassure.checkers.engines.native.kernels.kernel_shape import Rows
from reassure.checkers.engines.native.probe import Probe, in_order


def found_in(level: list[Rows], wanted: Wanted, probe: Probe) -> Row | None:
    """The smallest row that is wanted."""
    for row in in_order(np.concatenate(level)):
        if _is(row.reshape(1, -1), wanted, probe):
            return tuple(row.tolist())
    return None


def _is(row: Rows, wanted: Wanted, probe: Probe) -> bool:
    if wanted.raises:
        return probe.run(row, lambda _: probe.worker.raised)
    if wanted.successor:
        return probe.leads_to(row, wanted.successor)
    return probe.flagged(row, wanted.flag)
