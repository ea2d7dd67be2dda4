"""What a guard is said to be for == what a model without it, written out, gives."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.analyses.guards.analysis import Guard, GuardSearches
from reassure.checkers.check import CheckRequest, run
from reassure.checkers.engines.native.exploration import Exploration, Start
from reassure.checkers.engines.native.kernels.model_code import SWITCH
from reassure.checkers.engines.native.search import Search
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import SearchOptions
from reassure.models.examples import core
from tests.helpers.command import said

WITHOUT = """
from reassure.models.examples import core
from reassure.models.examples.core import *
from reassure import *
from dataclasses import replace

{action}

MODEL = core.MODEL.replacing({name})
"""
CANCEL = """
@action(who="admin")
def cancel(p: Partition, c: Config) -> Partition:
    {guard}
    isr = p.isr - p.adding
    {other}
    return replace(
        p, replicas=p.replicas - p.adding, isr=isr, adding=NOBODY, removing=NOBODY,
        leader=keep_or_elect(p, isr), proposed=None,
    )
"""


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, object]]:
    from reassure.checkers.cli.main import main

    path = tmp_path_factory.mktemp("guards") / "g.json"
    assert main(["guards", "core", f"--json={path}"]) == 0
    return {(g["action"], g["text"]): g for g in json.loads(path.read_text())["guards"]}


def test_every_guard_has_a_verdict(judged: dict[tuple[str, str], dict[str, object]]) -> None:
    found = {key: g["verdict"] for key, g in judged.items()}
    assert found == {
        ("fence", "broker in p.unfenced"): "not needed",
        ("unfence", "broker not in p.unfenced"): "not needed",
        ("propose", "p.leader is not None"): "raises",
        ("propose", "p.proposed is None"): "not needed",
        ("propose", "isr <= p.replicas & p.unfenced"): "load-bearing",
        ("propose", "p.leader in isr"): "load-bearing",
        ("propose", "isr != p.isr"): "not needed",
        ("alter", "some(p.proposed)"): "raises",
        ("reassign", "not reassigning(p)"): "not needed",
        ("reassign", "target != p.replicas"): "not needed",
        ("reassign", "len(target) >= c.min_isr"): "not needed",
        ("cancel", "reassigning(p)"): "not needed",
        ("cancel", "len(isr) >= c.min_isr"): "load-bearing",
    }


def written_out(folder: Path, guard: str, other: str) -> dict[str, int | None]:
    path = folder / "without.py"
    path.write_text(WITHOUT.format(action=CANCEL.format(guard=guard, other=other), name="cancel"))
    verdict, _ = run(CheckRequest(str(path), [], "native", SearchOptions()), Progress(quiet=True))
    return {p.name: p.depth for p in verdict.properties if p.status == "violated"}


def test_load_bearing(judged: dict[tuple[str, str], dict[str, object]], tmp_path: Path) -> None:
    """The model without that line falls to the same property, by a trace of the same length."""
    guard = judged["cancel", "len(isr) >= c.min_isr"]
    fallen = written_out(tmp_path, "require(reassigning(p))", "pass")
    first = min(depth for depth in fallen.values() if depth is not None)
    assert (guard["falls"], guard["depth"]) == (["isr_never_empty"], first)
    assert fallen["isr_never_empty"] == first == 7


def test_not_needed(judged: dict[tuple[str, str], dict[str, object]], tmp_path: Path) -> None:
    assert judged["cancel", "reassigning(p)"]["note"] == "+0 states, +84 steps"
    path = tmp_path / "without.py"
    action = CANCEL.format(guard="pass", other="require(len(isr) >= c.min_isr)")
    path.write_text(WITHOUT.format(action=action, name="cancel"))
    without, _ = run(CheckRequest(str(path), [], "native", SearchOptions()), Progress(quiet=True))
    whole, _ = run(CheckRequest("core", [], "native", SearchOptions()), Progress(quiet=True))
    assert without.stats.distinct == whole.stats.distinct
    assert without.stats.generated == whole.stats.generated + 84


def test_redundant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A guard that repeats what is always so forbids nothing."""
    path = tmp_path / "more.py"
    action = CANCEL.format(
        guard="require(reassigning(p) and p.isr <= p.replicas)", other="require(len(isr) >= c.min_isr)"
    )
    path.write_text(WITHOUT.format(action=action, name="cancel"))
    code, out, _ = said(capsys, "guards", str(path))
    assert code == 0
    assert re.search(r"  p.isr <= p.replicas +redundant: it forbids nothing in any reachable state\n", out)
    assert "1 redundant" in out


