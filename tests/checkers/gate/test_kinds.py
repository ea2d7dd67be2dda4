"""Commands as kinds of check: run as on the command line, judged by their records."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reassure.checkers.console.commands import command, subcommands
from reassure.checkers.console.overview import COMMANDS
from reassure.checkers.gate.gate_file import read_gate_file
from reassure.checkers.gate.judge import judge_record
from reassure.checkers.gate.kinds import KINDS, SCHEMAS, kind_of, options
from tests.helpers.command import said
from tests.helpers.counter_model import COUNTER

MODEL = COUNTER.replace("return s.n == 3", "return s.n == 2")
GATE = """
[[check]]
kind = "prove"
model = "mine.py"
property = ["small", "one"]
expect = "pass"

[[check]]
kind = "simulate"
model = "mine.py"
walks = 20
seed = 7
expect = "safety-violation"
violated = { tiny = 3 }

[[check]]
kind = "guards"
model = "mine.py"
property = ["small"]
expect = "pass"
pin = { load_bearing = 1, not_needed = 1 }

[[check]]
kind = "stuck"
model = "mine.py"
expect = "inconclusive"
pin = { distinct = 3 }

[[check]]
kind = "fairness"
model = "mine.py"
expect = "pass"
pin = { needed = 1, not_needed = 0 }

[[check]]
kind = "replay"
trace = "traces"
expect = "pass"

[[check]]
kind = "plan"
cluster = "cluster.json"
current = "now.json"
proposed = "then.json"
expect = "pass"
pin = { partitions = 1, replicas_copied = 1 }

[[check]]
kind = "verify"
certificate = "proof.json"
model = "mine.py"
expect = "pass"

[[check]]
kind = "find"
model = "mine.py"
expression = "s.n == 2"
expect = "pass"
pin = { depth = 3 }

[[check]]
kind = "sweep"
model = "mine.py"
set = { most = "1,2" }
expect = "safety-violation"
violated = { tiny = 3, gets_there = 2, deadlock = 2 }
engine = "reference"
pin = { configurations = 2, excluded = 0 }

[[check]]
kind = "diff"
model = "mine.py"
variant = "./mine.py"
expect = "pass"

[[check]]
kind = "mutants"
model = "mine.py"
max = 2
property = ["small"]
expect = "expectation-mismatch"
pin = { mutants = 2, killed = 1 }

