"""What a gate writes for others: JUnit, SARIF, GitHub's commands and summary, a page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.stop import BY_USER
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.command import reported, said
from tests.helpers.lease_model import LEASE

MODEL = '''
from reassure import cover, invariant
from reassure.models.examples import die_hard
from reassure.models.examples.die_hard import Jugs


@invariant
def never_full(s: Jugs) -> bool:
    """A <full> jug is heavy."""
    return s.big < 5


@cover
def both_empty(s: Jugs) -> bool:
    return s.big == 0 and s.small == 0


MODEL = die_hard.MODEL.adding(never_full, both_empty)
'''
GATE = """
[[check]]
model = "models/jugs.py"
name = "two: jugs, 100%"
engine = "reference"
expect = "pass"
violated = ["goal_not_reached"]
pin = { distinct = 16, generated = 98 }

[[check]]
model = "die_hard"
engine = "reference"
expect = "safety-violation"

[[check]]
model = "die_hard"
name = "beyond"
set = { goal = 9 }
expect = "pass"
"""
STORY = "jugs: never_full is violated after 1 step"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose gate has run once, with every report."""
    from reassure.checkers.cli.main import main

    root = tmp_path_factory.mktemp("repository")
    (root / ".git").mkdir()
    (root / "ci" / "models").mkdir(parents=True)
    (root / "ci" / "models" / "jugs.py").write_text(MODEL)
    (root / "ci" / "gate.toml").write_text(GATE)
    patch = pytest.MonkeyPatch()
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        patch.delenv(name, raising=False)
    words = ["gate", str(root / "ci" / "gate.toml"), "-j", "1", f"--trace-dir={root / 'traces'}"]
    code = main([*words, *(f"--{kind}={root / kind}" for kind in ("junit", "sarif", "html"))])
    patch.undo()
    assert code == 151
    return root


def suites(root: Path) -> dict[str | None, ElementTree.Element]:
    return {s.get("name"): s for s in ElementTree.fromstring((root / "junit").read_text())}