def test_a_property_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise every guard would be called not needed."""
    code, out, err = said(capsys, "guards", "core", "--property=nosuch")
    assert (code, out) == (6, "")
    assert "no property of core matches nosuch; it has isr_within_replicas" in err


def test_undecided(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "guards", "core", "--set=brokers=4", "--budget=0.01s")
    assert code == 5
    assert "stopped because the budget of 0.01 s ended" in out


@pytest.mark.parametrize(("state_limit", "why"), [(False, "the memory is used up"), (True, "more than 2 states")])
def test_a_search_that_ends_early_leaves_only_its_guard_undecided(
    state_limit: bool, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By lack of memory or the limit of states: the guards before and after it keep their verdicts."""
    text = """
@action(who="a")
def up(s: State) -> State:
    require(s.n < 1)
    require(not s.y)
    require(s.x)
    return replace(s, n=s.n + 1)

@action(who="a")
def flip(s: State) -> State:
    require(not s.x)
    return replace(s, x=True)
"""
    search, begin = GuardSearches.search, Search.begin

    def given_up(self: GuardSearches, switch: int, start: Start, *more: Any, **given: Any) -> Exploration:
        return search(self, switch, start, more[0], 2) if switch == 2 else search(self, switch, start, *more, **given)

    def without_memory(self: Search, rows: list[tuple[int, ...]]) -> None:
        if self.workers[0].tally[SWITCH] == 2:
            raise MemoryError
        begin(self, rows)

    limited = (GuardSearches, "search", given_up) if state_limit else (Search, "begin", without_memory)
    monkeypatch.setattr(*limited)
    code, verdicts = guards_of(tmp_path, text)
    assert (code, [verdict for verdict, _ in verdicts.values()]) == (
        5,
        ["load-bearing", "undecided", "not needed", "not needed"],
    )
    record = json.loads((tmp_path / "g.json").read_text())
    assert (record["verdict"], record["complete"], record["guards"][1]["note"]) == ("inconclusive", True, why)
    assert f"undecided: {why}\n" in capsys.readouterr().out


def test_lack_of_memory_between_searches_keeps_the_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    judged = GuardSearches.judged

    def short(self: GuardSearches, guard: Guard, number: int, base: Exploration) -> Guard:
        if number == 3:
            raise MemoryError
        return judged(self, guard, number, base)

    monkeypatch.setattr(GuardSearches, "judged", short)
    code, out, _ = said(capsys, "guards", "core", f"--json={tmp_path / 'g.json'}")
    ending = "stopped because the memory is used up\n\ninconclusive (exit code 5)\nagain: reassure guards core\n"
    assert (code, out.endswith(ending)) == (5, True)
    record = json.loads((tmp_path / "g.json").read_text())
    assert (record["exit_code"], record["complete"], record["stopped_because"]) == (5, False, "the memory is used up")
    assert [g["verdict"] for g in record["guards"]][:4] == ["not needed", "not needed", "raises", "undecided"]


