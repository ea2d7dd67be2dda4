"""A run that is kept: taken up again, and refused where it is another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reassure.spec.semantics.trace import JsonObject
from tests.helpers.command import said
from tests.helpers.outside_models import SOURCES, counter, set_step
from tests.helpers.runs import everything
from tests.helpers.spark_runs import checked, far, needs_spark

pytestmark = needs_spark


@pytest.mark.parametrize("committed", [0, 1, 5, 12, 13])
def test_resume(committed: int, kept: Path, tmp_path: Path, context: Any) -> None:
    """From any commit on, whatever lies about beside: the same as without an interruption."""
    place = tmp_path / "run"
    shutil.copytree(kept, place)
    for path in place.glob("commits/*.json"):
        if int(path.stem) > committed:
            path.unlink()
    (place / "packed" / "0003").mkdir(exist_ok=True)
    (place / "packed" / "0003" / "part-0-half.parquet").write_bytes(b"PAR1, half-written")
    (place / "commits" / "0099.json.half").write_text("{")
    verdict = checked("core", [], far(out=str(place), resume=True))
    assert everything(verdict) == everything(checked("core", []))
    assert len(list(place.glob("commits/????.json"))) == 13


def _commit(place: Path, level: int, change: Callable[[JsonObject], object]) -> None:
    path = place / f"commits/{level:04}.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def _written(place: Path, level: int, text: str) -> None:
    (place / f"commits/{level:04}.json").write_text(text)


def _copied(place: Path, source: int, target: int) -> None:
    shutil.copy(place / f"commits/{source:04}.json", place / f"commits/{target:04}.json")


def _run(place: Path, **fields: Any) -> None:
    path = place / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def _files(place: Path, level: int) -> list[Path]:
    return sorted((place / "packed" / f"{level:04}").glob("part-*.parquet"))


def _swapped(place: Path) -> None:
    one, other = _files(place, 6)[0], _files(place, 7)[0]
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)


MISSING = "commits/0005.json is missing or cut off, before others"
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda p: (p / "commits/0005.json").unlink(), MISSING),
    "cut": (lambda p: _written(p, 5, "{"), MISSING),
    "empty": (lambda p: _written(p, 5, ""), MISSING),
    "list": (lambda p: _written(p, 5, "[]"), "commits/0005.json is no commit"),
    "nothing": (lambda p: _written(p, 5, "null"), "commits/0005.json is no commit"),
    "object": (lambda p: _written(p, 5, "{}"), "commits/0005.json is no commit"),
    "copied on": (lambda p: _copied(p, 13, 14), "commits/0014.json is not as it was written after"),
    "copied": (lambda p: _copied(p, 4, 12), "commits/0012.json is not as it was written after"),
    "a part dropped": (lambda p: _commit(p, 6, lambda d: d["files"].popitem()), "commits/0006.json is not as it was"),
    "rows": (lambda p: _commit(p, 6, lambda d: d["rows"].update({"0": 1})), "commits/0006.json is not as it was"),
    "tally": (lambda p: _commit(p, 6, lambda d: d["tally"].pop()), "commits/0006.json is not as it was"),
    "seal": (lambda p: _commit(p, 6, lambda d: d.update(seal="0")), "commits/0006.json is not as it was"),
    "partitions": (lambda p: _run(p, partitions=1), "commits/0001.json is not as it was"),
    "no partition": (lambda p: _run(p, partitions=0), "run.json cannot be read"),
    "text": (lambda p: _run(p, partitions="4"), "run.json cannot be read"),
    "no configuration": (lambda p: _run(p, config=None), "run.json cannot be read"),
    "asked": (lambda p: _run(p, asked="isr*"), "run.json cannot be read"),
    "fingerprints": (lambda p: _run(p, fingerprints=[[1, 2]]), "commits/0001.json is not as it was"),
    "states gone": (lambda p: _files(p, 6)[0].unlink(), "cannot be read: No such file or directory"),
    "states cut": (lambda p: _files(p, 6)[0].write_bytes(b"PAR1"), "cannot be read: "),
    "states swapped": (_swapped, "has other states than were committed"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_not_continued(
    damage: str, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any
) -> None:
    """Whatever is missing, is another's, or was edited: refused in a line, and never a result. SECURITY.md, 16."""
    place = tmp_path / "run"
    shutil.copytree(kept, place)
    change, why = DAMAGES[damage]
    change(place)
    code, out, err = said(capsys, "check", "core", "--engine=spark", f"--resume={place}")
    assert (code, out, len(err.splitlines())) == (64, "", 1), err
    assert why in err


