"""Types in Apalache's notation: by the grammar of its ADR-002, for every type of the language and the kept modules."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.gate import gate_file
from reassure.checkers.request.prepare import prepare
from reassure.checkers.tla import term_types
from reassure.checkers.tla.context import Definition
from reassure.checkers.tla.module import TlaModule, export
from reassure.checkers.tla.term_types import Inference, name_nones, numbered, read_type
from reassure.checkers.tla.terms import NONE, TRUE, Term, atom, call, conjunction, infix
from tests.helpers.constructs import TABLES, bound_model
from tests.helpers.model_text import PRELUDE

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "tests" / "helpers" / "kept_tla"
ANNOTATION = re.compile(r"@(type|typeAlias): ([^;@]*);")
"""What stands between the colon and the semicolon has neither `;` nor `@`."""
TOKEN = re.compile(r"\s*(\$[a-z]+(?:[A-Z][a-z]*)*|[A-Za-z_]\w*|->|[(){},:=])")


class Grammar:
    """Reads a type; `AssertionError` where the grammar has none."""

    def __init__(self, text: str, aliases: set[str]) -> None:
        self.tokens, self.aliases = TOKEN.findall(text), aliases
        assert "".join(self.tokens) == "".join(text.split()), text

    def take(self, expected: str = "") -> str:
        token = self.tokens.pop(0)
        assert token == expected or not expected, (token, expected)
        return token

    def type(self) -> None:
        """T ::= Bool | Int | Str | Set(T) | Seq(T) | (T) | T -> T | { field: T, ... } | $alias"""
        token = self.take()
        if token in ("Set", "Seq"):
            self.take("(")
            self.type()
            self.take(")")
        elif token == "(":
            self.type()
            self.take(")")
        elif token == "{":
            while self.tokens[0] != "}":
                assert re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", self.take())
                self.take(":")
                self.type()
                if self.tokens[0] != "}":
                    self.take(",")
            self.take("}")
        else:
            assert token in ("Bool", "Int", "Str") or token.removeprefix("$") in self.aliases, token
        if self.tokens[:1] == ["->"]:
            self.take()
            self.type()


def annotations(text: str) -> dict[str, str]:
    """The type of each constant and variable of a module, by its name; all are read by the grammar."""
    comments = re.sub(r"\n\s*\\\*", "", text.partition("\nvars ==")[0])
    aliases: set[str] = set()
    for kind, body in ANNOTATION.findall(comments):
        name, _, right = body.partition(" = ") if kind == "typeAlias" else ("", "", body)
        reader = Grammar(right, aliases)
        reader.type()
        assert not reader.tokens, body
        if name:
            assert re.fullmatch("[a-z]+(?:[A-Z][a-z]*)*", name)
            assert name not in aliases
            aliases.add(name)
    declared = re.findall(r"\\\* @type: ([^;]*);\n(?:    \\\*.*\n)*    (\w+),?\n", text)
    return {name: kind for kind, name in declared}


def module(text: str, folder: Path) -> TlaModule:
    path = folder / "mine.py"
    body = "require(s.leader is not None)\n    return replace(s, number=0)"
    action = f'\n@action(who="x")\ndef act(s: State) -> State:\n    {body}\n'
    path.write_text(text + action + "\nMODEL = Model.of(__name__, state=State, config=Config)\n", encoding="utf-8")
    return export(prepare(str(path), []).bound)


def test_every_type_of_the_language(tmp_path: Path) -> None:
    text = module(PRELUDE, tmp_path).text
    assert annotations(text) == {
        "Nodes": "Int", "Flag": "Bool", "None": "Int",
        "alive": "Set(Int)", "leader": "Int", "order": "Seq(Int)", "colour": "Str", "inner": "$inner",
        "score": "(Int -> Str)", "sent": "Set($message)", "number": "Int",
    }  # fmt: skip
    assert "    \\* @typeAlias: inner = { count: Int, on: Bool };\n" in text
    assert "    \\* @typeAlias: message = { source: Int, to: Int, body: Int };\n" in text


def test_an_alias_stands_after_those_that_it_mentions(tmp_path: Path) -> None:
    made = module(
        PRELUDE.replace("    on: bool = False", "    on: bool = False\n    last: Message | None = None"), tmp_path
    )
    text = made.text
    assert text.index("@typeAlias: message") < text.index(
        "@typeAlias: inner = { count: Int, on: Bool, last: $message };"
    )
    assert {n: kind for n, kind in annotations(text).items() if n.startswith("No")} == {
        "Nodes": "Int",
        "None": "Int",
        "NoMessage": "$message",
    }
    assert "    \\* Where an optional message is not there; a model value.\n    NoMessage\n" in text
    assert "\n    NoMessage = None\n" in made.cfg
    assert "\\cup {NoMessage}" in text


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.tla")), ids=lambda path: path.stem)
def test_kept_modules(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    declared = re.findall(r"^    (\w+),?$", text.partition("\nvars ==")[0], re.MULTILINE)
    assert list(annotations(text)) == declared


@pytest.mark.parametrize("wrong", ["Sett(Int)", "Set(Int", "{ a Int }", "Int ->", "$unknown", "Int Int"])
def test_the_grammar_refuses(wrong: str) -> None:
    with pytest.raises((AssertionError, IndexError)):
        annotations(f"\n    \\* @type: {wrong};\n    x\n\nvars == <<x>>")


@pytest.fixture
def inferences(monkeypatch: pytest.MonkeyPatch) -> list[Inference]:
    """Of each module that has a `None`."""
    made: list[Inference] = []

    class Kept(Inference):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(term_types, "Inference", Kept)
    return made


def unknown(inference: Inference) -> list[str]:
    """What an inference did not find, or found wrong."""
    open_ = [name for name, kind in inference.nones.items() if not kind.found().head]
    return [*inference.errors, *open_, *(field for _, field, _ in inference.pending)]


MODELS = sorted({check.model for check in gate_file.read_gate_file(ROOT / "gate.toml").checks if check.kind == "check"})
QUICK = ("core_liveness", "reassignment_contexts", "rolling_upgrade")


@pytest.mark.parametrize("model", [*QUICK, *(pytest.param(m, marks=pytest.mark.slow) for m in MODELS)])
def test_every_definition_of_a_model_has_its_types(model: str, inferences: list[Inference]) -> None:
    exported = export(prepare(model, []).bound)
    if not inferences:
        assert "None" not in exported.cfg
        return
    assert unknown(inferences[-1]) == []
    assert len(inferences[-1].nones) == len(re.findall(r"\bNo(?:ne|Set|Text)\b", body_of(exported.text))) > 0


def body_of(text: str) -> str:
    """The definitions of a module, without its comments."""
    return re.sub(r"\\\*.*", "", text.partition("\nvars ==")[2])


@pytest.mark.slow
def test_every_construct_has_its_types(
    tmp_path: Path, inferences: list[Inference], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, (prelude, text) in TABLES.items():
        monkeypatch.setitem(TABLES, name, (re.sub(r"1 << (58|60|61)", "1 << 12", prelude), text))
        inferences.clear()
        export(bound_model(name, tmp_path))
        assert [unknown(one) for one in inferences[-1:]] in ([[]], []), name


X, Y, S = atom("x"), atom("y"), atom("s")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (infix("=", X, atom("1")), ""),
        (infix("=", X, atom('"RED"')), "d: Int and Str"),
        (infix(r"\in", X, X), "d: Set(Int) and Int"),
        (infix(r"\cup", S, Term("set", (atom('"RED"'),))), "d: Int and Str"),
        (Term("set", (X, TRUE)), "d: Int and Bool"),
        (conjunction([infix("<", X, S)]), "d: Int and Set(Int)"),
        (Term("if", (X, X, X)), "d: Bool and Int"),
        (call("Cardinality", X), "d: Set(?) and Int"),
        (call("Sum", Term("function", (S, TRUE), ("n",))), "d: Int and Bool"),
        (Term("index", (Y, TRUE)), "d: Int and Bool"),
        (Term("field", (atom("r"),), ("b",)), "d: { a: Int } has no b"),
        (Term("except", (atom("r"), TRUE), ("a",)), "d: Int and Bool"),
        (Term("put", (Y, X, TRUE)), "d: Str and Bool"),
        (Term("exists", (X, TRUE), ("n",)), "d: Int and Set(?)"),
        (Term("record", (X,), ("a",)), ""),
        (infix("=", Term("record", (X,), ("b",)), atom("r")), "d: { b: Int } and { a: Int }"),
        (infix("=", Term("function", (S, X), ("n",)), Term("tuple", (X,))), ""),
        (infix("=", Term("function", (S, TRUE), ("n",)), Term("tuple", (X,))), "d: Bool and Int"),
        (call("other", TRUE), "d: Int and Bool"),
    ],
)
def test_what_has_two_types_is_an_error(body: Term, error: str) -> None:
    variables = {
        n: read_type(t, {}) for n, t in {"x": "Int", "s": "Set(Int)", "y": "(Int -> Str)", "r": "{ a: Int }"}.items()
    }
    other = Definition("other", ("p",), infix("+", atom("p"), atom("1")))
    found = Inference([other, Definition("d", (), body)], variables, [])
    assert found.errors[:1] == ([error] if error else [])


def test_a_none_has_the_type_of_its_place() -> None:
    places = {
        "x": NONE,
        "s": NONE,
        "r": Term("record", (NONE,), ("a",)),
        "y": Term("put", (atom("y"), X, NONE)),
        "f": call("Head", Term("tuple", (NONE, atom("1")))),
    }
    kinds = {"x": "Int", "s": "Set(Int)", "y": "(Int -> Str)", "r": "{ a: Bool }", "f": "Int"}
    definitions = numbered([Definition(f"of_{n}", (), infix("=", atom(n), term)) for n, term in places.items()])
    found = Inference(definitions, {n: read_type(t, {}) for n, t in kinds.items()}, [])
    assert [str(kind) for kind in found.nones.values()] == ["Int", "Set(Int)", "Bool", "Str", "Int"]
    assert name_nones(definitions, {}) == [
        Definition(f"of_{n}", (), infix("=", atom(n), term)) for n, term in places.items()
    ]
