"""Certificates of proofs for any number: what they prove, and what is refused."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import pytest
import z3

from reassure.checkers.cli.main import main
from reassure.checkers.engines.symbolic.any_number.certificate import (
    AnyCertificate,
    Verified,
    named_by,
    read_any_number,
    system_of,
    verify,
    written_node,
)
from reassure.checkers.engines.symbolic.any_number.induction import LOGIC, joined_scripts, z3_settles
from reassure.checkers.engines.symbolic.solver import cvc5_settles
from reassure.checkers.machine.exit_codes import Exit, Failure, UsageFailure
from reassure.spec.language.annotations import AnyNumber
from tests.helpers import model_text
from tests.helpers.any_number import bound_to, proof


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of core, as a file."""
    path = tmp_path_factory.mktemp("any_number") / "core.json"
    result = proof("core")
    assert result.proof is not None
    result.proof.certificate.write(path)
    return path


LITTLE = 1 << 20
"""Memory that a search of four brokers does not end with."""


def verified(certificate: AnyCertificate) -> Verified:
    return verify(certificate, bound_to("core"), memory=LITTLE)


def test_a_certificate_is_accepted(core: Path) -> None:
    certificate = read_any_number(core)
    assert certificate.free == ["brokers", "min_isr"]
    assert certificate.properties == ["isr_within_replicas", "isr_never_empty", "leader_in_isr"]
    end = verified(certificate)
    assert end.wrong == []
    assert end.goals == len(certificate.cores)
    first, second = end.searched
    assert (first.settings, first.states, first.complete) == ("brokers=3, min_isr=2", 1668, True)
    assert (second.settings, second.complete) == ("brokers=4, min_isr=2", False) and second.states < 68064
    assert end.open_bounds == {}


def test_without_a_lemma_it_proves_nothing(core: Path) -> None:
    certificate = read_any_number(core)
    for place, lemma in enumerate(certificate.lemmas):
        if lemma["text"] == "(proposed <= replicas if proposed is not None)":
            del certificate.lemmas[place]
    assert any("isr_within_replicas" in line for line in verified(certificate).wrong)


def test_without_an_invariant_it_is_none_of_it(core: Path) -> None:
    certificate = read_any_number(core)
    certificate.lemmas = [lemma for lemma in certificate.lemmas if lemma["text"] != "leader_in_isr"]
    assert verified(certificate).wrong == ["leader_in_isr is not among the lemmas"]


def test_a_wrong_hint_is_not_believed(core: Path) -> None:
    certificate = read_any_number(core)
    certificate.cores = [[] for _ in certificate.cores]
    assert verified(certificate).wrong != []


def test_a_lemma_that_is_not_true_is_refused(core: Path) -> None:
    certificate = read_any_number(core)
    rows = [
        ["var", "set of Broker", [], "removing"],
        ["const", "set of Broker", [], 0],
        ["eq", "bool", [0, 1], None],
    ]
    smt = """(declare-sort Broker 0)
(declare-fun q!0 () Bool)
(declare-fun removing (Broker) Bool)
(assert (forall ((x!0 Broker)) (=> q!0 (not (removing x!0)))))
(assert q!0)
"""
    certificate.lemmas.append({"text": "removing is empty", "node": rows, "smt": smt})
    wrong = verified(certificate).wrong
    assert "not met: removing is empty" in wrong
    assert "a reachable state with brokers=3, min_isr=2 violates removing is empty" in wrong


