"""All steps from some states, as arrays."""

from __future__ import annotations

import numpy as np

from reassure.checkers.engines.native.kernels.kernel_shape import Kernel, Rows
from reassure.checkers.engines.native.kernels.partitioning import EdgeArguments, edges


def edge_list(kernel: Kernel, rows: Rows, total: Rows | None = None) -> tuple[Rows, Rows]:
    """The successor rows of the states that contiguous rows hold, in order; and how many each state has.

    total: a tally that is added to.
    """
    shape = kernel.shape
    successors = np.empty((len(rows) * max(1, shape.max_successors), shape.row_words), np.int64)
    counts = np.zeros(len(rows), np.int64)
    tally = np.zeros(shape.tally_words, np.int64) if total is None else total
    arguments = EdgeArguments(kernel.code, rows, len(rows), successors, counts, tally, 0)
    kernel.run(edges, kernel.words, arguments)
    return successors[: arguments.end], counts
