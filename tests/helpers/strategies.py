"""Hypothesis strategies: values of any finite type that a model may be made of."""

from __future__ import annotations

from hypothesis import strategies as st

from reassure.spec.language.types import BagType, MapType, OptionType, RecordType, SeqType, SetType, Type
from reassure.spec.language.values import Map


def of_type(kind: Type) -> st.SearchStrategy[object]:
    """Values of a finite type."""
    if isinstance(kind, RecordType):
        return st.builds(lambda *v: kind.cls(*v), *(of_type(t) for _, t in kind.fields))
    if isinstance(kind, MapType):
        keys = list(kind.key.values())
        return st.tuples(*(of_type(kind.value) for _ in keys)).map(lambda v: Map(zip(keys, v, strict=True)))
    if isinstance(kind, OptionType):
        return st.none() | of_type(kind.inner)
    if isinstance(kind, SetType):
        return st.frozensets(of_type(kind.item))
    if isinstance(kind, SeqType):
        return st.lists(of_type(kind.item), max_size=kind.length).map(tuple)
    if isinstance(kind, BagType):
        return st.frozensets(of_type(kind.item), max_size=kind.size)
    return st.sampled_from(list(kind.values()))
