"""Views of a partition: very many are told apart, and brokers are renamed; traces of configurations have own names."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reassure.checkers.kafka.controller import conform_command, explore_properties
from reassure.checkers.kafka.controller.explore_properties import Renaming, _pairs, renamings
from reassure.checkers.kafka.controller.words import ControllerState, packed_state, unpacked_state
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.partition import Partition
from tests.helpers.brokers import b, seq
from tests.helpers.kafka_explored import explored


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


def test_a_state_is_renamed_in_every_field() -> None:
    partition = Partition(seq(3, 1), b(1), b(3), b(3), b(2), seq(1)[0], 0, 0, True, seq(2)[0])
    state = ControllerState(partition, b(1, 3), (0, 0, 0), True, b(1), False, 2, b(3), b(2))
    word, _, settings = packed_state(state)
    turned = Renaming((2, 3, 1))
    partition = Partition(seq(1, 2), b(2), b(1), b(1), b(3), seq(2)[0], 0, 0, True, seq(3)[0])
    words = (turned.states(np.array([word])), turned.settings(np.array([settings])))
    assert unpacked_state(int(words[0][0]), 0, int(words[1][0]), 3) == ControllerState(
        partition, b(1, 2), (0, 0, 0), True, b(2), False, 2, b(1), b(3)
    )


def test_the_first_renaming_changes_nothing() -> None:
    words = explored("4.4.0").states
    first, other = renamings(2)
    assert (first.states(words) == words).all() and (other.states(words) != words).any()
    assert (other.states(other.states(words)) == words).all()


def test_findings_are_the_same_without_renamings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No property reads a number: what is evaluated for one of several states holds for all of them."""
    graph = explored("3.9.0")
    findings = explore_properties.evaluate(graph)
    monkeypatch.setattr(explore_properties, "renamings", lambda brokers: renamings(brokers)[:1])
    assert explore_properties.evaluate(graph) == findings
    assert max(hit.count for hit in findings.violated.values()) > 1
