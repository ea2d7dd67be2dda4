"""`python -m reassure.checkers.publish [--check] [--pages]`."""

from __future__ import annotations

import sys

from rich.console import Console

from reassure.checkers.publish import ROOT, differing, entries, files, pages, session_pages, stale
from reassure.checkers.publish.gate_run import gate_runs


def main() -> int:
    """Writes everything, or with `--check` names what is stale."""
    only_pages = "--pages" in sys.argv
    made = session_pages() | pages(entries()) if only_pages else files(gate_runs(ROOT / "gate.toml"))
    wrong = differing(made) if only_pages else stale(made)
    console = Console(highlight=False)
    for path in wrong:
        console.print(f"{'stale' if '--check' in sys.argv else 'written'}: {path.relative_to(ROOT)}", markup=False)
        if "--check" in sys.argv:
            continue
        if path in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made[path], encoding="utf-8")
        else:
            path.unlink()
    return 1 if wrong and "--check" in sys.argv else 0


if __name__ == "__main__":
    raise SystemExit(main())
