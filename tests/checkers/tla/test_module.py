"""The exported module: kept texts, what it is named by, and what is refused."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from reassure.checkers.gate import gate_file
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.request.prepare import prepare
from reassure.checkers.tla.module import comment, export
from reassure.checkers.tla.terms import (
    FALSE,
    TRUE,
    Term,
    atom,
    block,
    choose,
    disjunction,
    infix,
    negation,
    on_one_line,
    without_constants,
)
from tests.helpers.command import said
from tests.helpers.model_text import PRELUDE
from tests.helpers.tlc_jar import tlc

KEPT = Path(__file__).parents[2] / "helpers" / "kept_tla"
MODELS = ("die_hard", "two_phase_commit", "core", "core_liveness", "reassignment_contexts")


@pytest.mark.parametrize("model", MODELS)
def test_kept_modules(model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`for m in ...; do reassure export $m --to tla --out tests/helpers/kept_tla; done` writes them anew."""
    code, out, _ = said(capsys, "export", model, "--to", "tla", "--out", str(tmp_path))
    assert code == 0
    assert out.splitlines()[:2] == [str(tmp_path / f"{model}.tla"), str(tmp_path / f"{model}.cfg")]
    for suffix in ("tla", "cfg"):
        kept, made = (folder / f"{model}.{suffix}" for folder in (KEPT, tmp_path))
        assert made.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")


def test_a_model_of_a_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In any folder; settings are in the configuration file, bounds cut steps off."""
    path = tmp_path / "mine.py"
    action = '\n@action(who="x")\ndef act(s: State, c: Config) -> State:\n    return replace(s, number=s.number + 1)\n'
    path.write_text(PRELUDE + action + "\nMODEL = Model.of(__name__, state=State, config=Config)\n")
    code, _, _ = said(capsys, "export", str(path), "--set", "nodes=2", "--to", "tla", "--out", str(tmp_path))
    text = (tmp_path / "mine.tla").read_text()
    assert code == 0
    assert "Next == Step /\\ InBounds'" in text
    assert "    /\\ number \\in (-2)..5\n" in text
    assert "\n    \\* @type: (Int -> Str);\n    score,\n" in text
    assert "    Nodes = 2\n" in (tmp_path / "mine.cfg").read_text()


LARGE = "return replace(s, number=0 if s.number * 1_000_000_000_000 > 5 else 1)"


def exported(body: str, folder: Path, prelude: str = PRELUDE) -> str:
    path = folder / f"mine_{len(body)}.py"
    action = f'\n@action(who="x")\ndef act(s: State, c: Config) -> State:\n    {body}\n'
    path.write_text(prelude + action + "\nMODEL = Model.of(__name__, state=State, config=Config)\n")
    return export(prepare(str(path), []).bound).text


def test_what_has_no_translation_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(Failure) as failure:
        exported(LARGE, tmp_path)
    assert failure.value.code is Exit.MODEL
    expected = (
        r"mine_\d+\.py:\d+: the number 1000000000000, as TLC's integers have 32 bits, has no translation to TLA\+"
    )
    assert re.fullmatch(expected, str(failure.value))


def test_a_disjunction_in_a_guard_is_evaluated_once(tmp_path: Path) -> None:
    """TLC would count a step for each disjunct."""
    text = exported("require(s.leader is None or s.number > 0)\n    return replace(s, number=0)", tmp_path)
    assert "    /\\ Holds(leader = None \\/ number > 0)\n" in text


def test_a_guard_in_a_filter_counts_where_the_filters_before_it_hold(tmp_path: Path) -> None:
    """Its own value says nothing of whether it raises."""
    positive = "\ndef positive(n: Node, s: State) -> bool:\n    require(s.number > 0)\n    return n in s.alive\n"
    text = exported(
        "require(any(n == s.leader for n in s.alive if n != Node(1) if positive(n, s)))\n    return s",
        tmp_path,
        PRELUDE + positive,
    )
    assert "\\A n \\in alive : n # 1 => positive_enabled(" in text


def test_what_follows_a_broken_disjunction_is_outside_of_it(tmp_path: Path) -> None:
    text = exported(
        "require(any(s.number > 0 or n in s.alive or s.leader == n or s.inner.count > 2 for n in every(Node, c)))\n"
        "    return replace(s, number=sum(1 for n in s.alive if n == s.leader or n == Node(1)) + 1)",
        tmp_path,
    )
    assert not re.search(r"^\s*(/\\|\\/) .* =>$", text, re.MULTILINE)


def test_names_of_variables_are_not_bound_again(tmp_path: Path) -> None:
    text = exported("number = s.number + 1\n    return replace(s, number=number)", tmp_path)
    assert "LET number_ == number + 1" in text


def test_names_of_general_operators_are_not_those_of_a_model(tmp_path: Path) -> None:
    """What TLA+ and its modules define, and what the operators that every module may have bind."""
    prelude = PRELUDE.replace("    number: Annotated[int, Range(-2, 5)] = 0\n", FIELDS).replace("NOBODY", "STATE")
    guard = "require(Node(1) in frozenset(s.order) and s.s > max(s.x, s.f) and s.alive != STATE)"
    text = exported(f"{guard}\n    return after(replace(s, x=1))", tmp_path, prelude + HELPER)
    assert "Range(f_) == {f_[x_] : x_ \\in DOMAIN f_}\n" in text
    assert "Becomes(s_) ==\n    /\\ alive' = s_.alive\n" in text
    assert "STATE_2 == {}\n" in text


def test_a_membership_in_an_index_is_in_parentheses(tmp_path: Path) -> None:
    """SANY reads `f[a \\in b` as the definition of a function."""
    prelude = PRELUDE.replace(
        "    number: ", "    told: Map[bool, bool] = Map({False: False, True: False})\n    number: "
    )
    text = exported(
        "return replace(s, told=s.told.put(Node(1) in s.alive, s.told[Node(2) in s.alive]))", tmp_path, prelude
    )
    assert "told' = [told EXCEPT ![(1 \\in alive)] = told[(2 \\in alive)]]" in text


def test_choices_within_choices_have_names_of_their_own(tmp_path: Path) -> None:
    inner = "next((m for m in s.order if m != n), n)"
    text = exported(f"return replace(s, leader=next(({inner} for n in s.order if n in s.alive), None))", tmp_path)
    assert re.findall(r"(found_*) ==", text) == ["found", "found_"]


FIELDS = "".join(f"    {name}: Annotated[int, Range(-2, 5)] = 0\n" for name in "xsf")
HELPER = """
def after(s: State) -> State:
    return replace(s, order=()) if s.inner.on else replace(s, x=2)
