"""How tests are dealt out to several processes: those of a group to one, all others to whichever is free."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reassure.checkers.native.kernels import kernel_shape

TOGETHER = (
    "checkers/spark",
    "checkers/kafka",
    "checkers/explorer/test_browser.py",
    "checkers/evidence/test_findings.py",
    "checkers/evidence/test_project_claims.py",
    "checkers/cli/gate/test_kinds.py",
    "checkers/pictures/test_in_browser.py",
    "checkers/symbolic/test_prover.py",
    "packaging",
    "docs/test_docs.py",
    "conformance/test_constructs_symbolic.py",
    "conformance/test_faults_native.py",
)
"""What shares something that takes long to make: a Spark session, jars, a browser, a proof, a table of models."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    root = Path(__file__).parent
    for item in items:
        where = item.path.relative_to(root).as_posix()
        group = next((name for name in TOGETHER if where.startswith(name)), None)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


@pytest.fixture(scope="module")
def quick_kernels() -> Iterator[None]:
    """Kernels of models are compiled without optimisation: LLVM takes a twentieth of the time.

    For tests of what a model does, not of what an engine does: `conformance/` compares optimised kernels of all models.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_shape, "LEVEL", 0)
        yield
