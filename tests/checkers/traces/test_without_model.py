"""ITF files of Apalache and Quint, shown without a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command import said

QUINT = """{"#meta": {"format": "ITF", "source": "bank.qnt", "status": "violation"}, "vars": ["held", "last", "who"], "states": [
{"#meta": {"index": 0}, "held": {"#map": [["bob", {"#bigint": "0"}]]}, "last": {"tag": "None", "value": {"#tup": []}}, "who": {"#set": []}},
{"#meta": {"index": 1}, "held": {"#map": [["bob", {"#bigint": "-3"}]]}, "last": {"tag": "Paid", "value": {"by": "bob", "ok": true}},
 "who": {"#set": ["bob", {"#tup": [1, "2"]}]}}, {"#meta": {"index": 2}, "held": {"#map": [["bob", {"#bigint": "-3"}]]},
 "last": {"tag": "Paid", "value": {"by": "bob", "ok": true}}, "who": {"#set": ["bob", {"#tup": [1, "2"]}]}}], "loop": 1}"""  # noqa: E501
STORY = """{}: 2 steps
no model: nothing is checked
  0.
       held = {{bob: 0}}
       last = none
       who = {{}}
  1.
       held: {{bob: 0}} -> {{bob: -3}}
       last: none -> Paid((by bob, ok yes))
       who: {{}} -> {{[1, "2"], bob}}
  2.
       nothing changes
  3. back to state 1
       nothing changes
  from state 1 on the run repeats for ever
"""


def test_a_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bank.itf.json"
    path.write_text(QUINT)
    assert said(capsys, "show", str(path)) == (0, STORY.format(path), "")
    assert said(capsys, "show", str(path), "--format=steps")[0] == 64


@pytest.mark.parametrize(
    "value", ["1.5", "null", '{"#bag": []}', '{"#bigint": "x"}', '{"#map": [[1, 2], [1, 3]]}', '{"#set": 3}']
)
def test_a_wrong_value(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.itf.json"
    path.write_text(f'{{"vars": ["x"], "states": [{{"x": {value}}}]}}')
    code, out, err = said(capsys, "show", str(path))
    assert (code, out, "state 0 is wrong" in err) == (64, "", True), err


@pytest.mark.parametrize(
    ("state", "says"), [("5", "state 0 is not an object"), ('{"y": 1}', "state 0 has no value of x")]
)
def test_a_wrong_state(state: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.itf.json"
    path.write_text(f'{{"vars": ["x"], "states": [{state}]}}')
    assert said(capsys, "show", str(path)) == (64, "", f"reassure: {path}: {says}\n")