@pytest.mark.parametrize(
    "rows",
    [
        [["var", "set of Ghost", [], "ghosts"]],
        [["var", "bool", [], "ghost"]],
        [["var", "bool", [], "isr"]],
        [["config", "int 5..1099511627776", [], "min_isr"], ["const", "int 5..5", [], 5], ["lt", "bool", [1, 0], None]],
        [["switch", "bool", [], 0]],
        [["var", "set of Broker", [], "isr"]],
        [["bound", "Broker", [], 0], ["eq", "bool", [0, 3], None]],
        [["var", "set of Broker", [], "isr"], ["var", "Broker", [], "leader"], ["eq", "bool", [0, 1], None]],
        [["var", "bool", [], "leader?"], ["var", "set of Broker", [], "isr"], ["member", "bool", [0, 1], None]],
        [["const", "bool", [], "x"]],
        [["const", "Broker", [], 9], ["var", "Broker", [], "leader"], ["eq", "bool", [0, 1], None]],
        # ids that some configuration has not, or none has: what is true of them is true of anything
        [["var", "Broker", [], "leader"], ["const", "Broker", [], 7], ["eq", "bool", [0, 1], None]],
        [
            ["var", "set of Broker", [], "isr"],
            ["lowest", "Broker", [0], None],
            ["const", "Broker", [], -1],
            ["eq", "bool", [1, 2], None],
            ["not", "bool", [3], None],
        ],
        [["var", "set of Broker", [], "isr"], ["const", "set of Broker", [], 1 << 70], ["eq", "bool", [0, 1], None]],
        [["config", "int 1..1099511627776", [], "min_isr"], ["const", "int 1..2", [], 3], ["lt", "bool", [0, 1], None]],
        [["const", "bool", [], 2]],
        # operations on what they are not defined on
        [["var", "set of Broker", [], "isr"], ["not", "bool", [0], None]],
        [["var", "Broker", [], "leader"], ["not", "bool", [0], None]],
        [["var", "Broker", [], "leader"], ["member", "bool", [0, 0], None]],
        [["var", "set of Broker", [], "isr"], ["lt", "bool", [0, 0], None]],
        [["var", "set of Broker", [], "isr"], ["var", "Broker", [], "leader"], ["eq", "bool", [0, 1], None]],
        [],
    ],
)
def test_a_lemma_that_is_no_condition_on_the_state_is_refused(core: Path, rows: list[object]) -> None:
    certificate = read_any_number(core)
    certificate.lemmas[0]["node"] = rows
    with pytest.raises(UsageFailure, match="lemma 'isr_within_replicas' says something else than its nodes"):
        verified(certificate)


@pytest.mark.parametrize("smt", ["", "(assert true)", '(set-option :regular-output-channel "x")(echo "gone")'])
def test_a_lemma_whose_smt_lib_says_something_else_is_refused(core: Path, smt: str) -> None:
    """No solver reads it: it is compared with what its nodes say."""
    certificate = read_any_number(core)
    certificate.lemmas[0]["smt"] = smt
    with pytest.raises(UsageFailure, match="its SMT-LIB is not what its nodes say"):
        verified(certificate)


def test_a_property_about_whole_runs_is_refused(core: Path) -> None:
    certificate = read_any_number(core)
    certificate.properties.append("a_leader_comes_back")
    with pytest.raises(UsageFailure, match="a_leader_comes_back: a property about whole runs follows from no"):
        verify(certificate, bound_to("core_liveness"))


def test_without_lemmas_it_proves_nothing(core: Path) -> None:
    certificate = read_any_number(core)
    certificate.lemmas, certificate.cores = [], []
    assert verified(certificate).wrong == ["isr_within_replicas is not among the lemmas"]


def test_any_solver_reads_the_lemmas_and_the_goals(core: Path) -> None:
    """Each lemma alone can be true; no goal can be broken."""
    certificate, scripts = read_any_number(core), dict[str, str]()
    verify(certificate, bound_to("core"), memory=LITTLE, scripts=scripts.setdefault)
    for lemma in certificate.lemmas:
        solver = z3.Solver()
        solver.from_string(lemma["smt"])
        assert solver.check() == z3.sat
    text = joined_scripts(scripts.items())
    assert text.count("(check-sat)") == text.count("(set-info :status unsat)") == len(scripts)
    other = cvc5_settles(LOGIC)
    assert other is None or all(other(script, None) for script in scripts.values())


