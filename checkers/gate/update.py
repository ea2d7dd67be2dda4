"""`reassure gate --update`: pins and lengths of traces in the file, as the run has found them.

Numbers and digests that are pinned change where they stand; where a number is pinned, the missing ones are added:
comments, order and spelling stay. A check without a table of pins, which is as expected, gets one below the line of its
expected verdict. Expected verdicts, and which properties are violated, are never changed. A check that pins anything
gets its property list pinned too.
"""

from __future__ import annotations

import re
import tomllib

from reassure.checkers.gate.gate_file import PROPERTIES, Check
from reassure.checkers.gate.judge import lengths, property_digest
from reassure.checkers.gate.run_check import CheckOutcome
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.stop import StopReason

HEADER = re.compile(r"^[ \t]*\[\[[ \t]*check[ \t]*\]\]", re.MULTILINE)
ANY_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
EXPECT = re.compile(r"^[ \t]*expect[ \t]*=.*", re.MULTILINE)
NUMBER = r"[0-9][0-9_]*"
TEXT = r"\"[^\"\n]*\"|'[^'\n]*'"

Tables = dict[str, dict[str, int | str]]

CUT_SHORT = (StopReason.BUDGET, StopReason.MEMORY, StopReason.INTERRUPTED)
"""Ends of runs whose numbers are those of this machine and day."""


def found_pins(check: Check, outcome: CheckOutcome) -> Tables:
    """The pins that a run gives a check, by table; none if it was cut short or gave another verdict."""
    record = outcome.record
    if not outcome.ran or record["verdict"] != check.expect or record["stop_reason"] in CUT_SHORT:
        return {}
    pinned = check.pin or {}
    whole = any(name != PROPERTIES for name in pinned) or not (pinned or outcome.problems)
    names = check.about.pins if whole else tuple(pinned)
    figures = {
        name: n
        for name, n in check.about.figures(record).items()
        if n or name in pinned or name not in check.about.seldom
    }
    pins: dict[str, int | str] = {name: figures[name] for name in names if name in figures}
    if names and (record["properties"] or record["covers"]):
        pins[PROPERTIES] = property_digest(record)
    states = lengths(check, record)
    violated: dict[str, int | str] = {
        name: states[name] or length
        for name, length in (check.violated or {}).items()
        if length is not None and name in states
    }
    return {"pin": pins, "violated": violated}


def updated(text: str, tables_of: dict[int, Tables]) -> str:
    """The text of a gate's file with other pins, by the number of the check from 0."""
    starts = [m.start() for m in HEADER.finditer(text)]
    checks = tomllib.loads(text).get("check", [])
    if len(starts) != len(checks):
        raise Failure(Exit.USAGE, "--update needs each check under a line [[check]]")
    pieces = [text[: starts[0]]] if starts else [text]
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True)):
        piece = text[start:end]
        for table, entries in tables_of.get(number, {}).items():
            if entries and table not in checks[number]:
                piece = EXPECT.sub(rf"\g<0>\n{table} = {{ }}", piece, count=1)
            for name, value in entries.items():
                piece = _with(piece, table, name, value)
        pieces.append(piece)
    result = "".join(pieces)
    _must_say(result, text, tables_of)
    return result


def _with(piece: str, table: str, name: str, value: int | str) -> str:
    """The text of a check with one entry of a table changed or added."""
    start, end = _table(piece, table)
    inside = piece[start:end]
    literal = f'"{value}"' if isinstance(value, str) else str(value)
    entry = re.search(
        rf"(?<![\w.\"'-])(?:{re.escape(name)}|\"{re.escape(name)}\")[ \t]*=[ \t]*({NUMBER}|{TEXT})", inside
    )
    if entry is not None:
        old = entry[1].replace("_", "") if isinstance(value, int) else entry[1].strip("\"'")
        if old == str(value):
            return piece
        at, to = start + entry.start(1), start + entry.end(1)
        return piece[:at] + literal + piece[to:]
    if inside.rstrip().endswith("}"):  # an inline table
        at = start + inside.rindex("}")
        head = piece[:at].rstrip()
        comma = " " if head.endswith("{") else ", "
        return f"{head}{comma}{name} = {literal} {piece[at:]}"
    at = start + len(inside.rstrip())
    return f"{piece[:at]}\n{name} = {literal}{piece[at:]}"


def _table(piece: str, table: str) -> tuple[int, int]:
    """The span of a table's entries in the text of a check: inline, or under a header of their own."""
    inline = re.search(rf"^[ \t]*{table}[ \t]*=[ \t]*\{{[^}}]*\}}", piece, re.MULTILINE)
    if inline is not None:
        return inline.start(), inline.end()
    header = re.search(rf"^[ \t]*\[check\.{table}\][^\n]*\n?", piece, re.MULTILINE)
    if header is None:
        raise Failure(Exit.USAGE, f"--update finds no table {table} where it is expected: {table} = {{ ... }}")
    after = ANY_HEADER.search(piece, header.end())
    return header.end(), after.start() if after else len(piece)


def _must_say(result: str, text: str, tables_of: dict[int, Tables]) -> None:
    """`Failure` unless the new text says the old one with the new pins, and nothing else."""
    expected = tomllib.loads(text)
    for number, tables in tables_of.items():
        for table, entries in tables.items():
            if entries:
                expected["check"][number].setdefault(table, {}).update(entries)
    try:
        same = tomllib.loads(result) == expected
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise Failure(Exit.USAGE, "--update cannot rewrite this file: write pins as pin = { name = number }")
