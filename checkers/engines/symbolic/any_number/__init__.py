"""Proofs for every number of members of a sort, and every value of the free numbers of a configuration.

The model is lowered once with sorts of any number of members (`spec/frontend/any_number.py`). `terms.py` translates its
nodes to Z3: an id is a constant of an uninterpreted sort, a set is a predicate, a map a function.
"""
