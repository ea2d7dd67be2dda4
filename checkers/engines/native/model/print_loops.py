"""The loop form of an action as text: what `--dump-kernel` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import singledispatchmethod

from reassure.checkers.engines.native.model import loop_form as form
from reassure.checkers.engines.native.model.print_nodes import NodePrinter
from reassure.spec.frontend.ir import Node
from reassure.spec.frontend.node_order import arguments_first

Names = tuple[str, ...]
NESTED = 12
"""Operations within each other from which one gets a name."""
CONDITIONS = {form.LoopGuard: "require", form.Error: "raise unless", form.StepError: "a claim raises unless"}
NAMED_FROM = 2
"""Operations from which a node that is used several times gets a name."""


def action_text(loops: form.ActionLoops, paths: Names, step_claims: Names) -> str:
    """One action. paths: of the leaves of a state. step_claims: names, by number."""
    printer = LoopPrinter(paths, step_claims, shared(loops.body))
    printer.block(loops.body, 1)
    head = f"action {loops.number}, {loops.name}: at most {loops.most:,} steps from a state"
    return "\n".join([head, *printer.lines, ""])


class LoopPrinter:
    """Prints one action, or the claims over states."""

    def __init__(self, paths: Names, step_claims: Names, named: set[Node]) -> None:
        """named: the nodes that get a name."""
        self.paths = paths
        self.step_claims = step_claims
        self.lines: list[str] = []
        self.nodes = NodePrinter()
        self.depth = 1
        self._shared = named
        self._written: set[Node] = set()
        """The nodes that need not be looked at again."""

    def block(self, block: form.Block, depth: int) -> None:
        self.depth = depth
        for statement in block:
            for node in form.nodes_of(statement):
                self.name(node)
            self._print(statement)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def name(self, node: Node) -> None:
        """Writes down what is used several times, before its first use."""
        for one in arguments_first([node], self._written):
            self._written.add(one)
            if one in self._shared:
                self._let(one)

    def _let(self, node: Node) -> None:
        if node not in self.nodes.names:
            text = self.nodes.expression(node)
            self.nodes.names[node] = name = f"t{len(self.nodes.names) + 1}"
            self.line(f"{name} = {text}")

    @singledispatchmethod
    def _print(self, statement: form.Statement) -> None:
        raise AssertionError(f"no text for {statement}")

    @_print.register
    def _(self, statement: form.Let) -> None:
        self._let(statement.node)

    @_print.register
    def _(self, statement: form.LoopGuard | form.Error | form.StepError) -> None:
        self.line(f"{CONDITIONS[type(statement)]} {self.nodes.text(statement.condition)}")

    @_print.register
    def _(self, statement: form.Clip) -> None:
        self.line(f"clip {statement.path} if {self.nodes.text(statement.condition)}")

    @_print.register
    def _(self, statement: form.Emit) -> None:
        self.line("emit")
        for path, node in zip(self.paths, statement.next, strict=True):
            if node.op != "var" or node.data != path:
                self.line(f"    s'.{path} = {self.nodes.text(node)}")
        for number, hit in statement.claims:
            self.line(f"    hits {self.step_claims[number]} if {self.nodes.text(hit)}")

    # -- loops --------------------------------------------------------------------------------------

    def _for(self, loop: form.ForEach, values: str) -> None:
        alone = "" if loop.when is None else f" if {self.nodes.text(loop.when)}, else nothing"
        self.line(f"for {self.nodes.text(loop.node)} in {values}{alone}:")
        self.block(loop.body, self.depth + 1)

    @_print.register
    def _(self, loop: form.ForEachIndex) -> None:
        self._for(loop, str(loop.type))

    @_print.register
    def _(self, loop: form.ForEachMember) -> None:
        self._for(loop, self._masked(loop.mask) or str(loop.type))

    @_print.register
    def _(self, loop: form.ForEachSubset) -> None:
        lower = [self.nodes.operand(n) for n in loop.mask.including]
        lower += ["{" + self.nodes.text(n) + "}" for n in loop.mask.include_items]
        above = f" that contain {' | '.join(lower)}" if lower else ""
        within = self._masked(loop.mask)
        self._for(loop, f"subsets{' of ' + within if within else ''}{above}")

    def _masked(self, mask: form.Mask) -> str:
        """The values that a mask leaves; empty if it leaves all."""
        text = " & ".join(
            [*map(self.nodes.operand, mask.within), *("{" + self.nodes.text(n) + "}" for n in mask.only_items)]
        )
        out = [*map(self.nodes.operand, mask.without), *("{" + self.nodes.text(n) + "}" for n in mask.exclude_items)]
        return f"{text or 'all'} - {' - '.join(out)}" if out else text

    @_print.register
    def _(self, loop: form.ForEachSequence) -> None:
        self._for(loop, f"every {loop.type}")

    @_print.register
    def _(self, loop: form.ForEachOptional) -> None:
        name = self.nodes.text(loop.node).removesuffix("?")
        self.line(f"for {name} in None, {loop.type}:")
        self.block(loop.body, self.depth + 1)

    @_print.register
    def _(self, loop: form.ForEachSlot) -> None:
        self._for(loop, f"occupied slots of {', '.join(self.nodes.text(s) for s in reversed(loop.slots))}")

    @_print.register
    def _(self, loop: form.ForEachRecordSet) -> None:
        self._for(loop, f"{len(loop.sets):,} sets of records")


def shared(body: form.Block) -> set[Node]:
    """Nodes of some size that are used several times, and some in each long chain."""
    uses: Counter[Node] = Counter()
    roots: list[Node] = []
    for statement in form.statements(body):
        roots += form.nodes_of(statement)
        if not isinstance(statement, form.Let):
            uses.update(form.nodes_of(statement))
    named: set[Node] = set()
    height: dict[Node, int] = {}
    """By node: the depth to which its text is nested, if shared ones have names."""
    order = list(arguments_first(roots))
    for node in order:
        uses.update(node.args)
    for node in order:
        height[node] = 1 + max((height[a] for a in node.args if a not in named), default=0)
        if height[node] > NESTED or (uses[node] > 1 and _size(node) >= NAMED_FROM):
            named.add(node)
    return named


def _size(node: Node) -> int:
    """Operations of a node, as far as it matters."""
    return bool(node.args) + sum(bool(a.args) for a in node.args)


def claims_text(claims: Sequence[tuple[str, Node]]) -> str:
    """The condition under which a state hits each claim."""
    block = tuple(form.Let(condition) for _, condition in claims)
    printer = LoopPrinter((), (), shared(block))
    for name, condition in claims:
        printer.name(condition)
        printer.line(f"hits {name} if {printer.nodes.text(condition)}")
    return "\n".join(["claims over states", *printer.lines, ""])


def kernel_text(
    actions: Iterable[form.ActionLoops], claims: Sequence[tuple[str, Node]], paths: Names, steps: Names
) -> str:
    """A whole model. claims: over states, with the conditions under which they are hit. steps: claims over steps."""
    return "\n".join([*(action_text(one, paths, steps) for one in actions), claims_text(claims)])