def test_junit_has_a_case_for_each_property(written: Path) -> None:
    jugs = suites(written)["two: jugs, 100%"]
    results = {c.get("name"): [r.tag for r in c] for c in jugs.iter("testcase")}
    assert results == {
        "verdict": ["failure"],
        "goal_not_reached": [],
        "never_full": ["failure"],
        "no deadlock": [],
        "both_empty": [],
        "pin distinct": [],
        "pin generated": ["failure"],
    }
    numbers = {name: jugs.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert numbers == {"tests": "7", "failures": "3", "errors": "0", "skipped": "0"}
    case = next(c for c in jugs.iter("testcase") if c.get("name") == "never_full")
    assert (case.get("classname"), case[0].get("type")) == ("gate.two: jugs, 100%", "expectation-mismatch")
    assert case[0].get("message") == "violated: never_full after 1 step"
    trace = written / "traces" / "jugs--never_full.itf.json"
    assert STORY in str(case[0].text) and f"trace: {trace}" in str(case[0].text) and trace.is_file()
    assert "again: reassure check " in str(case[0].text)


def test_what_a_run_left_open_has_not_passed(tmp_path: Path) -> None:
    """Also where that is what the check expects."""
    from reassure.checkers.cli.main import main

    check = '[[check]]\nmodel = "two_phase_commit"\nengine = "reference"\nbudget = 0.001\nexpect = "inconclusive"\n'
    (tmp_path / "gate.toml").write_text(check)
    assert main(["gate", str(tmp_path / "gate.toml"), "-j1", f"--junit={tmp_path / 'junit'}"]) == 0
    (suite,) = ElementTree.fromstring((tmp_path / "junit").read_text())
    open_ones = {c.get("name"): [r.get("message") for r in c] for c in suite.iter("testcase")}
    assert open_ones == {
        "verdict": [],
        "consistent": ["unknown"],
        "no deadlock": ["unknown"],
        "everybody_commits": ["not reached so far"],
        "everybody_aborts": ["not reached so far"],
    }
    assert (suite.get("tests"), suite.get("skipped")) == ("5", "4")


def test_a_property_named_like_a_pin_has_its_own_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`depth` is a pin, too."""
    text = LEASE.replace("def some_are_left", "def depth").replace("s.given <= 2", "s.given < 2")
    (tmp_path / "lease.py").write_text(text)
    gate, report = tmp_path / "gate.toml", tmp_path / "r.xml"
    gate.write_text('[[check]]\nmodel = "lease.py"\nexpect = "pass"\npin = { depth = 4 }\n')
    assert said(capsys, "gate", str(gate), "-j1", f"--junit={report}")[0] == 15
    cases = {case.get("name"): len(case) for case in ElementTree.parse(report).iter("testcase")}
    assert cases["depth"] == 1, cases


def test_what_an_earlier_gate_reported_is_not_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate = tmp_path / "gate.toml"
    gate.write_text('[[check]]\nmodel = "die_hard"\nexpect = "safety-violation"\n')
    reports = [f"--{kind}={tmp_path / kind}" for kind in ("junit", "sarif", "html")]
    assert said(capsys, "gate", str(gate), "-j1", *reports)[0] == 0
    gate.write_text("[[check]\n")
    assert said(capsys, "gate", str(gate), "-j1", *reports)[0] == 64
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gate.toml", "junit"]
    assert 'errors="1"' in (tmp_path / "junit").read_text()


def test_junit_tells_what_was_run(written: Path) -> None:
    facts = {p.get("name"): p.get("value") for p in suites(written)["die_hard"].iter("property")}
    assert {k: facts[k] for k in ("kind", "expect", "verdict", "complete", "distinct", "generated", "command")} == {
        "kind": "check",
        "expect": "safety-violation",
        "verdict": "safety-violation",
        "complete": "true",
        "distinct": "16",
        "generated": "97",
        "command": "reassure check die_hard --engine=reference",
    }
    whole = ElementTree.fromstring((written / "junit").read_text())
    assert {k: whole.get(k) for k in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "gate.toml",
        "tests": "11",
        "failures": "3",
        "errors": "1",
        "skipped": "0",
    }
    beyond = suites(written)["beyond"]
    assert [(r.tag, r.get("type")) for c in beyond.iter("testcase") for r in c] == [("error", "config-error")]


def must_be_sarif(log: JsonObject) -> None:
    """What SARIF 2.1.0 requires of the objects that are used here, and the words that it allows."""
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    for run in log["runs"]:
        driver = run["tool"]["driver"]
        assert isinstance(driver["name"], str)
        assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
        assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        for invocation in run["invocations"]:
            assert isinstance(invocation["executionSuccessful"], bool)
        for result in run["results"]:
            assert result["message"]["text"]
            assert result["level"] in ("none", "note", "warning", "error")
            assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
            assert all(isinstance(v, str) for v in result["partialFingerprints"].values())
            places = list(result["locations"])
            for flow in result.get("codeFlows", []):
                assert flow["threadFlows"]
                for thread in flow["threadFlows"]:
                    assert thread["locations"]
                    places += [step["location"] for step in thread["locations"]]
            for place in places:
                physical = place["physicalLocation"]
                assert physical["region"]["startLine"] >= 1
                uri = physical["artifactLocation"]["uri"]
                assert not uri.startswith(("/", "file:")) and " " not in uri and ".." not in uri


def test_sarif(written: Path) -> None:
    log = json.loads((written / "sarif").read_text())
    must_be_sarif(log)
    (run,) = log["runs"]
    assert run["invocations"] == [
        {"executionSuccessful": False, "exitCode": 151, "exitCodeDescription": "config-error"}
    ]
    results = [
        (r["ruleId"].rpartition("/")[2], r["level"], r["locations"][0]["physicalLocation"]) for r in run["results"]
    ]

    def at(uri: str, line: int) -> JsonObject:
        return {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}, "region": {"startLine": line}}

    assert results == [
        ("expectation-mismatch", "error", at("ci/gate.toml", 2)),
        ("never_full", "error", at("ci/models/jugs.py", 7)),
        ("generated", "error", at("ci/gate.toml", 2)),
        ("config-error", "error", at("ci/gate.toml", 15)),
    ]
    flow = run["results"][1]["codeFlows"][0]
    assert flow["message"]["text"].startswith(STORY)
    steps = [
        (s["executionOrder"], s["location"]["message"]["text"]) for t in flow["threadFlows"] for s in t["locations"]
    ]
    assert steps == [(0, "empty()"), (1, "fill_big(); big: 0 -> 5")]


def test_the_same_problem_is_the_same_alert(written: Path) -> None:
    """Whatever its counts and its line."""
    from reassure.checkers.cli.main import main

    path = written / "ci" / "other.toml"
    path.write_text("# moved down\n" + GATE.replace("generated = 98", "generated = 99"))
    main(["gate", str(path), "-j", "1", f"--sarif={written / 'again'}"])

    def prints(name: str) -> list[str]:
        return [
            r["partialFingerprints"]["reassure/v1"]
            for r in json.loads((written / name).read_text())["runs"][0]["results"]
        ]

    assert prints("again") == prints("sarif")
    assert len(set(prints("sarif"))) == 4


def test_a_gate_that_is_met_is_an_empty_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "g.toml"
    path.write_text('[[check]]\nmodel = "die_hard"\nengine = "reference"\nexpect = "safety-violation"\n')
    assert said(capsys, "gate", str(path), f"--sarif={tmp_path / 's'}")[0] == 0
    log = json.loads((tmp_path / "s").read_text())
    must_be_sarif(log)
    assert log["runs"][0]["results"] == []
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is True


def test_github(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    _, out, _ = said(capsys, "gate", str(written / "ci" / "gate.toml"), "-j", "1", "--only", "two*")
    told = [line.partition("%0A")[0] for line in out.splitlines() if line.startswith("::")]
    assert told == [
        "::error file=ci/gate.toml,line=2,title=two%3A jugs%2C 100%25::expected pass, got safety-violation",
        "::error file=ci/models/jugs.py,line=7,title=two%3A jugs%2C 100%25::violated: never_full after 1 step",
        "::error file=ci/gate.toml,line=2,title=two%3A jugs%2C 100%25::generated 97, pinned 98",
    ]
    text = summary.read_text()
    assert text.startswith("before\n## reassure gate\n\n1 check, 1 failed (exit code 15)\n")
    assert "| ❌ | two: jugs, 100% | safety-violation, 16 distinct, 97 generated | expected pass" in text
    assert STORY in text


def test_elsewhere_nothing_is_said_to_github(
    written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    _, out, _ = said(capsys, "gate", str(written / "ci" / "gate.toml"), "-j", "1", "--only", "two*")
    assert "::error" not in out


class _Page(HTMLParser):
    """Which elements a page has, that each is closed, and what it fetches."""

    VOID = ("meta", "wbr")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone(written: Path) -> None:
    text = (written / "html").read_text()
    page = _Page()
    page.feed(text)
    assert (page.open, page.links, page.seen.count("details")) == ([], [], 3)
    assert STORY in text
    assert "A &lt;full&gt; jug is heavy." in text and "<full>" not in text
    assert "<td>never_<wbr>full</td><td>invariant</td><td>violated</td><td>after 1 step</td>" in text


def test_what_was_not_run_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interrupt: the check that was ended, and those behind it."""
    from reassure.checkers.gate import run_check, run_gate

    by_user = Exit.INCONCLUSIVE, BY_USER
    monkeypatch.setattr(run_gate, "run_check", lambda check, *_: run_check.unanswered(check, *by_user))
    path, junit = tmp_path / "g.toml", tmp_path / "j.xml"
    path.write_text('[[check]]\nmodel = "core"\nexpect = "pass"\n\n[[check]]\nmodel = "kraft"\nexpect = "pass"\n')
    code, out, _ = reported(capsys, "gate", str(path), "-j", "1", f"--junit={junit}", f"--html={tmp_path / 'h'}")
    assert (code, out.splitlines()[-1]) == (5, "2 checks, 1 failed, 1 not run")
    cases = [(c.get("classname"), [r.get("message") for r in c]) for c in ElementTree.parse(junit).iter("testcase")]
    assert cases == [("g.core", ["interrupted"]), ("g.kraft", ["not run"])]
    assert '<details class="none"><summary>kraft</summary></details>' in (tmp_path / "h").read_text()
