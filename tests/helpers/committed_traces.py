"""The traces that come with the project, by the property that they violate."""

from __future__ import annotations

import json
from pathlib import Path

from reassure.checkers.console.files import read_traces
from reassure.checkers.ledger.ledger import PATHS
from reassure.checkers.ledger.trace_store import paths, trace_files
from reassure.spec.semantics.interpreter import BoundModel
from reassure.spec.semantics.trace import Trace


def committed_file(model: str, name: str, **settings: object) -> Path:
    """The first file with a violation under a configuration that has these values."""
    return min(
        path
        for key, path in paths(trace_files(PATHS.traces)).items()
        if (key.model, key.property) == (model, name) and settings.items() <= json.loads(key.config).items()
    )


def committed_trace(model: str, name: str, **settings: object) -> tuple[Trace, BoundModel]:
    """The trace of that file, under such a configuration."""
    read = read_traces(committed_file(model, name, **settings), None)
    return next((t, bound) for t, bound, _ in read if settings.items() <= t.meta["config"].items())
