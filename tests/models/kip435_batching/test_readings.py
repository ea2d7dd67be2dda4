"""KIP-435: what the ledger's readings say is what the whole spaces gave."""

from __future__ import annotations

import pytest

from reassure.checkers.request.model_loader import load_model, settings
from reassure.spec.claims import FOLDER, Reading, read
from reassure.spec.semantics.interpreter import BoundModel, make_config
from tests.helpers.batching_spaces import CASES, LIMITS, SENTENCES, WHOLE

CLAIMS = read([FOLDER / "B.toml"])
READINGS = [(c.id, r) for c in CLAIMS for r in c.readings]


def pairs(reading: Reading) -> set[str]:
    """A reading's settings, as the command line has them."""
    return {f"{k}={str(v).lower()}" for k, v in reading.set.items()}


def test_every_claim_of_the_document_has_readings() -> None:
    assert [c.id for c in CLAIMS] == [f"B{n}" for n in range(1, 19)]
    assert {c.document for c in CLAIMS} == {"000_fb6c529609128823.txt"}


@pytest.mark.parametrize(("claim", "reading"), READINGS, ids=[f"{c}: {r.name}" for c, r in READINGS])
def test_reading(claim: str, reading: Reading) -> None:
    """It can be decided; and where this file knows the answer, it is the one expected."""
    if reading.function is not None:
        module, name = reading.function.split(":")
        tables = {"kip435_batching.cases": CASES, "kip435_batching.sentence_cases": SENTENCES}
        known = {**tables, "kip435_batching.limit_cases": LIMITS}.get(module)
        assert (known is None) == (claim == "B10")
        assert known is None or reading.expect == ("holds" if known[name][0] else "violated")
        return
    assert reading.model is not None
    model = load_model(reading.model)
    config = make_config(model, settings(model, sorted(pairs(reading))))
    bound = BoundModel(model, config)
    assert set(reading.properties) <= {p.name for p in [*bound.properties, *bound.covers]} | {"deadlock"}
    temporal = {p.name for p in bound.properties if p.kind == "leads_to"}
    for name, given, _, expected in WHOLE:
        if (name, {*given}) == (reading.model, pairs(reading)):
            asked = [p for p in reading.properties if p not in temporal]  # a run that stops is another finding
            violated = [p for p in asked if p in expected]
            assert violated == (asked if reading.expect == "violated" else [])


def test_the_readings_that_are_known_here() -> None:
    known = [(n, {*p}) for n, p, *_ in WHOLE]
    decided = [c for c, r in READINGS if (r.model, pairs(r)) in known]
    assert len(decided) == 19
