"""A path as a file: each form is read back by what it is for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reassure.checkers.explorer.loaded import ModelSource
from reassure.checkers.explorer.session import ExplorerSession
from reassure.checkers.request.options import SearchOptions
from reassure.models.examples import core, die_hard
from tests.helpers.command import said

SOLUTION = "empty/fill_big/big_to_small/empty_small/big_to_small/fill_big/big_to_small"
CORE = "three_in_sync/reassign(target=[0%2C1])/fence(broker=2)"


def exported(form: str, path: str, model: str, *settings: str) -> tuple[str, str]:
    """Name and text of the file."""
    made = ExplorerSession(ModelSource(model, list(settings)), SearchOptions()).exported({"form": form, "path": path})
    return made.name, made.text


def test_itf_is_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, text = exported("itf", SOLUTION, "die_hard", "goal=4")
    assert name == "die_hard--goal-4--explore--path.itf.json"
    (tmp_path / name).write_text(text)
    code, out, err = said(capsys, "replay", str(tmp_path / name))
    assert (code, err) == (0, "")
    assert "goal_not_reached is violated at its end" in out


def test_plain_steps_have_the_values_after_each_step() -> None:
    name, text = exported("steps", "empty/fill_big", "die_hard")
    assert name == "die_hard--explore--path.steps.json"
    assert json.loads(text)["steps"] == [
        {"actor": "hero", "action": "fill_big", "params": {}, "changed": ["big"], "state": {"small": 0, "big": 5}}
    ]


def test_the_story_tells_what_changes() -> None:
    assert exported("story", "empty/fill_big", "die_hard") == (
        "die_hard--explore--path.txt",
        "die_hard: 1 step\n  0. empty()\n       small = 0\n       big = 0\n  1. hero: fill_big()\n       big: 0 -> 5\n",
    )


def test_the_page_has_the_picture() -> None:
    name, text = exported("page", "empty/fill_big", "die_hard")
    assert name == "die_hard--explore--path.html"
    assert "<h1>die_hard: 1 step</h1>" in text


def test_a_name_of_a_file_is_one_that_every_system_has(tmp_path: Path) -> None:
    path = tmp_path / 'größe "1".py'
    path.write_text(Path(die_hard.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    assert exported("story", "empty", str(path))[0] == "gr-e-1---explore--path.txt"
    assert exported("test", "empty", str(path))[0] == "test_path_of_gr_e_1_.py"


TEST = '''"""A path of die_hard, as `reassure explore` has written it."""

import reassure


def test_path_of_die_hard() -> None:
    model = reassure.load("die_hard", goal=5)
    walk = reassure.walk(model, "empty")
    assert walk.state == {"small": 0, "big": 0}
    walk.take("fill_big")  # hero
    assert walk.changed == {"big": 5}
    assert walk.violated() == ["goal_not_reached"]
'''


def test_the_test_is_as_people_write_it() -> None:
    assert exported("test", "empty/fill_big", "die_hard", "goal=5") == ("test_path_of_die_hard.py", TEST)


pytest_plugins = ["pytester"]


def test_the_test_passes_and_fails_where_the_model_changes(pytester: pytest.Pytester) -> None:
    """`core` is imported above, before pytester, which forgets what is imported in its runs."""
    name, text = exported("test", CORE, core.MODEL.name)
    assert 'walk.take("reassign", target=[0, 1])  # admin' in text
    pytester.makepyfile(**{name.removesuffix(".py"): text})
    pytester.makepyfile(test_other=text.replace("broker=2", "broker=7"))
    pytester.makepyfile(test_value=text.replace('"isr": [0, 1]}', '"isr": [0]}'))
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*core does not have this path: step 2: fence(broker=7): broker: Broker(7) is not*"])
