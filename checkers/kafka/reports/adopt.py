"""`reassure kafka adopt`: a release that is in no table: by which rules it goes, its findings, what to edit for it."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from importlib import resources
from pathlib import Path

from reassure.checkers.console.commands import Subcommand
from reassure.checkers.kafka.audit.metadata_records import unknown_records
from reassure.checkers.kafka.builds.unified_diff import written_diff
from reassure.checkers.kafka.controller.class_path import MAVEN_SECONDS, fetch
from reassure.checkers.kafka.controller.command import KEPT_MODEL
from reassure.checkers.kafka.controller.driver import Driver
from reassure.checkers.kafka.controller.explained import RulesComparison, compare_with_all_rules, is_of_a_release
from reassure.checkers.kafka.controller.explore import Scope
from reassure.checkers.kafka.controller.explore_report import report_explanation
from reassure.checkers.kafka.controller.findings_command import FindingOutcome, outcomes_by_rules
from reassure.checkers.kafka.controller.releases import LATEST, RELEASES, Release, release
from reassure.checkers.kafka.reports.command import findings_of_project
from reassure.checkers.machine.atomic_files import write_atomically, write_record
from reassure.checkers.machine.exit_codes import Exit, Failure, SystemFailure, UsageFailure, worst
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console, quantity
from reassure.checkers.request.options import positive
from reassure.checkers.request.run_identity import RunIdentity
from reassure.checkers.request.shared_options import BUDGET, JSON, NO_STORIES, Option
from reassure.spec.kafka.releases import minor, numbers

SEARCHES: tuple[tuple[Scope, int | None], ...] = (
    (Scope(2, unclean=(False,), events=("controlled-shutdown", "cordon", "directories", "unregister")), 4),
    (Scope(2), None),
    (Scope(2, unclean=(False,), configuration_changes=True), None),
    (Scope(2, elr=False), None),
    (Scope(3, unclean=(False,)), 3),
)
"""What is compared with the rules: bounds and levels (None: all). The first one tells most sets of rules apart."""
TABLE, OF_TESTS = "spec/kafka/releases.py", "checkers/kafka/controller/releases.py"
PLACES_OF_RULES = (
    ("models/kraft/kafka_controller.py", r'(    V{old_} = "{old}"\n)', r'\1    V{new_} = "{new}"\n'),
    ("models/kraft/kraft_kafka.py", r"release: Release = Release\.V{old_}\b", r"release: Release = Release.V{new_}"),
    ("models/kraft/worked_examples.py", r"release=Release\.V{old_}\b", r"release=Release.V{new_}"),
    ("checkers/kafka/pages/headlines.py", r'(    "{old}": (".*"),\n)', r'\1    "{new}": \2,\n'),
    ("spec/claims/K.toml", r'(?m)^(releases = \[.*"{old}")\]', r'\1, "{new}"]'),
)
"""Files that name the newest rules: the text there, and with rules after them. old_, new_: with an underscore."""
SUBCOMMANDS = {
    "adopt": Subcommand(
        "find by which rules a new release goes, run the findings' tests on it, list the edits",
        (
            Option("name VERSION", "a release that is in no table of this program, such as 4.4.1"),
            Option(
                "--diff FILE",
                "write the edits as a unified diff for a checkout of this project (default: print them)",
                Path,
                output=True,
            ),
            Option("--jvms N", "how many JVMs search (default: one a core)", positive, output=True),
            replace(BUDGET, help="stop Maven after this time (default: 10m)", default=MAVEN_SECONDS),
            JSON,
            NO_STORIES,
        ),
    )
}


def run_adopt(args: argparse.Namespace, console: Console) -> Exit:
    """Compares, runs the tests, lists the edits; exit code 19 if no rules explain the release, 18 by a finding."""
    kafka = new_release(args.name)
    jars = fetch(kafka, seconds=args.budget)
    kafka = _with_tests(kafka, args.budget)
    without = "" if kafka.tested else "out"
    console.print(f"Kafka {kafka.version}: {len(jars.jars)} jars, published with{without} those of its tests")
    with Progress(quiet=args.quiet) as progress, ExitStack() as stack:
        jvms = args.jvms or os.cpu_count() or 1
        progress.ready(f"starting {quantity(jvms, 'JVM')}")
        drivers = [stack.enter_context(Driver(jars)) for _ in range(jvms)]
        comparison = compare_with_all_rules(KEPT_MODEL, drivers, SEARCHES, progress)
    rules = comparison.nearest(minor(kafka.version))
    differing = comparison.differing(rules).total()
    known = not differing and is_of_a_release(rules)
    _report_comparison(comparison, rules, kafka, console)
    console.print(f"\ntests of the findings on Kafka {kafka.version}:", style="bold")
    cases = [case for _, several in findings_of_project() for case in several]
    like = rules if is_of_a_release(rules) else LATEST.rules
    outcomes, not_run = [], Exit.OK
    try:
        outcomes = outcomes_by_rules(kafka, like, cases)
        _report_outcomes(outcomes, like, console)
    except Failure as failure:  # a test that a new release does not compile; all else is said without it
        console.print(f"  not run: {failure}", style="yellow")
        not_run = failure.code
    own = rules if known else name_of_new_rules(kafka.version, list(comparison.explanations))
    edits = edited(kafka, own, "" if known else list(filter(is_of_a_release, comparison.explanations))[-1])
    diff = "".join(written_diff(project_text(path), text, path) for path, text in edits.items())
    unknown = [record for jar in jars.jars if jar.name.startswith("kafka-metadata-") for record in unknown_records(jar)]
    console.print("\nto do, as docs/how-to/add-a-kafka-release.md has it:", style="bold")
    for number, line in enumerate(to_do(kafka, own, known, unknown, args.diff), 1):
        console.print(f"  {number}. {line}")
    if args.diff:
        write_atomically(args.diff, diff)
    else:
        console.print(f"\n{diff.rstrip()}")
    wrong = sum(bool(outcome.wrong) for outcome in outcomes)
    code = worst([Exit.OK if known else Exit.DISAGREE, Exit.TRACE if wrong else Exit.OK, not_run])
    which = f"the rules of {rules}" if known else f"rules of its own; those of {rules} are the nearest"
    figures = f"{differing:,} of {quantity(comparison.steps, 'step')} differ"
    verdict = f"Kafka {kafka.version} goes by {which}: {figures}"
    more = f"; {quantity(wrong, 'finding')} otherwise than by {like}" if wrong else ""
    console.verdicts[code] = verdict + (more if not_run is Exit.OK else "; the tests of the findings were not run")
    if args.json:
        stopped = Stop(StopReason.COMPLETE, "every step was compared")
        record = {
            **RunIdentity("", None, {}, "kafka", args.repro).record(code, True, stopped),
            "release": kafka.version,
            "rules": rules if known else None,
            "nearest": rules,
            "edits": diff,
            "searches": [{"bounds": graph.scope.text, "steps": graph.steps} for graph in comparison.graphs],
            "sets_of_rules": {name: dict(comparison.differing(name)) for name in comparison.explanations},
            "findings": [asdict(outcome) for outcome in outcomes],
            "unknown_records": unknown,
        }
        write_record(args.json, record)
    return code


def new_release(text: str) -> Release:
    """The release to adopt; `Failure` for a text that is none, one that is too old, and one in the table."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", text):
        raise UsageFailure(f"{text!r} is not the version of a release, such as {LATEST.version}")
    kafka = release(text)
    if kafka.listed:
        raise Failure(Exit.NOTHING, f"Kafka {text} is in the table: it goes by the rules of {kafka.rules}")
    if numbers(text) < numbers(RELEASES[0].version):
        raise UsageFailure(f"Kafka {text} is older than {RELEASES[0].version}, the oldest release that is supported")
    return kafka


