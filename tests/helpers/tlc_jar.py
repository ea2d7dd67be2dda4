"""TLC for tests: the jar that `TLA2TOOLS` names; without it, one line that says so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.tla.kinds import constant_of_kind
from reassure.checkers.tla.module import cfg_head, export
from reassure.checkers.tla.tlc import TlcInstallation, parsed_output, run_tlc, value_of
from reassure.spec.language.keys import TupleType
from reassure.spec.language.types import (
    BagType,
    ColumnsType,
    MapType,
    OptionType,
    RecordType,
    SeqType,
    SetType,
    Type,
)
from reassure.spec.semantics.interpreter import BoundModel


def tlc() -> TlcInstallation:
    """TLC; skips the test where there is none."""
    try:
        return TlcInstallation.find(None)
    except Failure as failure:
        pytest.skip(str(failure))


def in_tla(value: Any, kind: Type) -> str:
    """A value of a type as TLA+ has it."""
    if isinstance(kind, OptionType):
        return "None" if value is None else in_tla(value, kind.inner)
    if isinstance(kind, MapType):
        # In parentheses, since TLA+ does not know whether - or :> binds more.
        pairs = (f"({in_tla(k, kind.key)}) :> ({in_tla(value[k], kind.value)})" for k in kind.key.values())
        return f"({' @@ '.join(pairs)})"
    if isinstance(kind, RecordType) and not isinstance(kind, TupleType):
        parts = ", ".join(f"{n} |-> {in_tla(getattr(value, n), t)}" for n, t in kind.fields)
        return f"[{parts}]" if parts else "<<>>"
    if isinstance(kind, SetType | BagType):
        return "{" + ", ".join(in_tla(v, kind.item) for v in value) + "}"
    if isinstance(kind, SeqType | ColumnsType):
        return "<<" + ", ".join(in_tla(v, kind.item) for v in value) + ">>"
    found = constant_of_kind(value)
    assert found is not None
    return str(found[0])


def steps_by_tlc(bound: BoundModel, states: list[Any], folder: Path, tlc: TlcInstallation) -> list[tuple[Any, Any]]:
    """Every step from some states, as TLC takes them from the exported module: the state before and the one after."""
    exported, fields = export(bound), list(bound.type.fields)
    (folder / f"{exported.name}.tla").write_text(exported.text, encoding="utf-8")
    variables = [exported.variables[name] for name, _ in fields]
    conjunctions = [
        [f"{v} = {in_tla(getattr(s, n), t)}" for v, (n, t) in zip(variables, fields, strict=True)] for s in states
    ]
    record, after = (
        ", ".join(f"{n} |-> {v}{sign}" for v, (n, _) in zip(variables, fields, strict=True)) for sign in ("", "'")
    )
    lines = [
        "---- MODULE Steps ----",
        f"EXTENDS {exported.name}, TLC",
        "Begin ==",
        *("    \\/ " + " /\\ ".join(one) for one in conjunctions),
        f'Show == PrintT(<<"step", [{record}], [{after}]>>) /\\ FALSE',
        "====",
    ]
    (folder / "Steps.tla").write_text("\n".join([*lines, ""]), encoding="utf-8")
    head = cfg_head(exported.constants, exported.nones)[:-1]
    (folder / "Steps.cfg").write_text("\n".join([*head, "INIT Begin", "NEXT Next", "ACTION_CONSTRAINT Show", ""]))
    run = run_tlc(tlc, folder, "Steps", 120, None, "-deadlock")
    assert run.complete, run.error + exported.text
    printed = re.findall(r'^<<\s*"step".*?(?=^<<|^@!@)', run.text, re.MULTILINE | re.DOTALL)
    pairs = [parsed_output(text)[1][1:] for text in printed]
    return [(value_of(before, bound.type), value_of(after, bound.type)) for before, after in pairs]


__all__ = ["steps_by_tlc", "tlc"]
