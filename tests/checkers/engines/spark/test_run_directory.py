"""A run that is kept: taken up again, and refused where it is another."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import said
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
        ({"engine_version": "0.0.9"}, "is of another engine version: 0.0.9, not "),
        ({"partitions": 3}, "is of another partitions: 3, not 4"),
        ({"model": "kraft"}, "is of another model: kraft, not core"),
        ({"schema": 99}, "was written by another version"),
        ({"words": None, "more": 1}, "run.json cannot be read"),
    ],
)
def test_another_run_is_refused(
    fields: dict[str, Any], message: str, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(
        capsys, "check", "core", "--engine=spark", f"--resume={changed(kept, tmp_path, **fields)}", "--partitions=4"
    )
    assert (code, out, len(err.splitlines())) == (64, "", 1)
    assert message in err


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
