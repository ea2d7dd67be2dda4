"""A step property about some actions says what no other action may change, and a model in which one can is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.spec.frontend.lowering import lower_model
from reassure.spec.language.vocabulary import LanguageError, Model
from reassure.spec.semantics.interpreter import BoundModel, make_config
from tests.helpers.command import model_file, said
from tests.helpers.model_text import PRELUDE, model, module

TAGGED = """
@action(who="tester", tags=["t"])
def tagged(s: State) -> State:
    return replace(s, inner=Inner(2, True))
"""

PROMISE = """
@step_property(tags=["t"], watches=[{}])
def promise(before: State, after: State) -> bool:
    return True
"""

HELPERS = """
def counted(s: State, count: int) -> State:
    return replace(s, inner=replace(s.inner, count=count))

def same(s: State) -> State:
    return replace(s, inner=s.inner, number=s.number)
"""

OTHER = '''
@action(who="tester")
def other(s: State, c: Config, n: Node, m: Node) -> State:
    """Not tagged."""
    {}
'''


def refusal(body: str, watches: str, folder: Path, flag: bool = False) -> str:
    """What is said of a model whose untagged action has this body; empty if it is accepted."""
    made = model(HELPERS + TAGGED + OTHER.format(body) + PROMISE.format(watches), folder)
    try:
        lower_model(BoundModel(made, make_config(made, {"flag": flag})))
    except LanguageError as error:
        return str(error)
    return ""


WRITES = [
    # (body of the untagged action, what is watched)
    ("return replace(s, number=1)", "number"),
    ("return replace(s, inner=Inner(1, s.inner.on))", "inner"),
    ("return replace(s, inner=replace(s.inner, count=1))", "inner.count"),
    ("return State(s.alive, s.leader, s.order, s.colour, Inner(), s.score, s.sent)", "inner.on"),
    ("return counted(s, 1)", "inner.count"),
    ("return counted(replace(s, colour=Colour.GREEN), 1)", "inner.count"),
    ("return replace(s, number=1) if n == m else s", "number"),
    ("if n in s.alive:\n        return counted(s, 1)\n    return s", "inner.count"),
    ("changed = counted(s, 1)\n    return changed if s.inner.on else same(s)", "inner.count"),
    ("return replace(s, sent=s.sent | {Message(n, None, 0)})", "sent"),
    ("return replace(s, sent=s.sent | {Message(n, None, 0)})", "sent.body"),
    ("return replace(s, score=s.score.put(n, Colour.GREEN))", "score"),
    ("return replace(s, score=Map({x: Colour.GREEN for x in every(Node, c)}))", "score"),
    ("return replace(s, leader=n)", "leader"),
    ("return replace(s, leader=None)", "leader"),
    ("return replace(s, order=s.order + (n,))", "order"),
    ("return replace(s, alive=s.alive - {n})", "alive"),
    ("require(n in s.alive and s.number < 3)\n    return replace(s, number=s.number + 1)", "number"),
]


@pytest.mark.parametrize(("body", "watched"), WRITES, ids=[f"{b} {w}" for b, w in WRITES])
def test_an_untagged_action_that_can_change_what_is_watched_is_refused(body: str, watched: str, tmp_path: Path) -> None:
    said = refusal(body, f'"{watched}"', tmp_path)
    assert f"other can change {watched}, which promise (" in said
    assert len(said.splitlines()) == 1


ACCEPTED = [
    ("return s", "inner"),
    ("return same(s)", "inner"),
    ("return replace(s, number=1)", "inner"),
    ("return replace(s, inner=replace(s.inner, on=True))", "inner.count"),
    ("return replace(s, inner=Inner(s.inner.count, True))", "inner.count"),
    ("return State(s.alive, n, s.order, s.colour, s.inner, s.score, s.sent)", "inner"),
    ("return replace(s, score=s.score.put(n, s.score[n]))", "score"),
    ("changed = replace(s, score=s.score.put(n, s.score[n]))\n    return changed", "score"),
    ("return replace(s, number=1 if n == m else s.number)", "inner"),
    ("require(c.flag)\n    return counted(s, 1)", "inner.count"),
    ("return counted(s, 1) if c.flag else s", "inner.count"),
    ("return replace(s, sent=s.sent | {Message(n, None, 0)})", "score"),
]


@pytest.mark.parametrize(("body", "watched"), ACCEPTED, ids=[f"{b} {w}" for b, w in ACCEPTED])
def test_an_untagged_action_may_change_the_rest(body: str, watched: str, tmp_path: Path) -> None:
    assert refusal(body, f'"{watched}"', tmp_path) == ""


def test_what_another_configuration_makes_possible_is_refused_there(tmp_path: Path) -> None:
    body = "require(c.flag)\n    return counted(s, 1)"
    assert refusal(body, '"inner"', tmp_path, flag=True).startswith("text_model_")


def test_the_line_names_action_field_property_places_and_both_remedies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TAGGED + OTHER.format("return replace(s, number=1)") + PROMISE.format('"number", "inner"')
    end = "\nMODEL = Model.of(__name__, state=State, config=Config)\n"
    lines = (PRELUDE + text).splitlines()
    path = model_file(tmp_path, PRELUDE + text + end)
    action, promise = (next(i for i, t in enumerate(lines, 1) if d in t) for d in ("def other", "def promise"))
    for command in (["check", path], ["check", path, "--engine=reference"], ["prove", path], ["guards", path]):
        code, out, err = said(capsys, *command)
        assert (code, out) == (150, "")
        assert err == (
            f"reassure: mine.py:{action}: other can change number, which promise (mine.py:{promise}) watches, looking "
            'at actions tagged "t" alone: give other the tag "t", or leave `tags` out so that it looks at every step\n'
        )


TWO = """
@action(who="tester")
def first(s: State) -> State:
    return replace(s, number=1)

