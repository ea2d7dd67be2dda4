"""KIP-435: claims by cases, and that each can fall."""

from __future__ import annotations

import pytest

from reassure.models.kip435_batching import cases as batching_claims
from reassure.models.kip435_batching import rules
from reassure.models.kip435_batching.rules import repaired
from reassure.spec.kafka.partition import Broker, Brokers

# -- claims by cases ------------------------------------------------------------------------------------------
from tests.helpers.batching_spaces import CASES


@pytest.mark.parametrize("name", CASES)
def test_claim_by_cases(name: str) -> None:
    found = getattr(batching_claims, name)()
    assert (found.holds, found.cases) == CASES[name]
    assert (found.counterexample is None) == found.holds


def test_the_mapping_of_names_is_that_of_the_table() -> None:
    """B1: the names that the page of rules maps are those of the document, each once."""
    said = rules.__doc__ or ""
    lines = [line for line in said.splitlines() if line.startswith(("| R", "| P", "| L"))]
    rows = [[cell.strip() for cell in line.split("|")[2:4]] for line in lines]
    table = {f"reassignment.max.concurrent.{row[0].split(' ')[0]}" for row in rows}
    used = {f"reassignment.parallel.{row[1]}" for row in rows}
    assert table == set(batching_claims.TABLE)
    assert used == {name for where, name in batching_claims.USED.items() if where.startswith("Algorithm")}


def test_cases_can_fall() -> None:
    """Rules that leave something out are found out."""

    def without_exception(
        target: tuple[Broker, ...],
        current: tuple[Broker, ...],
        isr: Brokers,
        alive: Brokers,
        at_once: int,
        min_isr: int,
    ) -> tuple[Broker, ...]:
        return repaired(target, current, isr, alive, at_once, 1)

    def leader_always_first(
        target: tuple[Broker, ...],
        current: tuple[Broker, ...],
        isr: Brokers,
        alive: Brokers,
        at_once: int,
        min_isr: int,
    ) -> tuple[Broker, ...]:
        if target[0] in alive and target[0] not in current:
            return target[:1] + current
        return repaired(target, current, isr, alive, at_once, min_isr)

    def as_a_set(
        target: tuple[Broker, ...],
        current: tuple[Broker, ...],
        isr: Brokers,
        alive: Brokers,
        at_once: int,
        min_isr: int,
    ) -> tuple[Broker, ...]:
        return tuple(sorted(repaired(target, current, isr, alive, at_once, min_isr)))

    assert not batching_claims.first_step_reaches_min_isr(without_exception).holds
    assert batching_claims.first_step_reaches_min_isr(leader_always_first).holds is False
    assert not batching_claims.one_step_by_default(leader_always_first).holds
    assert not batching_claims.ends_as_asked(as_a_set).holds
