"""Who is answered over HTTP, and what the answers allow a browser to do."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from reassure.checkers.explorer.server import SCRIPTS, ExplorerServer
from reassure.checkers.request.options import SearchOptions
from tests.helpers import raising_model
from tests.helpers.command import HEEDS_SIGNALS, said
from tests.helpers.explorer_pages import TOKEN, answer, asked, ended, served, told
from tests.helpers.outside_models import counter, set_step

COUNTEREXAMPLES = Path(__file__).parents[3] / "counterexamples"


@pytest.fixture(scope="module")
def server() -> Iterator[ExplorerServer]:
    with served("die_hard") as serving:
        yield serving


def test_the_page_and_its_files_are_served(server: ExplorerServer) -> None:
    status, page, headers = answer(server, f"/{TOKEN}/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert '<script type="module" src="explorer.js"></script>' in page
    assert "http" not in page
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "http" not in policy and "unsafe" not in policy
    assert "Access-Control-Allow-Origin" not in headers
    assert headers["Referrer-Policy"] == "no-referrer"
    for name in ("explorer.css", *SCRIPTS, "lifelines.js", "picture.css"):
        assert answer(server, f"/{TOKEN}/{name}")[0] == 200, name


def test_the_page_says_what_its_address_is_worth(server: ExplorerServer) -> None:
    """SECURITY.md, 14: on screen, and true, since an expression is any Python."""
    _, page, _ = answer(server, f"/{TOKEN}/")
    (line,) = (line for line in page.splitlines() if 'id="access"' in line)
    assert re.sub("<[^>]*>", "", line) == (
        "Whoever has the address of this page, with its token, can execute Python on this machine as you: "
        "do not give it away."
    )
    assert "hidden" not in line
    values = asked(server, "values", path="empty", expression="__import__('os').getppid()")["values"]
    assert values == [str(os.getpid())]


def test_only_this_host_is_bound(server: ExplorerServer) -> None:
    """SECURITY.md, 14."""
    assert server.server_address[0] == "127.0.0.1"
    assert server.address == f"http://127.0.0.1:{server.server_port}/{TOKEN}/"


@pytest.mark.parametrize("target", ["/", "/wrong/", "/wrong/api/about", f"/{TOKEN}x/api/about", "/explorer.js"])
def test_without_the_token_nothing_is_told(server: ExplorerServer, target: str) -> None:
    """SECURITY.md, 14."""
    status, text, _ = answer(server, target)
    assert status == 403
    assert "die_hard" not in text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", ""])
def test_another_name_of_this_host_is_refused(server: ExplorerServer, host: str) -> None:
    """SECURITY.md, 14."""
    assert answer(server, f"/{TOKEN}/api/about", headers={"Host": host})[0] == 403
    assert answer(server, f"/{TOKEN}/", headers={"Host": host})[0] == 403


def test_a_page_of_another_origin_commands_nothing(server: ExplorerServer) -> None:
    """SECURITY.md, 15."""
    body = json.dumps({"do": "start"})
    target = f"/{TOKEN}/api/search"
    assert answer(server, target, "POST", body, {"Origin": "http://evil.example"})[0] == 403
    assert asked(server, "search")["state"] == "idle"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "there is nothing at api/nothing"),
        ("../view.py", "there is nothing at"),
        ("export", "a path is written as itf, steps, test, page, story, not as ''"),
        ("export?form=itf&path=empty/x", "the model does not have this path: die_hard has no action x"),
        ("view?path=a%20b", "is not a step"),
    ],
)
def test_what_cannot_be_answered_is_told_in_a_line(server: ExplorerServer, name: str, words: str) -> None:
    status, text, _ = answer(server, f"/{TOKEN}/api/{name}")
    assert status in (400, 404)
    assert words in json.loads(text)["error"]


@pytest.mark.parametrize("body", ["", "[]", '{"do": 1}', '{"do": "jump"}', "{", "[" * 10_000])
def test_a_wrong_command_is_told(server: ExplorerServer, body: str) -> None:
    status, text, _ = answer(server, f"/{TOKEN}/api/search", "POST", body)
    assert status == 400
    assert json.loads(text)["error"].startswith(("a command is a JSON object", "a search is told to start or to stop"))


def test_a_bug_is_told_and_the_server_goes_on(server: ExplorerServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(server.session.questions, "find", lambda query: {"one": 1 // 0})
    status, text, _ = answer(server, f"/{TOKEN}/api/find")
    assert (status, text.startswith('{"error": "ZeroDivisionError: ')) == (500, True)
    assert asked(server, "about")["model"] == "die_hard"


def test_a_broken_model_is_told_and_no_crash(tmp_path: Path) -> None:
    path = Path(raising_model.written(tmp_path, ""))
    with served(str(path)) as serving:
        assert asked(serving, "about")["model"] == "raising"
        path.write_text("def (:\n")
        status, text, _ = answer(serving, f"/{TOKEN}/api/view?path=start")
        assert status == 409
        assert json.loads(text)["model"] is True
        assert "SyntaxError" in json.loads(text)["error"]


def test_a_search_under_other_values_from_outside_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page has the model with a step of 1, and the search is of one with a step of 3: the text is the same."""
    set_step(1, tmp_path, monkeypatch)
    with served(str(counter(tmp_path, "file"))) as serving:
        for step, stale in ((1, False), (3, True)):
            (tmp_path / "step.json").write_text(str(step))
            told(serving, "search", do="start")
            found = ended(serving, "search")
            assert (found["state"], found["stale"]) == ("complete", stale)
            assert asked(serving, "about")["model"] == "outside_counter"


