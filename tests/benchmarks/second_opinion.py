"""The page of second opinions: every check of the project's gate file, by our engine and by TLC.

`python -m tests.benchmarks.second_opinion --jar FILE` runs what has no answer yet in the answers beside this module,
what has one about an earlier text of its model, and what TLC did not finish in less time, and writes the page:
checks that have been the same before first, small ones before large ones. `--again` forgets the answers first;
`--total` ends it. All times are of processors, so that other programs of the machine change them little.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.gate import gate_file
from reassure.checkers.gate.gate_file import Check
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.options import DEFAULT_ENGINE, SearchOptions
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.tla.second_opinion import ask_tlc
from reassure.checkers.tla.tlc import TlcInstallation
from reassure.spec.semantics.trace import JsonObject

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "reference" / "second-opinion.md"
ANSWERS = Path(__file__).with_name("second_opinion.json")
MEMORY = 2 << 30
Answer = JsonObject
"""What the page needs of one comparison; its `outcome` says which other keys there are."""
NOT_RUN = "not run"


class Answers(TypedDict, total=False):
    """The file of answers: of checks of the gate, of whole runs, of smaller models. seconds: TLC's limit."""

    answers: dict[str, Answer]
    whole_runs: dict[str, Answer]
    smaller: dict[str, Answer]
    seconds: float
    tlc: str


KRAFT = (
    "brokers=2",
    "replication_factor=1",
    "min_isr=1",
    "disturbances=1",
    "shutdowns=0",
    "admin_requests=1",
    "unclean=off",
)
BATCHING = ("brokers=3", "deaths=0", "crashes=0")
WHOLE_RUNS = {
    **dict.fromkeys(("kraft", "kraft_invariants", "kraft_reconfigured", "kraft_target_order"), KRAFT),
    **dict.fromkeys(("kraft_kafka", "kraft_kafka_maintained", "kraft_kafka_ordered", "kraft_kafka_racks"), KRAFT),
    "kraft_kafka_operated": (*KRAFT, "restarts=0", "controlled_shutdowns=1"),
    **dict.fromkeys(("batching", "batching_capped", "batching_literal", "batching_loops"), BATCHING),
}
"""By model, a configuration in which TLC decides the properties of whole runs that it does not in those of the gate."""

SMALLER = (
    ("raft_membership_fixed", "entries=1"),
    ("tests/benchmarks/raft_two_candidates.py", "entries=1"),
)
"""Models and configurations of them that TLC searches in `SMALLER_SECONDS`; those of the gate are too large for it."""
SMALLER_SECONDS = 900

HEAD = """# Second opinions by TLC

Each `check` of [the gate file](../../gate.toml), by our engine with one thread, and by TLC with one worker on the
module that `reassure export` writes. "same" says that the numbers of distinct and generated states, the depth and the
answer on every property and cover are equal, and that plain Python executes each counterexample that TLC prints
([how](../how-to/tla.md)).

TLC has {seconds:g} s of processor for its search of all states, which is about all properties of states and steps, and
{seconds:g} s more for all its other runs together: a search for deadlocks, and searches for properties of whole runs
and for counterexamples that the first one does not print. Java has {memory:g} GiB. The times are seconds of processor,
of all threads: ours of the whole check, TLC's of its search of all states with Java's start. Where there are none, the
limit was 120 s of the clock for everything, on two cores that many other programs used.
`python -m tests.benchmarks.second_opinion` writes this page; the classes of this TLC are of {tlc}. An answer with
"earlier text" was given before the model, or what its claims say, was changed for the last time.

{summary}

"""
COLUMNS = """| check | distinct states | ours | TLC | answers | executed | outcome |
|---|---|---|---|---|---|---|
"""
LESS = """
## Smaller configurations

Models of which the gate has configurations that are too large for TLC, in smaller ones, with a limit of {seconds} s. In
[`raft_two_candidates`](../../tests/benchmarks/raft_two_candidates.py) two of the four servers stand, which suffices for
the published bug of Raft's change of members.

"""


SMALL = """
## Properties of whole runs

TLC evaluates `ENABLED` of a large action slowly, so that it does not decide these properties in the larger
configurations. Each model has them in a small one too:

| check | distinct states | outcome |
|---|---|---|
"""

EACH = """
Each property of whole runs of each model of the gate file, with TLC's verdict in the largest configuration in which it
gave one:

| model | property | kind | both say | distinct states |
|---|---|---|---|---|
"""
KINDS = {"leads_to": "leads to", "recurrence": "infinitely often", "persistence": "eventually always"}


