"""The command that repeats a run: every option that changes a result is in it, and it gives the same record."""

from __future__ import annotations

import argparse
import ast
import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.console.commands import options_of, subcommands
from reassure.checkers.console.overview import COMMANDS
from reassure.checkers.console.parser import parse
from reassure.checkers.request import options, shared_options
from reassure.checkers.request.shared_options import BUDGET, CONF, Option
from tests.helpers.command import model_file, said
from tests.helpers.counter_model import COUNTER

EVERY = [name for name in COMMANDS if not subcommands(name)]
EVERY += [f"{name} {below}" for name in COMMANDS for below in subcommands(name)]

VALUES: dict[Callable[[str], Any] | None, list[str]] = {
    None: ["one two", "three"],
    int: ["7", "8"],
    Path: ["folder/a", "folder/b"],
    options.positive: ["7", "8"],
    options.whole: ["7", "8"],
    options.seed: ["7", "8"],
    options.duration: ["1234567.25s", "0.00001"],
    options.size: ["5G", "77"],
    options.ids: ["3,1,2", "4"],
    options.weight: ["up=3", "down=0"],
    options.setting: ["spark.a=b c", "spark.d=e=f"],
}
"""Values that are not the default of an option, by its type."""

OUTPUTS = {"json", "trace_dir", "quiet", "stories", "full", "workers", "jobs", "junit", "sarif", "html"}
"""Options that change no result, of whatever command."""
OTHER_OUTPUTS = {
    "check": {"dump_kernel", "follow", "out", "no_data", "resume"},  # of Spark: where the run is kept
    "export": {"out"},
    "prove": {"certificate"},
    "verify": {"smt2"},
    "traces": {"out", "format"},
    "graph": {"out", "format"},
    "show": {"out", "format"},
    "query": {"format"},
    "claims": {"format"},
    "mutants": {"record"},
    "validate": {"trace"},
    "explore": {"out", "no_browser"},
    "plan": {"show"},
    "gate": {"update", "schema"},
    "kafka record": {"out"},
    "kafka explore": {"jvms"},
    "kafka build": {"as_patch", "diff", "out"},
    "kafka diff": {"jvms", "test"},
    "kafka patches": {"jvms"},
    "kafka report": {"out"},
    "kafka adopt": {"diff", "jvms"},
    "kafka test": {"out"},
    "kafka findings": {"out"},
    "kafka cluster": {"keep", "out"},
}


def given(option: Option, number: int) -> list[str]:
    """An option on a command line, with a value that is not its default."""
    values = [option.choices[-1 - number]] if option.choices else VALUES[option.type] if not option.switch else []
    several = option.repeatable or option.nargs in ("+", "*")
    words = values if several else values[number : number + 1] or values[:1]
    if option.switch:
        return [option.flag]
    return [f"{option.flag}={word}" for word in words] if option.flag else words


def given_to(command: str, leave_out: str) -> list[str]:
    """Every option of a command but those of one choice; of those that exclude each other, one."""
    groups: set[str] = set()
    words = []
    for option in sorted(options_of(command), key=lambda option: not option.flag):
        if option.group and (option.group in groups or option.name == leave_out):
            continue
        groups |= {option.group} - {""}
        words += given(option, 0)
    return words


def parsed(words: list[str]) -> argparse.Namespace:
    args = argparse.Namespace(json=None)
    parse(words, args)
    return args


@pytest.mark.parametrize("command", EVERY)
def test_every_option_that_changes_a_result_is_in_the_command_again(command: str) -> None:
    groups = [option.name for option in options_of(command) if option.group] or [""]
    for leave_out in groups:
        args = parsed([*command.split(), *given_to(command, leave_out)])
        again = parsed(shlex.split(args.repro)[1:])
        assert again.repro == args.repro
        for option in options_of(command):
            if not option.output:
                assert getattr(again, option.name) == getattr(args, option.name), option.name
                if option.name != leave_out and not option.group:
                    assert getattr(args, option.name) != option.initial, option.name


@pytest.mark.parametrize("command", EVERY)
def test_the_options_that_are_only_outputs(command: str) -> None:
    outputs = {option.name for option in options_of(command) if option.output}
    assert outputs - OUTPUTS == OTHER_OUTPUTS.get(command, set())


def test_defaults_are_left_out_and_secrets_too() -> None:
    assert parsed(["guards", "core"]).repro == "reassure guards core"
    assert parsed(["check", "core"]).repro == "reassure check core --engine=native"
    assert CONF.words([("spark.ssl.keyPassword", "x"), ("spark.a", "y")]) == ["--conf=spark.a=y"]
    assert [BUDGET.words(seconds) for seconds in (60.0, 0.5, 1e-7)] == [
        ["--budget=60s"],
        ["--budget=0.5s"],
        ["--budget=0.0000001s"],
    ]


