"""What a test costs in processor seconds, its child processes included."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import pytest

COST = "processor seconds"
"""The name of the property of a test's last report that holds its `Cost`, as a dictionary."""
LEAST = 0.02
"""Seconds. What makes a fixture for less is not told apart from the test."""


def spent() -> float:
    """Processor seconds of this process and of its children, those that still run included."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system + sum(_of_running_children())


def _of_running_children() -> Iterator[float]:
    """The processor seconds of each process that descends from this one. Nothing where there is no /proc."""
    if not hasattr(os, "waitid"):
        return
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return  # which is nearly always so, and /proc is slow to read
    ticks = os.sysconf("SC_CLK_TCK")
    parents, seconds = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                fields = file.read(1 << 12).rpartition(b") ")[2].split()
        except OSError:
            continue  # it has ended
        process = int(name)
        parents[process] = int(fields[1])
        seconds[process] = sum(map(int, fields[11:15])) / ticks
    ours = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= more
    yield from (seconds[process] for process in ours - {os.getpid()})


class Meter:
    """A pytest plugin: each test's last report tells its cost, apart from that of the fixtures that it shares."""

    def __init__(self) -> None:
        self.start = 0.0
        self.made: dict[str, float] = {}
        """The seconds that each shared fixture took which this test was the first to ask for."""
        self.within = False
        """Whether such a fixture is being made: what it asks for in turn belongs to it."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self.start, self.made = spent(), {}
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function" or self.within:
            return (yield)
        self.within, start = True, spent()
        try:
            return (yield)
        finally:
            self.within = False
            name = _name(fixturedef, request.node.nodeid)
            self.made[name] = self.made.get(name, 0) + spent() - start

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            made = {name: seconds for name, seconds in self.made.items() if seconds > LEAST}
            cost = {"own": spent() - self.start - sum(made.values()), "made": made, "uses": _shared(item)}
            report.user_properties.append((COST, cost))
        return report


def _name(fixture: pytest.FixtureDef[object], test: str) -> str:
    """A name of what the tests of a module, or all, share."""
    return f"{'' if fixture.scope in ('session', 'package') else test.partition('::')[0]}::{fixture.argname}"


def _shared(item: pytest.Item) -> list[str]:
    definitions = item._fixtureinfo.name2fixturedefs.values()
    return sorted({_name(several[-1], item.nodeid) for several in definitions if several[-1].scope != "function"})