@action(who="tester")
def second(s: State) -> State:
    return replace(s, number=2, inner=Inner())
"""


def test_every_action_is_told_in_a_line_of_its_own(tmp_path: Path) -> None:
    made = model(TAGGED + TWO + PROMISE.format('"number", "inner"'), tmp_path)
    with pytest.raises(LanguageError) as caught:
        lower_model(BoundModel(made))
    told = [line.split(": ")[1].split(", which")[0] for line in str(caught.value).splitlines()]
    assert told == ["first can change number", "second can change number", "second can change inner"]


# -- what `on` narrows --------------------------------------------------------------------------------------------

ON = """
@step_property(on=tagged, watches=["inner"])
def promise(before: State, after: State) -> bool:
    return True
"""


def test_on_may_say_what_is_watched_too(tmp_path: Path) -> None:
    made = model(HELPERS + TAGGED + OTHER.format("return counted(s, 1)") + ON, tmp_path)
    with pytest.raises(LanguageError, match=r"in its `on` \(tagged\) alone: add other to that list, or leave `on` out"):
        lower_model(BoundModel(made))


# -- views --------------------------------------------------------------------------------------------------------

VIEW = """
@dataclass(frozen=True)
class Seen:
    total: Annotated[int, Range(0, 9)]
    colour: Colour
    always: Nodes

def seen(s: State, c: Config) -> Seen:
    return Seen(s.inner.count + len(s.alive), s.colour, NOBODY)

@step_property(tags=["t"], watches=[{}])
def promise(before: Seen, after: Seen) -> bool:
    return True
