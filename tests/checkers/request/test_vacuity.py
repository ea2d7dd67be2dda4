"""Claims that say nothing: a variant's that is always true, one that applies to no configuration; and their digests."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.api import check
from reassure.checkers.cli.main import main
from reassure.checkers.engines.native.liveness.decide import Liveness
from reassure.checkers.machine.stop import budget_ended
from reassure.checkers.request.prepare import prepare_plain
from reassure.checkers.request.result import PropertyStatus
from reassure.checkers.request.vacuity import NOWHERE, TRUE_OF_EVERYTHING, meanings, replaced_claims
from reassure.spec.language.vocabulary import Property
from tests.helpers.command import said

TOP = """
from dataclasses import replace
from reassure import invariant, leads_to, step_property, terminal
from reassure.models.examples import core
from reassure.models.examples.core import Partition, Config, leader_in_isr

"""
ALWAYS_TRUE = """
@invariant
def leader_in_isr(s: Partition) -> bool:
    return True

MODEL = core.MODEL.replacing(leader_in_isr)
"""


def variant(folder: Path, text: str, name: str = "mine") -> str:
    path = folder / f"{name}.py"
    path.write_text(TOP + text, encoding="utf-8")
    return str(path)


def digest_in(model: str, name: str) -> str:
    return meanings(prepare_plain(model, [])[0])[name]


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_property_that_a_variant_makes_true_is_vacuous(
    engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = variant(tmp_path, ALWAYS_TRUE)
    code, out, _ = said(capsys, "check", model, "--engine", engine, "--json", str(tmp_path / "out.json"))
    assert code == 16
    assert f"leader_in_isr        vacuous ({TRUE_OF_EVERYTHING})\n" in out
    assert "  declared otherwise than in core: leader_in_isr\n" in out
    record = json.loads((tmp_path / "out.json").read_text())
    assert record["replaced"] == {"leader_in_isr": "core"}
    assert {p["name"]: p["status"] for p in record["properties"]} == {
        "leader_in_isr": "vacuous",
        "isr_within_replicas": "holds",
        "isr_never_empty": "holds",
    }


EMPTIED = """
from typing import Any
from reassure import invariant
{imports}

@invariant
def goal_not_reached(s: Any) -> bool:
    return s.big {than}

MODEL = {base}.replacing(goal_not_reached)
"""
EXAMPLE = "reassure.models.examples.die_hard"
CORE = "reassure.models.examples.core"
WAYS = {
    "by_a_name": (f"import {EXAMPLE} as base", "base.MODEL"),
    "by_its_model": (f"from {EXAMPLE} import MODEL as BASE", "BASE"),
    "with_dots": (f"import {EXAMPLE}", f"{EXAMPLE}.MODEL"),
    "in_a_function": (f"def base() -> Any:\n    from {EXAMPLE} import MODEL\n    return MODEL", "base()"),
    "from_a_table": (
        f"from importlib import import_module\nBASES = {{'jugs': [import_module('{EXAMPLE}').MODEL]}}",
        "BASES['jugs'][0]",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_base_is_known_however_it_is_imported(way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def checked(than: str, engine: str) -> tuple[int, dict[str, str], list[Any]]:
        imports, base = WAYS[way]
        (tmp_path / "mine.py").write_text(EMPTIED.format(imports=imports, base=base, than=than), encoding="utf-8")
        words = ["check", str(tmp_path / "mine.py"), "--engine", engine, "--json", str(tmp_path / "out.json")]
        code, _, _ = said(capsys, *words)
        record = json.loads((tmp_path / "out.json").read_text())
        return code, record["replaced"], [p["status"] for p in record["properties"]]

    for engine in ("reference", "native"):
        assert checked(">= 0", engine) == (16, {"goal_not_reached": "die_hard"}, ["vacuous", "holds"])
        assert checked("< 6", engine) == (16, {"goal_not_reached": "die_hard"}, ["vacuous", "holds"])
        assert checked("< 5", engine) == (12, {"goal_not_reached": "die_hard"}, ["violated", "holds"])


HEAD = f"""
from dataclasses import dataclass
from typing import Any
from reassure import invariant
from {CORE} import Partition

@dataclass(frozen=True)
class Wide(Partition):
    more: bool = False

def base() -> Any:
    from {CORE} import MODEL
    return MODEL

