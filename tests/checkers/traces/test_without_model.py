"""ITF files of Apalache and Quint, shown without a model.

Also here: traces read back by a public reader of ITF, where it can.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

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
       held[bob]: 0 -> -3
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


APALACHE = """{"#meta": {"format": "ITF", "varTypes": {"paid": "(Int -> { by: Str, ok: Bool })"}}, "params": [],
"vars": ["paid", "left"], "states": [
{"#meta": {"index": 0}, "left": {"#bigint": "2"}, "paid": {"#map": [[{"#bigint": "10"}, {"by": "<b>", "ok": false}],
 [{"#bigint": "9"}, {"by": "bob", "ok": true}]]}},
{"#meta": {"index": 1}, "left": {"#bigint": "2"}, "paid": {"#map": [[{"#bigint": "9"}, {"by": "eve", "ok": true}],
 [{"#bigint": "11"}, {"by": "eve", "ok": true}]]}}]}"""
KEY_BY_KEY = """\
  0.
       paid = {9: (by bob, ok yes), 10: (by "<b>", ok no)}
       left = 2
  1.
       paid[9].by: bob -> eve
       paid[10]: - (by "<b>", ok no)
       paid[11]: + (by eve, ok yes)
"""


def test_a_map_is_told_key_by_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace as Apalache writes it: records in a map of which one key goes and another comes."""
    path = tmp_path / "x.itf.json"
    path.write_text(APALACHE)
    assert said(capsys, "show", str(path)) == (0, f"{path}: 1 step\nno model: nothing is checked\n{KEY_BY_KEY}", "")


def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By `show` and by `explore`, the same: the steps, opened, and what they change; values of others are no markup."""
    path, page, other = tmp_path / "x.itf.json", tmp_path / "x.html", tmp_path / "y.html"
    path.write_text(APALACHE)
    assert said(capsys, "show", str(path), "--format=html", f"--out={page}")[0] == 0
    code, out, err = said(capsys, "explore", str(path), f"--out={other}")
    assert (code, out, err) == (0, f"{other}: {path}: 1 step; no model: nothing is checked\n", "")
    text = page.read_text()
    assert text == other.read_text() and '<details class="story" open>' in text
    assert "<li>paid[9].by: bob → eve</li><li>paid[10]: - (by &quot;&lt;b&gt;&quot;, ok no)</li>" in text
    assert "<b>" not in text and "script>" not in text
    assert said(capsys, "explore", str(path), f"--out={other}", "--set=a=1")[0] == 64
    looped = tmp_path / "bank.itf.json"
    looped.write_text(QUINT)
    assert said(capsys, "explore", str(looped), f"--out={other}")[0] == 0
    assert "<code>back to state 1</code>" in other.read_text() and "repeats for ever</strong>" in other.read_text()


def test_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same lines as the story, in a file that XML readers take; of a long trace the middle is left out."""
    path, out = tmp_path / "bank.itf.json", tmp_path / "bank.svg"
    path.write_text(QUINT)
    assert said(capsys, "show", str(path), "--format=svg", f"--out={out}")[0] == 0
    root = ElementTree.parse(out).getroot()
    lines = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert len(str(path)) < 90 and lines == STORY.format(path).splitlines()
    states = [{"x": number, "y": "y" * 60 + str(number)} for number in range(2000)]
    path.write_text(json.dumps({"vars": ["x", "y"], "states": states}))
    text = said(capsys, "show", str(path), "--format=svg")[1]
    (left,) = re.findall(r"\(([\d,]+) lines are left out\)", text)
    assert len(text.encode()) <= 60_000 and text.count("<text ") + int(left.replace(",", "")) == 8_002
    assert "x = 0<" in text and "x: 1998 -&gt; 1999<" in text and "x: 998 -&gt; 999<" not in text


def test_what_apalache_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ITF has a set that is not finite as its expression."""
    path = tmp_path / "x.itf.json"
    path.write_text('{"vars": ["x"], "states": [{"x": {"#unserializable": "Nat"}}, {"x": {"#unserializable": "a b"}}]}')
    assert '       x: Nat -> "a b"\n' in said(capsys, "show", str(path))[1]


def test_a_trace_that_names_its_model_is_explored_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.itf.json"
    path.write_text(APALACHE.replace('"format"', '"model": "core", "format"'))
    code, _, err = said(capsys, "explore", str(path), f"--out={tmp_path / 'x.html'}")
    assert (code, f"is a trace: give its model, and --trace {path}" in err) == (64, True)


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


itf_py = pytest.importorskip("itf_py")


def test_values_of_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "traces", "die_hard", f"--out={tmp_path}", "--quiet")[0] == 0
    for path in sorted(tmp_path.glob("*.itf.json")):
        data = json.loads(path.read_text())
        trace = itf_py.trace_from_json(data)
        assert trace.vars == ["big", "small"]
        expected = [{name: int(s[name]["#bigint"]) for name in trace.vars} for s in data["states"]]
        assert [state.values for state in trace.states] == expected
        assert [state.meta["action"] for state in trace.states] == [s["#meta"]["action"] for s in data["states"]]


def test_what_the_reader_does_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An optional value: it makes a class of the tag, and `None` is not a name of one (`docs/reference/traces.md`)."""
    assert said(capsys, "traces", "core", f"--out={tmp_path}", "--quiet")[0] == 0
    data = json.loads((tmp_path / "core--traces--actions-001.itf.json").read_text())
    with pytest.raises(ValueError, match=r"'None'|'#bigint'"):
        itf_py.trace_from_json(data)
