"""Types in Apalache's notation: by the grammar of its ADR-002, for every type of the language and the kept modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reassure.checkers.base.prepare import prepare
from reassure.checkers.tla.module import export
from tests.helpers.model_text import PRELUDE

KEPT = Path(__file__).parents[2] / "helpers" / "kept_tla"
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


def module(text: str, folder: Path) -> str:
    path = folder / "mine.py"
    body = "require(s.leader is not None)\n    return replace(s, number=0)"
    action = f'\n@action(who="x")\ndef act(s: State) -> State:\n    {body}\n'
    path.write_text(text + action + "\nMODEL = Model.of(__name__, state=State, config=Config)\n", encoding="utf-8")
    return export(prepare(str(path), []).bound).text


def test_every_type_of_the_language(tmp_path: Path) -> None:
    text = module(PRELUDE, tmp_path)
    assert annotations(text) == {
        "Nodes": "Int", "Flag": "Bool", "None": "Int",
        "alive": "Set(Int)", "leader": "Int", "order": "Seq(Int)", "colour": "Str", "inner": "$inner",
        "score": "(Int -> Str)", "sent": "Set($message)", "number": "Int",
    }  # fmt: skip
    assert "    \\* @typeAlias: inner = { count: Int, on: Bool };\n" in text
    assert "    \\* @typeAlias: message = { source: Int, to: Int, body: Int };\n" in text


def test_an_alias_stands_after_those_that_it_mentions(tmp_path: Path) -> None:
    text = module(
        PRELUDE.replace("    on: bool = False", "    on: bool = False\n    last: Message | None = None"), tmp_path
    )
    assert text.index("@typeAlias: message") < text.index(
        "@typeAlias: inner = { count: Int, on: Bool, last: $message };"
    )
    assert "None" not in annotations(text)
    assert "    \\* Where an optional value is not there; a model value. It is of several types, so that\n" in text


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.tla")), ids=lambda path: path.stem)
def test_kept_modules(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    declared = re.findall(r"^    (\w+),?$", text.partition("\nvars ==")[0], re.MULTILINE)
    several = "It is of several types" in text
    assert list(annotations(text)) == [name for name in declared if not (name == "None" and several)]


@pytest.mark.parametrize("wrong", ["Sett(Int)", "Set(Int", "{ a Int }", "Int ->", "$unknown", "Int Int"])
def test_the_grammar_refuses(wrong: str) -> None:
    with pytest.raises((AssertionError, IndexError)):
        annotations(f"\n    \\* @type: {wrong};\n    x\n\nvars == <<x>>")
