"""`reassure mutants`: what it prints and records, samples, processes, and what ends it early."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reassure.checkers.analyses.mutants.analysis import Judge
from reassure.spec.semantics.trace import JsonObject
from tests.helpers.command import model_file, report_of, said
from tests.helpers.mutated_model import TOKENS


@pytest.fixture
def tokens(tmp_path: Path) -> str:
    return model_file(tmp_path, TOKENS)


def record(path: Path) -> JsonObject:
    found: JsonObject = json.loads(path.read_text())
    return found


def test_the_table_names_survivors_and_what_each_property_kills(
    tokens: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "mutants", tokens, "--quiet", f"--json={tmp_path / 'm.json'}")
    assert (code, err) == (15, "")
    assert out.startswith("mine: 3 states, 5 steps; 27 mutants\n")
    assert (
        "mine.py:35 take: subtraction dropped\n  s.left - {first} -> s.left\n  survived: +4 states, +6 steps\n" in out
    )
    assert "mine.py:29 up: assignment left out\n  without value=s.value + 1\n  survived: +1 states, +3 steps\n" in out
    assert "killed:" not in out
    assert report_of(out, 15).endswith(
        "kills  alone  property\n"
        "    5      5  value_is_small\n"
        "    0      0  is_no_set_of_three  unexercised: it kills none of these mutants\n"
        "    9      3  deadlock\n"
        "    7      1  has_a_token\n"
        "\n15 killed, 6 survived, 2 equivalent, 1 refused, 2 raised, 1 clipped\n"
    )
    found = record(tmp_path / "m.json")
    assert (found["verdict"], found["complete"], found["stop_reason"]) == ("expectation-mismatch", True, "complete")
    assert found["counts"] == {"killed": 15, "survived": 6, "equivalent": 2, "refused": 1, "raised": 2, "clipped": 1}
    assert found["unexercised"] == ["is_no_set_of_three"]
    assert (found["mutants_of_model"], found["mutants_chosen"], len(found["mutants"])) == (27, 27, 27)
    assert found["noticed"][0] == {"name": "value_is_small", "kills": 5, "alone": 5, "violated_by_the_model": False}
    assert found["mutants"][4] == {
        "file": "mine.py", "line": 24, "function": "is_small", "kind": "comparison exchanged", "before": "s.value < 1",
        "after": "s.value <= 1", "verdict": "killed", "killed_by": {"value_is_small": 3}, "note": "",
    }  # fmt: skip


def test_killed_mutants_are_printed_with_what_kills_them(tokens: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On request: what matters first is what nothing kills."""
    killed = "mine.py:27 up: action removed\n  without up\n  killed: deadlock (0 steps), has_a_token\n"
    code, out, _ = said(capsys, "mutants", tokens, "--full")
    assert (code, killed in out) == (15, True)
    code, out, _ = said(capsys, "mutants", tokens)
    assert (code, killed in out) == (15, False)
    assert (
        "\n15 killed, 6 survived, 2 equivalent, 1 refused, 2 raised, 1 clipped (--full lists those that are killed)\n"
        in out
    )


