"""Work in several processes: what is left of them when it is done."""

from __future__ import annotations

import threading

from reassure.checkers.console.processes import in_processes


def test_no_thread_is_left_that_could_meet_the_end_of_the_interpreter() -> None:
    before = set(threading.enumerate())
    answers = in_processes(abs, [(-1,), (2,)], 2)
    assert [next(answers), next(answers)] == [1, 2]
    answers.close()
    assert set(threading.enumerate()) == before