"""
CLAIMS = {
    "isr_never_empty": "True",
    "leader_in_isr": "s.leader is None or s.leader in s.replicas",
    "one_more": "s.leader is None or s.leader in s.replicas",
}


@pytest.mark.parametrize(
    ("model", "replaced"),
    [
        ("adding(one_more)", []),
        ("without('isr_never_empty')", []),
        ("without('isr_never_empty').adding(isr_never_empty)", ["isr_never_empty"]),
        ("replacing(isr_never_empty).adding(one_more)", ["isr_never_empty"]),
        ("adding(one_more).replacing(isr_never_empty)", ["isr_never_empty"]),
        ("replacing(leader_in_isr)", ["leader_in_isr"]),
        ("replacing(leader_in_isr).replacing(isr_never_empty)", ["leader_in_isr", "isr_never_empty"]),
        ("replacing(isr_never_empty, state=Wide)", ["isr_never_empty"]),
    ],
)
def test_a_variant_of_a_variant(model: str, replaced: list[str], tmp_path: Path) -> None:
    claims = [
        f"@invariant\ndef {name}(s: Partition) -> bool:\n    return {body}\n\n"
        for name, body in CLAIMS.items()
        if f"({name}" in model
    ]
    path = tmp_path / "mine.py"
    path.write_text(f"{HEAD}{''.join(claims)}MODEL = base().{model}\n", encoding="utf-8")
    result = check(str(path), engine="reference")
    assert result.replaced == dict.fromkeys(replaced, "core")
    vacuous = [p.name for p in result.properties if p.status is PropertyStatus.VACUOUS]
    assert vacuous == [name for name in replaced if name == "isr_never_empty"]


def test_a_variant_of_another_file_s_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The claims of the model between count, by its name, where the first model has none of that name."""
    claim = "@invariant\ndef {}(s: Partition) -> bool:\n    return {}\n\n"
    between = claim.format("added", "s.leader in s.isr") + claim.format("isr_never_empty", "s.leader in s.isr")
    variant(tmp_path, between + "MODEL = core.MODEL.adding(added).replacing(isr_never_empty)\n", "between_models")
    monkeypatch.syspath_prepend(str(tmp_path))
    emptied = claim.format("added", "True") + claim.format("isr_never_empty", "True")
    emptied += "def base():\n    from between_models import MODEL\n    return MODEL\n\n"
    path = variant(tmp_path, emptied + "MODEL = base().replacing(added).replacing(isr_never_empty)\n")
    try:
        result = check(path, engine="reference")
    finally:
        sys.modules.pop("between_models", None)
    assert result.replaced == {"added": "between_models", "isr_never_empty": "core"}
    assert {p.name: p.status for p in result.properties} == {
        "added": "vacuous",
        "isr_never_empty": "vacuous",
        "isr_within_replicas": "holds",
        "leader_in_isr": "holds",
    }


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return s.leader == s.leader", "vacuous"),  # a variant's, and constant
        ("return c.brokers < 9", "vacuous"),
        ("return s.leader is None or s.leader in s.replicas", "holds"),
    ],
)
def test_the_translation_decides_what_is_constant(body: str, status: str, tmp_path: Path) -> None:
    text = ALWAYS_TRUE.replace("return True", body).replace("(s: Partition)", "(s: Partition, c: Config)")
    result = check(variant(tmp_path, text), engine="reference")
    assert {p.name: p.status for p in result.properties}["leader_in_isr"] == status


def test_a_model_of_ones_own_with_a_property_that_reads_no_state(tmp_path: Path) -> None:
    """That of another name in a variant too; one that depends on the configuration alone is not a mistake."""
    text = """
@invariant
def nothing(s: Partition) -> bool:
    return True

@invariant
def few(s: Partition, c: Config) -> bool:
    return c.brokers < 9

@step_property
def same(before: Partition, after: Partition) -> bool:
    return True

@leads_to(lambda s: True)
def comes(s: Partition) -> bool:
    return s.leader is None

MODEL = core.MODEL.adding(nothing, few, same, comes)
"""
    result = check(variant(tmp_path, text), engine="native")
    assert {p.name: p.status for p in result.properties if p.status is PropertyStatus.VACUOUS} == dict.fromkeys(
        ["nothing", "same", "comes"], "vacuous"
    )


SAYS_NOTHING = """
@invariant
def nothing(s: Partition) -> bool:
    return True

@leads_to(lambda s: True)
def comes(s: Partition) -> bool:
    return s.leader is None

MODEL = core.MODEL.adding(nothing, comes)
"""


def test_fairness_and_verify_call_it_vacuous_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, file = variant(tmp_path, SAYS_NOTHING), str(tmp_path / "c.json")
    code, out, _ = said(capsys, "fairness", model)
    assert (code, f"comes  vacuous: {TRUE_OF_EVERYTHING}" in out) == (16, True)
    for options in ([], ["--any-number"]):
        assert said(capsys, "prove", model, "--property=nothing", "--certificate", file, *options)[0] == 16
        code, _, err = said(capsys, "verify", file, "--model", model)
        assert (code, f"is of nothing, which is vacuous: {TRUE_OF_EVERYTHING}" in err) == (16, True)


