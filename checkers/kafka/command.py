"""`reassure kafka`: the subcommands that run Kafka's own controller."""

from __future__ import annotations

import argparse

from reassure.checkers.kafka.builds import command as builds
from reassure.checkers.kafka.cluster import command as cluster
from reassure.checkers.kafka.controller import command as controller
from reassure.checkers.kafka.diff import command as diff
from reassure.checkers.kafka.diff import patches_command as patches
from reassure.checkers.kafka.reports import adopt
from reassure.checkers.kafka.reports import command as reports
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.terminal import Console

SUBCOMMANDS = {
    **controller.SUBCOMMANDS,
    **builds.SUBCOMMANDS,
    **diff.SUBCOMMANDS,
    **patches.SUBCOMMANDS,
    **cluster.SUBCOMMANDS,
    **reports.SUBCOMMANDS,
    **adopt.SUBCOMMANDS,
}
ACTIONS = {
    **controller.ACTIONS,
    **builds.ACTIONS,
    "diff": diff.run,
    **patches.ACTIONS,
    **cluster.ACTIONS,
    **reports.ACTIONS,
    **adopt.ACTIONS,
}


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Carries out one of the subcommands."""
    return ACTIONS[args.action](args, console)