def test_the_story_is_plain_python_without_the_guard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Written as a trace, it is not a run of the model; of the model without that line it is."""
    code, out, _ = said(capsys, "guards", "core", f"--trace-dir={tmp_path}")
    assert code == 0
    assert "reassign(target={0, 1}) > reassign(target={1, 2}) > " in out and " > cancel()\n" in out
    (path,) = tmp_path.glob("core--guards--cancel-*.itf.json")
    assert json.loads(path.read_text())["#meta"]["without"].startswith("len(isr) >= c.min_isr in cancel, core.py:")
    code, _, err = said(capsys, "replay", str(path))
    assert (code, "core does not accept" in err) == (18, True)
    model = tmp_path / "without.py"
    model.write_text(WITHOUT.format(action=CANCEL.format(guard="require(reassigning(p))", other="pass"), name="cancel"))
    code, out, _ = said(capsys, "replay", str(path), f"--model={model}")
    assert (code, "isr_never_empty is violated at its end" in out) == (0, True)


SMALL = """
from dataclasses import dataclass
from typing import Annotated
from reassure.spec import *

@dataclass(frozen=True)
class Config:
    flag: bool = True

@dataclass(frozen=True)
class State:
    x: bool = False
    y: bool = False
    n: Annotated[int, Range(0, 3)] = 0

@initial
def start(c: Config) -> State:
    return State()

{text}

@invariant
def small(s: State) -> bool:
    return s.n < 2

MODEL = Model.of(__name__, state=State, config=Config, deadlock=False)
"""


def guards_of(folder: Path, text: str) -> tuple[int, dict[tuple[str, str], tuple[str, tuple[str, ...]]]]:
    from reassure.checkers.cli.main import main

    (folder / "small.py").write_text(SMALL.format(text=text))
    code = main(["guards", str(folder / "small.py"), f"--json={folder}/g.json"])
    found = json.loads((folder / "g.json").read_text()).get("guards", []) if (folder / "g.json").exists() else []
    return code, {(g["action"], g["text"]): (g["verdict"], tuple(g["falls"])) for g in found}


def test_nested_conjuncts(tmp_path: Path) -> None:
    """Each is a guard of its own, a constant of the configuration too."""
    text = """
@action(who="a")
def flip(s: State) -> State:
    require(s.n == 0)
    return replace(s, x=not s.x)

@action(who="a")
def up(s: State, c: Config) -> State:
    require((s.x and s.y) and c.flag)
    return replace(s, n=2)
"""
    assert guards_of(tmp_path, text) == (
        0,
        {
            ("flip", "s.n == 0"): ("redundant", ()),
            ("up", "s.x"): ("redundant", ()),
            ("up", "s.y"): ("load-bearing", ("small",)),
            ("up", "c.flag"): ("redundant", ()),
        },
    )


def test_a_guard_of_a_helper_is_one_guard(tmp_path: Path) -> None:
    """Called twice on the way, or by two actions, it is left out everywhere at once."""
    text = """
def low(s: State) -> int:
    require(s.n < 1)
    return s.n

@action(who="a")
def up(s: State) -> State:
    return replace(s, n=min(low(s) + low(s) + 1, 3))

@action(who="a")
def other(s: State) -> State:
    return replace(s, x=True, n=low(s))
"""
    assert guards_of(tmp_path, text) == (0, {("up, other", "s.n < 1"): ("load-bearing", ("small",))})


def test_a_guard_of_an_initial_state(tmp_path: Path) -> None:
    text = """
@initial
def more(n: Annotated[int, Range(0, 3)]) -> State:
    require(n < 2)
    return State(n=n)

@action(who="a")
def stay(s: State) -> State:
    return s
"""
    assert guards_of(tmp_path, text) == (0, {("more", "n < 2"): ("load-bearing", ("small",))})


def test_a_guard_that_forbids_what_another_allows(tmp_path: Path) -> None:
    """An initial function that gives no new state without its guard: not needed, but it forbids something."""
    text = """
@initial
def more() -> State:
    require(1 > 2)
    return State()

@action(who="a")
def stay(s: State) -> State:
    return s
