"""Certificates: a fresh solver accepts what proves its properties, and nothing else; they instruct nobody."""

from __future__ import annotations

import contextlib
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import z3

from reassure.checkers.cli.main import main
from reassure.checkers.engines.symbolic import certificate, verification
from reassure.checkers.engines.symbolic.any_number.induction import z3_settles
from reassure.checkers.engines.symbolic.certificate import formulas_of
from reassure.checkers.engines.symbolic.linear_invariants import inequalities_named
from reassure.checkers.engines.symbolic.solver import cvc5_settles
from reassure.checkers.engines.symbolic.transition_system import Machine
from reassure.checkers.engines.symbolic.verification import LOGIC, Invariant
from reassure.checkers.machine.exit_codes import UsageFailure
from reassure.checkers.request.model_loader import load_model, settings
from reassure.checkers.request.prepare import prepare
from reassure.spec.frontend.lowered_model import LoweredModel
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.command import said
from tests.helpers.runs import bind


@dataclass(frozen=True)
class Proof:
    """A proof of `core` on the command line: exit code, output, record and certificate."""

    code: int
    out: str
    record: Path
    certificate: Path


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    folder, out = tmp_path_factory.mktemp("core"), io.StringIO()
    record, path = folder / "record.json", folder / "core.json"
    with contextlib.redirect_stdout(out):
        code = main(["prove", "core", f"--json={record}", f"--certificate={path}"])
    return Proof(code, out.getvalue(), record, path)


@pytest.fixture(scope="module")
def written(proof: Proof) -> Path:
    """The certificate of `core`."""
    return proof.certificate


def test_certificate(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "verify", str(written))
    assert code == 0
    assert "they imply 3 properties of core" in out
    solvers = "Z3" if cvc5_settles(LOGIC) is None else "Z3 and cvc5"
    assert f"200 reachable states satisfy them\nsettled by {solvers}\n" in out


def test_a_second_solver_is_asked_of_what_z3_has_settled(written: Path) -> None:
    """It reads a script of each obligation; what it does not settle is not met."""
    _, lowered = bind(load_model("core"), settings(load_model("core"), []))
    found, asked = certificate.read_certificate(written), list[str]()

    def unsure(script: str, seconds: float | None) -> bool:
        asked.append(script)
        return len(asked) > 1

    assert certificate.verify(found, lowered, other=unsure) == ["initial states: not by the second solver"]
    assert all(z3_settles(script, None) for script in asked)
    # what is said with no conjunct is a constant of SMT-LIB, not an `and` of nothing
    assert not any(re.search(r"(?<!\()\b(and|or)\b", script) for script in asked)