def test_numbers_that_the_model_has_not_are_not_free(core: Path) -> None:
    certificate = read_any_number(core)
    certificate.free = ["brokers", "managers"]
    with pytest.raises(UsageFailure, match="are not all numbers that may be free"):
        verified(certificate)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("properties", [], "it proves nothing"),
        ("properties", ["leader_in_isr", "leader_in_isr"], "names a property twice"),
        ("cores", [[99]], r"\[99\] is not a list of lemmas, each once and in their order"),
        ("cores", [[1, 1]], "is not a list of lemmas"),
        ("cores", [[1, 0]], "is not a list of lemmas"),
        ("cores", [[True]], "is not a list of lemmas"),
        ("cores", [0], "lacks something"),
        ("lemmas", "x", "lacks something"),
        ("lemmas", [{"text": "x", "node": []}], "lacks something"),
        ("lemmas", [{"text": "x", "node": [], "smt": "", "also": "y"}], "has 'also', which no certificate has"),
        ("lemmas", [{"text": "x", "node": [], "smt": ""}] * 2, "names a lemma twice"),
        ("free", [], "names each free number once"),
        ("free", ["brokers", "brokers", "min_isr"], "names each free number once"),
        ("free", ["min_isr", "brokers"], "names each free number once"),
        ("free", [3], "lacks something"),
        ("config", [], "lacks something"),
        ("model", 3, "lacks something"),
        ("model_file", 3, "lacks something"),
        ("model_sha256", None, "lacks something"),
        ("schema", 2, "is of schema 2; this version reads 1"),
        ("engine_version", "0.0.9", "is of version 0.0.9; this one is 0.1.0: prove it again"),
        ("engine_version", None, "lacks something"),
        ("proved_by", "an expert", "has 'proved_by', which no certificate has"),
    ],
)
def test_a_file_that_is_none_is_refused(key: str, value: object, why: str, core: Path) -> None:
    data = json.loads(core.read_text(encoding="utf-8")) | {key: value}
    path = core.with_name("odd.json")
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(Failure, match=why):
        read_any_number(path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("isr_never_empty", "lemma 'isr_never_empty' says something else than its nodes"),
        ("removing is empty", "lemma 'removing is empty' says something else than its nodes"),
        ("leader is absent implies removing is empty", "removing is empty' says something else than its nodes"),
        ("the ISR has every broker", "lemma 'the ISR has every broker' is the text of no lemma of this model"),
        ("isr_within_replicas ", "lemma 'isr_within_replicas ' is the text of no lemma of this model"),
        ("is\u0433_within_replicas", "is the text of no lemma of this model"),
        ("", "lemma '' is the text of no lemma of this model"),
    ],
)
def test_a_lemma_whose_text_says_something_else_is_refused(core: Path, text: str, why: str) -> None:
    certificate = read_any_number(core)
    assert certificate.lemmas[0]["text"] == "isr_within_replicas"
    certificate.lemmas[0]["text"] = text
    with pytest.raises(UsageFailure, match=re.escape(why)):
        verified(certificate)


def test_every_lemma_that_another_text_is_given_to_is_refused(core: Path) -> None:
    texts = [lemma["text"] for lemma in read_any_number(core).lemmas]
    for place, other in product(range(len(texts)), texts):
        certificate = read_any_number(core)
        certificate.lemmas[place]["text"] = other
        if other != texts[place]:
            with pytest.raises(UsageFailure, match="says something else than its nodes"):
                verified(certificate)


@pytest.mark.parametrize("cores", [[[]], []], ids=["one-more", "one-less"])
def test_cores_of_more_or_fewer_goals_are_refused(core: Path, cores: list[list[int]]) -> None:
    certificate = read_any_number(core)
    number = len(certificate.cores)
    certificate.cores = certificate.cores + cores if cores else certificate.cores[1:]
    told = f"`cores` is of {len(certificate.cores)} goals, not of {number}"
    assert verified(certificate).wrong == [told]


SUMS = """
@dataclass(frozen=True)
class State:
    up: Nodes
    tally: Map[Node, Annotated[int, Range(0, 2)]]

@initial
def start(c: Config) -> State:
    return State(frozenset({Node(1)}), fill(Node, c, 0))

@action(who="tester")
def step(s: State, p: Node) -> State:
    return replace(s, tally=s.tally.put(p, 1))

@invariant
def up_or_many(s: State, c: Config) -> bool:
    return Node(1) in s.up or sum(s.tally[n] for n in every(Node, c)) > 5

@invariant
def first_is_up(s: State) -> bool:
    return Node(1) in s.up
"""


