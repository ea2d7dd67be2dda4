"""R7: the documented order shows nobody what it cannot read; each precaution left out, somebody sees it."""

from __future__ import annotations

from typing import Any

import pytest

from reassure.checkers.check import CheckRequest, run
from reassure.checkers.machine.exit_codes import Exit
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.model_loader import load_model
from reassure.checkers.request.options import SearchOptions
from reassure.models.kip36_racks import rolling_upgrade, wire
from reassure.models.kip36_racks.rolling_upgrade import Broker, Client, Cluster, Protocol, Release
from reassure.spec.language.vocabulary import GuardRefused, replace
from reassure.spec.semantics.interpreter import BoundModel, Params, make_config
from tests.helpers.runs import bind

CLIENTS, BROKERS = "clients_can_read_registrations", "brokers_can_read_registrations"
CONTROLLER, RACKS = "brokers_can_read_the_controller", "racks_are_shown_when_all_know_them"

RUNS: list[tuple[list[str], int, dict[str, int]]] = [
    ([], 2012, {}),
    (["down=3"], 3030, {}),
    (["clients_first=off"], 2360, {CLIENTS: 21}),
    (["brokers_first=off"], 2168, {}),
    (["pinned=off"], 3865, {CONTROLLER: 13, RACKS: 12}),
    (["all_upgraded=off"], 2339, {CONTROLLER: 17, RACKS: 16}),
    (["brokers_first=off", "pinned=off"], 5755, {BROKERS: 5, CONTROLLER: 6, RACKS: 5}),
    (["brokers_first=off", "all_upgraded=off"], 2960, {BROKERS: 9, CONTROLLER: 10, RACKS: 9}),
]


@pytest.mark.parametrize(("pairs", "distinct", "fallen"), RUNS, ids=[" ".join(p) or "documented" for p, _, _ in RUNS])
def test_run(pairs: list[str], distinct: int, fallen: dict[str, int]) -> None:
    verdict, _ = run(CheckRequest("rolling_upgrade", pairs, "native", SearchOptions(workers=1)), Progress(quiet=True))
    assert {p.name: len(p.trace) for p in verdict.properties if p.trace is not None} == fallen
    assert (verdict.stats.distinct, verdict.stats.clipped, verdict.complete) == (distinct, 0, True)
    assert [c.name for c in verdict.covers if not c.reached] == []
    assert verdict.exit() == (Exit.SAFETY if fallen else Exit.OK)


def test_four_brokers_and_two_clients() -> None:
    verdict, _ = run(
        CheckRequest("rolling_upgrade", ["brokers=4", "clients=2"], "native", SearchOptions(workers=1)),
        Progress(quiet=True),
    )
    assert verdict.exit() == Exit.OK
    assert (verdict.stats.distinct, verdict.stats.generated) == (23067, 132101)


def taken(bound: BoundModel, state: Any, *steps: tuple[str, Params]) -> Cluster:
    for name, parameters in steps:
        state = bound.take(state, name, parameters)
    assert isinstance(state, Cluster)
    return state


@pytest.fixture
def bound() -> BoundModel:
    model = load_model("rolling_upgrade")
    return BoundModel(model, make_config(model, {"brokers": 1, "clients": 1}))


def test_one_broker_step_by_step(bound: BoundModel) -> None:
    """What is in force is what the file said at the last start, or else the release's own."""
    b, start = {"broker": Broker(0)}, next(s for _, _, s in bound.initial_states())
    s = taken(bound, start, ("fix_client", {"client": Client(0)}), ("pin", b), ("stop", b), ("fix", b), ("upgrade", b))
    s = taken(bound, s, ("bump", b), ("start", b))
    assert s.nodes[Broker(0)] == rolling_upgrade.Node(Release.V0_10, Protocol.NEW, Protocol.NEW)
    assert rolling_upgrade.version_3_is_shown(s, bound.config)


@pytest.mark.parametrize(
    ("steps", "then"),
    [
        (["stop"], "upgrade"),  # nothing prepared
        (["stop", "fix", "pin"], "upgrade"),  # a client is at 0.9.0.0
        (["fix_client", "stop", "pin"], "upgrade"),  # the broker is
        (["fix_client", "stop", "fix"], "upgrade"),  # the protocol is not pinned
        (["fix_client", "stop", "fix", "pin", "start"], "upgrade"),  # it runs
        (["fix_client", "stop", "fix", "pin"], "bump"),  # the code is old
        (["stop"], "become_controller"),
        ([], "start"),
    ],
)
def test_what_the_procedure_forbids(bound: BoundModel, steps: list[str], then: str) -> None:
    state = next(s for _, _, s in bound.initial_states())
    for name in steps:
        state = bound.take(state, name, {"client": Client(0)} if name == "fix_client" else {"broker": Broker(0)})
    with pytest.raises(GuardRefused):
        bound.take(state, then, {"broker": Broker(0)})


def test_the_model_reads_as_the_formats_do() -> None:
    """Which release reads which registration is what `reassure.models.kip36_racks.wire` says."""
    broker = wire.Broker(0, (wire.EndPoint(wire.Security.PLAINTEXT, "h", 1),), "r")
    model = load_model("rolling_upgrade")
    bound, _ = bind(model, {"brokers": 1, "clients": 1})
    start: Any = next(s for _, _, s in bound.initial_states())
    for protocol, version in ((Protocol.OLD, 2), (Protocol.NEW, 3)):
        for release, software in zip(Release, wire.Software, strict=True):
            node = rolling_upgrade.Node(Release.V0_10, protocol, protocol)
            s = replace(start, nodes=start.nodes.put(Broker(0), node), clients=start.clients.put(Client(0), release))
            readable = rolling_upgrade.clients_can_read_registrations(s, bound.config)
            text = wire.write_registration(broker, version)
            if readable:
                wire.read_registration(0, text, software)
            else:
                with pytest.raises(wire.WireError):
                    wire.read_registration(0, text, software)