[[check]]
kind = "validate"
model = "mine.py"
log = "log.jsonl"
hidden = "up"
expect = "pass"
"""
NAMES = [
    "prove mine.py",
    "simulate mine.py",
    "guards mine.py",
    "stuck mine.py",
    "fairness mine.py",
    "replay traces",
    "plan cluster.json now.json then.json",
    "verify proof.json",
    "find mine.py s.n == 2",
    "sweep mine.py most=1,2",
    "diff mine.py ./mine.py",
    "mutants mine.py",
    "validate mine.py log.jsonl",
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, and what the kinds read."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "mine.py").write_text(MODEL)
    (folder / "gate.toml").write_text(GATE)
    (folder / "cluster.json").write_text('{"brokers": [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]}')
    (folder / "log.jsonl").write_text('{"state": {"n": 0}}\n{"state": {"n": 2}}\n')
    for name, replicas in (("now", [1, 2, 3]), ("then", [2, 3, 4])):
        partition = {"topic": "t", "partition": 0, "replicas": replicas}
        (folder / f"{name}.json").write_text(json.dumps({"version": 1, "partitions": [partition]}))
    return folder


@pytest.fixture(scope="module")
def made(project: Path, request: pytest.FixtureRequest) -> Path:
    """The project, with a trace and a certificate of its model."""
    from reassure.checkers.cli.main import main

    model = str(project / "mine.py")
    main(["check", model, "--engine=reference", "--witness", "--quiet", f"--trace-dir={project / 'traces'}"])
    main(["prove", model, "--property=small", "--quiet", f"--certificate={project / 'proof.json'}"])
    return project


def test_every_kind(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = made / "report.xml"
    code, out, err = said(capsys, "gate", str(made / "gate.toml"), "-j", "1", f"--junit={report}")
    told = {line[5:].split(":")[0]: line[:4] for line in out.splitlines() if line[:4] in ("ok  ", "FAIL")}
    assert told == dict.fromkeys(NAMES, "ok  "), out + err
    assert code == 0
    suites = {s.get("name"): s for s in ElementTree.fromstring(report.read_text())}
    assert [c.get("name") for c in suites["guards mine.py"].iter("testcase")] == [
        "verdict",
        "pin load_bearing",
        "pin not_needed",
    ]


@pytest.mark.parametrize(
    ("number", "old", "new", "code", "says"),
    [
        (0, 'property = ["small", "one"]', "", 12, "violated: tiny after 2 steps"),
        (1, "tiny = 3", "small = 3", 15, "not violated: small"),
        (2, "not_needed = 1", "not_needed = 2", 17, "not_needed 1, pinned 2"),
        (3, 'expect = "inconclusive"', 'expect = "pass"', 5, "expected pass, got inconclusive"),
        (4, 'expect = "pass"', 'expect = "liveness-violation"', 15, "expected liveness-violation, got pass"),
        (4, "needed = 1", "needed = 2", 17, "needed 1, pinned 2"),
        (9, "tiny = 3", "tiny = 2", 17, "tiny: violated after 2 steps (3 states), pinned 2 states"),
        (9, "tiny = 3", "small = 3", 15, "not violated: small"),
        (6, "replicas_copied = 1", "replicas_copied = 2", 17, "replicas_copied 1, pinned 2"),
    ],
)
def test_a_kind_that_is_not_as_expected(
    number: int, old: str, new: str, code: int, says: str, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = "[[check]]" + GATE.split("[[check]]")[number + 1]
    assert old in entry
    path = made / "wrong.toml"
    path.write_text(entry.replace(old, new, 1))
    got, out, err = said(capsys, "gate", str(path), "-j", "1")
    assert says in out, out + err
    assert got == (15 if code == 12 else code)
    again = f"again: reassure {NAMES[number].split()[0]} "
    assert again in out


def test_a_sweep_of_one_configuration(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its answer is that of the sweep, and is told once."""
    path = made / "one.toml"
    path.write_text('[[check]]\nkind = "sweep"\nmodel = "mine.py"\nexpect = "pass"\n')
    code, out, _ = said(capsys, "gate", str(path), "-j", "1")
    assert (code, out.count("expected pass, got safety-violation")) == (15, 1)


ANALYSES = {
    "guards": 'property = ["small"]',
    "fairness": "",
    "find": 'expression = "s.n == 2"',
    "diff": 'variant = "./faster.py"',
    "sweep": 'set = { most = "1,2" }',
}
"""Kinds that write traces, each with what it is asked."""


