"""The legal Python: what is refused is refused with place, construct and remedy; the rest elaborates."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.spec.frontend.introspection import SubsetError
from reassure.spec.frontend.lowering import check, lower_model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.model_text import model

REFUSED = [
    # (body of the action, construct, part of the remedy)
    ("while s.inner.on:\n        pass\n    return s", "a while loop", "several actions"),
    ("try:\n        return s\n    except ValueError:\n        return s", "try", "test the condition"),
    ("raise ValueError", "raise", "require"),
    ("assert s.inner.on\n    return s", "assert", "require"),
    ("import os\n    return s", "an import in a function", "top of the module"),
    ("def f():\n        return s\n    return s", "a nested function", "in the module"),
    ("global x\n    return s", "global", "in the state"),
    ("with s:\n        return s", "with", "resources"),
    ("del s\n    return s", "del", "do not change"),
    ("match s.number:\n        case _:\n            return s", "match", "if and elif"),
    ("s.number = 3\n    return s", "changing `s.number`", "replace"),
    ("s.score[Node(1)] = Colour.RED\n    return s", "changing `s.score[Node(1)]`", "m.put(key"),
    ("a, b = s.order\n    return s", "unpacking sequence of Node, at most 3", "write `a = s.order[0]`, and so on"),
    ("a, b = s.number\n    return s", "unpacking an int", "assign one name"),
    ("a, b = (1, True, s.leader in s.alive)\n    return s", "for a tuple (an int, bool, bool)", "as many names as"),
    ("a, *b = (1, 2)\n    return s", "unpacking", "as many names as a tuple has items"),
    ("a = b = s.number\n    return s", "`a = b = s.number`", "assign one name in each line"),
    ("return replace(s, order=(*s.order, Node(1)))", "`*`", "a longer sequence as `t + (x,)`"),
    ("x = [1, 2]\n    return s", "a list", "tuple or frozenset"),
    ("return replace(s, alive={Node(1)})", "a mutable set", "frozenset({...})"),
    ("return replace(s, alive={n for n in s.alive} | s.alive)", "a mutable set", "frozenset(... for ...)"),
    ("x = {1: 2}\n    return s", "a dict", "Map("),
    ("x = [n for n in s.order]\n    return s", "a list comprehension", "tuple("),
    ("x = lambda: 1\n    return s", "a lambda", "function of the module"),
    ("x = (y := 3)\n    return s", "`:=`", "statement of its own"),
    ('x = f"{s.number}"\n    return s', "an f-string", "no text"),
    ('x = "text"\n    return s', "the constant 'text'", "bools, ints"),
    ("x = 1.5\n    return s", "the constant 1.5", "bools, ints"),
    ("if s.alive:\n        return s\n    return s", "`s.alive` is set of Node, not a bool", "frozenset()"),
    ("if s.number:\n        return s\n    return s", "`s.number` is an int, not a bool", "!= 0"),
    ("if s.leader:\n        return s\n    return s", "`s.leader` is not a bool", "is not None"),
    ("if s.order:\n        return s\n    return s", "`s.order` is sequence", "()"),
    ("if s.sent:\n        return s\n    return s", "`s.sent` is a set of Message", "frozenset()"),
    ("require(not s.alive)\n    return s", "`s.alive` is set of Node", "frozenset()"),
    ("return replace(s, alive=s.alive - {s.leader})", "`s.leader` may be None here", "is not None"),
    ("return replace(s, number=s.number / 2)", "an int / an int", "//"),
    ("return replace(s, number=s.number // s.number)", "division by what is not constant", "positive constant"),
    ("return replace(s, number=s.alive)", "State.number", "is needed"),
    ("return replace(s, nosuch=1)", "no field `nosuch`", "has alive"),
    ("return replace(s, alive=s.alive | {Colour.RED})", "set of Node | set of Colour", "one sort"),
    ("return replace(s, alive=frozenset(() - ()))", "an empty tuple - an empty tuple", "`+` for tuples"),
    ("return replace(s, order=() | ())", "an empty tuple | an empty tuple", "`+` for tuples"),
    ("return replace(s, alive=frozenset() + frozenset())", "an empty set + an empty set", "sets of one sort"),
    ("return replace(s, alive=s.alive + frozenset())", "set of Node + an empty set", "sets of one sort"),
    ("return replace(s, sent=s.sent + frozenset())", "a set of Message + an empty set", "sets of one sort"),
    ("return replace(s, sent=frozenset() * s.sent)", "an empty set * a set of Message", "sets of one sort"),
    ("return replace(s, sent=s.sent | ())", "a set of Message | an empty tuple", "sets of one sort"),
    ("return replace(s, sent=s.sent + s.sent)", "this operator on sets of records", "write `s.sent | s.sent`"),
    ("return replace(s, leader=min(s.score))", "min() of a map from Node", "set of ids"),
    ("require(s.number is 3)\n    return s", "`is`", "=="),
    (
        "require(s.colour < Colour.GREEN)\n    return s",
        "an order of Colour and Colour",
        "`0 if x == Colour.RED else 1`",
    ),
    ("require(s.colour == s.number)\n    return s", "types do not fit", "never equal"),
    ("require(s.number == act)\n    return s", "types do not fit", "an int is never equal to the action act"),
    ("require(s.number == held)\n    return s", "types do not fit", "equal to the property held"),
    ("require(s.number == looping)\n    return s", "types do not fit", "equal to the Python object 'looping'"),
    (
        "require(s.number == CALLABLE)\n    return s",
        "types do not fit",
        "equal to a Python object of the class Callable",
    ),
    ("require(s.number == WORD)\n    return s", "types do not fit", "equal to the Python object 'one'"),
    ("return CALLABLE(s)", "a call of `Callable`", "functions of the model"),
    ("require(s.number in s.alive)\n    return s", "an int in set of Node", "another sort"),
    ("require(Node(9) in s.alive)\n    return s", "`Node(9)`, whose number may be 9", "1..3"),
    ("return replace(s, order=tuple(n for n in s.alive))", "a set has no order", "sorted"),
    ("return replace(s, leader=next((n for n in s.alive), None))", "a set has no order", "sorted"),
    ("return replace(s, order=tuple(n for n in (Node(1), s.number > 0)))", "a tuple of several kinds", "one kind"),
    ("return replace(s, leader=s.order[s.number])", "an index that may be negative", "front"),
    (
        "require(s.number > -1)\n    return replace(s, leader=s.order[s.number - 1])",
        "that may be negative",
        "`s.number - 1 >= 0`",
    ),
    (
        "require(s.number != 0)\n    return replace(s, leader=s.order[s.number])",
        "that may be negative",
        "max(s.number, 0)",
    ),
    (
        "return replace(s, leader=s.order[s.number] if s.number < 1 else None)",
        "that may be negative",
        "with a constant",
    ),
    ("return replace(s, order=s.order[: s.number])", "a slice bound that may be negative", "max(s.number, 0)"),
    ("return replace(s, order=s.order[::2])", "a slice with a step", "[a:b]"),
    ("return replace(s, score=Map({n: Colour.RED for n in s.alive}))", "a map that is not total", "every"),
    ("return replace(s, alive=s.alive.union(s.alive))", "a method `.union`", "a | b"),
    ("return s.inner", "what `act` returns", "Inner where State"),
    ("return print(s)", "a call of `print`", "functions of the model"),
    ("x = open('f')\n    return s", "a call of `open`", "functions of the model"),
    ("return undefined(s)", "`undefined` is not defined", "import"),
    ("return act.function(s)", "`.function` of", "compare it with actions: `act == elect`"),
    ("if s.inner.on:\n        x = 1\n    return replace(s, number=x)", "`x` may be unbound here", "every path"),
    ("if s.inner.on:\n        return s", "`act` may end without a value", "every path"),
    ("if s.inner.on:\n        x = s\n    else:\n        x = s.number\n    return x", "`x` is of two kinds", "State"),
    ("if s.inner.on:\n        return s\n    return s.number", "returns different kinds", "State"),
    ("s.number + 1\n    return s", "an expression without effect", "assign"),
    ("min(s.number, 1)\n    return s", "a call whose value is not used", "assign"),
    ("return", "return without a value", "next state"),
    ("return looping(s)", "`looping` calls itself", "recursion"),
    ("return variadic(s)", "`*args`", "name every parameter"),
    ("return replace(s, inner=Inner(wrong=1))", "`Inner(wrong=1)`", "has the fields count, on"),
    ("return replace(s, inner=Inner(0, True, 3))", "`Inner(0, True, 3)`", "has the fields"),
    ("x = Message(source=Node(1))\n    return s", "Message without `to`", "every field"),
    ("return s.method()", "a method `.method`", "write a function"),
    ("require(any(s.alive))\n    return s", "any/all of this", "condition for x in set"),
    ("require(any(n for n in s.alive))\n    return s", "Node as a condition", "only bools"),
    ("return replace(s, number=sum(s.alive))", "sum() of this", "number for x"),
    ("return replace(s, number=sum(s.order))", "sum() of this", "number for x"),
    ("return replace(s, order=s.order[: -s.number])", "a slice bound that may be negative", "with a constant"),
    ("return replace(s, number=len(s.inner))", "len() of Inner", "length"),
    ("return replace(s, number=max(s.number, Node(1)))", "two sorts", "one sort"),
    ("require((s.colour, 1) < (Colour.RED, 2))\n    return s", "an order of Colour and Colour", "number them"),
    ("require((s.number, s.leader) < (1, Node(1)))\n    return s", "`s.leader` may be None here", "is not None"),
    ("require((s.number, 1) < (Node(1), 2))\n    return s", "an order of an int and Node", "tuples of these"),
    ("require(s.inner < Inner(2, True))\n    return s", "an order of Inner, a class that declares none", "order=True"),
    ("require((s.number, s.inner) <= (1, Inner(2, True)))\n    return s", "an order of Inner", "tuples of its fields"),
    ("require((s.number, 1) == (s.number, Node(1)))\n    return s", "types do not fit", "never equal to Node"),
    ("return replace(s, number=(s.number, 1))", "State.number", "a tuple (an int, an int) where"),
    ("return replace(s, number=(s.number, s.colour)[s.number])", "this index into a tuple", "one of its places"),
    ("return replace(s, number=(s.number, 1)[s.number])", "an index that may be negative", "s.number >= 0"),
    ("return replace(s, number=()[0])", "an index into an empty tuple", "it always raises"),
    ("out = ()\n    return replace(s, number=out[-1] if s.number > 0 else 0)", "an empty tuple", "it always raises"),
    ("return replace(s, number=len(()[::2]))", "a slice with a step", "write `seq[a:b]`"),
    ("return replace(s, number=len(()[s.number :]))", "a slice bound that may be negative", "s.number >= 0"),
    ("return replace(s, number=(s.number, 1)[2])", "this index into a tuple", "one of its places"),
    ("return replace(s, leader=max(s.alive, key=lambda n: s.score[n] == Colour.RED))", "a set has no order", "sorted"),
    ("return replace(s, leader=min(s.alive, key=len))", "len() of Node", "have a length"),
    ("return replace(s, leader=min(sorted(s.alive), key=lambda n: s.score[n]))", "min() of Colour", "order=True"),
    ("return replace(s, leader=min(s.order, key=lambda: 1))", "this key", "one element"),
    ("return replace(s, inner=max(s.inner, Inner(1, True)))", "max() of Inner", "order=True"),
    ("return replace(s, alive=max((s.alive, NOBODY)))", "max() of set of Node", "ints or ids"),
    (
        "if c.flag:\n        x = 1\n    require(max(s.order, key=lambda n: x) == Node(1))\n    return s",
        "`x` may be unbound",
        "",
    ),
    ("require(s.leader.first())\n    return s", "`s.leader` may be None here", "is not None"),
    ("return replace(s, leader=Node(s.number))", "`Node(s.number)`, whose number may be -2..5", "1..3: by `% n`"),
]

HELPERS = """
WORD = "one"

