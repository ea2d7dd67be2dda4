"""Which constructs and types a model's text shows: so that the generator cannot silently stop producing one."""

from __future__ import annotations

import ast
from collections import Counter

from tests.fuzz.generate import Source


def constructs(source: Source) -> Counter[str]:
    """How often each construct occurs in a model."""
    found: Counter[str] = Counter()
    for text in source.files.values():
        tree = ast.parse(text)
        for node in ast.walk(tree):
            found.update(_of(node))
    if len(source.files) > 1:
        found["replacing"] += 1
    return found


def _of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return ["Add", *_sequence_sum(node)]
    if isinstance(node, ast.BoolOp | ast.BinOp | ast.UnaryOp | ast.AugAssign):
        name = type(node.op).__name__
        return [f"{name}=" if isinstance(node, ast.AugAssign) else name]
    if isinstance(node, ast.Compare):
        found = [*(type(op).__name__ for op in node.ops), *(["chained"] if len(node.ops) > 1 else [])]
        cut = [isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Slice) for n in (node.left, *node.comparators)]
        return [*found, *(["slices compared"] if all(cut) else [])]
    if isinstance(node, ast.Call):
        return _call(node)
    if isinstance(node, ast.GeneratorExp | ast.SetComp):
        several = ["two loops"] if len(node.generators) > 1 else []
        return [type(node).__name__, *several, *(["filter"] if node.generators[0].ifs else [])]
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Slice):
            from_the_end = any(isinstance(n, ast.UnaryOp) for n in (node.slice.lower, node.slice.upper))
            return ["slice", *(["slice from the end"] if from_the_end else [])]
        at = {ast.UnaryOp: "index from the end", ast.Tuple: "read at a tuple"}.get(type(node.slice))
        is_type = isinstance(node.value, ast.Name) and node.value.id in ("Annotated", "Callable", "Map", "tuple")
        return ["subscript", *([at] if at and not is_type else [])]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Subscript):
        return ["field of the last item"] if isinstance(node.value.slice, ast.UnaryOp) else []
    if isinstance(node, ast.Assign):
        if not isinstance(node.targets[0], ast.Tuple):
            return ["assignment"]
        return ["two at once" if isinstance(node.value, ast.Tuple) else "unpacking"]
    if isinstance(node, ast.If):
        ends = isinstance(node.body[-1], ast.Return)
        return ["if", *(["else"] if node.orelse else []), *(["early return"] if ends else [])]
    if isinstance(node, ast.For):
        return ["for", *(["for else"] if node.orelse else [])]
    if isinstance(node, ast.Break | ast.Continue):
        return [type(node).__name__]
    if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
        return _annotation(node.annotation, "field" if isinstance(node, ast.AnnAssign) else "parameter")
    if isinstance(node, ast.FunctionDef):
        return [f"@{ast.unparse(d).split('(')[0]}" for d in node.decorator_list]
    if isinstance(node, ast.ClassDef):
        empty = isinstance(node.body[0], ast.Pass) and not node.bases
        return ["empty record"] if empty else []
    return [type(node).__name__] if isinstance(node, ast.IfExp | ast.Lambda | ast.Set) else []


def _sequence_sum(node: ast.BinOp) -> list[str]:
    """What `+` with a written sequence does: an item is appended, or is put in the place of another."""
    cut = isinstance(node.right, ast.Subscript) and isinstance(node.right.slice, ast.Slice)
    if cut and isinstance(node.left, ast.BinOp) and isinstance(node.left.right, ast.Tuple):
        return ["item replaced"]
    return ["item appended"] if isinstance(node.right, ast.Tuple) and len(node.right.elts) == 1 else []


def _call(node: ast.Call) -> list[str]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if len(name) == 1 and name in SORTS:
        return ["id" if isinstance(node.args[0], ast.Constant) else "id of a number"]
    found = ["helper" if name[:1] == "h" and name[1:].isdigit() else "record" if name in RECORDS else name]
    found += [
        f"{name} {k.arg}="
        for k in node.keywords
        if k.arg in ("default", "state", "views", "deadlock", "on", "tags", "when", "fair")
    ]
    if name[:1] == "h" and node.keywords:
        found.append("helper by name")
    if any(k.arg == "rule" for k in node.keywords):
        found.append("a function given")
    if name == "sum" and isinstance(node.args[0], ast.Attribute | ast.Name):
        found.append("sum of a sequence")
    if name == "put" and isinstance(node.args[0], ast.Tuple):
        found.append("put at a tuple")
    if name == "Map":
        found += _of_map(node.args[0])
    if name == "action" and any(isinstance(k.value, ast.Lambda) for k in node.keywords):
        found.append("drawn parameter")
    return found


def _of_map(given: ast.expr) -> list[str]:
    """How a map is written."""
    if isinstance(given, ast.Dict):
        return ["Map written out"]
    if isinstance(given, ast.DictComp) and isinstance(given.key, ast.Tuple):
        return ["Map over tuples"]
    over = given.generators[0].iter if isinstance(given, ast.DictComp) else None
    return ["Map over numbers"] if isinstance(over, ast.Call) and getattr(over.func, "id", "") == "range" else []


NAMED = ("default", "state", "views", "deadlock", "on", "tags", "when", "fair")
SORTS = "ABCL"
RECORDS = ("Entry", "P", "Q", "R", "State", "Wide", "View")