def checks() -> list[Check]:
    """The checks that search every reachable state, those with few states first."""
    found = [c for c in gate_file.read_gate_file(ROOT / "gate.toml").checks if c.kind == "check"]
    return sorted(found, key=lambda c: pinned(c) or 0)


def pinned(check: Check) -> int | None:
    """The distinct states that the gate file expects, if it does."""
    return check.pin.get("distinct") if isinstance(check.pin, dict) else None


def key_of(check: Check | CheckRequest) -> str:
    """The command of a check, without its program and the engine that is the default."""
    return check.repro().removeprefix("reassure ").removesuffix(f" --engine={DEFAULT_ENGINE}")


def of_whole_runs() -> list[CheckRequest]:
    """The checks of properties of whole runs in small configurations."""
    requests = []
    for model, settings in WHOLE_RUNS.items():
        names = [p.name for p in prepare_plain(model, list(settings))[0].properties if p.temporal]
        requests.append(CheckRequest(model, list(settings), DEFAULT_ENGINE, SearchOptions(properties=names)))
    return requests


def of_smaller() -> list[CheckRequest]:
    """The checks in configurations that are smaller than those of the gate."""
    return [CheckRequest(model, list(settings), DEFAULT_ENGINE, SearchOptions()) for model, *settings in SMALLER]


def answer_of(request: CheckRequest, tlc: TlcInstallation, seconds: float) -> Answer:
    """Both answers."""
    request.options = replace(request.options, budget=None, memory=MEMORY, workers=1)
    began = time.process_time()
    result, bound = run(request, Progress(quiet=True))
    answer: Answer = {
        "model_sha256": digest_of(request),
        "distinct": result.stats.distinct,
        "processor": seconds,
        "ours": round(time.process_time() - began, 2),
    }
    try:
        opinion = ask_tlc(result, bound, request.options, replace(tlc, processor=seconds), Progress(quiet=True))
    except Failure as failure:
        return {**answer, "outcome": f"refused: {failure}"}
    of_runs = {p.name for p in bound.properties if p.temporal}
    answer |= {
        "tlc": round(opinion.processor, 1),
        "answers": len(opinion.rows),
        "executed": opinion.traces,
        "runs": {row.about: row.theirs for row in opinion.rows if row.about in of_runs and row.same},
    }
    if opinion.differences:
        rows = "; ".join(f"{r.about}: ours {r.ours}, TLC's {r.theirs}" for r in opinion.differences)
        return {**answer, "outcome": f"different: {rows}"}
    if opinion.reason:
        return {**answer, "outcome": opinion.reason}
    if opinion.undecided:
        return {**answer, "outcome": f"same; not decided in {seconds:g} s more: {', '.join(opinion.undecided)}"}
    return {**answer, "outcome": "same"}


def digest_of(request: CheckRequest) -> str:
    """The digest of a model's meaning."""
    return prepare_plain(request.model, request.set)[1]


def final(answer: Answer, request: CheckRequest, seconds: float) -> bool:
    """Whether neither the model's text nor more time would change an answer."""
    enough = answer.get("processor", 0) >= (0.1 if answer["outcome"] == "same" else seconds)
    return enough and answer.get("model_sha256") == digest_of(request)


def page(data: Answers) -> str:
    """The page of answers."""
    answers = data["answers"]
    rows: list[str] = []
    outcomes: list[str] = []
    earlier: list[bool] = []
    found = [(check, answers.get(key_of(check), {"outcome": NOT_RUN})) for check in checks()]
    for check, answer in sorted(found, key=lambda row: row[1].get("distinct") or pinned(row[0]) or 0):
        outcomes.append(answer["outcome"])
        earlier.append(answer["outcome"] != NOT_RUN and answer.get("model_sha256") != digest_of(check.request()))
        distinct = answer.get("distinct", pinned(check))
        rows.append(row_of(check, distinct, answer, earlier[-1]))
    same = sum(o == "same" for o in outcomes)
    partly = sum(o.startswith("same;") for o in outcomes)
    different = sum(o.startswith("different") for o in outcomes)
    refused = sum(o.startswith("refused") for o in outcomes)
    left = sum(o == NOT_RUN for o in outcomes)
    rest = len(outcomes) - same - partly - different - refused - left
    summary = (
        f"Of {len(outcomes)} checks {same} are the same, {partly} the same as far as TLC came, {different} different, "
        f"{refused} refused; TLC's search did not end in time for {rest}, and {left} have not been run. "
        f"{sum(earlier)} answers are about an earlier text."
    )
    small = []
    for request in of_whole_runs():
        answer = data["whole_runs"].get(key_of(request), {"outcome": NOT_RUN, "distinct": 0})
        small.append(f"| `{key_of(request)}` | {answer['distinct']:,} | {answer['outcome']} |\n")
    each = [
        f"| {model} | {name} | {KINDS[kind]} | {verdict} | {f'{distinct:,}' if distinct else ''} |\n"
        for (model, name), (kind, verdict, distinct) in of_each(data).items()
    ]
    head = HEAD.format(seconds=data["seconds"], memory=MEMORY / (1 << 30), tlc=data["tlc"], summary=summary)
    less = [
        row_of(request, answer.get("distinct"), answer, answer.get("model_sha256") not in (None, digest_of(request)))
        for request in of_smaller()
        for answer in [data["smaller"].get(key_of(request), {"outcome": NOT_RUN})]
    ]
    head += COLUMNS + "".join(rows) + LESS.format(seconds=SMALLER_SECONDS) + COLUMNS + "".join(less)
    return head + SMALL + "".join(small) + EACH + "".join(each)