class Callable:
    def __call__(self, s: State) -> State:
        return s

CALLABLE = Callable()

@invariant
def held(s: State) -> bool:
    return True

def looping(s: State) -> State:
    return looping(s)

def variadic(*s: State) -> State:
    return s[0]

@action(who="tester")
def act(s: State, c: Config) -> State:
    """


@pytest.mark.parametrize(("body", "construct", "remedy"), REFUSED, ids=[c for _, c, _ in REFUSED])
def test_refused(body: str, construct: str, remedy: str, tmp_path: Path) -> None:
    made = model(HELPERS + body, tmp_path)
    refusals = check(BoundModel(made))
    assert len(refusals) == 1, [str(r) for r in refusals]
    (found,) = refusals
    assert construct in found.construct
    assert remedy in found.remedy
    lines = Path(found.file).read_text().splitlines()
    assert Path(found.file).parent == tmp_path
    assert found.source == lines[found.line - 1].rstrip()
    assert str(found).endswith("^")


def test_all_refusals_in_one_go(tmp_path: Path) -> None:
    made = model(
        """
        def helper(s: State) -> State:
            while s.inner.on:
                pass
            return s

        @action(who="tester")
        def first(s: State) -> State:
            x = [1]
            y = 1.5
            return helper(s)

        @invariant
        def claim(s: State) -> bool:
            return s.alive

        @step_property
        def moves(before: State, after: State) -> bool:
            require(before.inner.on)
            return True
        """,
        tmp_path,
    )
    with pytest.raises(SubsetError) as caught:
        lower_model(BoundModel(made))
    constructs = [r.construct for r in caught.value.refusals]
    assert constructs == [
        "a while loop",
        "a list",
        "the constant 1.5",
        "what `claim` returns",
        "a guard outside an action",
    ]


def test_names_are_resolved_by_object(tmp_path: Path) -> None:
    """A name is what it is bound to, not how it is spelt."""
    shadowed = model(
        """
        def len(x: Nodes) -> int:
            while True:
                pass

        @action(who="tester")
        def act(s: State) -> State:
            require(len(s.alive) == 1)
            return s
        """,
        tmp_path,
    )
    assert [r.construct for r in check(BoundModel(shadowed))] == ["a while loop"]
    renamed = model(
        """
        how_many = len

        @action(who="tester")
        def act(s: State) -> State:
            require(how_many(s.alive) == 1)
            return s
        """,
        tmp_path,
    )
    assert check(BoundModel(renamed)) == []


def test_a_legal_model_has_no_record_or_optional_left(tmp_path: Path) -> None:
    made = model("@action(who='tester')\ndef act(s: State) -> State:\n    return s\n", tmp_path)
    lowered = lower_model(BoundModel(made))
    assert [leaf.path for leaf in lowered.leaves] == [
        "alive", "leader?", "leader", "order", "colour", "inner.count", "inner.on",
        "score[1]", "score[2]", "score[3]", "sent#0", "sent#1", "number",
    ]  # fmt: skip
    assert [n.data for n in lowered.actions[0].next_leaves] == [leaf.path for leaf in lowered.leaves]


def test_a_record_that_is_only_a_result_may_have_a_field_of_no_finite_type(tmp_path: Path) -> None:
    made = model(
        """
        @dataclass(frozen=True)
        class Parted:
            colour: Colour
            rest: tuple[Node, ...]

        def parted(s: State) -> Parted:
            return Parted(Colour.GREEN, s.order)

        @action(who="tester")
        def act(s: State) -> State:
            return replace(s, order=parted(s).rest, colour=parted(s).colour)
        """,
        tmp_path,
    )
    (act,) = lower_model(BoundModel(made)).actions
    assert [str(leaf.data) for leaf in act.next_leaves[3:5]] == ["order", "1"]


@pytest.mark.parametrize(
    "kind, drawn", [("Node | None", "s.alive"), ("Message | None", "s.sent"), ("Colour", "s.alive")]
)
def test_a_parameter_has_the_type_of_what_it_is_drawn_from(kind: str, drawn: str, tmp_path: Path) -> None:
    head = f"@action(who='tester', p=lambda s: {drawn})\ndef act(s: State, p: {kind}) -> State:\n"
    (refusal,) = check(BoundModel(model(head + "    return s\n", tmp_path)))
    assert "the type of the set's members" in refusal.remedy
