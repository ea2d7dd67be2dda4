"""Sequences of a sample, as a column and as one constant, against Python's tuples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reassure.checkers.encoding.state_layout import SEQ_LENGTH_AT, pack_record
from reassure.checkers.engines.symbolic.sample_evaluator import Sample
from reassure.spec.frontend.ir import Graph, Node
from reassure.spec.language.types import IntType, RecordType, SeqType, SetType, bits_of


@dataclass(frozen=True)
class Message:
    before: int
    order: tuple[int, ...]
    after: int


ITEM = IntType(0, 2)
SEQ = SeqType(ITEM, 3)
SEQUENCES = st.lists(st.integers(0, 2), max_size=3)


def packed(value: list[int]) -> int:
    return sum(v << (i * bits_of(ITEM)) for i, v in enumerate(value)) | len(value) << SEQ_LENGTH_AT


@given(SEQUENCES, SEQUENCES, st.sets(st.integers(0, 2)))
def test_sequences(one: list[int], other: list[int], kept: set[int]) -> None:
    graph = Graph()
    constant = graph.const(tuple(one), SEQ)
    column = graph.var("s", SEQ)
    mask = graph.const(sum(1 << k for k in kept), SetType(ITEM))
    sample = Sample({"s": np.array([packed(one), packed(other)])})
    for node, values in ((constant, [one]), (column, [one, other])):
        sets = Node(-1, "seq_set", SetType(ITEM), (node,), None, frozenset())
        left = Node(-2, "seq_keep", SEQ, (node, mask), None, frozenset())
        assert np.atleast_1d(sample(sets)).tolist() == [sum(1 << v for v in set(value)) for value in values]
        assert np.atleast_1d(sample(left)).tolist() == [packed([v for v in value if v in kept]) for value in values]


@given(SEQUENCES, st.integers(0, 2), st.integers(0, 2))
def test_a_sequence_in_a_message(order: list[int], before: int, after: int) -> None:
    kind = RecordType(Message, (("before", ITEM), ("order", SEQ), ("after", ITEM)))
    graph = Graph()
    sent = graph.op("record", kind, (graph.var("s", IntType(0, 1 << bits_of(kind))),))
    sample = Sample({"s": np.array([1 + pack_record(Message(before, tuple(order), after), kind), 0])})
    assert sample(graph.op("unpack", SEQ, (sent,), 1)).tolist() == [packed(order), 0]
    assert sample(graph.op("unpack", ITEM, (sent,), 2)).tolist() == [after, 0]
