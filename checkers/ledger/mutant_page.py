"""The record of mutants for people: as Markdown, and as remarks beside a claim's verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from reassure.checkers.analyses.mutants.record import ModelRecord, Plans, Survivor
from reassure.checkers.ledger.markdown import BY, table

HEAD = """# Which mistakes the properties notice

`reassure mutants --all --record` makes one small mistake at a time in a model's text and searches every state of the
mutant ([how to](../docs/how-to/mutants.md)). `python -m reassure.checkers.publish` wrote this page from `mutants.json`.

A property that holds and kills no mutant is *unexercised*: nothing shows that it could fail. A survivor violates no
property of the model; its change may be a mistake or harmless. Of a model with many mutants a sample is judged, and
then more mutants, until each property has killed one or `mutants.toml` has a reason why it does not. A mutant that is
equivalent in this configuration is judged again in wider ones, as `mutants.toml` has them: the page says which bound
hides it, or that it is equivalent there too.
"""


ProtocolOf = Callable[[str], str]
"""The protocol of a model."""


def mutant_pages(
    plans: Plans, records: Mapping[str, ModelRecord], folder: Path, protocol_of: ProtocolOf
) -> dict[Path, str]:
    """An index and one page a protocol, by path; folder: of the counterexamples."""
    pages = {folder / "mutants.md": index(records, protocol_of)}
    for protocol in sorted({protocol_of(name) for name in records}):
        own = [name for name in records if protocol_of(name) == protocol]
        pages[folder / _page_of(protocol)] = mutants_page(plans, records, protocol, own)
    return pages


def _page_of(protocol: str) -> str:
    return f"mutants-{protocol}.md"


def index(records: Mapping[str, ModelRecord], protocol_of: ProtocolOf) -> str:
    """The counts of every model."""
    rows = []
    for name, record in sorted(records.items()):
        judged = f"{record.judged} of {record.mutants}" if record.judged < record.mutants else f"{record.mutants}"
        counts = [str(record.counts.get(fate, 0)) for fate in FATES]
        if record.equivalent:
            counts[FATES.index("equivalent")] += f" ({hidden(record)} by its bounds)"
        settings = " ".join(record.set) or "default"
        rows.append(
            (
                f"[`{name}`]({_page_of(protocol_of(name))}#{name})",
                settings,
                judged,
                *counts,
                str(len(record.unexercised)),
            )
        )
    head = ("model", "configuration", "mutants", *FATES, "unexercised properties")
    return f"{HEAD}\n{table(head, rows)}\n"


def hidden(record: ModelRecord) -> int:
    """The number of equivalent mutants that a wider configuration tells from the model."""
    return sum(s.verdict not in ("equivalent", "undecided") for s in record.equivalent)


def mutants_page(plans: Plans, records: Mapping[str, ModelRecord], protocol: str, models: Iterable[str]) -> str:
    """The unexercised properties and the survivors of a protocol's models."""
    parts = [f"# {protocol}: mutants", "", f"{BY}. [All models](mutants.md).", ""]
    for name in models:
        parts += [f"## {name}", "", *_lines(plans, records, name)]
    return "\n".join(parts)


FATES = ("killed", "equivalent", "survived", "clipped", "undecided", "raised", "refused")


def _lines(plans: Plans, records: Mapping[str, ModelRecord], name: str) -> Iterable[str]:
    record = records[name]
    if record.violated:
        names = ", ".join(f"`{n}`" for n in record.violated)
        yield from (f"The model itself violates (or does not reach) {names}: these can kill nothing.", "")
    for unexercised in record.unexercised:
        yield f"- unexercised: `{unexercised}`: {plans.reason(name, unexercised, records) or '**no reason is stated**'}"
    if record.unexercised:
        yield ""
    if record.survivors:
        rows = [(*_mistake(s), f"{s.verdict}: {_quoted(s.note)}") for s in record.survivors]
        yield from (table(("where", "mistake", "verdict"), rows), "")
    if record.equivalent:
        told = f"wider ones tell {hidden(record)} of them from the model"
        yield from (
            f"{len(record.equivalent)} mutants are equivalent in this configuration; {told}.",
            "",
            table(
                ("where", "mistake", "the bound that hides it"),
                [(*_mistake(s), _quoted(s.note)) for s in record.equivalent],
            ),
            "",
        )


def _mistake(one: Survivor) -> tuple[str, str]:
    """Where a mutant differs from the model, and how."""
    return f"`{one.place}` {one.function}", f"{one.kind}: `{_quoted(one.change)}`"


def _quoted(text: str) -> str:
    return text.replace("`", "'")


def unexercised_remarks(
    plans: Plans, records: Mapping[str, ModelRecord], model: str, sha256: str, properties: Iterable[str]
) -> list[str]:
    """Remarks on the properties of a model that no mutant violates; none if the record is of another text."""
    record = records.get(model)
    if record is None or record.sha256 != sha256:
        return []
    remarks = []
    for name in properties:
        if name in record.unexercised:
            reason = plans.reason(model, name, records) or "no reason is stated"
            remarks.append(f"unexercised: {name} kills no mutant of {model} ({reason})")
    return remarks
