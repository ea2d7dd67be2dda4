"""`reassure claims`: the promises of the documents with their verdicts, to the terminal, a page or a file."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from reassure.checkers.console.commands import GateKind, Reads, Record
from reassure.checkers.console.files import STANDARD_OUTPUT
from reassure.checkers.console.parser import note
from reassure.checkers.ledger import ledger, pages, verdicts
from reassure.checkers.ledger.integrity import Integrity, tell_exit, tell_integrity, tell_summary
from reassure.checkers.ledger.refresh import refresh, run_again
from reassure.checkers.ledger.subjects import properties_by_run
from reassure.checkers.machine.atomic_files import write_record
from reassure.checkers.machine.exit_codes import VERDICTS, Exit, Failure, worst
from reassure.checkers.machine.progress import Progress
from reassure.checkers.machine.stop import Stop, StopReason
from reassure.checkers.machine.terminal import Console
from reassure.checkers.request.model_loader import home
from reassure.checkers.request.shared_options import JSON, Option
from reassure.spec import claims

OPTIONS = (
    Option("ID", "print these claims with all their readings (default: a line for each claim)", nargs="*"),
    Option("--claim ID", "print this claim; repeatable", repeatable=True),
    Option("--full", "print every claim with all its readings", bool, output=True),
    Option("--table", "print only the table of properties that protocols share", bool),
    Option(
        "--format", "format of the output (default: text)", default="text", choices=("text", "md", "html"), output=True
    ),
    Option("--refresh", "run what is missing or stale before printing", bool),
    Option("--replay", "execute the kept traces in plain Python", bool),
    Option(
        "--sample", "if another version of the engines gave verdicts, repeat a few of its runs (some seconds)", bool
    ),
    replace(JSON, help="write everything as data"),
)


def _figures(record: Record) -> dict[str, int]:
    rows = record.get("claims", [])
    return {"claims": len(rows), "readings": sum(len(row["readings"]) for row in rows)} if rows else {}


def _reads() -> Reads:
    """All claims with their subjects, the ledger and the traces."""
    runs = properties_by_run(_every_claim())
    return Reads(
        tuple(sorted({run.subject for run in runs if run.method != "enumerate"})),
        tuple(sorted({run.subject for run in runs if run.method == "enumerate"})),
        (*claims.files(), ledger.PATHS.ledger, ledger.PATHS.traces),
    )


def _every_claim() -> list[claims.Claim]:
    try:
        return claims.read()
    except claims.ClaimError as error:
        raise Failure(Exit.USAGE, str(error)) from None


KIND = GateKind(
    pins=("claims", "readings"),
    figures=_figures,
    left_out=frozenset({"id", "table", "format", "refresh"}),
    models=(),
    reads=_reads,
)


def run(args: argparse.Namespace, console: Console) -> Exit:
    """Prints the claims that are asked for; searches only with `--refresh`."""
    if args.format != "text" and args.json == STANDARD_OUTPUT:
        raise Failure(Exit.USAGE, f"--format {args.format} and --json - both write to standard output")
    every = _every_claim()
    chosen_ids = [verdicts.TABLE] if args.table else [*args.id, *args.claim]
    if unknown := set(chosen_ids) - {c.id for c in every}:
        has = ", ".join(c.id for c in every) or "none"
        raise Failure(Exit.USAGE, f"no claim {min(unknown)}; there are {has}")
    chosen = [c for c in every if not chosen_ids or c.id in chosen_ids]
    if not chosen:
        raise Failure(Exit.NOTHING, "there are no claims")
    if args.refresh:
        _ledger_must_be_writable()
        with Progress() as progress:
            refresh(chosen, note, progress)
    recorded = ledger.read_ledger()
    entries = verdicts.entries(chosen, recorded)
    pinned = _integrity(args, recorded, entries, every if not chosen_ids else None)
    code = args.found = worst([verdicts.exit_code(entries), pinned.code])
    stopped = Stop(StopReason.COMPLETE, next(iter(pinned.differences), pinned.unseen))
    head = {
        "schema": ledger.SCHEMA,
        "exit_code": code.value,
        "verdict": VERDICTS[code],
        "complete": True,
        "stop_reason": stopped.reason,
        "stopped_because": stopped.text,
    }
    write_record(args.json, {**head, **pages.data(entries), "integrity": pinned.data()})
    console.judges = args.format == "text"  # else standard output is the page
    if args.format == "html":
        from reassure.checkers.ledger.html_page import claims_html

        sys.stdout.write(claims_html(entries))
    elif args.format == "md":
        sys.stdout.write("" if args.table else pages.markdown_page(entries) + "\n")
        sys.stdout.write(pages.markdown_table(entries))
    else:
        _print(entries, pinned, code, console, summary=not chosen_ids and not args.full, table_only=args.table)
    return code


def _integrity(
    args: argparse.Namespace, recorded: ledger.Ledger, entries: list[verdicts.Entry], every: list[claims.Claim] | None
) -> Integrity:
    """What is otherwise than the ledger pins it. every: claim that there is; None if only some were asked for."""
    needed = properties_by_run(every if every is not None else [e.claim for e in entries])
    result = Integrity.of(recorded, entries, needed, every)
    if args.sample and not result.confirmed:
        with Progress() as progress:
            result.add_sample(run_again(needed, recorded, note, progress))
    result.whole = every is not None or bool(args.sample)
    if result.unseen and not result.whole:
        note(f"note: {result.unseen}")
    if args.replay:
        result.replay(recorded, entries, whole=every is not None)
    return result


def _print(
    found: list[verdicts.Entry], pinned: Integrity, code: Exit, console: Console, summary: bool, table_only: bool
) -> None:
    """As text: a line for each claim, or everything about those that are asked for."""
    if summary:
        tell_summary(found, pinned, console)
        pages.tell_counts(found, console)
        tell_exit(code, found, console)
        return
    if not table_only:
        pages.tell_claims(found, console)
    pages.tell_table(found, console)
    pages.tell_counts(found, console)
    tell_integrity(pinned, console)


def _ledger_must_be_writable() -> None:
    """The ledger belongs to a checkout: an installed package is never written into."""
    of_the_project = ledger.LedgerPaths.of_the_project() == ledger.PATHS
    if of_the_project and not (home().resolve().parent / "pyproject.toml").is_file():
        raise Failure(Exit.USAGE, "claims --refresh writes the ledger of a checkout; this is an installed package")
