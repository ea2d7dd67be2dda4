"""Engines are compared with kernels that are optimised from the start: few models of tests work for long enough."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from reassure.checkers.engines.native.kernels import kernel_shape


@pytest.fixture(scope="module", autouse=True)
def optimised_kernels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_shape, "OPTIMISED_AFTER", 0)
        yield