def _with_tests(kafka: Release, seconds: float) -> Release:
    """The release with what Maven says of the jars of its tests."""
    try:
        fetch(kafka, tests=True, seconds=seconds)
    except SystemFailure as failure:
        if "Could not find artifact" not in str(failure):
            raise
        return kafka
    return replace(kafka, tested=True)


def _report_comparison(comparison: RulesComparison, nearest: str, kafka: Release, console: Console) -> None:
    """The searches, then a row for each set of rules; of the nearest the first step of each group that differs."""
    for (_, depth), graph in zip(SEARCHES, comparison.graphs, strict=True):
        within = f", depth {depth}" if depth else ""
        console.print(
            f"  {len(graph.states):7,} states {graph.steps:9,} steps  {graph.scope.text}{within}", style="dim"
        )
    console.print(f"  {'rules of':9} {'steps that differ':>18}  commands", style="dim")
    for name in comparison.explanations:
        groups = comparison.differing(name)
        told = ", ".join(f"{kind} {count:,}" for kind, count in groups.most_common())
        count = f"{groups.total():,}{'' if comparison.is_complete(name) else ' or more'}"
        console.print(f"  {name:9} {count:>18}  {told}".rstrip(), style="green" if name == nearest else "")
    for explanation in comparison.explanations[nearest]:
        if explanation.count:
            report_explanation(explanation, KEPT_MODEL, kafka.version, console)