def test_what_the_bounds_hide_is_judged_in_wider_ones(
    tokens: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one token a mistake in a choice of tokens changes nothing; with two it is told, or killed."""
    given = ("mutants", tokens, "--set=tokens=1", "--wider=tokens=2", "--wider=tokens=3", "--quiet")
    code, out, _ = said(capsys, *given, f"--json={tmp_path / 'm.json'}")
    assert code == 15
    assert (
        "mine.py:24 is_small: comparison exchanged\n  s.value < 1 -> s.value <= 1\n"
        "  equivalent: the same states and steps\n  with tokens=2: killed: value_is_small (2 steps)\n" in out
    )
    assert "  equivalent: the same states and steps\n  the same with tokens=2 and with tokens=3\n" in out
    told = [m["told_by"] for m in record(tmp_path / "m.json")["mutants"] if "told_by" in m]
    assert {"set": "tokens=2", "verdict": "killed", "killed_by": {"value_is_small": 3}, "note": ""} in told
    assert record(tmp_path / "m.json")["repro"].endswith("--set=tokens=1 --wider=tokens=2 --wider=tokens=3")
    code, _, err = said(capsys, *given, "--wider=tokens")
    assert (code, "tokens: write KEY=VALUE" in err) == (151, True)
    code, _, err = said(capsys, *given, "--wider=tokens=9")
    assert (code, "tokens" in err) == (151, True)
    code, _, err = said(capsys, "mutants", "core", "--record", "--wider=brokers=4")
    assert (code, "--wider does not go with --all or --record" in err) == (64, True)


def test_a_sample_is_said_to_be_one_and_does_not_depend_on_the_processes(
    tokens: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("mutants", tokens, "--max=6", "--seed=3", "--quiet")
    one = said(capsys, *options, f"--json={tmp_path / 'one.json'}")
    two = said(capsys, *options, f"--json={tmp_path / 'two.json'}", "-j2")
    assert one == two
    assert record(tmp_path / "one.json") == record(tmp_path / "two.json")
    assert "; 6 mutants, a sample of 27\n" in one[1]
    assert record(tmp_path / "one.json")["repro"].endswith("--max=6 --seed=3")
    other = said(capsys, "mutants", tokens, "--max=6", "--seed=4", "--quiet", f"--json={tmp_path / 'other.json'}")
    assert "a sample of 27" in other[1]
    lines = [
        [(m["line"], m["before"]) for m in record(tmp_path / f"{name}.json")["mutants"]] for name in ("one", "other")
    ]
    assert lines[0] != lines[1]


@pytest.mark.parametrize(
    ("properties", "code", "counts"),
    [
        (["is_no_set_of_three"], 15, {"survived": 20, "equivalent": 2, "refused": 1, "raised": 2, "clipped": 2}),
        (["nothing_such"], 6, None),
    ],
)
def test_only_the_properties_that_are_asked_for_kill(
    properties: list[str],
    code: int,
    counts: dict[str, int] | None,
    tokens: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "p.json"
    given, _, err = said(capsys, "mutants", tokens, *(f"--property={p}" for p in properties), f"--json={path}")
    assert given == code
    if counts is None:
        assert "no property of mine matches nothing_such" in err
    else:
        assert record(path)["counts"] == counts
        assert [p["name"] for p in record(path)["noticed"]] == properties


@pytest.mark.parametrize(
    ("seed", "counts"), [(3, "3 killed, 1 equivalent"), (19, "3 killed, 1 raised"), (0, "3 killed, 1 refused")]
)
def test_it_passes_where_nothing_survives(
    seed: int, counts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that are refused or raise are counted apart."""
    text = TOKENS.replace("return is_small(s) or s.value == 1", "return len(s.left) == s.value")
    code, out, _ = said(capsys, "mutants", model_file(tmp_path, text), "--max=4", f"--seed={seed}", "--quiet")
    assert code == 0
    assert report_of(out, 0).endswith(f"\n{counts}\n")


def interrupted_after(monkeypatch: pytest.MonkeyPatch, count: int, error: BaseException) -> None:
    """Judging mutants ends so, after some of them."""
    judge, judged = Judge.judge, []

    def some(self: Judge, mutant: Any) -> Any:
        if len(judged) == count:
            raise error
        judged.append(mutant)
        return judge(self, mutant)

    monkeypatch.setattr(Judge, "judge", some)


def test_what_is_interrupted_is_said_not_to_be_whole(
    tokens: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted_after(monkeypatch, 5, KeyboardInterrupt())
    _, out, _ = said(capsys, "mutants", tokens, "--property=value_is_small", f"--json={tmp_path / 'i.json'}")
    assert out.startswith("mine: 3 states, 5 steps; 5 of 27 mutants\n")
    assert "\nthis is incomplete: stopped because interrupted\n" in out
    found = record(tmp_path / "i.json")
    assert (found["complete"], found["stop_reason"], len(found["mutants"])) == (False, "interrupted", 5)
    assert found["stopped_because"] == "interrupted"


def test_without_survivors_an_early_end_is_inconclusive(
    tokens: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupted_after(monkeypatch, 0, KeyboardInterrupt())
    code, out, _ = said(capsys, "mutants", tokens)
    assert code == 5
    assert "\nnone was judged\nthis is incomplete: stopped because interrupted\n\ninconclusive (exit code 5)\n" in out


def test_a_budget_ends_it(tokens: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "mutants", tokens, "--budget=1ms")
    assert code == 5
    assert "itself was not searched to its end: the budget of 0.001 s ended" in err or "this is incomplete" in out


def test_a_model_that_raises_has_no_mutants_to_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = TOKENS.replace("require(s.left != NONE)", "require(s.value < 2)")
    code, _, err = said(capsys, "mutants", model_file(tmp_path, text))
    assert code == 150
    assert "take() raised ValueError" in err
    assert err.endswith("; `reassure check` shows how\n")
