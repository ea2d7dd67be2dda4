"""Generated evidence is what the checks give now; every counterexample replays; no document names this machine."""

from __future__ import annotations

import ast
import base64
import functools
import hashlib
import json
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from reassure.checkers import publish as evidence
from reassure.checkers.cli.commands.replay import wheres_of
from reassure.checkers.cli.main import main
from reassure.checkers.console.overview import COMMANDS
from reassure.checkers.gate import gate_file
from reassure.checkers.gate.judge import judge_record
from reassure.checkers.ledger import ledger
from reassure.checkers.ledger.markdown import table
from reassure.checkers.ledger.trace_store import TraceStore
from reassure.checkers.machine.exit_codes import PASS_TO_DEPTH, VERDICTS, Exit, Failure
from reassure.checkers.publish import commands_page, sessions, trace_pictures
from reassure.checkers.publish.model_pages import GateRun, check_row, gate_runs, pages_of_claims, protocol_of
from reassure.checkers.request import prepare
from reassure.checkers.request.digest import digest
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.result import PropertyStatus
from reassure.checkers.traces.properties_here import of_each_configuration
from reassure.spec.language.vocabulary import TEMPORAL
from tests.helpers.claim_text import ledger_entries

ROOT = Path(__file__).parents[2]
PUBLISH = "run `python -m reassure.checkers.publish`"
TRACES = sorted((ROOT / "counterexamples").rglob("*.itf.json"))
MOST_FILES = 1_700
"""In git. This number may only become smaller: 1,700 are wanted, and 1,090 are Python."""
RUN = (
    "die_hard",
    "raft_membership",
    "core_liveness",
    "kraft",
    "kraft_kafka_maintained",
    "rolling_upgrade",
    "intermediate_inclusive",
    "reassignment_contexts",
    "batching_example",
    "throttle",
    "throttled_batch",
)
"""Models of which the first check of the gate is run here; some of every protocol. `./run.sh` runs all."""


@pytest.fixture(scope="module")
def ran() -> list[GateRun]:
    """The first check of each of these models."""
    return gate_runs(ROOT / "gate.toml", first_of=RUN)


def test_the_gate_is_met(ran: list[GateRun]) -> None:
    models = {check.model for check in gate_file.read_gate_file(ROOT / "gate.toml").checks if check.kind == "check"}
    assert {protocol_of(m) for m in models} == {protocol_of(r.result.model) for r in ran}
    for result in ran:
        assert judge_record(result.check, result.result.record({})) == [], result.check.name


def test_what_is_published_is_what_the_checks_give(ran: list[GateRun]) -> None:
    """Rows of the tables, and traces, of the checks that were run; every page of claims."""
    traces = evidence.traces_of_checks(ran).traces
    committed = TraceStore.read(evidence.COUNTEREXAMPLES).traces
    assert len(traces) > 20
    lengths: dict[tuple[str, str, str], int] = {}
    for key, trace in committed.items():
        about = (key.model, key.method, key.property)
        lengths[about] = min(len(trace["states"]), lengths.get(about, len(trace["states"])))
    assert [key for key, trace in traces.items() if committed.get(key, trace) != trace] == [], PUBLISH
    left_out = {key: trace for key, trace in traces.items() if key not in committed}
    assert 0 < len(left_out) < len(traces) / 2
    for key, trace in left_out.items():  # one that is as short stands for it
        assert lengths[key.model, key.method, key.property] <= len(trace["states"]), PUBLISH
    models = ROOT / "models"
    for result in ran:
        model = result.result.model
        text = (models / protocol_of(model) / f"{model}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {model}\n"), PUBLISH
        assert table((), [check_row(result)]).splitlines()[2] in text, PUBLISH
    made = pages_of_claims(ledger_entries(), models)
    assert len(made) == 6
    assert [str(p) for p in evidence.differing(made)] == [], PUBLISH


