"""The loop form of actions as it is printed: what is enumerated, and in which loop a guard stands."""

# ruff: noqa: E501 - a line of the listing is one line
from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.engines.native.model.model_kernel import kernel_listing
from reassure.checkers.request.model_loader import load
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import BoundModel, make_config
from tests.helpers.model_text import model

ACTIONS = {
    "elect": """
        @action(who="a controller")
        def elect(s: State, c: Config, node: Node, on: bool) -> State:
            require(s.leader is None and node in s.alive)
            require(on != s.inner.on)
            require(s.score[node] == Colour.RED)
            return replace(s, leader=node, inner=replace(s.inner, on=on, count=s.inner.count + 1))
    """,
    "shrink": """
        @action(who="a leader")
        def shrink(s: State, c: Config, nodes: Nodes) -> State:
            require(nodes <= s.alive and Node(2) not in nodes)
            require(s.leader is not None and s.leader in nodes)
            require(len(nodes) < len(s.alive))
            return replace(s, alive=nodes)
    """,
    "receive": """
        @action(who="a follower", message=lambda s: s.sent)
        def receive(s: State, c: Config, message: Message, node: Node) -> State:
            require(message.body > 0)
            best = max(s.alive)
            require(node in s.alive and node < best)
            return replace(s, leader=node, sent=s.sent - {message})
    """,
    "adopt": """
        @action(who="a broker")
        def adopt(s: State, c: Config, inner: Inner | None, node: Node | None) -> State:
            require(node is None or node in s.alive)
            return replace(s, leader=node, inner=s.inner if inner is None else inner)

        @step_property
        def once(before: State, after: State) -> bool:
            return before.leader is None or before.leader == after.leader

        @invariant
        def led(s: State) -> bool:
            return s.leader is None or s.leader in s.alive
    """,
}


LISTINGS = {
    "elect": """
        action 0, elect: at most 6 steps from a state
            require not s.leader?
            t1 = 3 < (s.inner.count + 1)
            for node in s.alive:
                require (s.score[1] if (node == Node(1)) else (s.score[2] if (node == Node(2)) else s.score[3])) == Colour.RED
                for on in bool:
                    require s.inner.on != on
                    clip inner.count if t1
                    emit
                        s'.leader? = True
                        s'.leader = node
                        s'.inner.count = s.inner.count + 1
                        s'.inner.on = on

        claims over states
            hits terminal if False
    """,
    "shrink": """
        action 0, shrink: at most 8 steps from a state
            require s.leader?
            t1 = len(s.alive)
            for nodes in subsets of s.alive - {Node(2)} that contain {s.leader}:
                require len(nodes) < t1
                emit
                    s'.alive = nodes

        claims over states
            hits terminal if False
    """,
    "receive": """
        action 0, receive: at most 6 steps from a state
            t1 = (s.sent#0 != 0) or (s.sent#1 != 0)
            t2 = s.alive != {}
            t3 = max(s.alive)
            t4 = record(s.sent#0).source
            t5 = record(s.sent#0).to
            t6 = record(s.sent#0).to?
            t7 = not t6
            t8 = record(s.sent#0).body
            t9 = record(s.sent#1).source
            t10 = record(s.sent#1).to
            t11 = record(s.sent#1).to?
            t12 = not t11
            t13 = record(s.sent#1).body
            for message in occupied slots of s.sent#1, s.sent#0:
                t14 = message.body
                t15 = 0 < t14
                require t15
                raise unless (not (t1 and t15)) or t2
                t16 = message.source
                t17 = message.to?
                t18 = message.to
                t19 = not t17
                t20 = 0 if ((t16 == t4) and ((t6 and t17 and (t18 == t5)) or (t7 and t19)) and (t14 == t8)) else s.sent#0
                t21 = t20 == 0
                t22 = 0 if ((t16 == t9) and ((t11 and t17 and (t18 == t10)) or (t12 and t19)) and (t14 == t13)) else s.sent#1
                t23 = t22 if t21 else t20
                t24 = 0 if t21 else t22
                for node in Node:
                    require node in s.alive
                    require node < t3
                    emit
                        s'.leader? = True
                        s'.leader = node
                        s'.sent#0 = t23
                        s'.sent#1 = t24

        claims over states
            hits terminal if False
    """,
    "adopt": """
        action 0, adopt: at most 36 steps from a state
            t1 = not s.leader?
            for inner? in bool:
                for inner.count in int 0..3 if inner?, else nothing:
                    for inner.on in bool if inner?, else nothing:
                        t2 = inner.count if inner? else s.inner.count
                        t3 = inner.on if inner? else s.inner.on
                        for node in None, Node:
                            require (not node?) or (node in s.alive)
                            emit
                                s'.leader? = node?
                                s'.leader = node
                                s'.inner.count = t2
                                s'.inner.on = t3
                                hits once if not (t1 or (node? and (s.leader == node)))

        claims over states
            hits led if not ((not s.leader?) or (s.leader in s.alive))
            hits terminal if False
    """,
}


def listing(name: str, folder: Path) -> str:
    return kernel_listing(lower_model(BoundModel(model(textwrap.dedent(ACTIONS[name]), folder))))


@pytest.mark.parametrize("name", ACTIONS)
def test_the_loops_of_an_action(name: str, tmp_path: Path) -> None:
    assert listing(name, tmp_path).strip() == textwrap.dedent(LISTINGS[name]).strip()


def test_every_shipped_model_can_be_printed() -> None:
    for name in ("die_hard", "core", "kraft"):
        bound = BoundModel(load(name), make_config(load(name), {}))
        text = kernel_listing(lower_model(bound))
        assert all(f", {action.name}: at most" in text for action in bound.model.actions)
        assert all(f"hits {c.name} if" in text for c in bound.covers if not c.over_steps)


def test_the_command_prints_and_checks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "die_hard", "--dump-kernel"]) == 0
    out = capsys.readouterr().out
    assert "action 4, small_to_big: at most 1 steps from a state" in out and "holds" not in out
