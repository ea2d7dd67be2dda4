"""KIP-435: what the ledger's readings say is what the whole spaces gave."""

from __future__ import annotations

import pytest

from reassure.checkers.base.model_loader import load, settings
from reassure.spec.claims import FOLDER, Reading, read
from reassure.spec.semantics.interpreter import BoundModel, make_config
from tests.helpers.batching_spaces import CASES, WHOLE

CLAIMS = read([FOLDER / "B.toml"])
READINGS = [(c.id, r) for c in CLAIMS for r in c.readings]


def test_every_claim_of_the_document_has_readings() -> None:
    assert [c.id for c in CLAIMS] == [f"B{n}" for n in range(1, 11)]
    assert {c.document for c in CLAIMS} == {"000_fb6c529609128823.txt"}


@pytest.mark.parametrize(("claim", "reading"), READINGS, ids=[f"{c}: {r.name}" for c, r in READINGS])
def test_reading(claim: str, reading: Reading) -> None:
    """It can be decided; and where this file knows the answer, it is the one expected."""
    if reading.function is not None:
        module, name = reading.function.split(":")
        if module == "kip435_batching.cases":
            assert reading.expect == ("holds" if CASES[name][0] else "violated")
        else:
            assert claim == "B10"
        return
    assert reading.model is not None
    model = load(reading.model)
    config = make_config(model, settings(model, [f"{k}={v}" for k, v in reading.set.items()]))
    bound = BoundModel(model, config)
    assert set(reading.properties) <= {p.name for p in [*bound.properties, *bound.covers]} | {"deadlock"}
    for name, pairs, _, expected in WHOLE:
        if (name, {*pairs}) == (reading.model, {f"{k}={v}" for k, v in reading.set.items()}):
            violated = tuple(p for p in reading.properties if p in expected)
            assert violated == (reading.properties if reading.expect == "violated" else ())


def test_the_readings_that_are_known_here() -> None:
    known = [(n, {*p}) for n, p, *_ in WHOLE]
    decided = [c for c, r in READINGS if (r.model, {f"{k}={v}" for k, v in r.set.items()}) in known]
    assert len(decided) == 9