def declarations() -> Iterator[tuple[str, str]]:
    """Every declaration of an option in the source: its usage and its help."""
    for path in Path(__file__).parents[3].joinpath("checkers").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "Option"
                and isinstance(node.args[0], ast.Constant)
            ):
                yield ast.literal_eval(node.args[0]), ast.unparse(node.args[1])


OF_THEIR_OWN = {"--depth N", "--engine", "--full", "--out FILE", "--property NAME", "--seed N"}
"""Options that mean other things in some commands: the depth of a walk, the engine that reads a log, the seed of Z3."""


def test_no_option_is_declared_twice() -> None:
    """What several commands take is declared in `shared_options` alone; `replace` changes what differs."""
    shared = {option.usage for option in vars(shared_options).values() if isinstance(option, Option)} - OF_THEIR_OWN
    assert {"MODEL", "--set KEY=VALUE", "--budget 60s", "--memory 2G", "--json FILE", "--quiet"} <= shared
    rows = list(declarations())
    assert Counter(usage for usage, _ in rows if usage in shared) == Counter(shared)
    assert [row for row, count in Counter(rows).items() if count > 1] == []


LIMITS = ["--budget=900s", "--memory=3G"]
SPARK = {"master", "conf"}
RUNS: dict[str, tuple[list[str], set[str]]] = {
    # by command: its words, {0} being the model's file; and the options that stay at their defaults
    "check": (
        ["{0}", "--set=most=4", "--property=s*", "--property=one", "--depth=2", *LIMITS, "--accept-clipping",
         "--fail-fast", "--witness", "--engine=reference", "--invariant=s == s", "--step=before != after"],
        # of other engines; the model has no ids
        {"partitions", "fingerprints", "symmetry", "second_opinion", "jar"} | SPARK,
    ),
    "simulate": (
        ["{0}", "--set=most=3", "--property=s*", "--budget=900s", "--fail-fast", "--witness", "--walks=30", "--depth=3",
         "--seed=4", "--weight=down=2"],
        set(),
    ),
    "prove": (
        ["{0}", "--set=most=3", "--property=small", "--budget=900s", "--accept-clipping", "--method=bmc", "--depth=3",
         "--seed=2"],
        {"any_number"},  # which has a method of its own
    ),
    "guards": (
        ["{0}", "--set=most=3", "--property=small", "--action=down", "--at={0}:31", *LIMITS, "--symmetry=auto"],
        set(),
    ),
    "fairness": (["{0}", "--set=most=3", "--property=gets*", *LIMITS], set()),
    "mutants": (
        ["{0}", "--set=most=3", "--property=small", "--max=4", "--seed=3", "--timeout=100s", "--wider=most=4", *LIMITS,
         "--symmetry=auto"],
        {"all"},  # has no record
    ),
    "diff": (["{0}", "{0}.variant.py", "--set=most=3", "--view=parity", "--no-properties", *LIMITS], set()),
    "find": (["{0}", "s.n == 3", "--set=most=2", "--no-guards", "--prove", *LIMITS], {"symmetry"}),
    "stuck": (["{0}", "--set=most=2", "--property=gets*", "--fair-only", "--limit=2", *LIMITS], {"expression"}),
    "sweep": (
        ["{0}", "--set=most=2,3,4", "--property=small", "--depth=2", *LIMITS, "--accept-clipping", "--fail-fast",
         "--engine=reference", "--pairwise"],
        {"symmetry"} | SPARK,
    ),
    "kafka conform": (
        ["kraft_kafka", "--set=disturbances=0", "--release=4.1.0", "--release=4.2.2", "--kept", "--depth=3"],
        {"gate", "engine", "partitions"} | SPARK,
    ),
    "validate": (
        ["{0}", "{0}.log", "--set=most=3", "--hidden=down", "--width=9", "--engine=reference", "--budget=900s"], set()
    ),
    "plan": (
        ["--cluster={0}.cluster", "--current={0}.current", "--proposed={0}.proposed", "--protocol=batching",
         "--replicas=1", "--partitions=2", "--leaders=1", "--size=1G", "--throttle=50M"],
        {"generate", "replication_factor", "brokers", "ignore_racks", "start_index", "running", "release", "min_isr"},
    ),
}  # fmt: skip
WITHOUT_A_COMMAND_AGAIN = {
    "models", "new", "verify", "query", "replay", "explore", "show", "graph", "audit", "gate", "claims", "export",
    "lint", "completion", "serve",
}  # fmt: skip
"""Commands that neither print nor record how to repeat them."""
WITH_JAVA = {
    "kafka fetch",
    "kafka replay",
    "kafka record",
    "kafka explore",
    "kafka build",
    "kafka diff",
    "kafka patches",
    "kafka report",
    "kafka adopt",
    "kafka test",
    "kafka confirm",
    "kafka findings",
    "kafka cluster",
}
"""Commands that need a JVM and Kafka's jars."""
IN_TRACES = {"traces"}
"""Its command again is in the traces that it writes."""