def _report_outcomes(outcomes: Sequence[FindingOutcome], rules: str, console: Console) -> None:
    """A row for each finding, red where its test fails; and what the rules of a release have otherwise."""

    def word(message: str) -> str:
        return "red" if message else "green"

    console.print(f"  {'claim':6} {'with ELR':9} {'without':8}", style="dim")
    for outcome in outcomes:
        otherwise = f" otherwise than by the rules of {rules}: {outcome.wrong}" if outcome.wrong else ""
        row = f"  {outcome.claim:6} {word(outcome.message):9} {word(outcome.without_elr):8}{otherwise}"
        console.print(row.rstrip(), style="red" if outcome.wrong else "")


def project_text(path: str) -> str:
    """The text of a file of this project."""
    return resources.files("reassure").joinpath(path).read_text(encoding="utf-8")


def name_of_new_rules(version: str, known: Sequence[str]) -> str:
    """What rules are called that no release had before: the minor version, or the one after the newest known."""
    major, second = max(numbers(name) for name in known if is_of_a_release(name))
    return minor(version) if minor(version) not in known else f"{major}.{second + 1}"


def edited(kafka: Release, rules: str, newest: str) -> dict[str, str]:
    """The new text of each file that names the release. newest: the newest rules if its own are new, else ""."""
    texts = {TABLE: _with_version(project_text(TABLE), rf'    "{re.escape(rules)}": \((.*?)\)', kafka.version)}
    if texts[TABLE] == project_text(TABLE):
        texts[TABLE] = texts[TABLE].replace("\n}\n", f'\n    "{rules}": ("{kafka.version}",),\n}}\n', 1)
    if not kafka.tested:
        texts[OF_TESTS] = _with_version(project_text(OF_TESTS), r"WITHOUT_TESTS = \((.*)\)", kafka.version)
    names = {"old": newest, "new": rules, "old_": newest.replace(".", "_"), "new_": rules.replace(".", "_")}
    for path, old, new in PLACES_OF_RULES if newest else ():
        texts[path] = re.sub(old.format(**names), new.format(**names), project_text(path))
    return texts


def _with_version(text: str, tuple_of_versions: str, version: str) -> str:
    """The text with one more version in a tuple, in order. tuple_of_versions: a pattern for a line that has it."""

    def more(match: re.Match[str]) -> str:
        versions = sorted([*re.findall(r'"(.+?)"', match[1]), version], key=numbers)
        return match[0].replace(match[1], ", ".join(f'"{each}"' for each in versions))

    return re.sub(f"(?m)^{tuple_of_versions}", more, text)


def to_do(kafka: Release, rules: str, known: bool, unknown: Sequence[str], diff: Path | None) -> list[str]:
    """What is left to a person, in order."""
    of_it = f"--release {kafka.version}"
    lines = [f"`git apply {diff}` in a checkout of this project" if diff else "make the edits below"]
    if not known:
        lines += [
            f"write what {rules} does otherwise in `switches` of models/kraft/kafka_controller.py, and where a release "
            "is named alone (`git grep 'Release.V' models`), until no step differs: "
            f"`reassure kafka explore {of_it} --brokers 2 --configuration changes --explain {rules}`",
            f"give gate.toml the two checks of kraft_kafka for {rules}, and `set` to those of the former newest rules",
        ]
    lines += [
        f"compare every configuration of the gate, which takes minutes: `reassure kafka conform {KEPT_MODEL} --gate "
        f"{of_it} --set release={rules}`",
        f"keep the release's answers: `reassure kafka record {of_it}`",
        "the records of the metadata log are those that `kafka audit` knows"
        if not unknown
        else f"add to checkers/kafka/audit/metadata_records.py: {'; '.join(unknown)}",
        "name the release where releases are listed by hand: tests/checkers/kafka/controller/test_releases.py, "
        "docs/how-to/kafka.md, CHANGELOG.md",
        "`reassure claims --refresh`, `reassure kafka findings`, `python -m reassure.checkers.publish`",
    ]
    return lines


ACTIONS = {"adopt": run_adopt}