@pytest.mark.parametrize("kind", ANALYSES)
@pytest.mark.parametrize("kept", [True, False])
def test_a_failed_check_names_traces_that_stay(
    kind: str, kept: bool, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The files are in the folder that was given; without one none is named, neither printed nor in the record."""
    (made / "faster.py").write_text(MODEL.replace("s.n + 1", "s.n + 2"))
    path = made / f"{kind}.toml"
    path.write_text(f'[[check]]\nkind = "{kind}"\nmodel = "mine.py"\nexpect = "usage"\n{ANALYSES[kind]}\n')
    words = [f"--trace-dir={tmp_path / 'kept'}"] if kept else []
    record = tmp_path / "record.json"
    code, out, err = said(capsys, "gate", str(path), "-j", "1", f"--json={record}", *words)
    assert code == 15, out + err
    files = {str(file) for file in tmp_path.glob("kept/*.itf.json")}
    assert bool(files) == kept
    assert {line.split("trace: ")[1] for line in out.splitlines() if "trace: " in line} == files
    assert set(re.findall(r'"([^"]*\.itf\.json)"', record.read_text())) == files


def test_a_trace_that_is_not_accepted(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of a folder is enough, and it is named."""
    folder = made / "some"
    folder.mkdir()
    for path in (made / "traces").glob("*.itf.json"):
        (folder / path.name).write_text(path.read_text())
    broken = json.loads((folder / "mine--tiny.itf.json").read_text())
    broken["states"] = broken["states"][::2]
    (folder / "mine--tiny.itf.json").write_text(json.dumps(broken))
    path = made / "replay.toml"
    path.write_text('[[check]]\nkind = "replay"\ntrace = "some"\nmodel = "mine.py"\nexpect = "pass"\n')
    code, out, _ = said(capsys, "gate", str(path), "-j", "1")
    assert (code, "2 traces, 1 failed" in out, "| FAIL  mine--tiny.itf.json: " in out) == (18, True, True), out
    path.write_text('[[check]]\nkind = "replay"\ntrace = "nothing-here"\nexpect = "pass"\n')
    (made / "nothing-here").mkdir()
    assert said(capsys, "gate", str(path), "-j", "1")[0] == 6


def test_a_certificate_of_another_text(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (made / "other.py").write_text(MODEL.replace("s.n == 2)", "s.n >= 2)"))
    path = made / "verify.toml"
    path.write_text('[[check]]\nkind = "verify"\ncertificate = "proof.json"\nmodel = "other.py"\nexpect = "pass"\n')
    code, out, _ = said(capsys, "gate", str(path), "-j", "1")
    assert (code, "is of another text of mine" in out) == (64, True), out


@pytest.mark.parametrize(
    ("asked", "code", "told"),
    [
        ('set = { most = 2 }\nproperty = ["small"]', 0, ""),
        ("set = { most = 3 }", 15, "the certificate is of most=2, not 3"),
        ('property = ["small", "absent"]', 15, "the certificate does not prove absent"),
        ('pin = { properties = "e3b0c44298fc" }', 17, "no property is reported, pinned e3b0c44298fc"),
    ],
)
def test_a_certificate_of_something_else(
    asked: str, code: int, told: str, made: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another file in its place, of a smaller configuration or of fewer properties, is a proof too."""
    path = made / "verify.toml"
    check = '[[check]]\nkind = "verify"\ncertificate = "proof.json"\nmodel = "mine.py"\nexpect = "pass"\n'
    path.write_text(f"{check}{asked}\n")
    found, out, _ = said(capsys, "gate", str(path), "-j", "1")
    assert (found, told in out) == (code, True), out


def test_the_command_of_each_kind(made: Path) -> None:
    (made / "kafka.toml").write_text(
        '[[check]]\nkind = "kafka conform"\nmodel = "kraft_kafka"\nset = { unclean = "off", shutdowns = 0 }\n'
        'release = ["4.1.0", "4.2.0"]\nkept = true\nexpect = "pass"\n'
    )
    (kafka,) = read_gate_file(made / "kafka.toml").checks
    assert kafka.repro() == (
        "reassure kafka conform kraft_kafka --set=unclean=off --set=shutdowns=0 --release=4.1.0 --release=4.2.0 --kept"
    )
    conformance = {"releases": [{"actions": {"a": {"kinds": 5, "agree": 4}, "b": {"kinds": 2, "agree": 2}}}]}
    assert kind_of("kafka conform").figures(conformance) == {"kinds": 7, "agree": 6}
    model = made / "mine.py"
    assert [c.repro() for c in read_gate_file(made / "gate.toml").checks][:3] == [
        f"reassure prove {model} --property=small --property=one",
        f"reassure simulate {model} --property=tiny --walks=20 --seed=7".replace(" --property=tiny", ""),
        f"reassure guards {model} --property=small",
    ]


def test_every_kind_has_the_options_of_its_command() -> None:
    assert {kind: next(iter(options(kind))) for kind in KINDS} == {
        "check": "model", "prove": "model", "verify": "certificate", "simulate": "model", "guards": "model",
        "stuck": "model", "fairness": "model", "replay": "trace", "plan": "cluster", "kafka conform": "model",
        "kafka diff": "base", "find": "model", "mutants": "model", "validate": "model", "sweep": "model",
        "diff": "model", "claims": "claim",
    }  # fmt: skip
    for kind in KINDS:
        typed = [o for o in options(kind).values() if not o.choices and not o.switch]
        assert {o.type for o in typed} <= set(SCHEMAS), "a type of option without a schema"
        assert not {"json", "trace_dir", "workers", "quiet", "help"} & set(options(kind)), kind


def test_a_command_that_offers_a_kind_is_one() -> None:
    offered = {name for name in COMMANDS if hasattr(command(name), "KIND")}
    offered |= {f"{name} {word}" for name in COMMANDS for word, below in subcommands(name).items() if below.kind}
    assert offered == set(KINDS)
    assert all(kind.partition(" ")[2] in subcommands(kind.split()[0]) for kind in KINDS if " " in kind)


def test_an_expected_violation_hides_nothing_that_is_undecided(made: Path) -> None:
    """A property, a cover or a bound without an answer is not a green check, whatever else is violated."""
    (check,) = read_gate_file(_gate(made, 'model = "mine.py"\nexpect = "safety-violation"')).checks
    record = {
        "verdict": "safety-violation",
        "exit_code": 12,
        "complete": False,
        "stop_reason": "depth",
        "stopped_because": "depth 3 was reached",
        "stats": {"undeclared": 2},
        "not_applicable": [],
        "properties": [
            {"name": "tiny", "kind": "invariant", "status": "violated", "depth": 3, "trace": None},
            {"name": "gets_there", "kind": "leads_to", "status": "unknown", "depth": None, "trace": None},
        ],
        "covers": [{"name": "one", "reached": False, "depth": None}],
    }
    assert [(p.code.value, p.text) for p in judge_record(check, record)] == [
        (5, "cover one is not decided: it is not reached so far"),
        (5, "gets_there is not decided"),
        (5, "bounds that the model does not declare are left by 2 steps"),
    ]


def test_an_analysis_that_ended_early_is_judged_by_its_reason(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (check,) = read_gate_file(
        _gate(made, 'kind = "guards"\nmodel = "mine.py"\nexpect = "pass"\npin = { load_bearing = 1 }')
    ).checks
    text = "the budget of 1e-06 s ended"
    for words, stop, problems in (
        (["--budget=0.000001s"], (False, "budget", text), [(5, f"expected pass, got inconclusive: {text}")]),
        ([], (True, "complete", "every guard was left out"), []),
        (["--set=most=9"], (False, "not_started"), [(151,)]),
    ):
        said(capsys, "guards", str(made / "mine.py"), *words, f"--json={made / 'record.json'}")
        record = json.loads((made / "record.json").read_text())
        assert (record["complete"], record["stop_reason"], record["stopped_because"])[: len(stop)] == stop
        judged = [(p.code.value, p.text) for p in judge_record(check, record)]
        assert [judged[n][: len(p)] for n, p in enumerate(problems)] == problems


def _gate(folder: Path, text: str) -> Path:
    path = folder / "g.toml"
    path.write_text(f"[[check]]\n{text}\n")
    return path


@pytest.mark.parametrize(
    ("check", "run", "again"),
    [
        ('kind = "fairness"\nmodel = "core_liveness"', "> fence(broker=", "fairness core_liveness"),
        (
            'kind = "diff"\nmodel = "throttle"\nvariant = "throttle_listed"\nset = {changes = 0}',
            "  0. ",
            "diff throttle throttle_listed --set=changes=0",
        ),
    ],
    ids=["fairness", "diff"],
)
def test_a_failed_check_prints_the_report_without_its_runs(
    check: str, run: str, again: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that it names prints them."""
    path = tmp_path / "g.toml"
    path.write_text(f'[[check]]\n{check}\nexpect = "vacuous"\n')
    out = said(capsys, "gate", str(path))[1]
    assert (run in out, f"     again: reassure {again}\n" in out) == (False, True), out
    assert run in said(capsys, *again.split())[1]
