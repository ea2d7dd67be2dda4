"""Spaces of models are searched with kernels that are not optimised."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick(quick_kernels: None) -> None:
    """For every test of this folder."""
