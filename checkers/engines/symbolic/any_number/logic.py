"""Z3's connectives, made without the conversions of its Python functions: these take most of the time of a query.

The arguments are Z3 terms of the sorts that fit; nothing here looks whether they are.
"""

from __future__ import annotations

from typing import Any

import z3

_CONTEXT = z3.main_ctx()
_REF = _CONTEXT.ref()


def _array(terms: Any) -> Any:
    return (z3.Ast * len(terms))(*(term.ast for term in terms))


def conj(*terms: Any) -> z3.BoolRef:
    """All of these."""
    return z3.BoolRef(z3.Z3_mk_and(_REF, len(terms), _array(terms)), _CONTEXT)


def disj(*terms: Any) -> z3.BoolRef:
    """One of these."""
    return z3.BoolRef(z3.Z3_mk_or(_REF, len(terms), _array(terms)), _CONTEXT)


def neg(term: Any) -> z3.BoolRef:
    """Not this."""
    return z3.BoolRef(z3.Z3_mk_not(_REF, term.ast), _CONTEXT)


def implies(a: Any, b: Any) -> z3.BoolRef:
    """The second if the first."""
    return z3.BoolRef(z3.Z3_mk_implies(_REF, a.ast, b.ast), _CONTEXT)


def equal(a: Any, b: Any) -> z3.BoolRef:
    """The two are the same."""
    return z3.BoolRef(z3.Z3_mk_eq(_REF, a.ast, b.ast), _CONTEXT)


def choice(condition: Any, a: Any, b: Any) -> Any:
    """The second if the first is true, else the third."""
    return type(a)(z3.Z3_mk_ite(_REF, condition.ast, a.ast, b.ast), _CONTEXT)


def applied(declared: z3.FuncDeclRef, arguments: Any, kind: type) -> Any:
    """A function applied to terms. kind: the class of the result."""
    return kind(z3.Z3_mk_app(_REF, declared.ast, len(arguments), _array(arguments)), _CONTEXT)