"""


@pytest.mark.parametrize(
    ("body", "watched", "told"),
    [
        ("return counted(s, 1)", "total", "other can change total"),
        ("return replace(s, alive=s.alive - {n})", "total", "other can change total"),
        ("return replace(s, colour=Colour.GREEN)", "total", ""),
        ("return replace(s, alive=s.alive - {n})", "always", ""),
    ],
)
def test_a_watched_field_of_a_view_is_what_it_is_computed_from(
    body: str, watched: str, told: str, tmp_path: Path
) -> None:
    made = module(HELPERS + TAGGED + OTHER.format(body) + VIEW.format(f'"{watched}"'), tmp_path)
    whole = Model.of(made.__name__, state=made.State, config=made.Config, views=(made.seen,))
    try:
        lower_model(BoundModel(whole))
        said = ""
    except LanguageError as error:
        said = str(error)
    assert told in said and bool(told) == bool(said), said


# -- variants -----------------------------------------------------------------------------------------------------

BASE = TAGGED + OTHER.format("return replace(s, number=1)") + PROMISE.format('"inner"')

VARIANTS = [
    (
        "@action(who='v')\ndef more(s: State) -> State:\n    return replace(s, inner=Inner())\n",
        "adding(more)",
        "more can change inner",
    ),
    (
        "@action(who='v')\ndef tagged(s: State) -> State:\n    return replace(s, inner=Inner())\n",
        "replacing(tagged)",
        "tagged can change inner",
    ),
    (
        "@action(who='v', tags=['t'])\ndef tagged(s: State) -> State:\n    return replace(s, inner=Inner())\n",
        "replacing(tagged)",
        "",
    ),
    (
        "@action(who='v')\ndef other(s: State, n: Node) -> State:\n    return replace(s, inner=Inner())\n",
        "replacing(other).without('tagged')",
        "other can change inner",
    ),
    ("", "without('other')", ""),
    (
        "@dataclass(frozen=True)\nclass Wide(State):\n    more: bool = False\n\n"
        "@action(who='v')\ndef wider(s: Wide) -> Wide:\n    return replace(s, more=True, inner=Inner())\n",
        "adding(wider, state=Wide)",
        "wider can change inner",
    ),
    (
        "@step_property(tags=['t'], watches=['number'])\ndef also(before: State, after: State) -> bool:\n"
        "    return True\n",
        "adding(also)",
        "other can change number, which also",
    ),
]


@pytest.mark.parametrize(("text", "how", "told"), VARIANTS, ids=[h for _, h, _ in VARIANTS])
def test_a_variant_is_judged_as_a_whole(
    text: str, how: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = module(BASE + "\nMODEL = Model.of(__name__, state=State, config=Config)\n", tmp_path).__name__
    variant = f"from {base} import *\n\n{text}\nMODEL = MODEL.{how}\n"
    path = model_file(tmp_path, variant)
    code, _, err = said(capsys, "check", path, "--engine=reference", "--depth=1")
    assert (code == 150) == bool(told)
    assert told in err


# -- what a declaration says ----------------------------------------------------------------------------------------

DECLARED = [
    ("tags=['t']", "promise is about actions tagged 't' alone: leave `tags` out, or name the fields"),
    ("tags=['t', 'a']", "promise is about actions tagged 'a', 't' alone"),
    ("tags=['t'], on=tagged", "promise is about actions tagged 't' alone"),
    ("watches=['inner']", "promise is about every step, so it watches everything: leave `watches` out"),
    ("watches=[]", "promise is about every step"),
    ("tags=['t'], watches='inner'", "watches is a list: watches=['inner']"),
    ("tags=['t'], watches=[3]", "watches names fields of the state"),
    ("tags=['t'], watches=['iner']", "promise watches iner, but State has no field 'iner'; it has alive, leader"),
    ("tags=['t'], watches=['inner.off']", "promise watches inner.off, but Inner has no field 'off'; it has count, on"),
    ("tags=['t'], watches=['sent.subject']", "but Message has no field 'subject'; it has source, to, body"),
    ("tags=['t'], watches=['number.one']", "promise watches number.one, but only the fields of a record have names"),
]


@pytest.mark.parametrize(("options", "told"), DECLARED, ids=[o for o, _ in DECLARED])
def test_a_declaration_that_says_it_wrongly_is_refused_in_plain_python(options: str, told: str, tmp_path: Path) -> None:
    text = f"@step_property({options})\ndef promise(before: State, after: State) -> bool:\n    return True\n"
    with pytest.raises(LanguageError) as caught:
        model(TAGGED + text, tmp_path)
    assert told in str(caught.value)


def test_a_promise_of_a_request_alone_watches_nothing(tmp_path: Path) -> None:
    assert refusal("return replace(s, number=1, inner=Inner())", "", tmp_path) == ""


def test_a_goal_may_be_narrowed_by_tags_alone(tmp_path: Path) -> None:
    goal = "@cover(tags=['t'])\ndef goal(before: State, after: State) -> bool:\n    return True\n"
    assert model(TAGGED + goal, tmp_path).properties[0].watches is None


def test_a_property_that_does_not_apply_watches_nothing(tmp_path: Path) -> None:
    text = BASE.replace('watches=["inner"]', 'watches=["number"], when=lambda c: c.flag')
    made = model(text, tmp_path)
    lower_model(BoundModel(made))
    with pytest.raises(LanguageError, match="other can change number"):
        lower_model(BoundModel(made, make_config(made, {"flag": True})))
