"""The instructions of one function in LLVM IR, block by block."""

from __future__ import annotations

from reassure.checkers.engines.native.translator.types import Type, flattened


class Blocks:
    """The text of a function's body. Every variable has a stack slot, which LLVM's passes turn into registers."""

    def __init__(self) -> None:
        self.slots: list[str] = []
        """The stack slots of all variables, at the start of the function."""
        self.lines: list[str] = []
        self.count = 0
        self.ended = False
        """Whether the current block has its last instruction."""

    def fresh(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def label(self) -> str:
        self.count += 1
        return f"b{self.count}"

    def emit(self, instruction: str) -> str:
        """Appends an instruction; returns the name of its result."""
        name = self.fresh()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def effect(self, instruction: str) -> None:
        """Appends an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def end(self, instruction: str) -> None:
        """Ends the current block, unless it has ended."""
        if not self.ended:
            self.effect(instruction)
        self.ended = True

    def begin(self, label: str) -> None:
        """Begins a block."""
        self.end(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.ended = False

    def start(self, label: str) -> None:
        """Begins a block that the one before does not run into."""
        self.lines.append(f"{label}:")
        self.ended = False

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.end(f"br i1 {condition}, label %{yes}, label %{no}")

    def slot(self, name: str, kind: Type) -> None:
        self.slots += [f"  {name}.{k} = alloca {t}" for k, t in enumerate(flattened([kind]))]

    def jumps_to(self, label: str, since: int = 0) -> bool:
        """Whether some block, from a line on, ends with a jump to a label."""
        target = f"label %{label}"
        return any(line.endswith(target) or f"{target}," in line for line in self.lines[since:])
