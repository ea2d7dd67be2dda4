"""Steps of very many views are told apart, and the traces of several configurations have names of their own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reassure.checkers.kafka.controller import conform_command
from reassure.checkers.kafka.controller.explore_properties import _pairs
from reassure.checkers.machine.exit_codes import Exit, Failure


def test_pairs_of_more_views_than_22_bits_number_are_told_apart() -> None:
    """1 to 5 and 1 to 4,194,309 had one number, and the second was never judged."""
    before, after = np.array([1, 1, 0]), np.array([5, (1 << 22) + 5, 5])
    assert len(set(_pairs(before, after, (1 << 22) + 6).tolist())) == 3


def test_more_views_than_can_be_paired_are_refused() -> None:
    none = np.array([0])
    assert _pairs(none, none, (1 << 23) - 1).tolist() == [0]
    with pytest.raises(Failure, match="8,388,608 views of a partition are too many") as refused:
        _pairs(none, none, 1 << 23)
    assert refused.value.code is Exit.INCONCLUSIVE


def test_traces_of_several_configurations_are_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conform_command, "to_itf", lambda trace, bound: "{}")
    compared: Any = SimpleNamespace(
        bound=SimpleNamespace(model=SimpleNamespace(name="m")),
        conformance=SimpleNamespace(version="4.4.0", disagreements=[SimpleNamespace(first=None, cause="x")]),
        source=SimpleNamespace(trace=lambda first: SimpleNamespace(meta={})),
        identity=SimpleNamespace(fields=dict),
    )
    names = [
        Path(p).name for label in ("", "brokers-2") for p in conform_command._disagreements(compared, tmp_path, label)
    ]
    assert names == ["m--kafka-4.4.0-1.itf.json", "m--brokers-2--kafka-4.4.0-1.itf.json"]
