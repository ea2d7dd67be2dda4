"""Plain Python == generated native code, construct by construct, on drawn states: reachable or not."""

from __future__ import annotations

import random
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from reassure.checkers.engines.native.kernels.model_code import ACTION_MASK
from reassure.checkers.engines.spark.datasets import Tables
from reassure.spec.language.values import Map
from tests.helpers.constructs import CONSTRUCTS, TABLES, bound_model
from tests.helpers.drawn_states import drawn
from tests.helpers.native_steps import Native, plain_steps


@pytest.mark.parametrize("name", TABLES, ids=[n.split(" |")[0].replace(" ", "_") for n in TABLES])
def test_construct(name: str, tmp_path: Path) -> None:
    bound = bound_model(name, tmp_path)
    native = Native(bound)
    rng = random.Random(name)
    enabled = 0
    rows: list[list[int]] = []
    columns: list[dict[str, object]] = []
    for _ in range(100):
        state = drawn(bound.type, rng)
        assert native.layout.decode(native.layout.encode(state)) == state
        want = plain_steps(bound, state)
        got = native.steps(state)
        assert got[2] == want[2], state
        if want[2]:
            continue
        assert got == want, state
        enabled += len(want[0]) + want[1]
        assert all(native.layout.encode(after) == native.code(i) for i, (_, _, after) in enumerate(want[0])), state
        if name not in CONSTRUCTS:
            continue
        rows += native.out[: len(want[0]), native.layout.words :].tolist()
        columns += [
            {"action": action, **({"params": {action: shown(params)}} if params else {})}
            for action, params, _ in want[0]
        ]
    assert enabled >= 5
    if rows:
        table = Tables.of(native.layout, native.kernel, native.lowered)
        words = np.array(rows, np.int64)
        made = table.step(words[:, 0] & ACTION_MASK, words[:, native.kernel.step_words :])
        assert pa.table(made).to_pylist() == columns


def shown(value: Any) -> Any:
    """A value as Arrow gives it back."""
    if isinstance(value, dict):
        return {name: shown(inner) for name, inner in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {name: shown(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Map):
        return [(shown(k), shown(v)) for k, v in value.items()]
    if isinstance(value, frozenset):
        return sorted(shown(v) for v in value)
    if isinstance(value, tuple):
        return [shown(v) for v in value]
    if value is None or isinstance(value, bool):
        return value
    return value.value if isinstance(value, Enum) else int(value)
