"""Kernels of models are compiled quickly, but in the tests of the engines themselves."""

from __future__ import annotations

import pytest

OPTIMISED = "checkers/engines/native"
"""The folder whose tests have kernels as users have them."""


@pytest.fixture(scope="module", autouse=True)
def quick(request: pytest.FixtureRequest) -> None:
    if OPTIMISED not in request.path.as_posix():
        request.getfixturevalue("quick_kernels")