def _annotation(node: ast.expr, place: str) -> list[str]:
    text = ast.unparse(node)
    found = []
    if "Range(-" in text:
        found.append("negative range")
    if "declared=True" in text:
        found.append("declared bound")
    if isinstance(node, ast.BinOp):
        inner = ast.unparse(node.left)
        kind = "record" if inner in RECORDS else inner.split("[")[0]
        if inner.startswith("Annotated["):
            kind = inner[len("Annotated[") :].split("[")[0].split(",")[0]
        found.append(f"{place}: {kind} | None")
    for start, kind in OF_PARTS.items():
        found += [f"{place}: sequence of {kind}"] if f"Annotated[tuple[{start}" in text else []
    found += [f"{place}: length named"] if "MaxLen('" in text else []
    for start, kind in OF_KEYS.items():
        found += [f"{place}: map from {kind}"] if f"Map[{start}" in text else []
    found += [f"{place}: tuple"] if text.startswith("tuple[") else []
    found += [f"{place}: map to tuples"] if ", tuple[" in text and text.startswith("Map[") else []
    found += [f"{place}: set of numbers"] if "frozenset[Annotated[int" in text else []
    for word in ("MaxSize", "MaxLen", "frozenset", "Map"):
        if word in text:
            found.append(f"{place}: {word}")
    if text in RECORDS:
        found.append(f"{place}: record")
    if text == "bool":
        found.append(f"{place}: bool")
    return found


OF_PARTS = {
    "Entry,": "records",
    "Annotated[int": "numbers",
    "frozenset": "sets",
    "Annotated[tuple": "sequences",
}
"""By the beginning of its text: an item of a sequence that is not one word."""

OF_KEYS = {"Annotated[int": "numbers", "tuple": "tuples"}
"""By the beginning of its text: a key that is not one word."""

REQUIRED = frozenset(
    " ".join(word.split())
    for word in """
    @action, @cover, @initial, @invariant, @leads_to, @step_property, @terminal, Add, Add=, And, BitAnd, BitAnd=,
    BitOr, BitOr=, BitXor, Eq, FloorDiv, GeneratorExp, Gt, GtE, IfExp, In, Is, IsNot, Lambda, Lt, LtE, Map, Mod,
    Mult, Not, NotEq, NotIn, Or, Set, SetComp, Sub, Sub=, USub, a function given, abs, action fair=, action tags=,
    adding, adding state=, all, any, assignment, chained, declared bound, drawn parameter, early return, else,
    empty record, every, field: Map, field: Map | None, field: MaxLen, field: MaxSize, field: bool, field:
    frozenset | None, field: int | None, field: record, field: record | None, field: tuple | None, fill, filter,
    frozenset, helper, helper by name, if, invariant when=, len, max, max default=, min, min default=, negative
    range, next, of deadlock=, of views=, parameter: Map, parameter: MaxLen, parameter: MaxSize, parameter:
    frozenset | None, parameter: int | None, parameter: record | None, put, range, record, refuse, replace,
    replacing, require, slice, some, sorted, step_property on=, step_property tags=, subscript, sum, tuple, two at
    once, two loops
    """.replace("\n", " ").split(",")
)
"""What the models of the fixed set show together."""


OF_LOOPS = frozenset(("for", "for else", "Break", "Continue", "enumerate", "reversed"))
"""What models with a taste for loops show beside."""
OF_LOGS = frozenset(
    (
        *(f"field: sequence of {kind}" for kind in OF_PARTS.values()),
        "parameter: sequence of records",
        "field: length named",
        "item appended",
        "item replaced",
        "slices compared",
        "index from the end",
        "slice from the end",
        "sum of a sequence",
        "field of the last item",
        "enumerate",
        "Add=",
    )
)
"""What models with a taste for sequences of records, numbers and sets show beside."""
OF_TABLES = frozenset(
    (
        *(f"{place}: map from {kind}" for place in ("field", "parameter") for kind in OF_KEYS.values()),
        "put at a tuple",
        "read at a tuple",
        "Map written out",
        "Map over numbers",
        "Map over tuples",
    )
)
"""What models with a taste for maps from numbers and tuples show beside."""
OF_NUMBER_SETS = frozenset(f"{place}: set of numbers" for place in ("field", "parameter")) | {
    "SetComp",
    "sorted",
    "sum",
}
"""What models with a taste for sets of numbers show beside."""
OF_PAIRS = frozenset(("field: tuple", "parameter: tuple", "field: map to tuples", "unpacking"))
"""What models with a taste for tuples as values show beside."""
OF_NUMBERS = frozenset(("int", "id of a number"))
"""What models with a taste for ids as numbers show beside."""


def chosen(texts: dict[int, Source]) -> list[int]:
    """Numbers of models that together show everything required, few of them: each adds the most that is missing."""
    shown = {number: REQUIRED & set(constructs(source)) for number, source in texts.items()}
    missing, found = set(REQUIRED), list[int]()
    while missing:
        best = max(shown, key=lambda number: len(shown[number] & missing))
        if not shown[best] & missing:
            raise LookupError(f"no model shows {', '.join(sorted(missing))}")
        found.append(best)
        missing -= shown[best]
    return found