NEVER = """
MODEL = core.MODEL.replacing(replace(leader_in_isr, when={}))
"""


@pytest.mark.parametrize(
    ("when", "status"),
    [
        ("lambda c: False", PropertyStatus.VACUOUS),
        ("lambda c: c.brokers > 99", PropertyStatus.VACUOUS),
        ("lambda c: c.brokers == 2 and c.brokers == 3", PropertyStatus.VACUOUS),
        ("lambda c: c.brokers == 5", None),  # not applicable here
        ("lambda c: c.brokers == 3", PropertyStatus.HOLDS),
        ("lambda c: c.nonsense", "refused"),
    ],
)
def test_a_when_that_is_never_true(
    when: str, status: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = variant(tmp_path, NEVER.format(when))
    code, out, err = said(capsys, "check", model, "--engine=reference", "--json", str(tmp_path / "out.json"))
    record = json.loads((tmp_path / "out.json").read_text())
    found = {p["name"]: p["status"] for p in record["properties"]}.get("leader_in_isr")
    if status == "refused":
        assert code == 150 and "nonsense" in err
    elif status is None:
        assert (code, found, record["not_applicable"]) == (0, None, ["leader_in_isr"])
    else:
        assert (code, found) == ((16, "vacuous") if status is PropertyStatus.VACUOUS else (0, "holds"))
        assert record["not_applicable"] == [] and (NOWHERE in out) is (status is PropertyStatus.VACUOUS)


@pytest.mark.parametrize(
    "text",
    [
        ALWAYS_TRUE,
        ALWAYS_TRUE.replace("return True", "return s.leader is None or s.leader in s.isr | s.isr"),
        NEVER.format("lambda c: False"),
    ],
)
def test_the_gate_pins_what_a_property_means(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All counts stay, and all names."""
    entry = '[[check]]\nmodel = "{}"\nengine = "reference"\nexpect = "pass"\n'
    gate = tmp_path / "gate.toml"
    gate.write_text(entry.format("core"), encoding="utf-8")
    assert main(["gate", str(gate), "--update", "-j1"]) == 0
    pinned = gate.read_text(encoding="utf-8")
    gate.write_text(pinned.replace('"core"', f'"{variant(tmp_path, text)}"'), encoding="utf-8")
    capsys.readouterr()
    assert main(["gate", str(gate), "-j1"]) != 0
    assert "the properties, or their texts, are not as pinned: digest" in capsys.readouterr().out


HELPERS = """
LIMIT = 3
def known(s: Partition) -> bool:
    return s.leader is None or s.leader in s.isr and LIMIT > 2

@invariant
def asks(s: Partition) -> bool:
    return known(s)

MODEL = core.MODEL.adding(asks)
"""


def test_a_digest_is_of_all_that_the_text_says(tmp_path: Path) -> None:
    """Of called functions and of constants too; not of comments, docstrings, annotations or other claims."""
    before = digest_in(variant(tmp_path, HELPERS), "asks")
    same = HELPERS.replace("    return known(s)", '    """Docs."""\n    return known(s)  # a remark')
    assert digest_in(variant(tmp_path, same, "a"), "asks") == before
    others = [
        ("LIMIT = 3", "LIMIT = 4"),
        ("s.leader in s.isr and", "s.leader in s.isr or"),
        ("known(s)\n", "not known(s)\n"),
    ]
    changed = [digest_in(variant(tmp_path, HELPERS.replace(*o), f"b{i}"), "asks") for i, o in enumerate(others)]
    assert len({before, *changed}) == 4
    assert digest_in(variant(tmp_path, HELPERS, "c"), "leader_in_isr") == digest_in("core", "leader_in_isr")


def test_fairness_and_terminals_belong_to_what_is_claimed(tmp_path: Path) -> None:
    text = "MODEL = core.MODEL.replacing(replace(core.{}, fair='strong'))"
    name = next(a.name for a in prepare_plain("core", [])[0].model.actions)
    unfair = variant(tmp_path, text.format(name), "fair")
    assert digest_in(unfair, "leader_in_isr") == digest_in("core", "leader_in_isr")
    stops = "from reassure.models.examples import die_hard\n@terminal\ndef over(s: die_hard.Jugs) -> bool:\n"
    stops += "    return True\nMODEL = die_hard.MODEL.adding(over)\n"
    assert digest_in(variant(tmp_path, stops, "stops"), "deadlock") != digest_in("die_hard", "deadlock")
    live = digest_in("core_liveness", "a_leader_comes_back")
    more = "from reassure.models.examples import core_liveness\n"
    more += "MODEL = core_liveness.MODEL.replacing(replace(core.{}, fair='strong'))"
    assert digest_in(variant(tmp_path, more.format(name), "live"), "a_leader_comes_back") != live


def test_what_a_shipped_variant_replaces() -> None:
    def of(name: str) -> dict[str, str]:
        return replaced_claims(prepare_plain(name, [])[0].model)

    assert of("core") == {} and of("kraft_invariants") == {}
    assert of("kraft_kafka") == dict.fromkeys(
        ["elr_election", "unclean_election", "records_lost", "target_changed"], "kraft"
    )


AND_FALSE = """
@invariant
def leader_in_isr(s: Partition) -> bool:
    return True

@invariant
def three_replicas(s: Partition) -> bool:
    return len(s.replicas) == 3

MODEL = core.MODEL.replacing(leader_in_isr).adding(three_replicas)
"""
TO_DEPTH = ["--depth=2", "--property=leader_in_isr"]


@pytest.mark.parametrize(
    ("command", "options", "stop"),
    [
        ("check", ["--engine=native", *TO_DEPTH], "depth"),
        ("check", ["--engine=reference", *TO_DEPTH], "depth"),
        ("check", ["--engine=native", "--depth=2"], "depth"),
        ("check", ["--engine=native", "--set=brokers=5", "--budget=1ms"], "budget"),
        ("check", ["--engine=reference", "--set=brokers=5", "--budget=1ms"], "budget"),
        ("check", ["--engine=native", "--set=brokers=5", "--memory=1MB"], "memory"),
        ("simulate", ["--walks=3"], "walks"),
        ("prove", ["--budget=1ms"], "budget"),
    ],
)
def test_only_a_complete_run_calls_it_vacuous(
    command: str, options: list[str], stop: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = variant(tmp_path, ALWAYS_TRUE)
    code, _, _ = said(capsys, command, model, *options, "--json", str(tmp_path / "out.json"))
    record = json.loads((tmp_path / "out.json").read_text())
    statuses = {p["name"]: p["status"] for p in record["properties"]}
    assert (code, record["verdict"], record["stop_reason"]) == (5, "inconclusive", stop)
    assert statuses["leader_in_isr"] == "unknown"


@pytest.mark.parametrize("options", [["--depth=3"], ["--fail-fast"], ["--engine=reference", "--depth=3"]])
def test_a_violation_stays_in_front(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "check", variant(tmp_path, AND_FALSE), *options)[0] == 12


@pytest.mark.parametrize(
    ("depth", "expect", "code"),
    [("", "vacuous", 0), ("", "inconclusive", 15), ("depth = 2", "inconclusive", 0), ("depth = 2", "vacuous", 5),
     ("depth = 2", "pass-to-depth", 5), ("depth = 2", "safety-violation", 5)],
)  # fmt: skip
def test_what_a_gate_expects_of_it(
    depth: str, expect: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate = tmp_path / "gate.toml"
    model = variant(tmp_path, ALWAYS_TRUE)
    gate.write_text(f'[[check]]\nmodel = "{model}"\nengine = "reference"\nexpect = "{expect}"\n{depth}\n', "utf-8")
    assert said(capsys, "gate", str(gate), "-j1")[0] == code


@pytest.mark.parametrize(("options", "code"), [([], 16), (["--depth=2"], 5)])
def test_a_sweep_calls_it_vacuous(
    options: list[str], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "sweep", variant(tmp_path, ALWAYS_TRUE), "--set=min_isr=1,2", *options)[0] == code


def test_a_premise_that_no_state_satisfies_in_a_run_that_time_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The states are all visited; the time ends before another property is decided."""
    text = """
@leads_to(lambda s: s.leader is not None)
def first(s: Partition) -> bool:
    return s.isr == frozenset()

@leads_to(lambda s: s.leader is not None)
def second(s: Partition) -> bool:
    return s.leader is None

MODEL = core.MODEL.adding(first, second)
"""
    model = variant(tmp_path, text)
    right = Liveness.region

    def ends(self: Liveness, prop: Property) -> Any:
        if prop.name == "second":
            raise budget_ended(1)
        return right(self, prop)

    assert said(capsys, "check", model, "--property=first")[0] == 16
    monkeypatch.setattr(Liveness, "region", ends)
    code, out, _ = said(capsys, "check", model, "--property=first", "--property=second")
    assert (code, "first   vacuous" in out, "second  unknown" in out) == (5, True, True)