"""
    assert guards_of(tmp_path, text) == (0, {("more", "1 > 2"): ("not needed", ())})


def test_properties_of_whole_runs_are_not_weighed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No guard is called needed or not for them, and they cannot be asked for."""
    text = """
@action(who="a")
def up(s: State) -> State:
    require(not s.x)
    return replace(s, x=True)

@leads_to(lambda s: s.x)
def rises(s: State) -> bool:
    return s.n == 0
"""
    assert guards_of(tmp_path, text) == (0, {("up", "not s.x"): ("not needed", ())})
    assert json.loads((tmp_path / "g.json").read_text())["not_checked"] == ["rises"]
    assert "not evaluated, since they are about whole runs: rises\n" in capsys.readouterr().out
    code, _, err = said(capsys, "guards", str(tmp_path / "small.py"), "--property=rises")
    assert (code, "it judges small\n" in err) == (6, True)


def test_a_guard_before_an_error(tmp_path: Path) -> None:
    """Without the guard Python raises, though the kernel knows the error as one behind it."""
    text = """
@action(who="a")
def pick(s: State) -> State:
    require(s.x)
    return replace(s, n=0 if max(k for k in (0, 1) if s.x) == 1 else 1)

@action(who="a")
def flip(s: State) -> State:
    return replace(s, x=not s.x)
"""
    assert guards_of(tmp_path, text) == (0, {("pick", "s.x"): ("raises", ())})


OPTIONAL = """
@dataclass(frozen=True)
class Reply:
    value: Annotated[int, Range(0, 3)] | None

def answered(reply: Reply) -> int:
    require(reply.value is not None)
    return {value}

@action(who="a")
def read(s: State) -> State:
    return replace(s, n=answered(Reply(None)))

@action(who="a")
def write(s: State) -> State:
    require(s.x == (s.n == 0))
    return replace(s, x=not s.x)
"""


@pytest.mark.parametrize("value", ["some(reply.value)", "reply.value"])
def test_a_guard_before_a_value_that_is_never_there(value: str, tmp_path: Path) -> None:
    """What the guard tests is None wherever it is called; a test of what is not an optional is weighed."""
    code, found = guards_of(tmp_path, OPTIONAL.format(value=value))
    assert (code, found["read", "reply.value is not None"]) == (0, ("raises", ()))
    assert found["write", "s.x == (s.n == 0)"] == ("not needed", ())


def test_a_guard_without_which_an_order_would_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The guard fails for every member of the set; left out, the one before it decides, in no order."""
    text = """
def low(n: bool) -> bool:
    require(n)
    require(False)
    return n

@action(who="a")
def pick(s: State) -> State:
    require(all(s.x for n in frozenset({False, True}) if low(n)))
    return s
"""
    (tmp_path / "small.py").write_text(SMALL.format(text=text))
    code, _, err = said(capsys, "guards", str(tmp_path / "small.py"))
    assert code == 150
    assert "with a guard left out the model is outside the language: " in err
    line = (
        SMALL.format(text=text).splitlines().index("    require(all(s.x for n in frozenset({False, True}) if low(n)))")
        + 1
    )
    assert f"small.py:{line}:" in err and "what may fail in a comprehension or loop over a set" in err
    assert len(err.splitlines()) == 1


def test_a_model_that_raises_with_all_its_guards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
@action(who="a")
def pick(s: State) -> State:
    require(not s.x)
    return replace(s, n=max(k for k in (0, 1) if s.x))
"""
    (tmp_path / "small.py").write_text(SMALL.format(text=text))
    words = [str(tmp_path / "small.py"), f"--json={tmp_path / 'r.json'}", f"--trace-dir={tmp_path}"]
    code, out, _ = said(capsys, "guards", *words)
    assert code == 150
    assert "small: pick raises after 0 steps" in out and "pick() raised ValueError" in out
    record = json.loads((tmp_path / "r.json").read_text())
    (finding,) = record["properties"]
    assert (record["stop_reason"], finding["status"], record["guards"]) == ("raised", "raised", [])
    replayed = said(capsys, "replay", finding["trace"], f"--model={tmp_path / 'small.py'}")
    ending = f"\n\npass (exit code 0)\nagain: reassure replay {finding['trace']} --model={tmp_path / 'small.py'}\n"
    assert replayed[:2] == (0, f"small accepts the trace: 0 steps\npick raises at its end{ending}")