def test_levels_that_were_found_at_once_are_all_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any
) -> None:
    """Each has the counts of all of them: without the last ones they would count steps twice."""
    place = tmp_path / "run"
    assert said(capsys, "check", "core", "--engine=spark", f"--out={place}")[0] == 0
    (place / "commits/0013.json").unlink()
    code, _, err = said(capsys, "check", "core", f"--resume={place}")
    assert (code, "commits/0013.json is missing or cut off" in err) == (64, True)
    (place / "commits/0001.json").unlink()  # as where the driver was killed: the first is written last
    code, out, _ = said(capsys, "check", "core", f"--resume={place}")
    assert code == 0 and "7,699 generated, 1,668 distinct" in out


def test_a_commit_that_was_being_written_is_not_there(
    kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any
) -> None:
    """A move may be a copy that a kill cuts off: the last commit is not there then, and its level is found again."""
    place = tmp_path / "run"
    shutil.copytree(kept, place)
    _written(place, 13, '{"level": 13,')
    code, out, _ = said(capsys, "check", "core", f"--resume={place}")
    assert code == 0 and "7,699 generated, 1,668 distinct" in out
    assert json.loads((place / "commits/0013.json").read_text())["level"] == 13


def test_commits_of_a_driver_that_was_killed_among_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any
) -> None:
    """The first is written last: without it none counts, whatever comes instead."""
    place = tmp_path / "run"
    assert said(capsys, "check", "core", "--engine=spark", f"--out={place}")[0] == 0
    for level in range(1, 6):
        (place / f"commits/{level:04}.json").unlink()
    said(capsys, "check", "core", f"--resume={place}", "--depth=4")
    assert sorted(path.name for path in (place / "commits").glob("*.json")) == [f"{n:04}.json" for n in range(1, 6)]
    code, out, _ = said(capsys, "check", "core", f"--resume={place}", "--depth=4")
    assert "stopped because depth 4 was reached" in out
    code, out, _ = said(capsys, "check", "core", f"--resume={place}")
    assert code == 0 and "7,699 generated, 1,668 distinct" in out


def test_a_resumed_run_has_its_tables_once(tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any) -> None:
    """Whatever pieces they were written in before."""
    place, count = tmp_path / "run", "select count(*), count(distinct id) from states"
    assert said(capsys, "check", "core", "--engine=spark", f"--out={place}")[0] == 0
    odd = place / "states" / "level-0001-other-0.parquet"
    shutil.copy(place / "states" / _tables(place)[0], odd)
    for words in (count, "select count(*) from states"):
        code, out, err = said(capsys, "query", str(place), words)
        assert (code, out) == (64, "") and "the files of states are not those that the run wrote" in err
    assert said(capsys, "check", "core", f"--resume={place}")[0] == 0
    assert not odd.exists()
    code, out, _ = said(capsys, "query", str(place), count, "--format=csv")
    assert (code, out.splitlines()[1:]) == (0, ["1668,1668"])
    for folder in ("states", "edges"):
        path = place / folder / _tables(place, folder)[0]
        path.rename(tmp_path / "aside")
        assert said(capsys, "query", str(place), count)[0] == 64
        (tmp_path / "aside").rename(path)
    shutil.rmtree(place / "edges")
    assert said(capsys, "query", str(place), "select count(*) from edges")[0] == 64
    (place / "tables.json").write_text('{"states": 3}')
    code, _, err = said(capsys, "query", str(place), count)
    assert (code, "tables.json cannot be read" in err) == (64, True)


def _tables(place: Path, folder: str = "states") -> list[str]:
    return sorted(path.name for path in (place / folder).glob("*.parquet"))


def test_a_query_says_that_states_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any) -> None:
    place = tmp_path / "run"
    said(capsys, "check", "core", "--engine=spark", f"--out={place}", "--depth=4")
    code, out, err = said(capsys, "query", str(place), "select count(*) from states", "--format=csv")
    assert (code, out.splitlines()[1:]) == (0, ["381"])
    assert err == "note: the run did not visit every state: depth 4 was reached\n"


