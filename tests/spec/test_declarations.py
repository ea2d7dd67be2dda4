"""Declarations that no model may have: each is refused with one line that says what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.spec.language.values import Id, every
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import BoundModel
from tests.helpers.command import model_file, said
from tests.helpers.model_text import PRELUDE, model, module

ACT = "@action(who='tester')\ndef act(s: State) -> State:\n    return s\n"
END = "\nMODEL = Model.of(__name__, state=State, config=Config)\n"

WRONG = [
    # (what is put for what, the line that is said)
    (("act(s: State) -> State", "act(s: State) -> None"), "act is annotated `-> None`: write `-> State`"),
    (("act(s: State) -> State", "act(s: State) -> int"), "act is annotated `-> int`: write `-> State`"),
    (("act(s: State) -> State", "act(s: State) -> State | None"), "State | None`: write `-> State`"),
    (
        ("act(s: State) -> State", "act(s: Inner) -> State"),
        "act takes `s: Inner`; its first parameter is the state: write `s: State`",
    ),
    (("start(c: Config) -> State", "start(c: Config) -> Config"), "start is annotated `-> Config`: write `-> State`"),
    (
        ("MODEL =", "@invariant\ndef fine(s: State) -> int:\n    return s.number\n\nMODEL ="),
        "fine is annotated `-> int`: write `-> bool`",
    ),
    (
        ("MODEL =", "@invariant\ndef fine(s: State) -> None:\n    return None\n\nMODEL ="),
        "fine is annotated `-> None`: write `-> bool`",
    ),
    (
        ("@dataclass(frozen=True)\nclass State", "@dataclass\nclass State"),
        "State, the state, must be a frozen dataclass: @dataclass(frozen=True)",
    ),
    (
        ("@dataclass(frozen=True)\nclass Config", "@dataclass\nclass Config"),
        "Config, the configuration, must be a frozen dataclass: @dataclass(frozen=True)",
    ),
    (("@dataclass(frozen=True)\nclass Config", "class Config"), "Config, the configuration, must be a frozen"),
    (
        ("@dataclass(frozen=True)\nclass Inner", "@dataclass\nclass Inner"),
        "Inner must be a frozen dataclass: @dataclass(frozen=True)",
    ),
    (('size="nodes"', 'size="two nodes"'), "Node has size='two nodes'; it is the name of a configuration field"),
    (('size="nodes"', "size=0"), "Node has size=0; it is the name of a configuration field, as size="),
    (('size="nodes"', "size=True"), "Node has size=True; it is"),
    (('size="nodes"', "size=2.5"), "Node has size=2.5; it is"),
    (("first=1", "first=-1"), "Node has first=-1; it is a number from 0 on"),
    (("first=1", "first='1'"), "Node has first='1'; it is a number from 0 on"),
    (('size="nodes"', 'size="flags"'), "the configuration has no field 'flags', which sizes a type"),
    (
        ("act(s: State) -> State", "act(s: State, node: Node = Node(1)) -> State"),
        "act has a default for node: a parameter takes every value of its type",
    ),
    (
        ("start(c: Config) -> State", "start(c: Config, n: bool = True) -> State"),
        "start has a default for n: a parameter",
    ),
    (
        (
            "MODEL =",
            "@cover\ndef seen(s: State) -> bool:\n    return True\n\n"
            "@leads_to(seen)\ndef comes(s: State) -> bool:\n    return True\n\nMODEL =",
        ),
        "seen is no goal of leads_to: a goal is a function of a state, or an invariant",
    ),
    (
        (
            "MODEL =",
            "@terminal\ndef over(s: State) -> bool:\n    return True\n\n"
            "@leads_to(over)\ndef comes(s: State) -> bool:\n    return True\n\nMODEL =",
        ),
        "comes: over is declared with @terminal, and is not a goal of leads_to: a goal is a function of a state,",
    ),
    *(
        (
            ("MODEL =", f"@invariant\ndef {name}(s: State) -> bool:\n    return s.number < 1\n\nMODEL ="),
            f"{name} is a finding that every model can have: give the property another name",
        )
        for name in ("deadlock", "raises")
    ),
]


@pytest.mark.parametrize(("change", "told"), WRONG, ids=[c[1] for c, _ in WRONG])
def test_a_wrong_declaration_is_one_line(
    change: tuple[str, str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PRELUDE + ACT + END
    assert change[0] in text
    code, out, err = said(capsys, "check", model_file(tmp_path, text.replace(*change)), "--engine=reference")
    assert (code, out, len(err.splitlines())) == (150, "", 1), err
    assert told in err


@pytest.mark.parametrize(
    "change",
    [
        ("act(s: State) -> State", "act(s: State)"),
        ("act(s: State) -> State", "act(s) -> State"),
        ("class State:", "class State(Base):"),
        ("act(s: State) -> State", "act(s: State) -> 'State'"),
    ],
    ids=lambda c: str(c[1]),
)
def test_no_annotation_or_a_related_class_will_do(
    change: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PRELUDE.replace("class Message", "class Base: ...\n\n@dataclass(frozen=True)\nclass Message") + ACT + END
    code, _, err = said(capsys, "check", model_file(tmp_path, text.replace(*change)), "--engine=reference")
    assert (code, err) == (0, "")


def test_an_unfrozen_state_is_refused_in_plain_python(tmp_path: Path) -> None:
    made = module(ACT, tmp_path)
    made.State.__dataclass_params__.frozen = False
    with pytest.raises(LanguageError, match="State, the state, must be a frozen dataclass"):
        Model.of(made.__name__, state=made.State, config=made.Config)


SIZED = """
class Link(Id, size=2): ...

