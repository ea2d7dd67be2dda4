"""The command line: exit codes, records on every path, one clear line for every kind of bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.command import interrupted, model_file, reported, said

ROOT = Path(__file__).parents[3]


PROTOCOL = """
from dataclasses import dataclass
from typing import Annotated
from reassure import Id, Map, Model, Range, action, cover, every, initial, invariant, leads_to, replace, require
from reassure import step_property


class Node(Id, size="nodes"): ...


@dataclass(frozen=True)
class Config:
    nodes: Annotated[int, Range(1, 5)] = 2


@dataclass(frozen=True)
class State:
    alive: frozenset[Node]


@initial
def up(c: Config) -> State:
    return State(every(Node, c))


@action(who="fate")
def crash(s: State, node: Node) -> State:
    require(node in s.alive)
    return replace(s, alive=s.alive - {node})


@invariant
def fits(s: State, c: Config) -> bool:
    return len(s.alive) <= c.nodes


MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""


def adds(text: str) -> tuple[str, str]:
    return "MODEL =", text + "\nMODEL ="


# What is put for what in PROTOCOL, the exit code, and what is said.
MISTAKES = [
    (adds("@invariant\ndef fits(s: State) -> bool:\n    return True\n"), 150, "fits of line 32 is hidden by another"),
    (adds("def fits() -> None: ...\n"), 150, "fits of line 32 is hidden by another"),
    (adds("@leads_to\ndef ends(s: State) -> bool:\n    return True\n"), 150, "ends is not declared: write its"),
    (
        adds("@step_property\ndef st(s: State, t: State) -> bool:\n    return True\n"),
        150,
        "st is about steps: it takes",
    ),
    (adds("@cover(on=crash)\ndef st(s: State) -> bool:\n    return True\n"), 150, "st is about steps: it takes before"),
    (adds("@invariant\ndef st(before: State, after: State) -> bool:\n    return True\n"), 150, "write @step_property"),
    (adds("@step_property(tags='x')\ndef st(before: State, after: State) -> bool:\n    return True\n"), 150, "['x']"),
    (adds("@step_property(on='x')\ndef st(before: State, after: State) -> bool:\n    return True\n"), 150, "not 'x'"),
    (adds("@invariant\ndef st(s: State, n: Node) -> bool:\n    return True\n"), 150, "st takes the state and, if need"),
    (adds("@invariant\ndef st() -> bool:\n    return True\n"), 150, "st takes the state and, if need be"),
    (
        adds("@invariant\ndef st(s: Config) -> bool:\n    return True\n"),
        150,
        "st is over Config, which mine has no view",
    ),
    (
        adds("@invariant(when=lambda c: c.no)\ndef st(s: State) -> bool:\n    return True\n"),
        150,
        "st: its `when` raised",
    ),
    (
        ("node: Node", "node: 'Nod'"),
        150,
        "crash, parameter node: an annotation cannot be read: name 'Nod' is not defined",
    ),
    (("node: Node", "node: Node, k: Annotated[int, Range(1, 10**9)]"), 150, "values, to be tried in every state"),
    (("def crash", "async def crash"), 150, "async: a model is plain functions"),
    (("frozenset[Node]", "list[Node]"), 150, "is not a finite type: a sequence is Annotated["),
    (("Annotated[int, Range(1, 5)]", "int"), 150, "Config.nodes: an int needs bounds"),
    (("@dataclass(frozen=True)\nclass Config", "class Config"), 150, "Config, the configuration, must be a frozen"),
    (("] = 2", "] = 2\n\n    def __post_init__(self):\n        raise KeyError('odd')"), 151, "mine: 'odd'"),
    (("alive: frozenset[Node]", "alive: frozenset[Node]\n\n    def __post_init__(self): ..."), 150, "__post_init__"),
    (
        ("    return State(e", "    require(c.nodes > 5)\n    return State(e"),
        6,
        "mine has no initial state: up requires",
    ),
    (
        ("alive: frozenset[Node]", "alive: frozenset[Node]\n    n: Annotated[int, Range(1, 2)] = 3"),
        6,
        "up leaves the bound of n: 3 is",
    ),
]