def test_no_type_is_taken_from_the_file(tmp_path: Path) -> None:
    """A sum is known to be no less than what its type says."""
    model = model_text.file(SUMS, tmp_path, model_text.BEFORE_STATE)
    result = proof(model, "flag=False")
    assert result.proof is not None and result.proof.certificate is not None
    result.proof.certificate.write(tmp_path / "sums.json")
    certificate = read_any_number(tmp_path / "sums.json")
    assert verify(certificate, bound_to(model, "flag=False"), memory=LITTLE).wrong == []
    (row,) = [row for lemma in certificate.lemmas for row in lemma["node"] if row[0] == "total"]
    row[1] = "int 6..1099511627776"
    with pytest.raises(UsageFailure, match="lemma 'up_or_many' says something else than its nodes"):
        verify(certificate, bound_to(model, "flag=False"), memory=LITTLE)


REFUSED = """
@invariant
def no_two_alike(s: State, c: Config) -> bool:
    return all(any(a != b and s.tally[a] == s.tally[b] for a in s.up) for b in s.up)
"""


def test_a_property_without_a_translation_does_not_matter_to_others(tmp_path: Path) -> None:
    model = model_text.file(
        SUMS + REFUSED.replace("for a in s.up)", "for a in s.up for d in s.up)"), tmp_path, model_text.BEFORE_STATE
    )
    result = proof(model, "flag=False", properties=["first_is_up"])
    assert result.proof is not None and result.proof.certificate is not None
    result.proof.certificate.write(tmp_path / "up.json")
    end = verify(read_any_number(tmp_path / "up.json"), bound_to(model, "flag=False"), memory=LITTLE)
    assert (end.wrong, read_any_number(tmp_path / "up.json").properties) == ([], ["first_is_up"])


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"kind": "inductive', '"kind": "a co-inductive', "is not a certificate"),
        ('"brokers": 3', '"brokers": "3"', "does not tell its configuration as it is: {'brokers': 3, 'min_isr': 2}"),
        (',\n  "min_isr": 2', "", "does not tell its configuration as it is"),
        ('"min_isr": 2', '"min_isr": 2, "racks": 3', "core has no configuration field 'racks'"),
        ('"model_sha256": "', '"model_sha256": "0', "is of another text of core"),
        ('"free": [', '"free": ["brokers", "min_isr"], "free": [', "'free' is listed twice"),
    ],
)
def test_what_the_command_refuses(old: str, new: str, why: str, core: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, path = core.read_text(encoding="utf-8"), core.with_name("forged.json")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert main(["verify", str(path), "--memory=1M"]) == (Exit.CONFIG if "racks" in new else Exit.USAGE).value
    out, err = capsys.readouterr()
    assert (out, why in err) == ("", True), err


def test_verify_by_the_command(core: Path, capsys: pytest.CaptureFixture[str]) -> None:
    goals = core.with_name("core.smt2")
    words = [f"--smt2={goals}", "--set=brokers=12", "--property=leader_in_isr"]
    assert main(["verify", str(core), "--memory=1M", *words]) == Exit.OK.value
    out = capsys.readouterr().out
    assert "for any brokers, min_isr: 7 lemmas hold initially, preserved by every step" in out
    assert "the lemmas hold in every reachable state with brokers=3, min_isr=2 (1,668 states)" in out
    assert goals.read_text(encoding="utf-8").count("(check-sat)") == len(read_any_number(core).cores)
    data = json.loads(core.read_text(encoding="utf-8"))
    data["cores"] = [[] for _ in data["cores"]]
    broken = core.with_name("broken.json")
    broken.write_text(json.dumps(data), encoding="utf-8")
    assert main(["verify", str(broken), "--memory=1M"]) == Exit.EXPECTATION.value


DECLARED = """
@dataclass(frozen=True)
class State:
    up: Nodes
    count: Annotated[int, Range(0, 2, declared=True)]

@initial
def start() -> State:
    return State(frozenset({Node(1)}), 1)

@action(who="tester")
def step(s: State, p: Node) -> State:
    return replace(s, count=s.count if p in s.up else 2 - s.count)

@invariant
def one(s: State) -> bool:
    return (s.count if Node(1) in s.up else 2 - s.count) == 1
"""


def test_a_range_that_is_declared_and_one_of_an_expression(tmp_path: Path) -> None:
    """Both have one text in the certificate."""
    model = model_text.file(DECLARED, tmp_path, model_text.BEFORE_STATE)
    result = proof(model, "flag=False")
    assert result.proof is not None and result.proof.certificate is not None
    result.proof.certificate.write(tmp_path / "one.json")
    end = verify(read_any_number(tmp_path / "one.json"), bound_to(model, "flag=False"), memory=LITTLE)
    assert (end.wrong, [one.complete for one in end.searched]) == ([], [True] * len(end.searched))


VALUES = """
@dataclass(frozen=True)
class State:
    up: Nodes
    value: {kind}

@initial
def start(c: Config) -> State:
    return State(frozenset({{Node(1)}}), {first})

@action(who="tester")
def step(s: State, p: Node, q: Annotated[int, Range(0, 0, declared=True)], c: Config) -> State:
    return replace(s, up=frozenset({{p}}), value={after})

@invariant
def known(s: State, c: Config) -> bool:
    return {claim}
"""


@pytest.mark.parametrize(
    ("kind", "first", "after", "claim"),
    [
        ("Annotated[tuple[bool, ...], MaxLen(2)]", "()", "(True, False)", "s.value in ((), (True, False))"),
        (
            "Map[Node, Annotated[tuple[bool, ...], MaxLen(1)]]",
            "fill(Node, c, ())",
            "s.value.put(p, (True,))",
            "all(s.value[n] != (False,) for n in every(Node, c))",
        ),
        ("Annotated[int, Range(0, 2)]", "1", "1", "s != State(frozenset({Node(1)}), 0)"),
    ],
    ids=["constants-after-each-step", "a-map-of-tuples", "a-declared-range-of-0"],
)
def test_what_the_tool_proves_its_check_accepts(kind: str, first: str, after: str, claim: str, tmp_path: Path) -> None:
    text = VALUES.format(kind=kind, first=first, after=after, claim=claim)
    model = model_text.file(text, tmp_path, model_text.BEFORE_STATE)
    result = proof(model, "flag=False")
    assert [(p.name, p.status) for p in result.properties if p.name == "known"] == [("known", "proved")]
    assert result.proof is not None and result.proof.certificate is not None
    result.proof.certificate.write(tmp_path / "known.json")
    end = verify(read_any_number(tmp_path / "known.json"), bound_to(model, "flag=False"), memory=LITTLE)
    assert (end.wrong, read_any_number(tmp_path / "known.json").lemmas[0]["text"]) == ([], "known")


def test_a_lemma_may_name_a_set_of_truth_values(tmp_path: Path) -> None:
    """Also one that the text does not have: `set(value) is empty`."""
    text = VALUES.format(kind="Annotated[tuple[bool, ...], MaxLen(1)]", first="()", after="s.value", claim="True")
    bound = bound_to(model_text.file(text, tmp_path, model_text.BEFORE_STATE), "flag=False")
    system = system_of(bound, AnyNumber(bound.config, frozenset({"nodes"})))
    (node,) = named_by(system)("set(value) is empty")
    assert written_node(node) == [
        ["var", "sequence of bool, at most 1", [], "value"],
        ["seq_set", "set of bool", [0], None],
        ["const", "set of bool", [], 0],
        ["eq", "bool", [1, 2], None],
    ]


SCRIPT = "(declare-sort S 0)(declare-const a S)(declare-const b S)(assert (= a b)){}(check-sat)"


def test_z3_settles_a_script() -> None:
    assert not z3_settles(SCRIPT.format(""), 10.0)
    assert z3_settles(SCRIPT.format("(assert (not (= a b)))"), 10.0)


def test_cvc5_settles_a_script() -> None:
    pytest.importorskip("cvc5")
    settles = cvc5_settles(LOGIC)
    assert settles is not None
    assert not settles(SCRIPT.format(""), None)
    assert settles(SCRIPT.format("(assert (not (= a b)))"), 10.0)
