"""Engines are compared with kernels that are optimised from the start: few models of tests work for long enough.

Every step with a choice is taken in cases, as it is in large models alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reassure.checkers.engines.native.kernels import kernel_shape
from reassure.checkers.engines.native.model import split_steps


@pytest.fixture(scope="module", autouse=True)
def optimised_kernels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_shape, "OPTIMISED_AFTER", 0)
        for name, value in split_steps.ALWAYS.items():
            patch.setattr(split_steps, name, value)
        yield
