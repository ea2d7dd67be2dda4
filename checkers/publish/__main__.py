"""`python -m reassure.checkers.publish [--check] [--pages] [--promote NAME ...] [--screenshot]`."""

from __future__ import annotations

import argparse

from reassure.checkers.console.parser import note
from reassure.checkers.machine.exit_codes import Failure
from reassure.checkers.machine.terminal import Console
from reassure.checkers.publish import (
    EXPLORED,
    ROOT,
    SCREENSHOT,
    differing,
    generated_files,
    pages,
    project_entries,
    session_pages,
    sessions_of_tests,
    stale_files,
    trace_pictures,
    traces,
    write_traces,
)
from reassure.checkers.publish.model_pages import gate_runs


def main(words: list[str] | None = None) -> int:
    """Writes everything, or with `--check` names what is stale."""
    parser = argparse.ArgumentParser(
        prog="python -m reassure.checkers.publish",
        description="Write the pages and tables that are made from evidence.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing: name what is stale, and exit with 1")
    parser.add_argument("--pages", action="store_true", help="only the pages, which need no run of the gate")
    parser.add_argument(
        "--promote",
        nargs="*",
        metavar="NAME",
        help="only these pages of tests/sessions, or all: they expect what the commands print now",
    )
    parser.add_argument(
        "--screenshot", action="store_true", help="only the picture of the explorer, which needs Chromium"
    )
    args = parser.parse_args(words)
    try:
        return _write_or_check(args, Console())
    except Failure as failure:
        note(f"publish: {failure}")
        return failure.code.value


def _write_or_check(args: argparse.Namespace, console: Console) -> int:
    if args.screenshot:
        return _screenshot(args, console)
    if args.promote is not None:
        texts = sessions_of_tests(args.promote)
        wrong = differing(texts)
    elif args.pages:
        texts = session_pages() | pages(project_entries())
        wrong = differing(texts)
    else:
        ran = gate_runs(ROOT / "gate.toml")
        if not args.check:  # before the pages, which link to these files
            for path in write_traces(traces(ran)):
                console.print(f"written: {path.relative_to(ROOT)}")
        texts = generated_files(ran)
        wrong = stale_files(texts)
    for path in wrong:
        console.print(f"{'stale' if args.check else 'written'}: {path.relative_to(ROOT)}")
        if args.check:
            continue
        if path in texts:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path], encoding="utf-8")
        else:
            path.unlink()
    return 1 if wrong and args.check else 0


def _screenshot(args: argparse.Namespace, console: Console) -> int:
    """Takes the picture of the explorer if that is of another page than today's."""
    page = trace_pictures.explorer_page(*EXPLORED)
    if SCREENSHOT.is_file() and trace_pictures.digest_in(SCREENSHOT.read_bytes()) == trace_pictures.page_digest(page):
        return 0
    if not args.check:
        SCREENSHOT.write_bytes(trace_pictures.screenshot(page))
    console.print(f"{'stale' if args.check else 'written'}: {SCREENSHOT.relative_to(ROOT)}")
    return int(args.check)


if __name__ == "__main__":
    raise SystemExit(main())