def test_a_search_tells_counterexamples_and_covers_as_paths() -> None:
    with served("core") as serving:
        assert asked(serving, "search")["state"] == "idle"
        assert told(serving, "search", do="start")["state"] == "running"
        found = ended(serving, "search")
        assert found["state"] == "complete", found
        view = asked(serving, "view", path=found["covers"][0]["path"])
        covers = {p["name"]: p["status"] for p in view["properties"] if p["kind"] == "cover"}
        assert covers[found["covers"][0]["name"]] == "reached"
        assert (found["stale"], found["clipped"]) == (False, 0)
        assert {p["status"] for p in found["properties"]} == {"holds"}


def test_find_gives_the_shortest_path_or_says_why_not(server: ExplorerServer) -> None:
    assert told(server, "find", expression="s.small == 2")["state"] == "running"
    found = ended(server, "find")
    assert found["path"] == "empty/fill_big/big_to_small/empty_small/big_to_small"
    assert found["reasons"] == ["s.small = 2"]
    told(server, "find", expression="s.small == 1 and s.big == 2")
    never = ended(server, "find")
    assert (never["state"], never["path"]) == ("unreachable", None)
    assert never["text"] == "never true in this configuration: all 16 states were visited"
    told(server, "find", expression="before.small == 2 and after.small == 0")
    over = ended(server, "find")
    assert over["path"] == "empty/fill_big/big_to_small/empty_small/big_to_small/empty_small"
    told(server, "find", expression="s.small ==")
    wrong = ended(server, "find")
    assert (wrong["state"], "is not a Python expression" in wrong["text"]) == ("refused", True)
    assert "an expression is missing" in told(server, "find", expression=" ")["error"]


def test_a_search_that_is_stopped_is_incomplete() -> None:
    with served("kraft") as serving:
        told(serving, "search", do="start")
        told(serving, "search", do="stop")
        found = ended(serving, "search")
        assert found["state"] in ("interrupted", "incomplete")
        assert all(p["status"] not in ("holds", "proved") for p in found.get("properties", []))


def test_a_model_outside_the_language_is_explored_and_its_search_refused(tmp_path: Path) -> None:
    text = '@action(who="x")\ndef odd(s: State) -> State:\n    while True:\n        return s\n'
    with served(raising_model.written(tmp_path, text)) as serving:
        view = asked(serving, "view", path="start/odd")
        assert view["problem"] is None
        told(serving, "search", do="start")
        found = ended(serving, "search")
        assert (found["state"], "outside the language" in found["text"]) == ("refused", True)