@pytest.mark.parametrize(("change", "code", "message"), MISTAKES, ids=[m for _, _, m in MISTAKES])
def test_a_mistake_in_a_model_is_told(
    change: tuple[str, str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing that is declared is forgotten: an exit code of 0 would be a lie about it."""
    assert PROTOCOL.count(change[0]) == 1
    got, _, err = said(capsys, "check", model_file(tmp_path, PROTOCOL.replace(*change)))
    assert (got, message in err) == (code, True), err


def test_a_variant_has_everything_that_its_file_declares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = "from reassure import invariant\n\n@invariant\ndef more(s: die_hard.Jugs) -> bool:\n    return s.big < 5\n"
    text = SMALL.replace("MODEL =", more + "MODEL =")
    code, _, err = said(capsys, "check", model_file(tmp_path, text))
    assert (code, "mine.py declares more, but its MODEL lacks it" in err) == (150, True), err
    path = model_file(tmp_path, text.replace("')\n", "').adding(more)\n"))
    assert said(capsys, "check", path, "--engine=reference")[0] == 12


def test_a_property_of_no_step_does_not_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of steps that no action takes everything is true."""
    change = adds(
        "@step_property(tags=['typo'], watches=[])\ndef st(before: State, after: State) -> bool:\n    return False\n"
    )
    code, out, err = said(capsys, "check", model_file(tmp_path, PROTOCOL.replace(*change)), "--engine=reference")
    assert (code, "not applicable here: st" in out) == (0, True), out + err


SMALL = "from reassure.models.examples import die_hard\nMODEL = die_hard.MODEL.without('goal_not_reached')\n"


@pytest.mark.parametrize("name", ["json.py", "llvmlite.py", "queue.py", "core.py", "my.idea.py", "my-idea.py"])
def test_a_model_may_have_any_name(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also that of a module: neither takes the place of the other."""
    (tmp_path / name).write_text(SMALL)
    there = sys.modules.get(name.removesuffix(".py"))
    code, out, err = said(capsys, "check", str(tmp_path / name), "--engine=reference")
    assert code == 0, err
    assert out.startswith(name.removesuffix(".py").replace(".", "_"))
    assert there is None or sys.modules[name.removesuffix(".py")] is there


def test_refusals_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "models" / "examples" / "die_hard.py").read_text()
    text = text.replace("    poured = min(s.small, 5 - s.big)", "    while True:\n        pass\n    poured = [3]")
    code, _, err = said(capsys, "check", model_file(tmp_path, text))
    assert code == 150
    assert "2 constructs outside the language" in err
    line = text.splitlines().index("    while True:") + 1
    assert f"mine.py:{line}:5: a while loop: a step is finite: write `for i in range(limit):` with `break`" in err
    assert "    ^" in err


def test_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, folder = tmp_path / "deep" / "f.json", tmp_path / "traces"
    code, out, _ = said(
        capsys, "check", "die_hard", "--engine", "reference", "--json", str(path), "--trace-dir", str(folder)
    )
    record = json.loads(path.read_text())
    assert (code, record["exit_code"], record["verdict"]) == (12, 12, "safety-violation")
    assert record["schema"] == 1
    assert record["complete"] is True
    assert len(record["model_sha256"]) == 64
    assert record["config"] == {"goal": 4}
    goal = record["properties"][0]
    assert (goal["name"], goal["kind"], goal["status"]) == ("goal_not_reached", "invariant", "violated")
    assert Path(goal["trace"]).is_file()
    assert record["actions"]["fill_big"] == {"taken": 16, "new": 2}
    stats = record["stats"]
    assert (stats["distinct"], stats["generated"], stats["depth"], stats["clipped"]) == (16, 97, 8, 0)
    assert set(stats["seconds"]) == {"load", "compile", "search", "report"}
    assert record["repro"] == "reassure check die_hard --engine=reference"
    assert "goal_not_reached" in out
    assert reported(capsys, "replay", goal["trace"])[:2] == (
        0,
        "die_hard accepts the trace: 6 steps\ngoal_not_reached is violated at its end\n",
    )


def test_record_of_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "f.json"
    assert said(capsys, "check", "core", "--set", "brokers=99", "--json", str(path))[0] == 151
    record = json.loads(path.read_text())
    assert (record["exit_code"], record["complete"], record["verdict"]) == (151, False, "config-error")
    assert "3 to 12" in record["stopped_because"]
    assert [p.name for p in tmp_path.iterdir()] == ["f.json"]


def test_a_command_that_fails_leaves_no_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there, record = tmp_path / "there", tmp_path / "records" / "r.json"
    there.mkdir()
    words = ["check", "krafft", "--trace-dir"]
    assert said(capsys, *words, str(tmp_path / "a" / "b"), "--json", str(record))[0] == 64
    assert said(capsys, *words, str(there / "c"))[0] == said(capsys, *words, str(there))[0] == 64
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "records", record, there]


def test_a_device_is_written_to_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert said(capsys, "check", "die_hard", "--engine=reference", "--quiet", "--json", str(pipe))[0] == 12
    assert json.loads(os.read(reader, 1 << 16))["exit_code"] == 12
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_a_record(how: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    words = ["check", "core", "--set=brokers=5", "--engine=reference", f"--json={path}"]
    code, out, messages = interrupted("generated", *words, how=how)
    record = json.loads(path.read_text())
    assert (code, record["exit_code"], record["complete"]) == (5, 5, False)
    assert record["stopped_because"] == "interrupted"
    assert record["stats"]["distinct"] > 1
    assert "Traceback" not in out + messages


def test_a_closed_pipe_is_no_traceback() -> None:
    command = f"{sys.executable} -m reassure models | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("batching ")
    assert done.stderr == ""


def test_a_closed_pipe_changes_no_verdict() -> None:
    command = f"set -o pipefail; {sys.executable} -u -m reassure check die_hard --engine=reference | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 12
    assert done.stderr == ""


def test_no_colour_in_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "reassure", "check", "die_hard", "--engine=reference"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "TERM": "xterm-256color"},
    )
    assert done.returncode == 12
    assert "\x1b" not in done.stdout + done.stderr


def trace_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Path, dict[str, object]]:
    said(capsys, "check", "die_hard", "--engine=reference", "--trace-dir", str(tmp_path), "--quiet")
    path = tmp_path / "die_hard--goal_not_reached.itf.json"
    return path, json.loads(path.read_text())


@pytest.mark.parametrize("form", ["text", "md", "steps"])
def test_a_trace_that_the_model_refuses_is_shown_with_a_note(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not a violation of this model; one that no longer violates its property is none either."""
    path, data = trace_of(tmp_path, capsys)
    data["states"][2]["#meta"]["action"] = "fill_small"  # type: ignore[index]
    path.write_text(json.dumps(data))
    code, out, err = said(capsys, "show", str(path), "--format", form)
    assert (code, f"note: die_hard does not accept {path}: step 2" in err, out != "") == (18, True, True)
    path, data = trace_of(tmp_path, capsys)
    data["states"] = data["states"][:4]  # type: ignore[index]
    path.write_text(json.dumps(data))
    code, _, err = said(capsys, "show", str(path), "--format", form)
    assert (code, "note: goal_not_reached holds at its end" in err) == (15, True)


def test_a_trace_that_does_not_show_what_it_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SECURITY.md, 5."""
    path, data = trace_of(tmp_path, capsys)
    data["states"] = data["states"][:4]  # type: ignore[index]
    path.write_text(json.dumps(data))
    code, out, _ = said(capsys, "replay", str(path))
    assert (code, "goal_not_reached holds at its end" in out) == (15, True)
    data["#meta"]["property"] = "goal_reached"  # type: ignore[index]
    path.write_text(json.dumps(data))
    code, _, err = said(capsys, "replay", str(path))
    assert (code, "die_hard has no property goal_reached" in err) == (15, True)


def test_a_certificate_of_a_file_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.json"
    about = {"schema": 1, "kind": "inductive-invariant", "model": "mine", "model_sha256": "", "config": {}}
    about |= {"engine_version": "0.1.0"}
    path.write_text(json.dumps({**about, "properties": ["one"], "lemmas": []}))
    code, _, err = said(capsys, "verify", str(path))
    assert (code, "is of 'mine', which does not come with this program; give --model" in err) == (64, True)


def test_a_trace_of_another_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing but states and actions; the initial function is found."""
    path, data = trace_of(tmp_path, capsys)
    states = [
        {**s, "#meta": {"action": s["#meta"]["action"]}} if i else {k: v for k, v in s.items() if k != "#meta"}
        for i, s in enumerate(data["states"])  # type: ignore[var-annotated,arg-type]
    ]
    path.write_text(json.dumps({"vars": data["vars"], "states": states, "loop": None, "params": []}))
    assert said(capsys, "replay", str(path))[0] == 64
    assert reported(capsys, "replay", str(path), "--model", "die_hard")[:2] == (
        0,
        "die_hard accepts the trace: 6 steps\n",
    )


def test_the_parameters_of_the_start_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "check", "kraft", "--property=cancel_spares_the_eligible", "--trace-dir", str(tmp_path), "--quiet")
    (path,) = tmp_path.glob("*.json")
    data = json.loads(path.read_text())
    params = data["states"][0]["#meta"]["params"]
    params["unclean"] = not params["unclean"]
    path.write_text(json.dumps(data))
    code, _, err = said(capsys, "replay", str(path))
    assert (code, "step 0" in err) == (18, True)


def test_replay_names_the_step_that_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, data = trace_of(tmp_path, capsys)
    data["states"][3]["big"] = {"#bigint": "1"}  # type: ignore[index]
    path.write_text(json.dumps(data))
    code, _, err = said(capsys, "replay", str(path))
    assert code == 18
    assert "step 3 (empty_small): the model gives another state: big differs" in err


def test_replay_names_the_guard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "check", "epoch_unchecked", "--set=unclean=off", "--engine=reference", "--trace-dir", str(tmp_path),
         "--property=stale_request_changes_nothing", "--fail-fast", "--quiet")  # fmt: skip
    (path,) = tmp_path.glob("*.itf.json")
    assert said(capsys, "replay", str(path))[0] == 0
    code, _, err = said(capsys, "replay", str(path), "--model", "kraft")
    assert code == 18
    assert "step 4 (alter_partition)" in err
    assert "not enabled: kraft.py:" in err or "gives another state" in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("states"), "not an ITF trace"),
        (lambda d: d["states"].clear(), "has no states"),
        (lambda d: d.update(loop=0), "does not say which action leads back to state 0"),
        (lambda d: d.update(loop=77), "`loop` is the number of a state, not 77"),
        (lambda d: d["#meta"].update(closing=3), "`#meta`.`closing` is 3"),
        (lambda d: d["#meta"].update(closing={"action": "fly"}), "the closing step, action fly"),
        (lambda d: d["#meta"].update(closing={"action": "fill_big"}), "does not say where to"),
        (lambda d: d["#meta"].update(fairness=[{"action": "fly"}]), "`#meta`.`fairness` has"),
        (lambda d: d["states"][1].pop("big"), "state 1"),
        (lambda d: d["states"][1].update(big={"#bigint": "77"}), "outside 0..5"),
        (lambda d: d["states"][2]["#meta"].update(action="fly"), "no action 'fly'"),
        (
            lambda d: d["#meta"].update(model="nothing"),
            "is of 'nothing', which does not come",
        ),
        (lambda d: d["#meta"].update(model=7), "`#meta`.`model` is 7"),
        (lambda d: d["#meta"].update(config=[4]), "`#meta`.`config`"),
        (lambda d: d.update({"#meta": 3}), "`#meta` is not an object"),
        (lambda d: d["states"].__setitem__(1, 3), "state 1 is not an object"),
        (lambda d: d["states"][1].update({"#meta": 3}), "state 1 is not an object"),
        (lambda d: d["states"][1]["#meta"].update(params={"x": 1}), "it takes ()"),
        (lambda d: d["states"][1].update(big=float("inf")), "big: Infinity is not of the type int 0..5"),
        (lambda d: d["#meta"].pop("model"), "does not name its model"),
        (lambda d: d["states"].pop(0), "this is not an initial state of the model"),
        (lambda d: d["states"][2].update(big={"#bigint": "5"}), "the model gives another state"),
    ],
)
def test_bad_traces(change: object, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SECURITY.md, 5."""
    path, data = trace_of(tmp_path, capsys)
    change(data)  # type: ignore[operator]
    path.write_text(json.dumps(data))
    code, _, err = said(capsys, "replay", str(path))
    assert code in (18, 64)
    assert message in err


@pytest.mark.parametrize(
    ("form", "piece"),
    [
        ("text", "6. hero: big_to_small()"),
        ("md", "6. **hero**: `big_to_small()`"),
        ("mermaid", "hero->>hero: 1. fill_big()"),
        ("json", '"#bigint": "4"'),
    ],
)
def test_show(form: str, piece: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = trace_of(tmp_path, capsys)
    code, out, _ = said(capsys, "show", str(path), "--format", form)
    assert (code, piece in out) == (0, True), out


@pytest.mark.parametrize("limit", ["1", "1.1M"])
def test_any_limit_of_memory_is_one(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also one that is less than the smallest table, or no multiple of a word."""
    code, out, err = said(capsys, "check", "core", "--memory", limit, "--workers=1")
    assert err == ""
    assert code == (5 if limit == "1" else 0)
    assert ("the memory limit of 0 MiB would be passed" in out, "not enabled so far" in out) == (code == 5,) * 2


def test_output_is_possible_whatever_it_goes_to(tmp_path: Path) -> None:
    """A closed stream, or one without the letters: the exit code stays that of what was found."""
    broken = PROTOCOL.replace('"fate"', '"Schicksal → ä"').replace("<= c.nodes", "== c.nodes")
    words = [sys.executable, "-m", "reassure", "check", model_file(tmp_path, broken), "--engine=reference"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (12, "")
    assert r"1. Schicksal \u2192 \xe4: crash(node=1)" in done.stdout
    closed = subprocess.run(["sh", "-c", '"$@" >&- 2>&-', "sh", *words], cwd=ROOT, check=False)
    assert closed.returncode == 12