"""


def test_a_change_inside_a_change_is_one_place(tmp_path: Path) -> None:
    score, inner = "s.score.put(Node(1), Colour.RED)", "replace(s.inner, count=s.inner.count + 1)"
    text = exported(f"return replace(s, score={score}, inner={inner})", tmp_path)
    assert "    /\\ inner' = [inner EXCEPT !.count = @ + 1]\n" in text
    assert '    /\\ score\' = [score EXCEPT ![1] = "RED"]\n' in text
    x, k = atom("x"), atom("k")
    inside = Term("put", (Term("index", (x, k)), atom("j"), Term("infix", (atom("y"), atom("1")), ("+",))))
    assert on_one_line(Term("put", (x, k, inside))) == "[x EXCEPT ![k][j] = y + 1]"
    other = Term("put", (x, k, Term("put", (Term("index", (atom("z"), k)), k, Term("index", (x, k))))))
    assert on_one_line(other) == "[x EXCEPT ![k] = [z[k] EXCEPT ![k] = x[k]]]"


def test_branches_that_are_constant_are_conjunctions_and_disjunctions() -> None:
    a, b, c = atom("a"), atom("b"), atom("c")

    def written(yes: Term, no: Term) -> str:
        return on_one_line(without_constants(Term("if", (a, yes, no))))

    assert [written(TRUE, b), written(FALSE, b), written(b, TRUE), written(b, FALSE), written(b, c)] == [
        "a \\/ b",
        "~a /\\ b",
        "a => b",
        "a /\\ b",
        "IF a THEN b ELSE c",
    ]
    assert choose(a, TRUE, b).op == "if"
    assert on_one_line(without_constants(disjunction([negation(a), choose(b, TRUE, c)]))) == "a => b \\/ c"
    assert on_one_line(without_constants(disjunction([negation(a), b, c]))) == "~a \\/ b \\/ c"


def test_long_lists_of_names_and_records_are_broken() -> None:
    names = tuple(f"variable_{number}" for number in range(12))
    assert block(Term("unchanged", (), names), 60) == [
        "UNCHANGED <<variable_0, variable_1, variable_2, variable_3,",
        "            variable_4, variable_5, variable_6, variable_7,",
        "            variable_8, variable_9, variable_10,",
        "            variable_11>>",
    ]
    record = Term("record", (atom("first_value"), atom("second_value")), ("a", "longer"))
    assert block(record, 30) == ["[a      |-> first_value,", " longer |-> second_value]"]
    assert on_one_line(record) == "[a |-> first_value, longer |-> second_value]"
    assert block(Term("tuple"), -3) == ["<<>>"]
    step = Term("prefix", (disjunction([atom("p"), atom("q")]),), ("ENABLED",))
    assert on_one_line(step) == "ENABLED (p \\/ q)"


def test_what_sany_would_read_otherwise_has_parentheses() -> None:
    """The precedence of `%` overlaps with that of `-`; `{a \\in b : x \\in S}` chooses members of b."""
    a, b, two = atom("a"), atom("b"), atom("2")
    assert on_one_line(infix("%", infix("-", two, a), two)) == "(2 - a) % 2"
    assert on_one_line(infix("-", two, infix("%", a, two))) == "2 - (a % 2)"
    assert on_one_line(infix("*", infix("%", a, two), two)) == "(a % 2) * 2"
    assert on_one_line(Term("image", (b, infix(r"\in", TRUE, a)), ("n",))) == r"{(TRUE \in a) : n \in b}"
    assert on_one_line(Term("image", (b, infix("+", a, two)), ("n",))) == r"{a + 2 : n \in b}"


@pytest.mark.parametrize(
    ("premise", "written"),
    [
        ("s.number == 3", "ends == (number = 3) ~> goal\n"),
        ("s.number * 2 == 4", "ends == (\\E v \\in {vars} : number * 2 = 4) ~> goal\n"),
        ("True", "ends == (vars = vars) ~> goal\n"),
    ],
)
def test_premises_are_as_tlc_reads_them(premise: str, written: str, tmp_path: Path) -> None:
    """TLC takes a product for a constant where a `LET` is in it, and evaluates constant branches before it searches."""
    claim = f"\n@leads_to(goal=goal)\ndef ends(s: State) -> bool:\n    return {premise}\n"
    helper = "\ndef goal(s: State) -> bool:\n    return s.number == 0\n" + claim
    assert f"\n{written}" in exported("return replace(s, number=0)", tmp_path, PRELUDE + helper)


def test_a_module_says_what_its_constants_may_be(tmp_path: Path) -> None:
    """Numbers, truth values and members of enumerations; it extends the modules that it needs."""
    prelude = PRELUDE.replace("    flag: bool = False\n", "    flag: bool = False\n    paint: Colour = Colour.RED\n")
    text = exported("return replace(s, number=0)", tmp_path, prelude)
    assert 'ASSUME Nodes \\in 1..6 /\\ Flag \\in BOOLEAN /\\ Paint \\in {"RED", "GREEN"}\n' in text
    assert "EXTENDS Integers, Sequences, FiniteSets\n" in text
    assert "EXTENDS Integers\n" in export(prepare("two_phase_commit", []).bound).text


@pytest.mark.parametrize("ends", [False, True])
def test_where_a_run_may_end(ends: bool, tmp_path: Path) -> None:
    terminal = "\n@terminal\ndef over(s: State) -> bool:\n    return s.number == 5\n" if ends else ""
    text = exported("return replace(s, number=0)", tmp_path, PRELUDE + terminal)
    assert ("StepOrEnd == Step \\/ (number = 5 /\\ UNCHANGED vars)\n" in text) == ends
    assert ("* No run ends.\nNoDeadlock == ENABLED Step\n" in text) == (not ends)


def test_comments_are_filled() -> None:
    doc = """One line
    and another.

    - an item
      that goes on
    """
    assert comment(doc) == ["\\* One line and another.", "\\*", "\\* - an item that goes on"]
    assert comment("* " + "word " * 20 + "........ B4")[1:] == ["\\*   word word (B4)"]
    assert comment("Text:\n    code = 1\n    code = 2\nEnd.")[1:] == ["\\*     code = 1", "\\*     code = 2 End."]
    assert max(map(len, comment("word " * 60))) <= 95


@pytest.mark.slow
def test_every_module_of_the_gate_is_parsed_by_sany(tmp_path: Path) -> None:
    found = tlc()
    gate = gate_file.read_gate_file(Path(__file__).parents[3] / "gate.toml")
    models = sorted({check.model for check in gate.checks if check.kind == "check"})
    for model in models:
        (tmp_path / f"{model}.tla").write_text(export(prepare(model, []).bound).text, encoding="utf-8")
    assert max(len(line) for path in tmp_path.iterdir() for line in path.read_text().splitlines()) < 120
    command = [found.java, "-cp", str(found.jar), "tla2sany.SANY", *(f"{model}.tla" for model in models)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    lines = (done.stdout + done.stderr).splitlines()
    assert [
        line for line in lines if line and not line.startswith(("******", "Parsing file", "Semantic processing"))
    ] == []
    assert {f"Semantic processing of module {model}" for model in models} <= set(lines)
