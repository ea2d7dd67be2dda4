"""A picture of states in the language of Graphviz."""

from __future__ import annotations

from reassure.checkers.analyses.graph.state_picture import BEYOND, Edge, PictureNode, StatePicture
from reassure.checkers.machine.terminal import counted

INITIAL, TERMINAL, VIOLATED = "penwidth=2.5", "peripheries=2", 'color="#b42318", fontcolor="#b42318"'


def dot(picture: StatePicture) -> str:
    """The graph as DOT: initial nodes with a thick border, terminal ones with two, violations in red."""
    title = "\n".join([picture.heading, *picture.remarks])
    lines = [
        f"digraph {_quoted(picture.model)} {{",
        f"  label={_quoted(title)}; labelloc=t; rankdir=TB",
        '  node [shape=box, style=rounded, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10]',
        *(f"  {node.id} [{', '.join(_attributes(node, picture.by is not None))}]" for node in picture.nodes),
    ]
    if any(edge.target == BEYOND for edge in picture.edges):
        lines.append(f'  {BEYOND} [label="not drawn", style="rounded,dashed"]')
    lines += [f"  {edge.source} -> {edge.target} [{', '.join(_of_edge(edge))}]" for edge in picture.edges]
    return "\n".join([*lines, "}"]) + "\n"


def node_text(node: PictureNode, grouped: bool) -> list[str]:
    """The lines of a node: its value, with the number of its states, and what is wrong with them."""
    lines = [*node.lines, *([counted(node.states, "state")] if grouped else [])]
    wrong = {**node.violates, **({"deadlock": node.deadlock} if node.deadlock else {})}
    return lines + [f"{name}: {number:,}" if grouped else name for name, number in wrong.items()]


def edge_text(edge: Edge) -> str:
    """The label of an edge."""
    text = edge.action + (f" ({edge.steps:,} steps)" if edge.steps > 1 else "")
    return text + "".join(f", violates {name}" for name in edge.violates)


def _attributes(node: PictureNode, grouped: bool) -> list[str]:
    attributes = [f"label={_quoted(chr(10).join(node_text(node, grouped)))}"]
    attributes.append(f"tooltip={_quoted(chr(10).join(f'{name} = {value}' for name, value in node.example))}")
    attributes += [INITIAL] if node.initial else []
    attributes += [TERMINAL] if node.terminal else []
    return attributes + ([VIOLATED] if node.violates or node.deadlock else [])


def _of_edge(edge: Edge) -> list[str]:
    return [f"label={_quoted(edge_text(edge))}", *([VIOLATED] if edge.violates else [])]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
