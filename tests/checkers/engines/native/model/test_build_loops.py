"""The loop form of actions: what is enumerated, in which order, and in which loop a guard stands."""

from __future__ import annotations

import textwrap
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.encoding.state_layout import state_layout
from reassure.checkers.engines.native.exploration import shape_of
from reassure.checkers.engines.native.model import loop_form as form
from reassure.checkers.engines.native.model.model_kernel import model_kernel
from reassure.checkers.request.prepare import prepare
from reassure.spec.frontend.lowering import lower_model
from reassure.spec.semantics.interpreter import BoundModel
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

OUTLINES = {
    "elect": """
        at most 6 steps
        LoopGuard
        ForEachMember within
            LoopGuard
            ForEachIndex
                LoopGuard
                Clip
                Emit 0 claims
    """,
    "shrink": """
        at most 8 steps
        LoopGuard
        ForEachSubset within include_items exclude_items
            LoopGuard
            Emit 0 claims
    """,
    "receive": """
        at most 6 steps
        ForEachSlot
            LoopGuard
            Error
            ForEachIndex
                LoopGuard
                LoopGuard
                Emit 0 claims
    """,
    "adopt": """
        at most 36 steps
        ForEachIndex
            ForEachIndex when
                ForEachIndex when
                    ForEachOptional
                        LoopGuard
                        Emit 1 claims
    """,
}
"""By action: its loops and conditions. A loop has the sets and items that narrow it."""


def outline(block: form.Block, depth: int = 0) -> list[str]:
    """The statements of a block, without what is only computed there."""
    lines: list[str] = []
    for statement in block:
        if isinstance(statement, form.Let):
            continue
        words = [type(statement).__name__]
        if isinstance(statement, form.ForEachMember | form.ForEachSubset):
            words += [name for name, nodes in vars(statement.mask).items() for _ in nodes]
        if isinstance(statement, form.ForEach) and statement.when is not None:
            words.append("when")
        if isinstance(statement, form.Emit):
            words.append(f"{len(statement.claims)} claims")
        lines.append("    " * depth + " ".join(words))
        if isinstance(statement, form.ForEach):
            lines += outline(statement.body, depth + 1)
    return lines


@pytest.mark.parametrize("name", ACTIONS)
def test_the_loops_of_an_action(name: str, tmp_path: Path) -> None:
    bound = BoundModel(model(textwrap.dedent(ACTIONS[name]), tmp_path))
    (loops,) = model_kernel(lower_model(bound), state_layout(bound)).loops
    text = "\n".join([f"at most {loops.most} steps", *outline(loops.body)])
    assert text == textwrap.dedent(OUTLINES[name]).strip()


def test_the_command_prints_what_is_compiled_and_checks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "die_hard", "--dump-kernel"]) == 0
    out = capsys.readouterr().out
    prepared = prepare("die_hard", [])
    assert shape_of(model_kernel(prepared.lowered, state_layout(prepared.bound))).ir in out
    assert "; @action_4 is small_to_big\n" in out and "; bit 0 of @check is goal_not_reached\n" in out
    functions = {f.name for f in llvm.parse_assembly(out).functions if not f.is_declaration}
    assert functions == {"check", "expand", *(f"action_{number}" for number in range(6))}
    assert "exit code" not in out
