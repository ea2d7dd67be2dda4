"""`reassure kafka patches`: a release compared with each of several patches of it."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

from reassure.checkers.console.commands import Subcommand
from reassure.checkers.kafka.builds.command import CHANGED_RELEASE, OWN_TESTS
from reassure.checkers.kafka.controller.explore import EVENTS, ExploreLimits, Scope
from reassure.checkers.kafka.controller.explore_scope import SCOPE_OPTIONS, fitting, with_late_proposals
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.kafka.controller.words import MAX_BROKERS
from reassure.checkers.kafka.diff.patches import PatchJudge, PatchOutcome
from reassure.checkers.kafka.diff.promises import exit_of_broken
from reassure.checkers.machine.atomic_files import write_record
from reassure.checkers.machine.exit_codes import Exit, UsageFailure, worst
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.options import positive
from reassure.checkers.request.shared_options import BUDGET, JSON, NO_STORIES, Option

SUBCOMMANDS = {
    "patches": Subcommand(
        "compare a release with each of several patches of it: which ones differ?",
        (
            Option("patches PATCH", "a patch, as of `kafka build`, or a folder of *.patch and *.diff", Path, nargs="+"),
            CHANGED_RELEASE,
            Option(
                "--brokers N",
                f"the most brokers, 2 to {MAX_BROKERS}; a patch that 2 brokers do not show is tried with more, unclean "
                "election off (default: 2)",
                positive,
                2,
            ),
            Option("--fewest-brokers N", "begin with N brokers, at most --brokers (default: 2)", positive, 2),
            *(option for option in SCOPE_OPTIONS if option.name in ("min_isr", "replicas", "configuration", "events")),
            Option("--together", "compare one build with all the patches (default: a build for each)", bool),
            OWN_TESTS,
            Option(
                "--groups",
                "record every group of steps that differ with a shortest run, and the shortest runs after which a "
                "partition is worse off",
                bool,
            ),
            Option("--jvms N", "how many JVMs (default: one a core)", positive, output=True),
            BUDGET,
            JSON,
            NO_STORIES,
        ),
    )
}


def run_patches(args: argparse.Namespace, console: Console) -> Exit:
    """Compares, and prints a line for each patch.

    Exit code 15 if one differs, 12 if one of Kafka's own tests fails, 5 if a comparison was not finished.
    """
    if not 2 <= args.fewest_brokers <= args.brokers:
        raise UsageFailure(
            f"--fewest-brokers {args.fewest_brokers} is not from 2 to --brokers, which is {args.brokers}"
        )
    if args.replicas > 2:
        raise UsageFailure(f"--replicas {args.replicas} is more than the 2 brokers that are tried first")
    events = tuple(name for name in EVENTS if name in args.events)
    more = Scope(2, args.min_isr, args.replicas, (False,), args.configuration == "changes", events)
    fitting(replace(more, brokers=args.brokers))
    first = with_late_proposals(replace(more, unclean=(False, True)))
    scopes = [first, *(replace(more, brokers=n) for n in range(3, args.brokers + 1))][args.fewest_brokers - 2 :]
    paths = [path for each in args.patches for path in _patches(each)]
    limits = ExploreLimits(budget=args.budget)
    judge = PatchJudge(
        release(args.release), scopes, args.jvms or os.cpu_count() or 1, limits, args.own_tests, args.groups
    )
    progress = Progress(quiet=args.quiet)
    outcomes = []
    for outcome in judge.outcomes([paths] if args.together else [[path] for path in paths], progress):
        progress.done()
        console.print(_line(outcome), style="red" if outcome.differences else "")
        outcomes.append(outcome)
    console.print(
        f"{sum(bool(o.differences) for o in outcomes)} of {len(outcomes)} builds differ from Kafka {args.release}"
    )
    code = worst(
        [
            *(Exit.EXPECTATION for o in outcomes if o.differences),
            *(Exit.SAFETY for o in outcomes if o.own_tests is not None and o.own_tests.failed),
            *(exit_of_broken(o.head_breaks) for o in outcomes),
            *(Exit.INCONCLUSIVE for o in outcomes if not o.complete),
        ]
    )
    if args.json:
        rows = [outcome.record() for outcome in outcomes]
        write_record(args.json, {"release": args.release, "events": list(events), "patches": rows})
    return code


def _patches(path: Path) -> list[Path]:
    """The patches of a folder, by name, or the file itself."""
    if not path.is_dir():
        return [path]
    paths = sorted(p for p in path.iterdir() if p.suffix in (".patch", ".diff"))
    if not paths:
        raise UsageFailure(f"{path} has no file *.patch or *.diff")
    return paths


def _line(outcome: PatchOutcome) -> str:
    scope = outcome.scope
    bounds = f"{scope.brokers} brokers{'' if len(scope.unclean) > 1 else ', unclean election off'}"
    bounds += "" if outcome.complete else ", not finished"
    figures = f"({bounds}; {outcome.seconds:.0f} s)"
    if outcome.differences:
        text = f"{outcome.differing_steps:,} of {outcome.steps:,} steps differ {figures}: {'; '.join(outcome.run)}"
    else:
        text = f"no difference {figures}"
    if outcome.head_breaks:
        text += f"; breaks {', '.join(outcome.head_breaks)}"
    if outcome.own_tests is not None:
        text += f"; {len(outcome.own_tests.failed)} of Kafka's own tests fail"
    return f"{outcome.name}: {text}"


ACTIONS = {"patches": run_patches}