def row_of(check: Check | CheckRequest, distinct: int | None, answer: Answer, earlier: bool) -> str:
    """A row of the table of checks. earlier: whether the answer is about an earlier text."""
    cells = [
        f"`{key_of(check)}`",
        "" if distinct is None else f"{distinct:,}",
        f"{answer['ours']:.2f} s" if "processor" in answer else "",
        f"{answer['tlc']:.1f} s" if "processor" in answer and "tlc" in answer else "",
        str(answer.get("answers") or ""),
        str(answer.get("executed") or ""),
        answer["outcome"].replace("|", "\\|") + " (earlier text)" * earlier,
    ]
    return "| " + " | ".join(cells) + " |\n"


def of_each(data: Answers) -> dict[tuple[str, str], tuple[str, str, int]]:
    """By model and property of whole runs: its kind, TLC's verdict where it agrees with ours ("" if there is none),
    and the distinct states of the largest configuration with one.
    """
    found: dict[tuple[str, str], tuple[str, str, int]] = {}
    asked = [(data["answers"], check.request()) for check in checks()]
    asked += [(data["whole_runs"], request) for request in of_whole_runs()]
    for answers, request in asked:
        answer = answers.get(key_of(request), {})
        for claim in prepare_plain(request.model, request.set)[0].properties:
            if claim.temporal and request.options.wants(claim.name):
                before = found.setdefault((request.model, claim.name), (claim.kind, "", 0))
                verdict = answer.get("runs", {}).get(claim.name, "")
                if verdict and answer["distinct"] > before[2]:
                    found[request.model, claim.name] = (claim.kind, verdict, answer["distinct"])
    return dict(sorted(found.items()))


def main() -> None:
    """Runs what is missing, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jar", type=Path, help="tla2tools.jar (default: the variable TLA2TOOLS)")
    parser.add_argument(
        "--seconds", type=float, default=120, help="TLC's limit of processor for its search, and for the rest"
    )
    parser.add_argument("--total", type=float, help="begin no check after so many seconds of the clock")
    parser.add_argument("--large", action="store_true", help="begin with those that TLC did not finish")
    parser.add_argument("--again", action="store_true", help="forget the answers that there are")
    args = parser.parse_args()
    tlc, began = TlcInstallation.find(args.jar), time.monotonic()
    data: Answers = {"answers": {}, "whole_runs": {}, "smaller": {}}
    if ANSWERS.is_file() and not args.again:
        data |= json.loads(ANSWERS.read_text(encoding="utf-8"))
    data |= {"seconds": args.seconds, "tlc": tlc.version()}
    asked_for = {key_of(check) for check in checks()}
    data["answers"] = {key: answer for key, answer in data["answers"].items() if key in asked_for}

    def cost(check: Check) -> tuple[int, int]:
        """Those that were the same first, then those that were partly, small ones before large ones."""
        before = data["answers"].get(key_of(check), {})
        kind, size = before.get("outcome", ""), before.get("distinct") or pinned(check) or 0
        rank = 0 if kind in ("same", "") else 1 if kind.startswith("same") else 2
        return (-rank if args.large else rank), size

    asked = [(data["whole_runs"], request, args.seconds) for request in of_whole_runs()]
    asked += [(data["smaller"], request, SMALLER_SECONDS) for request in of_smaller()]
    asked += [(data["answers"], check.request(), args.seconds) for check in sorted(checks(), key=cost)]
    for answers, request, seconds in asked:
        if args.total is not None and time.monotonic() - began > args.total:
            break
        key = key_of(request)
        if not final(answers.get(key, {"outcome": NOT_RUN}), request, seconds):
            answers[key] = answer_of(request, tlc, seconds)
            print(key, answers[key], flush=True)
            ANSWERS.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(data), encoding="utf-8")


if __name__ == "__main__":
    main()