def test_every_command_is_run_again_or_named() -> None:
    assert {*RUNS} | WITHOUT_A_COMMAND_AGAIN | WITH_JAVA | IN_TRACES == set(EVERY)


def untimed(value: Any) -> Any:
    """A record without times, memory and the places of its files."""
    if isinstance(value, dict):
        left_out = ("seconds", "memory", "took", "trace", "bytes_per_state")
        return {key: untimed(inner) for key, inner in value.items() if key not in left_out}
    return [untimed(inner) for inner in value] if isinstance(value, list) else value


def plan_files(model: str) -> None:
    current = [{"topic": "t", "partition": p, "replicas": r} for p, r in enumerate([[1, 2], [2, 3]])]
    proposed = [{**current[0], "replicas": [3, 1]}]
    cluster = {"brokers": [{"id": b} for b in (1, 2, 3)]}
    for name, data in (
        ("cluster", cluster),
        ("current", {"version": 1, "partitions": current}),
        ("proposed", {"version": 1, "partitions": proposed}),
    ):
        Path(f"{model}.{name}").write_text(json.dumps(data))


@pytest.mark.parametrize("command", RUNS)
def test_the_command_again_gives_the_same_record(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = model_file(tmp_path, COUNTER)
    Path(f"{model}.variant.py").write_text(COUNTER.replace("s.n == 2", "s.n >= 2"))
    plan_files(model)
    Path(f"{model}.log").write_text('{"action": "up"}\n')
    words, at_default = RUNS[command]
    words = [*command.split(), *(word.replace("{0}", model) for word in words)]
    args = parsed(words)
    unchanged = {o.name for o in options_of(command) if not o.output and getattr(args, o.name) == o.initial}
    assert unchanged == at_default
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    code, _, err = said(capsys, *words, f"--json={first}")
    record = json.loads(first.read_text())
    assert code in (0, 5, 12, 13, 15, 16), err
    assert record["repro"] == args.repro
    assert record["stop_reason"] != "not_started"
    assert said(capsys, *shlex.split(record["repro"])[1:], f"--json={second}")[0] == code
    again = json.loads(second.read_text())
    assert untimed(again) == untimed(record)


def test_the_traces_of_the_command_again_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = model_file(tmp_path, COUNTER)
    suite = ["--set=most=3", "--cover=classes", "--by=after.n", "--max-length=4", *LIMITS]
    walks = ["--set=most=3", "--walks=3", "--seed=5", "--max-length=4"]
    for number, words in enumerate((suite, walks)):
        first, second = tmp_path / f"{number}-first", tmp_path / f"{number}-second"
        assert said(capsys, "traces", model, *words, f"--out={first}")[0] in (0, 5)
        repro = json.loads(next(first.glob("*.itf.json")).read_text())["#meta"]["repro"]
        again = [word.replace("--out=DIR", f"--out={second}") for word in shlex.split(repro)[1:]]
        assert f"--out={second}" in again
        said(capsys, *again)
        written = {path.name: path.read_text() for path in first.iterdir()}
        assert written and written == {path.name: path.read_text() for path in second.iterdir()}


AGAIN = [
    ("check", "die_hard", "--engine=native"),
    ("check", "die_hard", "--engine=reference", "--stories=1", "--full"),
    ("check", "die_hard", "--property=goal_not_reached", "--depth=3", "--witness", "--accept-clipping"),
    ("simulate", "die_hard", "--walks=3", "--seed=0", "--stories=0"),
    ("prove", "die_hard", "--method=bmc", "--depth=2", "--full"),
]
"""Commands that print a report; each is repeated with the options that are given, and without one at its default."""
DEFAULTS = {"--engine=native", "--seed=0"}


@pytest.mark.parametrize("words", AGAIN)
def test_the_last_line_repeats_what_was_given(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files are left out: the reader has them. The record names what an option is at by default too."""
    record = tmp_path / "record.json"
    _, out, _ = said(capsys, *words, f"--json={record}", "--workers=1" if words[0] != "prove" else f"--json={record}")
    last = out.splitlines()[-1]
    assert last.startswith("again: ")
    assert Counter(shlex.split(last.removeprefix("again: "))) == Counter(["reassure", *words]) - Counter(DEFAULTS)
    again = said(capsys, *shlex.split(last)[2:])[1]
    assert again.splitlines()[-1] == last
    repro = json.loads(record.read_text())["repro"]
    assert words[0] != "check" or "--engine=" in repro