def test_the_commands_are_those_of_the_parser() -> None:
    pages = {name: (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") for name in commands_page.pages()}
    assert pages == commands_page.pages(), PUBLISH
    text = "".join(pages.values())
    assert sorted(re.findall(r"^## reassure ([a-z]+)$", text, re.MULTILINE)) == sorted(COMMANDS)
    assert "| `--depth N` | stop after N levels; initial states are level 1 (default: no limit) |" in text
    effects = re.findall(r"^\| `[^`]+` \| (.*) \|$", text, re.MULTILINE)
    assert len(effects) > 200
    assert [effect for effect in effects if len(effect) < 5 or effect.startswith(("default", "(default"))] == []


def test_every_trace_is_of_the_models_as_they_are(ran: list[GateRun]) -> None:
    """By the digest of the model's text in the ledger; the search of another model is run here."""
    digests = {key.split()[1]: record.sha256 for key, record in ledger.read_ledger().records.items()}
    digests |= {r.result.model: r.result.identity.model_sha256 for r in ran}
    for model in {json.loads(path.read_text())["#meta"]["model"] for path in TRACES}:
        assert digests[model] == digest(load_model(model)), model


@pytest.mark.slow
def test_nothing_that_is_generated_is_stale() -> None:
    """Every check of the gate, the sessions of the README, every page."""
    everything = gate_runs(ROOT / "gate.toml")
    for result in everything:
        assert judge_record(result.check, result.result.record({})) == [], result.check.name
    stale = [str(p.relative_to(ROOT)) for p in evidence.stale_files(evidence.generated_files(everything))]
    assert stale == [], PUBLISH


def test_the_ledger_says_what_the_gate_finds(ran: list[GateRun]) -> None:
    """Where a claim needs the same run: a verdict that changed without its record."""
    records = ledger.read_ledger().records
    compared = 0
    for result in ran:
        record = records.get(" ".join(["check", result.result.model, *sorted(result.request.set)]))
        if record is None:
            continue
        found = {p.name: (p.status, len(p.trace) if p.trace else None) for p in result.result.properties}
        found |= {c.name: ("reached", len(c.trace)) for c in result.result.covers if c.reached and c.trace}
        both = found.keys() & record.results.keys()  # a check of the gate may name some properties only
        assert both, result.check.name
        assert {n: found[n] for n in both} == {n: (record.results[n].status, record.results[n].states) for n in both}
        compared += 1
    assert compared >= 4


def test_there_are_counterexamples() -> None:
    assert len(TRACES) >= 10


@pytest.fixture(scope="module")
def loaded_once() -> Iterator[None]:
    """Traces of one model and configuration are replayed on the same one."""
    plain = prepare.prepare_plain
    kept = functools.cache(lambda model, pairs: plain(model, list(pairs)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "prepare_plain", lambda model, pairs: kept(model, tuple(pairs)))
        yield


@pytest.mark.parametrize("path", TRACES, ids=["/".join(p.parts[-2:]) for p in TRACES])
@pytest.mark.usefixtures("loaded_once")
def test_counterexample_replays(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(path)]) == 0
    out, err = capsys.readouterr()
    data = json.loads(path.read_text())
    meta = data["#meta"]
    violated = "is violated by this run" if "loop" in data else "is violated at its end"
    metas = of_each_configuration(meta)
    for about, where in zip(metas, wheres_of(each["config"] for each in metas), strict=True):
        head = f"{where}: " if where else ""
        for name in about["properties"]:
            assert f"{head}{'nothing is enabled at' if name == 'deadlock' else f'{name} {violated}'}" in out
    assert err == ""


def test_the_evidence_is_small() -> None:
    """A trace says once what a test needs of it: no story beside it, no second file of its run, a name to type."""
    files = [path for path in evidence.COUNTEREXAMPLES.rglob("*") if path.is_file()]
    assert len(files) <= 400 and sum(path.stat().st_size for path in files) <= 8_000_000
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split()
    assert len(names) <= MOST_FILES
    assert [name for name in names if len(Path(name).name) > 60] == []


def test_no_two_traces_are_of_one_run() -> None:
    """Under whichever configurations; and each file is as the program writes it."""
    runs = set()
    for path in TRACES:
        data = json.loads(path.read_text())
        meta = data["#meta"]
        rest = [data["states"], data.get("loop"), meta.get("closing"), meta.get("fairness")]
        run = json.dumps([meta["model"], rest], sort_keys=True)
        assert run not in runs, path
        runs.add(run)
    written = evidence.sealed_traces().files()
    assert [evidence.COUNTEREXAMPLES / file.name for file in written] == sorted(TRACES, key=str)
    assert [file.name for file in written if (evidence.COUNTEREXAMPLES / file.name).read_text() != file.text] == []


def test_the_exit_codes_are_all_there() -> None:
    rows = re.findall(r"^\| (\d+) \| `([a-z-]+)` \|", (ROOT / "docs/reference/exit-codes.md").read_text(), re.MULTILINE)
    assert [(int(code), verdict) for code, verdict in rows] == [
        *((code.value, VERDICTS[code]) for code in Exit),
        (0, PASS_TO_DEPTH),
    ]


def test_the_front_page_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    assert [line for line in prose.splitlines() if len(line) > 120] == []
    for named in ("./run.sh", "./test.sh", "Python 3.11+", "Java 17+", "JDK and Maven", "docs/images/hasty.svg"):
        assert named in text, named


def test_the_model_of_the_front_page_keeps_its_promise(capsys: pytest.CaptureFixture[str]) -> None:
    with sessions.page_folder((ROOT / "README.md").read_text(encoding="utf-8"), ROOT):
        assert main(["check", "failover.py"]) == 0
    assert "leader_has_what_is_committed  holds\n" in capsys.readouterr().out


def test_the_picture_of_the_front_page_is_of_its_model() -> None:
    for model, page in evidence.PICTURES.items():
        picture = trace_pictures.picture_on_page(ROOT / page, f"{model}.py", ROOT)
        assert (ROOT / "docs" / "images" / f"{model}.svg").read_text(encoding="utf-8") == picture, PUBLISH


def test_the_picture_of_the_explorer_is_of_its_page() -> None:
    """A browser takes it; what it is a picture of needs none."""
    page = trace_pictures.explorer_page(*evidence.EXPLORED)
    assert "two_phase_commit: reassure explore" in page
    found = trace_pictures.digest_in(evidence.SCREENSHOT.read_bytes())
    assert found == trace_pictures.page_digest(page), "run `python -m reassure.checkers.publish --screenshot`"


PNG = b"\x89PNG\r\n\x1a\n" + bytes.fromhex("0000000d49484452000000010000000108000000003a7e9b55") + b"rest"
"""The head of a picture of one grey pixel."""


def test_a_picture_has_the_digest_of_its_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a browser that copies a picture; one that fails, takes too long or is missing is a line."""
    page = f'<script id="offline-data">{base64.b64encode(zlib.compress(b"[1]", 9)).decode()}</script>'
    assert trace_pictures.page_digest(page) == hashlib.sha256(b'<script id="offline-data">[1]</script>').hexdigest()
    other = page.replace(
        base64.b64encode(zlib.compress(b"[1]", 9)).decode(), base64.b64encode(zlib.compress(b"[1]", 0)).decode()
    )
    assert (other != page, trace_pictures.page_digest(other)) == (True, trace_pictures.page_digest(page))
    assert (trace_pictures.digest_in(PNG), trace_pictures.digest_in(b"")) == ("", "")
    (tmp_path / "png").write_bytes(PNG)
    browser = tmp_path / "chromium"
    monkeypatch.setenv("PATH", str(tmp_path))
    for script, taken in (
        (f'for word; do case $word in --screenshot=*) /bin/cp {tmp_path}/png "${{word#*=}}";; esac; done', True),
        ("echo no display >&2", False),
    ):
        browser.write_text(f"#!/bin/sh\n{script}\n")
        browser.chmod(0o755)
        if not taken:
            with pytest.raises(Failure, match=r"takes no picture: no display$"):
                trace_pictures.screenshot(page)
            continue
        png = trace_pictures.screenshot(page)
        assert (png[:33], png[-4:]) == (PNG[:33], b"rest")
        assert (png[33:37], png[37:41]) == ((76).to_bytes(4, "big"), b"tEXt")
        assert int.from_bytes(png[-8:-4], "big") == zlib.crc32(png[37:-8])
        assert trace_pictures.digest_in(png) == trace_pictures.page_digest(page)
    browser.write_text("#!/bin/sh\n/bin/sleep 5\n")
    with pytest.raises(Failure, match=r"within 0\.1 s"):
        trace_pictures.screenshot(page, patience=0.1)
    browser.unlink()
    with pytest.raises(Failure, match="needs a browser") as failed:
        trace_pictures.screenshot(page)
    assert failed.value.code is Exit.SYSTEM


def test_every_command_answers_a_question() -> None:
    text = (ROOT / "docs" / "reference" / "which-command.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| ((?:`[a-z]+`(?:, )?)+) \|", text, re.MULTILINE)
    named = {name for cell in table for name in re.findall(r"`([a-z]+)`", cell)}
    assert named == set(COMMANDS) - {"models"}


PAGES = sorted(
    p for p in ROOT.rglob("*.md") if not p.is_symlink() and not {".venv", "build"} & set(p.relative_to(ROOT).parts)
)


def test_every_link_leads_somewhere() -> None:
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if "://" not in target and not target.endswith("=>") and ("." in target or "/" in target):
                broken += [f"{page.relative_to(ROOT)}: {target}"] * (not (page.parent / target).exists())
    assert broken == []


def test_no_page_is_long() -> None:
    """A reader finds what a page has without a search: at most 30 KB, or an index leads to its sections."""
    with_index = {page for page in PAGES if page.parent.name == "claims" or page.name.startswith("mutants-")}
    with_index.add(ROOT / "docs" / "findings.md")  # of which `findings/README.md` is the index
    assert [str(p) for p in PAGES if p.stat().st_size > 30_000 and p not in with_index] == []


@pytest.mark.parametrize("folder", ["models", "counterexamples"])
def test_every_generated_page_is_reached_from_its_index(folder: str) -> None:
    linked, new = set(), {ROOT / folder / "README.md"}
    while new:
        linked |= new
        targets = {
            (page.parent / target).resolve()
            for page in new
            for target in re.findall(r"\]\(([^)#\s]+\.md)", page.read_text(encoding="utf-8"))
        }
        new = {p for p in targets - linked if (ROOT / folder) in p.parents}
    assert sorted(str(p) for p in {*(ROOT / folder).rglob("*.md")} - linked) == []


@functools.cache
def anchors(page: Path) -> set[str]:
    """Where a link can lead to within a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    heads = [head.lower() for head in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    return {"".join(c for c in head if c.isalnum() or c in " -_").replace(" ", "-") for head in heads}


def test_every_anchor_is_a_heading() -> None:
    checked, broken = 0, []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                checked += 1
                to = (page.parent / target).resolve() if target else page
                broken += [f"{page.relative_to(ROOT)}: {target}#{anchor}"] * (anchor not in anchors(to))
    assert broken == []
    assert checked >= 10


def test_the_map_has_every_page() -> None:
    folder = ROOT / "docs"
    text = (folder / "README.md").read_text(encoding="utf-8")
    linked = {(folder / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)", text)}
    assert [str(p.relative_to(folder)) for p in sorted(folder.rglob("*.md")) if p.resolve() not in linked][1:] == []


CLAIM_NUMBER = re.compile(r"\bK\d{1,2}\b(?!-\d|\.\w)")
"""The number of a claim about KRaft, but in names of files such as K21-4.0.java."""
EXPLAINED = re.compile(r"\]\([^)]*(?:read-the-claims\.md|claims/README\.md|findings/(?:README|K\d+)\.md)")


def unexplained_claim(text: str) -> str | None:
    """The first number of a claim that a page shows, unless it says before, or in that paragraph or row, what it is."""
    shown = re.sub(r"\]\([^)]*\)", lambda target: "]" + " " * (len(target[0]) - 1), text)
    first = CLAIM_NUMBER.search(shown)
    if first is None:
        return None
    fences = [block.span() for block in re.finditer(r"^```.*?^```", text, re.DOTALL | re.MULTILINE)]
    fence = next((start for start, end in fences if start < first.start() < end), None)
    ends = (text.find(end, first.end()) for end in ("\n\n", "\n|"))
    end = fence if fence is not None else min((n for n in ends if n >= 0), default=len(text))
    return None if EXPLAINED.search(text[:end]) and re.search(r"\bclaim|\bfinding", text[:end], re.I) else first[0]


def test_every_page_says_what_the_number_of_a_claim_is() -> None:
    """Where a reader first meets K21, the text says that it is a claim, with a link; reports to Kafka are named so."""
    docs = ROOT / "docs"
    reports = set((docs / "findings").glob("K*.md"))
    pages = {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in PAGES if docs in p.parents}
    pages = {name: text for name, text in pages.items() if ROOT / name not in reports}
    assert sum(bool(CLAIM_NUMBER.search(text)) for text in pages.values()) > 10
    assert {name: found for name, text in pages.items() if (found := unexplained_claim(text))} == {}


@pytest.mark.parametrize(
    ("text", "unexplained"),
    [
        ("The run of K21 is short.\n\nA [claim](how-to/read-the-claims.md) is a promise.\n", "K21"),
        ("A [claim](how-to/read-the-claims.md) is a promise.\n\nThe run of K21 is short.\n", None),
        ("K21 is\na [claim](read-the-claims.md).\n", None),
        ("K21 is a claim.\n", "K21"),
        ("K21 is [here](read-the-clams.md).\n", "K21"),
        ("| a |\n|---|\n| K1 |\n| [K2](claims/README.md#k2), a claim |\n", "K1"),
        ("| a claim |\n|---|\n| [K1](claims/README.md#k1) |\n", None),
        ("```sh\nreplay K9/run\n```\nK9 is a [claim](read-the-claims.md).\n", "K9"),
        ("K9 is a [claim](read-the-claims.md):\n```sh\nreplay K9/run\n```\n", None),
        ("[the test](K21-4.0.java), [picture](K21.svg), `K21.sh`, KIP-966, K8s\n", None),
    ],
)
def test_a_number_that_nothing_explains_is_noticed(text: str, unexplained: str | None) -> None:
    assert unexplained_claim(text) == unexplained


def test_no_page_of_elsewhere_is_named() -> None:
    """What a reader cannot open explains nothing."""
    pattern = re.compile(r"\b(?:DESIGN|ANCHORS|AUDIT|KAFKA|HOUSE|STYLE|CLAIMS)(?:\.md|,? section|,? \d|,? [A-Z]\.?\d)")
    for path in (p for folder in ("spec", "models", "checkers", "tests", "docs") for p in (ROOT / folder).rglob("*")):
        if path.suffix in (".py", ".md", ".toml") and path.name != "test_docs.py":
            assert not pattern.search(path.read_text(encoding="utf-8")), path


def test_every_file_that_a_page_names_is_there() -> None:
    """A path from the top, or from where the page says that its modules are; or a file of the page's own example."""
    missing = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        example = "my_idea.py " + " ".join(re.findall(r"^```.*?^```", text, re.DOTALL | re.MULTILINE))
        homes = [ROOT, page.parent, *(ROOT / home for home in re.findall(r"in `([a-z/]+/)`", text))]
        for name in re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9]+)*\.(?:py|toml|md|sh))`", text):
            if name not in example and not any((home / name).exists() for home in homes):
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    assert missing == []


def test_the_example_of_the_language_page_is_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = re.findall(r"```python\n(.*?)```", (ROOT / "spec" / "README.md").read_text(), re.DOTALL)[0]
    path = tmp_path / "of_the_page.py"
    path.write_text(block)
    assert main(["check", str(path), "--engine", "reference"]) == 0
    assert "20 distinct" in capsys.readouterr().out


def test_nothing_names_this_machine() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    pattern = re.compile(r"/(?:work|tmp/bash|root)/|pythonhosted|pypi\.org/simple")
    for name in listed.stdout.split():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".json", ".sh") and name != "tests/docs/test_docs.py":
            assert not pattern.search(path.read_text(encoding="utf-8")), name


def test_every_key_of_a_record_is_on_its_page(tmp_path: Path) -> None:
    main(["check", "core_liveness", f"--json={tmp_path}/r.json", "--quiet"])
    record = json.loads((tmp_path / "r.json").read_text())
    text = (ROOT / "docs/reference/record.md").read_text(encoding="utf-8")
    inner = [*record["stats"], *record["properties"][0], *record["covers"][0], *record["fairness"][0]]
    assert [key for key in [*record, *inner, "taken", "new"] if f"`{key}`" not in text] == []
    kinds = {p["kind"] for p in record["properties"]} | set(TEMPORAL)
    assert [kind for kind in kinds if f"`{kind}`" not in text] == []


def test_every_status_is_explained() -> None:
    text = (ROOT / "docs/explanation/what-holds-means.md").read_text(encoding="utf-8")
    assert [status.value for status in PropertyStatus if f"`{status.value}`" not in text] == []


def test_each_sentence_about_security_has_a_test() -> None:
    """Each numbered sentence of its page is named by a test, and each number that a test names is there."""
    sentences = re.findall(r"^(\d+)\. (.+)$", (ROOT / "SECURITY.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number, _ in sentences] == list(range(1, len(sentences) + 1))
    assert all(text.endswith(".") for _, text in sentences)
    named: set[int] = set()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "SECURITY.md, " not in text or path == Path(__file__):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                named |= {int(number) for number in re.findall(r"SECURITY\.md, (\d+)", ast.get_docstring(node) or "")}
    assert named == set(range(1, len(sentences) + 1))


def test_the_page_about_security_is_short() -> None:
    assert len((ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()) <= 40