@dataclass(frozen=True)
class Ends:
    up: frozenset[Link]

@initial
def none_up(c: Config) -> Ends:
    return Ends(frozenset())

@action(who="tester")
def bring_up(s: Ends, link: Link) -> Ends:
    require(link in every(Link) - s.up)
    return replace(s, up=s.up | {link})

@invariant
def never_all(s: Ends, c: Config) -> bool:
    return s.up != every(Link, c)

MODEL = Model.of(__name__, state=Ends, config=Config, deadlock=False).without("start")
"""


@pytest.mark.parametrize("words", [["check"], ["check", "--engine=reference"], ["prove"]], ids=" ".join)
def test_a_sort_of_a_fixed_size(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PRELUDE[: PRELUDE.index("@initial")] + SIZED.replace('.without("start")', "")
    code, out, _ = said(capsys, words[0], model_file(tmp_path, text), *words[1:])
    assert (code, "never_all  violated after 2 steps" in out) == (12, True), out


def test_every_member_of_a_sort_of_a_fixed_size() -> None:
    class Two(Id, size=2, first=1): ...

    assert every(Two) == every(Two, object()) == frozenset({Two(1), Two(2)})


def test_a_bound_model_says_where(tmp_path: Path) -> None:
    made = model(ACT.replace("-> State", "-> None"), tmp_path)
    with pytest.raises(LanguageError, match=r"-> None`: write `-> State` \(text_model_\d+\.py:\d+\)"):
        BoundModel(made)


GOAL = """
@invariant
def is_there(s: Jugs) -> bool:
    return s.big <= 5


@leads_to(is_there)
def comes(s: Jugs) -> bool:
    return s.big == 0


"""


def test_the_goal_of_a_leads_to_may_be_an_invariant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "models" / "examples" / "die_hard.py").read_text()
    head, model_line = text.split("MODEL =")
    path = model_file(tmp_path, f"from reassure import leads_to\n{head}{GOAL}MODEL ={model_line}")
    code, out, err = said(capsys, "check", path)
    assert (code, "comes" in out, "is_there" in out) == (12, True, True), err