def test_fewer_levels_than_are_there(kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "run"
    shutil.copytree(kept, place)
    code, _, err = said(capsys, "check", "core", "--engine=spark", f"--resume={place}", "--depth=3")
    assert (code, "went on to level 12 already: --depth 3" in err) == (64, True)


def changed(kept: Path, folder: Path, **fields: Any) -> str:
    place = folder / "run"
    shutil.copytree(kept, place)
    data = json.loads((place / "run.json").read_text())
    (place / "run.json").write_text(json.dumps({**data, **fields}))
    return str(place)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_sha256": "0" * 64}, "is of another text of the model"),
        ({"values_sha256": "0" * 64}, "is of other values that the model has from outside of its text"),
        ({"engine_version": "0.0.9"}, "is of another engine version: 0.0.9, not "),
        ({"partitions": 3}, "is of another partitions: 3, not 4"),
        ({"model": "kraft"}, "is of another model: kraft, not core"),
        ({"schema": 99}, "was written by another version"),
        ({"words": None, "more": 1}, "run.json cannot be read"),
    ],
)
def test_another_run_is_refused(
    fields: JsonObject, message: str, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(
        capsys, "check", "core", "--engine=spark", f"--resume={changed(kept, tmp_path, **fields)}", "--partitions=4"
    )
    assert (code, out, len(err.splitlines())) == (64, "", 1)
    assert message in err


@pytest.mark.parametrize("source", SOURCES)
def test_other_values_from_outside_are_another_run(
    source: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    context: Any,
) -> None:
    """With a step of 3 a fresh check says 12: what was found with a step of 1 does not go on."""
    path, place = str(counter(tmp_path, source)), tmp_path / "run"
    set_step(1, tmp_path, monkeypatch)
    assert said(capsys, "check", path, "--engine=spark", f"--out={place}")[0] == 0
    set_step(3, tmp_path, monkeypatch)
    assert said(capsys, "check", path)[0] == 12
    code, out, err = said(capsys, "check", path, f"--resume={place}")
    assert (code, out) == (64, "")
    assert "is of other values that the model has from outside of its text" in err
    set_step(1, tmp_path, monkeypatch)
    assert said(capsys, "check", path, f"--resume={place}")[0] == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--out=DIR"], 64, "has a run already; --resume"),
        (["--resume=nowhere"], 64, "there is no run.json in it"),
        (["--out=a", "--resume=b"], 64, "give one of them"),
        (["--out=nofs://x/y"], 153, "nofs://x/y"),
        (["--out=/proc/nothing/here"], 153, "/proc/nothing"),
        (["--conf=ui=1"], 64, "is not a setting of Spark"),
        (["--partitions=0"], 64, "is not a whole number of at least 1"),
    ],
)
def test_wrong_options(
    words: list[str], code: int, message: str, kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [w.replace("DIR", str(kept)) for w in words]
    found, out, err = said(capsys, "check", "core", "--engine=spark", *given)
    assert (found, out, len(err.splitlines())) == (code, "", 1)
    assert message in err


def test_a_run_is_continued_with_what_it_was_begun_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], context: Any
) -> None:
    """Its configuration, properties and kind of data are in its folder, which the command that repeats it names."""
    place = str(tmp_path / "a run")
    words = ["check", "core", "--set=brokers=4", "--property=isr*", "--engine=spark", "--no-data", f"--out={place}"]
    code, out, _ = said(capsys, *words)
    assert (code, out.splitlines()[-1].endswith(f"'--resume={place}'")) == (0, True)
    code, again, err = said(capsys, "check", "core", f"--resume={place}")
    assert (code, err) == (0, "")
    assert "--property=isr*" in again.splitlines()[-1]
    assert [line for line in again.splitlines()[:-1] if "isr" in line or "generated," in line] == [
        line for line in out.splitlines()[:-1] if "isr" in line or "generated," in line
    ]
    code, _, err = said(capsys, "check", "core", "--set=brokers=3", f"--resume={place}")
    assert (code, "is of another configuration" in err) == (64, True)


def test_what_was_begun_otherwise_is_refused(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "check", "core", f"--resume={kept}", "--no-data", "--partitions=4")
    assert (code, "was begun without --no-data: go on in the same way" in err) == (64, True)


def test_options_of_spark_are_for_spark(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = said(capsys, "check", "core", "--partitions=2")
    assert (code, "--partitions is for --engine spark" in err) == (64, True)
