"""Python collects garbage in any thread: Z3 has to bear it while it works in another."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
    import gc, sys, threading, time

    import z3
    from reassure.checkers.engines.symbolic import solver

    context = {context}
    over = threading.Event()


    def collect():
        while not over.is_set():
            gc.collect(0)
            time.sleep(0)


    gc.disable()
    collector = threading.Thread(target=collect)
    collector.start()
    numbers = [z3.BitVec(f"x{{i}}", 32, context) for i in range(40)]
    end, rounds = time.monotonic() + {seconds}, 0
    while time.monotonic() < end:
        of = z3.Solver(ctx=context)
        for i in range(39):
            ring = [numbers[i] * numbers[i + 1] + rounds]
            ring.append(ring)
            for k in range(20):
                within = [(ring[0] + k) * numbers[(i + k) % 40]]
                within.append(within)
            of.add(within[0] > ring[0]) if rounds % 5 == 0 else None
        of.set("rlimit", 300)
        of.check()
        rounds += 1
    over.set()
    collector.join()
    print("collected while Z3 worked")
"""


@pytest.mark.parametrize("context", ["z3.main_ctx()", "solver.context_of_any_thread()"])
def test_terms_are_dropped_in_one_thread_while_another_makes_terms(context: str) -> None:
    """Without `solver.droppable` this ends by a segmentation fault, within a second or a few."""
    program = textwrap.dedent(PROGRAM).format(context=context, seconds=3)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "collected while Z3 worked\n"), ran.stderr


def test_every_context_comes_from_one_place() -> None:
    package = Path(__file__).parents[4] / "checkers"
    made = {str(f.relative_to(package)) for f in package.rglob("*.py") if "z3.Context(" in f.read_text()}
    assert made == {"engines/symbolic/solver.py"}
