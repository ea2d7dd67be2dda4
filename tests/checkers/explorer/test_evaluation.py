"""Values of an expression along a path: what they are, and expressions that do not end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reassure.checkers.explorer import evaluation
from reassure.checkers.explorer.server import ExplorerServer
from tests.helpers.explorer_pages import asked, served
from tests.helpers.lease_model import LEASE

PATH = "empty/fill_big/big_to_small"
PARTS = {"path": PATH, "expression": "s.big + s.small"}


@pytest.fixture(scope="module")
def server() -> Iterator[ExplorerServer]:
    with served("die_hard") as serving:
        yield serving


def test_a_value_of_each_state(server: ExplorerServer) -> None:
    assert asked(server, "values", **PARTS) == {"expression": "s.big + s.small", "values": ["0", "5", "5"]}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("s.big +", "'s.big +' is not a Python expression: invalid syntax"),
        ("t.big", "'t.big': name 't' is not defined; `s` is a state, `c` is the configuration"),
        ("s.big if", "'s.big if' is not a Python expression: invalid syntax"),
        ("exit()", "'exit()' ended the process that evaluates it"),
        ("__import__('os')._exit(0)", "\"__import__('os')._exit(0)\" ended the process that evaluates it"),
    ],
)
def test_an_expression_without_values_is_told(expression: str, why: str, server: ExplorerServer) -> None:
    assert asked(server, "values", path=PATH, expression=expression) == {"error": why}
    assert asked(server, "values", **PARTS)["values"] == ["0", "5", "5"]


def test_a_path_that_the_model_has_not(server: ExplorerServer) -> None:
    said = asked(server, "values", path="empty/fly", expression="s.big")
    assert said["error"].startswith("the model does not have this path: ")


def test_an_expression_that_does_not_end_is_given_up(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(server, "values", **PARTS)["values"] == ["0", "5", "5"]
    monkeypatch.setattr(evaluation, "PATIENCE", 0.5)
    assert asked(server, "values", path=PATH, expression="9**9**9") == {"error": "'9**9**9' has no value after 0.5 s"}
    monkeypatch.undo()
    assert asked(server, "values", **PARTS)["values"] == ["0", "5", "5"]


def test_values_are_of_the_model_as_it_is_now(tmp_path: Path) -> None:
    file = tmp_path / "lease.py"
    file.write_text(LEASE)
    with served(str(file)) as serving:
        path = asked(serving, "about")["starts"][0]["path"]
        assert asked(serving, "values", path=path, expression="LIMIT")["error"].startswith("'LIMIT': name 'LIMIT' is")
        file.write_text(f"{LEASE}LIMIT = 7\n")
        assert asked(serving, "values", path=path, expression="LIMIT")["values"] == ["7"]