def test_the_command_says_what_is_wrong_with_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, _, err = said(capsys, "explore", "die_hard", "--no-browser", "--port", port)
    assert (code, err) == (153, f"reassure: port {port} of 127.0.0.1: Address already in use; give another --port\n")
    code, _, err = said(capsys, "explore", "die_hard", "--port", "70000", "--no-browser")
    assert (code, err) == (64, "reassure: --port 70000: a port is at most 65535\n")
    code, _, err = said(capsys, "explore", "die_hard", "--at", "a b", "--no-browser")
    assert (code, err.startswith("reassure: --at: 'a b' is not a step")) == (64, True)
    code, _, err = said(capsys, "explore", "die_hard", "--at", "empty", "--trace", "x", "--no-browser")
    assert (code, "give one of them" in err) == (64, True)
    code, _, err = said(capsys, "explore", "die_hard", "--trace", str(tmp_path / "none.json"), "--no-browser")
    assert (code, "No such file" in err) == (64, True)
    assert said(capsys, "explore", "nothing_like_it")[0] == 64
    assert said(capsys, "explore", "die_hard", "--set", "goal=9")[0] == 151


def test_a_trace_is_opened_at_its_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(server: ExplorerServer) -> None:
        raise KeyboardInterrupt

    opened: list[str] = []
    monkeypatch.setattr(ExplorerServer, "serve_forever", interrupted)
    monkeypatch.setattr("webbrowser.open", opened.append)
    trace = str(COUNTEREXAMPLES / "die_hard" / "goal_not_reached.itf.json")
    code, out, err = said(capsys, "explore", "die_hard", "--trace", trace, "--no-search")
    assert (code, err) == (0, "")
    path = "empty/fill_big/big_to_small/empty_small/big_to_small/fill_big/big_to_small"
    assert [address.partition("#")[2] for address in opened] == [path]
    assert out == f"die_hard: {opened[0]}\nCtrl-C ends the explorer\n\nended\n"


def test_a_trace_of_another_configuration_names_what_to_give(capsys: pytest.CaptureFixture[str]) -> None:
    trace = COUNTEREXAMPLES / "mutants" / "cancel_elects_any_original.itf.json"
    words = ["explore", "cancel_elects_any_original", "--trace", str(trace), "--no-browser"]
    code, out, err = said(capsys, *words, "--set=unclean=off", "--set=disturbances=1")
    assert (code, out) == (64, "")
    assert err.startswith("reassure: --trace: step 0 is not possible: ")
    needed = f"reassure explore cancel_elects_any_original --set=disturbances=1 --set=unclean=on --trace={trace}\n"
    assert err.endswith(f"; the trace is of another configuration: {needed}")
    code, _, err = said(capsys, "explore", "kraft", *words[2:])
    assert (code, "the trace is of another model: reassure explore cancel_elects_any_original --set=" in err) == (
        64,
        True,
    )


def test_ctrl_c_ends_the_explorer_and_its_search(tmp_path: Path) -> None:
    words = ["-m", "reassure", "explore", "kraft", "--no-browser", "--at", "settled(unclean=false)"]
    command = [*HEEDS_SIGNALS, sys.executable, *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
    ) as running:
        assert running.stdout is not None
        address = running.stdout.readline()
        assert re.fullmatch(r"kraft: http://127\.0\.0\.1:\d+/[\w-]{32}/#settled\(unclean=false\)\n", address)
        assert running.stdout.readline() == "Ctrl-C ends the explorer\n"
        page = address.split()[1].partition("#")[0]
        while json.load(urllib.request.urlopen(f"{page}api/search"))["state"] != "running":
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: the process of the search gets it too
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (0, "\nended\n", "")


def test_a_search_without_enough_memory_is_incomplete() -> None:
    with served("core", options=SearchOptions(workers=1, memory=1)) as serving:
        told(serving, "search", do="start")
        found = ended(serving, "search")
    assert found["state"] == "incomplete"
    assert "memory" in found["text"]
    assert {p["status"] for p in found["properties"]} <= {"unknown", "violated"}
    assert {c["status"] for c in found["covers"]} <= {"reached", "not reached so far"}