def test_a_refuse_is_listed_as_not_analysed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What follows it is not lowered; the guards beside it have their verdicts."""
    text = """
@action(who="a")
def up(s: State) -> State:
    if s.x:
        refuse()
    require(s.n < 1)
    return replace(s, n=s.n + 1)
"""
    assert guards_of(tmp_path, text) == (
        5,
        {("up", "refuse()"): ("undecided", ()), ("up", "s.n < 1"): ("load-bearing", ("small",))},
    )
    _, out, _ = said(capsys, "guards", str(tmp_path / "small.py"))
    assert "refuse()  undecided: not analysed: without it Python would run what follows it" in out


def test_a_cover_is_not_weighed(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "guards", "core", "--property=reassignment_completed")
    assert code == 6
    assert "reassignment_completed is a cover: `reassure check` decides covers" in err


def test_a_trace_says_which_guard_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It opens from anywhere, and those of two configurations lie beside each other."""
    text = """
@action(who="a")
def up(s: State) -> State:
    require(s.n < 1)
    return replace(s, n=s.n + 1)
"""
    path = tmp_path / "small.py"
    path.write_text(SMALL.format(text=text))
    folder = tmp_path / "traces"
    for flag in ("on", "off"):
        assert said(capsys, "guards", str(path), f"--set=flag={flag}", f"--trace-dir={folder}")[0] == 0
    assert [p.name.partition("--up")[0] for p in sorted(folder.iterdir())] == [
        "small--flag-off--guards",
        "small--flag-on--guards",
    ]
    line = path.read_text().splitlines().index("    require(s.n < 1)") + 1
    code, out, _ = said(capsys, "show", str(next(folder.iterdir())), f"--model={path}")
    assert code == 0
    assert f"  Without the guard s.n < 1 in up, small.py:{line}." in out.splitlines()


def test_the_guards_of_an_action_and_of_a_line(
    judged: dict[tuple[str, str], dict[str, object]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verdicts are those among all guards; the command again asks for the same."""
    record = tmp_path / "g.json"
    of_propose = [g for g in judged.values() if g["action"] == "propose"]
    line = judged["propose", "p.leader in isr"]["line"]
    path = Path(str(core.__file__))
    wanted = {
        ("--action=propose",): of_propose,
        (f"--at=core.py:{line}",): [g for g in of_propose if g["line"] == line],
        ("--action=cancel", "--action=propose", f"--at={path}:{line}"): [g for g in of_propose if g["line"] == line],
    }
    for words, guards in wanted.items():
        code, out, _ = said(capsys, "guards", "core", *words, f"--json={record}")
        assert (code, json.loads(record.read_text())["guards"]) == (0, guards)
        assert out.splitlines()[-1] == f"again: reassure guards core {' '.join(words)}"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--action=nosuch"], "no guard of core is in nosuch; guards are in fence, unfence, propose, alter, "),
        (["--at=core.py:1"], "no guard of core is at core.py:1; there are guards at "),
        (["--at=other.py:1"], "no guard of core is at other.py:1; no guard is in that file"),
        (["--at=core.py:71", "--action=propose"], "no guard of core is in one of these actions and at one of these"),
        (["--at=core.py"], "--at 'core.py': it is FILE:LINE, such as my_idea.py:14"),
        (["--at=:3"], "--at ':3': it is FILE:LINE"),
    ],
)
def test_a_choice_without_a_guard_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "guards", "core", *words)[2].startswith(f"reassure: {message}")
