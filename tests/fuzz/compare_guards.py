"""What `guards` says of each guard against a search, by plain Python, of the model's text without it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from reassure.checkers.analyses.guards import analysis as guard_analysis
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.checkers.traces.reconstruct import Disagreement
from reassure.spec.semantics.interpreter import ModelError
from tests.fuzz.subject import Difference, Refused, Subject, loaded
from tests.helpers.runs import plain_result

MOST = 12
"""Guards of one model that are left out, at most."""


def without(text: str, line: int, guard: str) -> str | None:
    """A model's text with one conjunct of the `require` on a line replaced by True; None if it is not there."""
    tree = ast.parse(text)
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "require"):
            continue
        if call.lineno != line:
            continue
        condition = call.args[0]
        if guard in (ast.unparse(condition), ast.unparse(call)):
            call.args[0] = ast.Constant(True)
            return ast.unparse(tree)
        if _left_out(condition, guard):
            return ast.unparse(tree)
    return None


def _left_out(condition: ast.expr, guard: str) -> bool:
    """Puts True in the place of a conjunct, however deep it is nested; whether it was there."""
    if not (isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And)):
        return False
    for at, part in enumerate(condition.values):
        if ast.unparse(part) == guard:
            condition.values[at] = ast.Constant(True)
            return True
        if _left_out(part, guard):
            return True
    return False


def _search(subject: Subject) -> tuple[dict[str, int | None], tuple[int, int, int]] | None:
    """Safety properties that fall, with the states of their traces, and the counts; None if the model raises."""
    try:
        verdict = plain_result(subject.bound)
    except ModelError:
        return None
    fallen = {p.name: p.depth for p in verdict.properties if p.status == "violated" and not p.temporal}
    return fallen, (verdict.stats.generated, verdict.stats.distinct, verdict.stats.clipped)


def guards(subject: Subject) -> Iterator[Difference]:
    """Each guard of a model of few states: what `guards` says is what the text without it gives."""
    if not subject.complete or subject.error is not None:
        return
    base = _search(subject)
    if base is None:
        return
    options = SearchOptions(workers=1, budget=60)
    try:
        analysis = guard_analysis.guards(subject.bound, options, Progress(quiet=True))
    except Disagreement as error:
        yield Difference("guards", "plain Python contradicts it", str(error))
        return
    text = subject.path.read_text(encoding="utf-8")
    for number, guard in enumerate(analysis.guards[:MOST]):
        if guard.file != subject.path.name or guard.text.startswith(("some(", "refuse(")):
            continue
        left = without(text, guard.line, guard.text)
        if left is None:
            yield Difference("guards", "a guard is not in the text", f"{guard.text}, line {guard.line}")
            continue
        yield from _compared(subject, guard, left, number, base)


def _compared(
    subject: Subject,
    guard: guard_analysis.Guard,
    text: str,
    number: int,
    base: tuple[dict[str, int | None], tuple[int, int, int]],
) -> Iterator[Difference]:
    path = Path(f"{subject.path.with_suffix('')}_without_{number}.py")
    path.write_text(text, encoding="utf-8")
    where = f"{guard.text} in {guard.action}, line {guard.line}: {guard.verdict}"
    try:
        other = loaded(path, subject.seed)
    except Refused:
        return  # what follows needs the guard to be of one type
    if not other.complete and other.error is None:
        return
    ran = _search(other)
    if ran is None:
        if guard.verdict not in ("raises", "load-bearing", "undecided"):
            yield Difference("guards", f"{guard.verdict}, but without it Python raises", where)
        return
    new = {name: depth for name, depth in ran[0].items() if name not in base[0]}
    same = ran[1] == base[1]
    if guard.verdict == "redundant" and (new or not same):
        yield Difference("guards", "called redundant, but the text without it does more", f"{where}: {new}")
    elif guard.verdict == "load-bearing" and (not new or guard.depth != min(d or 0 for d in new.values())):
        yield Difference("guards", "called load-bearing, but not so", f"{where} {guard.depth}: {new}")
    elif guard.verdict in ("not needed", "bounding") and (new or same):
        yield Difference("guards", f"called {guard.verdict}, but not so", f"{where}: {new}")
