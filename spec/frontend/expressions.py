"""The expressions of the language, and where each is lowered."""

from __future__ import annotations

import ast

from reassure.spec.frontend.calls import call
from reassure.spec.frontend.comparisons import compare
from reassure.spec.frontend.comprehensions import set_comprehension, set_display
from reassure.spec.frontend.context import Constructs
from reassure.spec.frontend.names import attribute, constant, name
from reassure.spec.frontend.operators import binary_op, bool_op, if_expression, unary_op
from reassure.spec.frontend.sequences import subscript, tuple_display

CONSTRUCTS = Constructs(
    expressions={
        ast.Constant: constant,
        ast.Name: name,
        ast.Attribute: attribute,
        ast.BoolOp: bool_op,
        ast.UnaryOp: unary_op,
        ast.IfExp: if_expression,
        ast.BinOp: binary_op,
        ast.Compare: compare,
        ast.Tuple: tuple_display,
        ast.Subscript: subscript,
        ast.Call: call,
    },
    set_displays={
        ast.Set: set_display,
        ast.SetComp: set_comprehension,
    },
)
"""Other expressions are refused: `evaluation.py` says what to write instead. Statements are in `statements.py`."""

__all__ = ["CONSTRUCTS"]
