"""TLA+ expressions as terms: made with what is constant folded, printed with aligned conjunctions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

WIDTH = 100
"""Columns of a line, where an expression can be broken."""


@dataclass(frozen=True)
class Term:
    """One expression. names: of what it is made by (an operator's symbol, fields, bound names), as `op` says."""

    op: str
    parts: tuple[Term, ...] = ()
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return on_one_line(self)


def atom(text: str) -> Term:
    """A name, a number or a text."""
    return Term("atom", (), (text,))


TRUE, FALSE = atom("TRUE"), atom("FALSE")
EMPTY_SET, EMPTY_SEQUENCE, NONE = Term("set"), Term("tuple"), atom("None")


def truth(value: bool) -> Term:
    """`TRUE` or `FALSE`."""
    return TRUE if value else FALSE


def conjunction(parts: Iterable[Term]) -> Term:
    """All of them; nested conjunctions become one list."""
    return _junction("and", parts, TRUE, FALSE)


def disjunction(parts: Iterable[Term]) -> Term:
    """One of them."""
    return _junction("or", parts, FALSE, TRUE)


def _junction(op: str, parts: Iterable[Term], neutral: Term, absorbing: Term) -> Term:
    terms: list[Term] = []
    for part in parts:
        terms += part.parts if part.op == op else [part]
    terms = [t for t in dict.fromkeys(terms) if t != neutral]
    if absorbing in terms:
        return absorbing
    if not terms:
        return neutral
    return terms[0] if len(terms) == 1 else Term(op, tuple(terms))


OPPOSITE = {"=": "#", "#": "=", r"\in": r"\notin", r"\notin": r"\in", "<": ">=", ">=": "<", "<=": ">", ">": "<="}


def negation(part: Term) -> Term:
    """Its opposite."""
    if part in (TRUE, FALSE):
        return FALSE if part == TRUE else TRUE
    if part.op == "not":
        return part.parts[0]
    if part.op == "infix" and part.names[0] in OPPOSITE:
        return Term("infix", part.parts, (OPPOSITE[part.names[0]],))
    return Term("not", (part,))


def implies(premise: Term, conclusion: Term) -> Term:
    """`premise => conclusion`."""
    if premise == TRUE or conclusion == TRUE:
        return conclusion
    if premise == FALSE:
        return TRUE
    return negation(premise) if conclusion == FALSE else Term("infix", (premise, conclusion), ("=>",))


def infix(symbol: str, a: Term, b: Term) -> Term:
    """`a symbol b`."""
    if symbol in ("=", "#") and (constant := _comparison(a, b)) is not None:
        return truth(constant == (symbol == "="))
    if symbol in ("+", "-") and a.op == b.op == "atom" and a.names[0].isdecimal() and b.names[0].isdecimal():
        x, y = int(a.names[0]), int(b.names[0])
        if symbol == "+" or x >= y:
            return atom(str(x + y if symbol == "+" else x - y))
    return Term("infix", (a, b), (symbol,))


def _comparison(a: Term, b: Term) -> bool | None:
    """Whether two constants of one kind are equal; None where that is not seen."""
    if a.op == b.op == "atom":
        x, y = a.names[0], b.names[0]
        if {x, y} <= {"TRUE", "FALSE"} or (x[:1] == y[:1] == '"') or (x.isdecimal() and y.isdecimal()):
            return x == y
    return None


def choose(condition: Term, yes: Term, no: Term) -> Term:
    """`IF condition THEN yes ELSE no`."""
    if condition in (TRUE, FALSE):
        return yes if condition == TRUE else no
    if yes == no:
        return yes
    if (yes, no) == (TRUE, FALSE):
        return condition
    if (yes, no) == (FALSE, TRUE):
        return negation(condition)
    return Term("if", (condition, yes, no))


def let(name: str, value: Term, body: Term) -> Term:
    """`LET name == value IN body`; consecutive ones become one; none where the name is not used."""
    if name not in used(body):
        return body
    if body == atom(name):
        return value
    if _is_name(value) and _count(name, body) == 1:
        return _replaced(body, name, value)
    if body.op == "let":
        return Term("let", (value, *body.parts), (name, *body.names))
    return Term("let", (value, body), (name,))


def _is_name(term: Term) -> bool:
    """Whether a term is a name, or what it is after the step."""
    return term.op == "atom" or (term.op == "prime" and term.parts[0].op == "atom")


def _count(name: str, body: Term) -> int:
    """How many times a name stands in a term."""
    return (body == atom(name)) + sum(_count(name, part) for part in body.parts)


def _replaced(body: Term, name: str, value: Term) -> Term:
    """A term with another one in the place of a name."""
    if body == atom(name):
        return value
    parts = tuple(_replaced(part, name, value) for part in body.parts)
    return body if parts == body.parts else Term(body.op, parts, body.names)


def without_constants(term: Term) -> Term:
    """A formula with `\\/`, `/\\` and `=>` in place of branches that are `TRUE` or `FALSE`, and of `~a \\/ b`.

    Not for what stands in an action: TLC would take a disjunction for several ways.
    """
    if term.op in ("let", "exists", "forall"):
        return Term(term.op, (*term.parts[:-1], without_constants(term.parts[-1])), term.names)
    if term.op == "infix" and term.names[0] == "=>":
        return Term("infix", (term.parts[0], without_constants(term.parts[1])), term.names)
    if term.op == "or" and len(term.parts) == 2 and term.parts[0].op == "not":
        return implies(term.parts[0].parts[0], without_constants(term.parts[1]))
    if term.op in ("and", "or"):
        return _junction(term.op, map(without_constants, term.parts), truth(term.op == "and"), truth(term.op == "or"))
    if term.op != "if":
        return term
    condition, yes, no = term.parts[0], without_constants(term.parts[1]), without_constants(term.parts[2])
    if yes == TRUE:
        return disjunction((condition, no))
    if yes == FALSE:
        return conjunction((negation(condition), no))
    if no == TRUE:
        return implies(condition, yes)
    return conjunction((condition, yes)) if no == FALSE else Term("if", (condition, yes, no))


def call(name: str, *arguments: Term) -> Term:
    """An operator with its arguments."""
    return Term("call", arguments, (name,)) if arguments else atom(name)


def field(record: Term, name: str) -> Term:
    """`record.name`."""
    if record.op == "record" and name in record.names:
        return record.parts[record.names.index(name)]
    return Term("field", (record,), (name,))


def record_with(record: Term, changes: dict[str, Term]) -> Term:
    """A record with other values of some fields."""
    return Term("except", (record, *changes.values()), tuple(changes)) if changes else record


def quantified(op: str, name: str, domain: Term, body: Term) -> Term:
    r"""`\E` (exists) or `\A` (forall); those of one kind become one."""
    if body in (TRUE, FALSE) and body == (TRUE if op == "forall" else FALSE):
        return body
    if body.op == op and name not in used(*body.parts[:-1]):
        return Term(op, (domain, *body.parts), (name, *body.names))
    return Term(op, (domain, body), (name,))


def filtered_set(name: str, domain: Term, condition: Term) -> Term:
    r"""`{name \in domain : condition}`."""
    return domain if condition == TRUE else Term("filter", (domain, condition), (name,))


def prime(part: Term) -> Term:
    """The value after the step."""
    return part if part in (TRUE, FALSE) else Term("prime", (part,))


def used(*terms: Term) -> frozenset[str]:
    """Every name in some terms."""
    names: set[str] = set()
    pending = list(terms)
    while pending:
        term = pending.pop()
        if term.op in ("atom", "call", "unchanged"):
            names.update(term.names)
        pending += term.parts
    return frozenset(names)


# -- printing -------------------------------------------------------------------------------------------------------

LEVELS = {
    "=>": 1, "~>": 2, "and": 3, "or": 3, "not": 4, "[]<>": 4, "<>[]": 4,
    "=": 5, "#": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, r"\in": 5, r"\notin": 5, r"\subseteq": 5,
    r"\cup": 8, r"\cap": 8, "\\": 8, "SUBSET": 8, "UNION": 8, "..": 9, "DOMAIN": 9,
    "+": 10, "%": 10, "-": 11, "neg": 12, "*": 13, r"\div": 13, r"\o": 13, "prime": 15, "ENABLED": 15,
}  # fmt: skip
OPEN = ("if", "let", "exists", "forall", "lambda")
"""Expressions that go on as far to the right as they can."""
JUNCTIONS = {"and": "/\\", "or": "\\/"}
ASSOCIATIVE = (r"\cup", r"\cap", "+", r"\o")


def _level(term: Term) -> int:
    if term.op in OPEN:
        return 0
    if term.op in ("infix", "prefix"):
        return LEVELS[term.names[0]]
    return LEVELS.get(term.op, 20)


def _wrapped(term: Term, outer: int, same: str = "") -> bool:
    """Whether an operand takes parentheses. same: an associative operator that it may be of."""
    if same and term.op == "infix" and term.names[0] == same:
        return False
    return _level(term) <= outer


def _operand(term: Term, outer: int, same: str = "") -> str:
    return f"({on_one_line(term)})" if _wrapped(term, outer, same) else on_one_line(term)


def _in_brackets(term: Term) -> str:
    """What begins in a bracket: `{a \\in b : x \\in S}` would choose members of b; `f[a \\in b` begin a function."""
    return _operand(term, 5 if term.op == "infix" and term.names[0] == r"\in" else -1)


def on_one_line(term: Term) -> str:
    """The expression on one line."""
    names, parts = term.names, term.parts
    match term.op:
        case "atom":
            return names[0]
        case "and" | "or":
            return f" {JUNCTIONS[term.op]} ".join(_operand(p, LEVELS[term.op]) for p in parts)
        case "not":
            return "~" + _operand(parts[0], 14)
        case "neg":
            return "-" + _operand(parts[0], 14)
        case "prefix":
            return f"{names[0]} {_operand(parts[0], 14)}"
        case "infix":
            symbol, level = names[0], LEVELS[names[0]]
            same = symbol if symbol in ASSOCIATIVE else ""
            if symbol == "~>":
                level = 5  # `(P) ~> (Q)` is how it is written
            space = "" if symbol == ".." else " "
            if symbol == "..":
                level = 14  # `0..(n - 1)` is how it is written
            if symbol == "%":
                level = 11  # its precedence overlaps with that of `-`: SANY refuses `a - b % c`
            return f"{_operand(parts[0], level, same)}{space}{symbol}{space}{_operand(parts[1], level)}"
        case "call":
            return f"{names[0]}({', '.join(map(on_one_line, parts))})"
        case "index":
            return f"{_operand(parts[0], 14)}[{_in_brackets(parts[1])}]"
        case "field":
            return f"{_operand(parts[0], 14)}.{names[0]}"
        case "if":
            return f"IF {on_one_line(parts[0])} THEN {on_one_line(parts[1])} ELSE {on_one_line(parts[2])}"
        case "let":
            bound = " ".join(f"{n} == {on_one_line(v)}" for n, v in zip(names, parts[:-1], strict=True))
            return f"LET {bound} IN {on_one_line(parts[-1])}"
        case "exists" | "forall":
            return f"{_bound(term)} : {on_one_line(parts[-1])}"
        case "lambda":
            return f"LAMBDA {', '.join(names)} : {on_one_line(parts[0])}"
        case "prime":
            return _operand(parts[0], 15) + "'"
        case "unchanged":
            return "UNCHANGED " + (names[0] if len(names) == 1 else on_one_line(_names(names)))
    opening, items, closing = _bracketed(term)
    return opening + ", ".join(f"{label}{on_one_line(part)}" for label, part in items) + closing


def _names(names: Sequence[str]) -> Term:
    """A tuple of names."""
    return Term("tuple", tuple(map(atom, names)))


def _bound(term: Term) -> str:
    sign = {"exists": "\\E", "forall": "\\A"}[term.op]
    domains = list(zip(term.names, term.parts[:-1], strict=True))
    groups: list[tuple[list[str], Term]] = []
    for name, domain in domains:
        if groups and groups[-1][1] == domain:
            groups[-1][0].append(name)
        else:
            groups.append(([name], domain))
    return f"{sign} " + ", ".join(f"{', '.join(ns)} \\in {on_one_line(d)}" for ns, d in groups)


def _bracketed(term: Term) -> tuple[str, list[tuple[str, Term]], str]:
    """An expression in brackets: what opens it, its parts with their labels, what closes it."""
    names, parts = term.names, term.parts
    match term.op:
        case "set":
            return "{", [("", p) for p in parts], "}"
        case "tuple":
            return "<<", [("", p) for p in parts], ">>"
        case "record":
            return "[", [(f"{n} |-> ", p) for n, p in zip(names, parts, strict=True)], "]"
        case "recordset":
            return "[", [(f"{n}: ", p) for n, p in zip(names, parts, strict=True)], "]"
        case "functionset":
            return "[", [("", atom(f"{on_one_line(parts[0])} -> {on_one_line(parts[1])}"))], "]"
        case "function":
            return f"[{names[0]} \\in {on_one_line(parts[0])} |-> ", [("", parts[1])], "]"
        case "filter":
            return f"{{{names[0]} \\in {_operand(parts[0], 5)} : ", [("", parts[1])], "}"
        case "image":
            return "{", [("", atom(f"{_in_brackets(parts[1])} : {names[0]} \\in {on_one_line(parts[0])}"))], "}"
        case "except" | "put":
            return f"[{on_one_line(parts[0])} EXCEPT ", [(f"!{path} = ", p) for path, p in _changes(term)], "]"
    raise ValueError(term.op)


def _changes(term: Term) -> list[tuple[str, Term]]:
    """What an `EXCEPT` changes: each place, and its new value; a change inside a change is one place."""
    base = term.parts[0]
    if term.op == "put":
        found = [(f"[{_in_brackets(term.parts[1])}]", Term("index", (base, term.parts[1])), term.parts[2])]
    else:
        found = [(f".{n}", field(base, n), p) for n, p in zip(term.names, term.parts[1:], strict=True)]
    changes = []
    for path, old, new in found:
        inside = new.op in ("except", "put") and new.parts[0] == old
        changes += [(path + rest, value) for rest, value in _changes(new)] if inside else [(path, _at(new, old))]
    return changes


def _at(term: Term, old: Term) -> Term:
    """A new value in an `EXCEPT`, with `@` for the old one."""
    if term == old:
        return atom("@")
    if term.op in ("except", "put"):  # `@` would be another value there
        return Term(term.op, (_at(term.parts[0], old), *term.parts[1:]), term.names)
    return Term(term.op, tuple(_at(part, old) for part in term.parts), term.names)


def block(term: Term, width: int = WIDTH) -> list[str]:
    """The expression in lines of a width, if it can be broken so."""
    text = on_one_line(term)
    if len(text) <= width and not _always_broken(term):
        return [text]
    names, parts = term.names, term.parts
    match term.op:
        case "and" | "or":
            sign = JUNCTIONS[term.op] + " "
            return [line for p in parts for line in hanging(sign, block(p, width - 3))]
        case "if":
            lines = hanging("IF ", block(parts[0], width - 3))
            lines += hanging("THEN ", block(parts[1], width - 5))
            return lines + hanging("ELSE ", block(parts[2], width - 5))
        case "let":
            lines = []
            for name, value in zip(names, parts[:-1], strict=True):
                lines += hanging("    " if lines else "LET ", _definition(name, value, width - 4))
            return lines + hanging("IN  ", block(parts[-1], width - 4))
        case "exists" | "forall":
            return [f"{_bound(term)} :", *hanging("    ", block(parts[-1], width - 4))]
        case "lambda":
            return [f"LAMBDA {', '.join(names)} :", *hanging("    ", block(parts[0], width - 4))]
        case "infix":
            return _broken_infix(term, width)
        case "call":
            return _list_of_items(names[0] + "(", [("", p) for p in parts], ")", width)
        case "prime":
            return hanging("(", block(parts[0], width - 1), ")'")
        case "not":
            return hanging("~(", block(parts[0], width - 2), ")")
        case "unchanged":
            return filled_lines("UNCHANGED <<", names, ">>", width)
        case "record" | "recordset" | "except" | "set" | "put" | "function" | "filter" | "tuple":
            return _list_of_items(*_bracketed(term), width)
        case "functionset":
            opening = f"[{on_one_line(parts[0])} -> "
            return hanging(opening, block(parts[1], width - len(opening) - 1), "]")
        case "prefix":
            return hanging(names[0] + " (", block(parts[0], width - len(names[0]) - 2), ")")
    return [text]


def _always_broken(term: Term) -> bool:
    """Whether an expression is never put on one line: it has a `LET`, or more conjuncts than are read at once."""
    if term.op == "let":
        return True
    if term.op in ("and", "or") and (len(term.parts) > 3 or len(on_one_line(term)) > 70):
        return True
    if term.op == "if" and len(on_one_line(term)) > 70:
        return True
    return any(_always_broken(p) for p in term.parts)


def _definition(name: str, value: Term, width: int) -> list[str]:
    return hanging(f"{name} == ", block(value, width - len(name) - 4))


def _broken_infix(term: Term, width: int) -> list[str]:
    symbol, level = term.names[0], LEVELS[term.names[0]]
    same = symbol if symbol in ASSOCIATIVE else ""
    # What follows a list of conjuncts on its last line would belong to the last of them.
    is_list = term.parts[0].op in JUNCTIONS
    left = _enclosed(term.parts[0], width, is_list or _wrapped(term.parts[0], level, same))
    right_open = _wrapped(term.parts[1], level)
    last = left[-1] + f" {symbol} "
    if symbol == "=>" or len(last) > width // 2:
        right = _enclosed(term.parts[1], width - 4, right_open)
        return [*left[:-1], last.rstrip(), *hanging("    ", right)]
    return [*left[:-1], *hanging(last, _enclosed(term.parts[1], width - len(last), right_open))]


def _enclosed(term: Term, width: int, wrapped: bool) -> list[str]:
    return hanging("(", block(term, width - 2), ")") if wrapped else block(term, width)


def _list_of_items(opening: str, items: Sequence[tuple[str, Term]], closing: str, width: int) -> list[str]:
    if not items:
        return [opening + closing]
    lines: list[str] = []
    if all(label.endswith(" |-> ") for label, _ in items):
        longest = max((len(label) for label, _ in items), default=0)
        items = [(label.removesuffix(" |-> ").ljust(longest - 5) + " |-> ", part) for label, part in items]
    deep = len(opening) > width // 2
    if deep:
        lines, indent = [opening.rstrip()], "    "
    else:
        indent = " " * len(opening)
    for number, (label, part) in enumerate(items):
        end = closing if number == len(items) - 1 else ","
        first = opening if not lines else indent
        lines += hanging(first + label, block(part, width - len(first) - len(label) - 1), end)
    return lines


def filled_lines(opening: str, words: Sequence[str], closing: str, width: int) -> list[str]:
    """Words with commas, as many on a line as there is room for."""
    lines = [opening]
    for number, word in enumerate(words):
        last = number == len(words) - 1
        text = word + (closing if last else ",")
        if number and len(lines[-1]) + len(text) + 1 > width:
            lines.append(" " * len(opening) + text)
        else:
            lines[-1] += text if not number else f" {text}"
    return lines


def hanging(prefix: str, lines: Sequence[str], suffix: str = "") -> list[str]:
    """The lines after a prefix, those after the first indented as far; the suffix at the end."""
    indent = " " * len(prefix)
    whole = [(prefix if i == 0 else indent) + line for i, line in enumerate(lines)]
    whole[-1] += suffix
    return whole
