"""`reassure kafka build`: a release with patches of one's own, as a folder that every command takes for a release."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from reassure.checkers.console.commands import Subcommand
from reassure.checkers.kafka.builds.own_tests import run_own_tests
from reassure.checkers.kafka.builds.patched_build import (
    NEWEST_WITH_SOURCES,
    PatchedBuild,
    make_build,
    read_patch,
    repository_diff,
    sources,
)
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.machine.atomic_files import write_atomically
from reassure.checkers.machine.exit_codes import Exit, UsageFailure
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.shared_options import Option

OWN_TESTS = Option(
    "--own-tests",
    "run Kafka's own tests of the classes that reassign partitions on the build too; the release is published with "
    "their jars; exit code 12 if one fails",
    bool,
)
CHANGED_RELEASE = Option(
    "--release R",
    f"the release to change; its sources are published (default: {NEWEST_WITH_SOURCES})",
    default=NEWEST_WITH_SOURCES,
)
SUBCOMMANDS = {
    "build": Subcommand(
        "compile patches into a release of Kafka: a build to explore and compare",
        (
            Option(
                "patches PATCH",
                "a unified diff, an edited .java file of kafka-metadata, or a patch by --as-patch; several add up",
                Path,
                nargs="+",
            ),
            CHANGED_RELEASE,
            Option("--out DIR", "the folder to write; an older build there is replaced", Path, output=True),
            OWN_TESTS,
            Option(
                "--as-patch FILE",
                "build nothing: write the PATCHes without Kafka's text, as line numbers, digests and new text; "
                "- is standard output",
                Path,
                output=True,
            ),
            Option(
                "--diff FILE",
                "write the PATCHes as one unified diff, which `git apply` takes in a checkout of the release; - is "
                "standard output; without --out nothing is built",
                Path,
                output=True,
            ),
        ),
    )
}


def run_build(args: argparse.Namespace, console: Console) -> Exit:
    """Makes the build, or writes the patches; exit code 153 if a patch does not fit or javac refuses it,
    12 if a test of Kafka's own fails."""
    kafka = release(args.release)
    if args.as_patch is not None or args.diff is not None:
        release_sources = sources(kafka)
        patches = [read_patch(path, release_sources) for path in args.patches]
        if args.as_patch is not None:
            _write(args.as_patch, "".join(map(str, patches)))
        if args.diff is not None:
            _write(args.diff, repository_diff(patches, release_sources))
        if args.as_patch is not None or args.out is None:
            return Exit.OK
    if args.out is None:
        raise UsageFailure("--out DIR names the folder of the build")
    build = make_build(args.patches, kafka, args.out)
    names = ", ".join(Path(name).stem for name in build.files)
    console.print(
        f"Kafka {kafka.version} with changes in {names}: {len(build.classes)} "
        f"class{'es' * (len(build.classes) != 1)} compiled; the build is in {build.folder}"
    )
    return _own_tests(build, console) if args.own_tests else Exit.OK


def _write(path: Path, text: str) -> None:
    """Writes a text to a file, or to standard output."""
    if path == Path("-"):
        sys.stdout.write(text)
    else:
        write_atomically(path, text)


def _own_tests(build: PatchedBuild, console: Console) -> Exit:
    tests = run_own_tests(build)
    for name in tests.failed:
        console.print(f"  {name}", style="red")
    console.print(f"of Kafka's own tests {tests.passed} pass, {len(tests.failed)} fail")
    return Exit.SAFETY if tests.failed else Exit.OK


ACTIONS = {"build": run_build}