def test_a_second_solver_notices_what_z3_settles_wrongly(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault: Z3 finds a model for nothing."""
    monkeypatch.setattr(verification, "satisfiable", lambda *_, **__: False)
    _, lowered = bind(load_model("core"), settings(load_model("core"), []))
    found = certificate.read_certificate(written)
    found.lemmas = found.lemmas[:1]
    assert certificate.verify(found, lowered) == []
    wrong = certificate.verify(found, lowered, other=cvc5_settles(LOGIC) or z3_settles)
    assert "properties: not by the second solver" in wrong


def changed(path: Path, folder: Path, **fields: Any) -> str:
    data = json.loads(path.read_text())
    data.update(fields)
    other = folder / "changed.json"
    other.write_text(json.dumps(data))
    return str(other)


def test_a_certificate_that_proves_nothing(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lemmas left out, false ones, and claims that do not follow are found by the three questions. SECURITY.md, 6."""
    lemmas = json.loads(written.read_text())["lemmas"]
    code, out, _ = said(capsys, "verify", changed(written, tmp_path, lemmas=lemmas[:1]))
    assert code == 15
    assert "after alter: not isr_within_replicas" in out
    assert "properties: not " in out
    wrong = {
        "text": "unfenced is empty",
        "smt": "(declare-fun |unfenced@0| () (_ BitVec 3))(assert (= |unfenced@0| #b000))",
    }
    code, out, _ = said(capsys, "verify", changed(written, tmp_path, lemmas=[*lemmas, wrong]))
    assert code == 15
    assert "initial states: not unfenced is empty" in out
    assert "a reachable state violates the lemmas" in out
    code, out, _ = said(capsys, "verify", changed(written, tmp_path, properties=["no_such_thing"]))
    assert (code, "no_such_thing is not a property of the model" in out) == (15, True)


LATE = """
from dataclasses import dataclass
from typing import Annotated

from reassure import Model, Range, action, initial, invariant, replace, require


@dataclass(frozen=True)
class Config:
    pass


@dataclass(frozen=True)
class State:
    n: Annotated[int, Range(0, 3000)] = 0
    alarm: bool = False


@initial
def start() -> State:
    return State()


@action(who="client")
def tick(s: State) -> State:
    require(s.n < 3000)
    return replace(s, n=s.n + 1)


@action(who="client")
def ring(s: State) -> State:
    require(s.n == 2990)
    return replace(s, alarm=True)


@invariant
def no_alarm(s: State) -> bool:
    return not s.alarm


MODEL = Model.of(__name__, state=State, config=Config)
"""
QUIET = "(declare-fun |alarm@0| () Bool)(assert (not |alarm@0|))"


NAMES = [["not alarm"], ["quiet"], ["the type"], ["x (2)", "x", "x"], ["x", "x", "x (0)"], ["so"], [""]]


@pytest.mark.parametrize("names", NAMES)
def test_a_lemma_of_any_name_is_proved(names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first lemma is false in states that are reached late. No name hides it: what two lemmas are called, or what
    the checker itself calls something. The command refuses names that do not say it. SECURITY.md, 6."""
    path, model = tmp_path / "c.json", tmp_path / "late.py"
    model.write_text(LATE)
    honest = names == ["not alarm"]
    if honest:  # once: the model is the same
        assert said(capsys, "check", str(model), "--quiet")[0] == 12
    prepared = prepare(str(model), [])
    scripts = [QUIET, *["(assert true)"] * (len(names) - 1)]
    lemmas = [{"text": name, "smt": script} for name, script in zip(names, scripts, strict=True)]
    made = certificate.Certificate("late", prepared.sha256 or "", {}, ["no_alarm"], lemmas, str(model))
    made.write(path)
    assert any(f"after ring: not {names[0]}" in line for line in certificate.verify(made, prepared.lowered))
    code, out, _ = said(capsys, "verify", str(path), f"--model={model}")
    assert (code, "after ring: not not alarm" in out) == (15 if honest else 64, honest), out


OF_SPACER = "an invariant of Spacer for no_alarm"
TRUE_TEXTS = ["n <= 2990", "2 n <= 5980", "n + 3 [alarm] <= 2990", "n + [not alarm] <= 7"]


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> LoweredModel:
    model = tmp_path_factory.mktemp("late") / "late.py"
    model.write_text(LATE)
    return prepare(str(model), []).lowered


@pytest.mark.parametrize("text", [*TRUE_TEXTS, OF_SPACER])
def test_the_text_of_a_lemma_is_compared_with_its_script(text: str, late: LoweredModel) -> None:
    """An inequality has one meaning; Spacer's lemmas imply their property."""
    machine = Machine(late)
    meanings = {name: machine.terms(0)(node) for name in TRUE_TEXTS for node in inequalities_named(late, name)}
    meanings[OF_SPACER] = z3.And(meanings["n <= 2990"], machine.holds(late.state_formulas[0], 0))
    for other, condition in meanings.items():
        made = certificate.Certificate.of(machine, "", {}, ["no_alarm"], [Invariant(text, condition)])
        if text == other or {text, other} == {"n <= 2990", "2 n <= 5980"}:
            certificate.refuse_false_texts(made, late)
        else:
            with pytest.raises(UsageFailure, match="says something else than its SMT-LIB"):
                certificate.refuse_false_texts(made, late)


@pytest.mark.parametrize(
    "text",
    [
        "n <= many",
        "n <= 1 + n",
        "0 n <= 1",
        "m <= 5",
        " <= 1",
        "",
        "no_alarms",
        "an invariant of Spacer for x",
        "n\n <= 1",
    ],
)
def test_the_text_of_no_lemma_is_refused(text: str, late: LoweredModel) -> None:
    machine = Machine(late)
    made = certificate.Certificate.of(machine, "", {}, ["no_alarm"], [Invariant(text, z3.BoolVal(True))])
    with pytest.raises(UsageFailure, match="is the text of no lemma of this model"):
        certificate.refuse_false_texts(made, late)


def test_every_lemma_that_another_text_is_given_to_is_refused(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lemmas = json.loads(written.read_text())["lemmas"]
    for place, lemma in enumerate(lemmas):
        other = lemmas[(place + 1) % len(lemmas)]["text"]
        forged = [*lemmas[:place], lemma | {"text": other}, *lemmas[place + 1 :]]
        code, out, err = said(capsys, "verify", changed(written, tmp_path, lemmas=forged))
        assert (code, out) == (64, "")
        assert err == f"reassure: lemma {other!r} says something else than its SMT-LIB\n"


def test_a_certificate_of_no_property_is_no_pass(
    written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SECURITY.md, 8."""
    code, _, err = said(capsys, "verify", changed(written, tmp_path, properties=[], lemmas=[]))
    assert (code, "is of no property: it proves nothing" in err) == (6, True)


def test_a_property_about_whole_runs_is_in_no_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SECURITY.md, 8."""
    path = tmp_path / "c.json"
    assert said(capsys, "prove", "core_liveness", f"--certificate={path}", "--quiet")[0] in (0, 5)
    data = json.loads(path.read_text())
    assert said(capsys, "verify", str(path))[0] in (0, 5) and "a_leader_comes_back" not in data["properties"]
    for properties in (["a_leader_comes_back"], [*data["properties"], "a_leader_comes_back"]):
        code, _, err = said(capsys, "verify", changed(path, tmp_path, properties=properties))
        assert (code, "a_leader_comes_back: a property about whole runs follows from no" in err) == (64, True)


def test_a_lemma_instructs_no_solver(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Z3's parser would carry out what else is in a script: write a file, for one. SECURITY.md, 7."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for script in (
        f'(set-option :regular-output-channel "{victim}")(echo "gone")(assert true)',
        f'(assert true)(set-option :diagnostic-output-channel "{victim}")',
        f'(assert (= "a;)" "a;)"))(set-option :regular-output-channel "{victim}")(echo "gone")',
        f'; (assert true)\n(set-option :regular-output-channel "{victim}")(echo "gone")',
        # Z3 reads on behind an escaped bar, and a comment up to another one: a reader that does not misses commands.
        f'(declare-const |\\| "| Bool)(set-option :regular-output-channel "{victim}")(echo "x")(assert |z\\| "| Bool)',
        f"(assert #|x|y|# true)(set-option :regular-output-channel |{victim}|)(echo |x|)(assert |#| true)",
    ):
        code, _, err = said(capsys, "verify", changed(written, tmp_path, lemmas=[{"text": "x", "smt": script}]))
        assert (code, "cannot be read" in err, victim.read_text()) == (64, True, "precious"), err


def test_a_lemma_with_quoted_names_is_read() -> None:
    script = "; a comment (\n(declare-fun |a (b@0| () Bool)\n(set-info :status unknown)(assert (or |a (b@0| (= x#1 0)))"
    assert formulas_of(script) == ("( declare-fun |a (b@0| ( ) Bool )\n( assert ( or |a (b@0| ( = x#1 0 ) ) )")


def test_options_of_verify(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A limit that a certificate has no use for is refused; without time there is no answer."""
    for option in ("--memory=1M", "--smt2=goals.smt2"):
        code, _, err = said(capsys, "verify", str(written), option)
        assert (code, "are for certificates of proofs for any number" in err) == (64, True)
    code, _, err = said(capsys, "verify", str(written), "--budget=0.001s")
    assert (code, err) == (5, "reassure: the budget of 0.001 s ended\n")


def test_a_certificate_that_nests_too_deeply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.json"
    path.write_text("[" * 100_000)
    code, _, err = said(capsys, "verify", str(path))
    assert (code, "it nests too deeply" in err) == (64, True)


def test_a_key_that_is_listed_twice(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reader would see one of the two, and the program the other."""
    path = tmp_path / "c.json"
    path.write_text(written.read_text().replace('"properties": [', '"properties": ["all_is_well"], "properties": [', 1))
    code, _, err = said(capsys, "verify", str(path))
    assert (code, "is not a certificate: it is not JSON: 'properties' is listed twice" in err) == (64, True)


def test_the_model_is_named_as_it_is(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Who reads the file alone must not see another name, or another file's."""
    code, _, err = said(capsys, "verify", changed(written, tmp_path, model="kraft"), "--model=core")
    assert (code, err.endswith("is of kraft, and this model is core\n")) == (64, True)
    code, _, err = said(capsys, "verify", changed(written, tmp_path, model_file="kraft.py"), "--model=core")
    assert (code, "is of a model in kraft.py, and this one is in core: `reassure prove` writes it anew\n" in err) == (
        64,
        True,
    )
    assert said(capsys, "verify", str(written), "--model=core")[0] == 0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_sha256": "0" * 64}, "is of another text of core"),
        ({"kind": "shopping list"}, "is not a certificate"),
        ({"properties": {"isr_never_empty": True}}, "lacks something that a certificate has"),
        ({"properties": "isr_never_empty"}, "lacks something that a certificate has"),
        ({"properties": ["isr_never_empty", "isr_never_empty"]}, "names a property twice"),
        ({"lemmas": {}}, "lacks something that a certificate has"),
        ({"lemmas": [{"text": "x", "smt": "(set-option :seed 3)(assert true)"}]}, "':' is in no lemma"),
        ({"lemmas": [{"text": "x", "smt": "(assert true)(exit)"}]}, "exit: a lemma has only"),
        ({"lemmas": [{"text": "x", "smt": "(assert true))"}]}, ") stands outside of a command"),
        ({"lemmas": [{"text": "x", "smt": "true"}]}, "true stands outside of a command"),
        ({"schema": 99}, "is of schema 99; this version reads 1"),
        ({"engine_version": "0.0.9"}, "is of version 0.0.9; this one is 0.1.0: prove it again"),
        ({"engine_version": None}, "lacks something that a certificate has"),
        ({"proved_by": "an expert"}, "has 'proved_by', which no certificate has"),
        ({"cores": []}, "has 'cores', which no certificate has"),
        ({"lemmas": [{"text": "x", "smt": "(assert true)", "node": []}]}, "has 'node', which no certificate has"),
        ({"lemmas": [{"text": "x", "smt": "(assert true)"}] * 2}, "names a lemma twice"),
        (
            {"config": {"brokers": "3", "min_isr": 2}},
            "does not tell its configuration as it is: {'brokers': 3",
        ),
        ({"config": {"brokers": 3}}, "does not tell its configuration as it is: {'brokers': 3"),
        ({"config": []}, "lacks something that a certificate has"),
        ({"model": 3}, "lacks something that a certificate has"),
        ({"model_file": 3}, "lacks something that a certificate has"),
        ({"lemmas": [{"text": "x"}]}, "lacks something that a certificate has"),
        ({"lemmas": [{"text": "x", "smt": "(assert"}]}, "lemma 'x' cannot be read"),
        (
            {"lemmas": [{"text": "x", "smt": "(declare-fun y () Bool)(assert y)"}]},
            "lemma 'x' speaks of y, which is not a field of the state",
        ),
    ],
)
def test_what_is_no_certificate(
    fields: JsonObject, message: str, written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "verify", changed(written, tmp_path, **fields))
    assert (code, out, len(err.splitlines())) == (64, "", 1)
    assert message in err


def test_another_configuration(written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lemmas of three brokers are not lemmas of four."""
    config = {**json.loads(written.read_text())["config"], "brokers": 4}
    code, _, err = said(capsys, "verify", changed(written, tmp_path, config=config))
    assert code == 64
    assert "which is not a field of the state" in err


def test_lemmas_are_true_of_every_reachable_state(written: Path) -> None:
    model = load_model("core")
    _, lowered = bind(model, settings(model, []))
    found = certificate.read_certificate(written)
    assert certificate.verify(found, lowered) == []


def test_command_line(proof: Proof, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert proof.code == 0
    assert "core (brokers=3, min_isr=2) by proof, method auto" in proof.out
    data = json.loads(proof.record.read_text())
    assert (data["engine"], data["verdict"], data["bounds_open"]) == ("prove:auto", "pass", [])
    assert len(data["lemmas"]) == len(json.loads(proof.certificate.read_text())["lemmas"]) > 3
    assert {p["name"]: p["status"] for p in data["properties"]} == dict.fromkeys(
        ("isr_within_replicas", "isr_never_empty", "leader_in_isr"), "proved"
    )
    code, _, err = said(capsys, "prove", "core", "--method=magic")
    assert (code, "invalid choice: 'magic'" in err) == (64, True)
    code, _, err = said(capsys, "verify", str(tmp_path / "nothing.json"))
    assert (code, "there is no such file" in err) == (64, True)
