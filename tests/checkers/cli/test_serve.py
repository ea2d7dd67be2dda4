"""A command that a server executes does what it does without one, and no server executes what is no longer its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reassure.checkers.cli import client
from tests.helpers.command import children_of
from tests.helpers.serving import GATE, READS, WAITS, Serving, ended, parent_of, until

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    serving = Serving(tmp_path_factory.mktemp("runtime"))
    serving.start("--idle", "5m")
    yield serving
    assert serving.found() == serving.pid, "it has served all of this file"
    serving.end()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Serving]:
    serving = Serving(tmp_path)
    yield serving
    serving.end()


def waiting(
    serving: Serving, folder: Path, name: str = "waits", **settings: object
) -> tuple[subprocess.Popen[str], int]:
    """A command whose model waits, and the process that executes the model."""
    model = folder / f"{name}.py"
    model.write_text(WAITS)
    command = serving.popen("check", str(model), **settings)
    began = model.with_suffix(".began")
    until(lambda: began.exists() and began.read_text())
    return command, int(began.read_text())


def alike(text: str) -> str:
    """Without what differs from run to run: seconds, rates and memory, and lines about progress."""
    text = re.sub(r"^.* \| \d+ s\n", "", text, flags=re.MULTILINE)
    return re.sub(
        r"[\d.,]+ (s|MiB|k/s|M/s)\b", "N \\1", re.sub(r'"(seconds|load|compile|search|report)": .*', "", text)
    )


COMMANDS = [
    (("check", "core", "--json", "-"), 0),
    (("check", "die_hard"), 12),
    (("check", "core", "--no-such-option"), 64),
    (("lint", "wrong.py"), 150),
    (("gate", "gate.toml", "-j", "2"), 0),
]
MORE_COMMANDS = [
    (("check", "core", "--set", "brokers=x"), 151),
    (("check", "no_such_model"), 64),
    (("nonsense",), 64),
    (("models", "core"), 0),
    (("gate", "gate.toml"), 0),
    (("prove", "core", "--quiet"), 0),
    (("check", "exits.py"), 150),
    (("check", "leaves.py"), 255),
]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    (folder / "reads.py").write_text(READS)
    (folder / "wrong.py").write_text(READS.replace("s.count + STEP", "s.cuont + STEP"))
    (folder / "gate.toml").write_text(GATE)
    (folder / "exits.py").write_text("raise SystemExit(0)")
    (folder / "leaves.py").write_text("import os\nos._exit(0)")
    return folder


@pytest.mark.parametrize(
    ("words", "code"), [*COMMANDS, *(pytest.param(*row, marks=pytest.mark.slow) for row in MORE_COMMANDS)]
)
def test_a_command_answers_as_without_a_server(words: tuple[str, ...], code: int, server: Serving, work: Path) -> None:
    served = server.run(*words, cwd=work)
    alone = server.run(*words, cwd=work, env={**server.environment, "REASSURE_SERVER": "0"})
    assert (alone.returncode, served.returncode) == (code, code), alone.stderr + served.stderr
    assert (alike(served.stdout), alike(served.stderr)) == (alike(alone.stdout), alike(alone.stderr))
    assert served.stdout + served.stderr


SHELL = [
    "{} check die_hard --quiet <&- >&- 2>&-",
    "{} check die_hard --quiet >/dev/full",
    "{} check die_hard | head -1",
    "umask 027; {} check core --quiet --json /dev/fd/7 7>record; stat -c %a record; grep verdict record; rm record",
    "trap '' INT; cd $(mktemp -d); rmdir $PWD; COLUMNS=40 FORCE_COLOR=1 {} check die_hard",
]
MORE_SHELL = [
    "{} check die_hard --quiet >&-",
    "{} check die_hard --quiet 2>&-",
    "{} check die_hard > >(true); sleep 0.1",
    "ulimit -f 0; {} check core --quiet --json made.json",
    "ulimit -Sn 200; nice -n 3 {} lint wrong.py",
    "cd /; {} check $OLDPWD/reads.py --quiet",
]


@pytest.mark.parametrize("shell", [*SHELL, *(pytest.param(line, marks=pytest.mark.slow) for line in MORE_SHELL)])
def test_streams_and_surroundings_are_those_of_the_command(shell: str, server: Serving, work: Path) -> None:
    line = ["bash", "-c", "set -o pipefail; " + shell.replace("{}", f"{sys.executable} {server.script}")]
    answers = []
    for asked in ("1", "0"):
        environment = {**server.environment, "REASSURE_SERVER": asked}
        done = subprocess.run(line, cwd=work, env=environment, capture_output=True, text=True, check=False, timeout=60)
        answers.append((done.returncode, alike(done.stdout), alike(done.stderr)))
    assert answers[0] == answers[1]


def test_it_is_the_server_that_executes_it(server: Serving, tmp_path: Path) -> None:
    command, model = waiting(server, tmp_path)
    assert parent_of(parent_of(model)) == server.pid
    assert children_of(command.pid) == []
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=20)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_model_with_a_record(number: signal.Signals, server: Serving, tmp_path: Path) -> None:
    command, model = waiting(server, tmp_path)
    command.send_signal(number)
    _, err = command.communicate(timeout=20)
    assert (command.returncode, err) == (5, "reassure: interrupted\n")
    assert (tmp_path / "waits.ended").exists()
    until(lambda: ended(model))


def test_ctrl_z_stops_the_model_too(server: Serving, tmp_path: Path) -> None:
    command, model = waiting(server, tmp_path, process_group=0)  # as a shell starts it

    def state(process: int) -> str:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]

    command.send_signal(signal.SIGTSTP)
    until(lambda: state(model) == "T")
    command.send_signal(signal.SIGCONT)
    until(lambda: state(model) == "S")
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=20)
    assert command.returncode == 5


def test_the_model_does_not_outlive_the_command(server: Serving, tmp_path: Path) -> None:
    command, model = waiting(server, tmp_path)
    command.kill()
    command.communicate()
    until(lambda: ended(model))


def test_two_at_once(server: Serving, tmp_path: Path) -> None:
    commands = [waiting(server, tmp_path, name) for name in ("one", "two")]
    assert server.run("check", "die_hard", "--quiet").returncode == 12
    for command, _ in commands:
        command.send_signal(signal.SIGINT)
        command.communicate(timeout=20)
        assert command.returncode == 5


def test_a_process_that_is_killed_in_mid_check_is_said(server: Serving, tmp_path: Path) -> None:
    command, model = waiting(server, tmp_path)
    os.kill(parent_of(model), signal.SIGKILL)
    _, err = command.communicate(timeout=20)
    assert (command.returncode, err) == (153, f"reassure: {client.LOST}\n")
    until(lambda: ended(model))


def test_a_model_reads_the_environment_of_its_command(server: Serving, work: Path) -> None:
    """3 steps of 2 pass 5, whatever was asked before; the server's own environment has no STEP."""
    for step, code in (("1", 0), ("2", 12), ("1", 0)):
        done = server.run("check", "reads.py", "--quiet", cwd=work, env={**server.environment, "STEP": step})
        assert done.returncode == code, step


@pytest.mark.parametrize(
    ("flags", "variables"),
    [(["-O"], {}), ([], {"LC_ALL": "C"}), ([], {"PYTHONOPTIMIZE": "1"}), ([], {"REASSURE_DEBUG": "1"})],
)
def test_another_interpreter_is_not_served(flags: list[str], variables: dict[str, str], server: Serving) -> None:
    line = [sys.executable, *flags, str(server.script), "check", "no_such_model"]
    served = {"capture_output": True, "text": True, "check": False}
    assert subprocess.run(line[:1] + line[-3:], env=server.environment, **served).returncode == 64
    done = subprocess.run(line, env=server.environment | variables, **served)
    assert "TypeError: 'NoneType' object is not callable" in done.stderr or "REASSURE_DEBUG" in variables


def test_a_module_beside_that_the_server_has_otherwise(server: Serving, tmp_path: Path) -> None:
    """`python -m reassure` looks into the working folder first: what it finds there counts."""
    (tmp_path / "networkx.py").write_text("MINE = 1")
    (tmp_path / "uses.py").write_text("import networkx\nprint(networkx.MINE)\n" + READS)
    line = [sys.executable, "-m", "reassure", "check", "uses.py", "--quiet"]
    done = subprocess.run(line, cwd=tmp_path, env=server.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\npass (exit code 0)\n", "")


def test_a_killed_server_leaves_a_socket_that_nobody_minds(own_server: Serving, tmp_path: Path) -> None:
    own_server.start()
    command, model = waiting(own_server, tmp_path)
    own_server.end()
    until(lambda: own_server.found() == 0)
    assert list((tmp_path / "reassure").glob("*[0-9a-f]"))
    line = [sys.executable, "-m", "reassure", "check", "die_hard", "--quiet"]
    assert subprocess.run(line, env=own_server.environment, capture_output=True, check=False).returncode == 12
    assert not ended(model), "what it executes goes on"
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=20)
    assert command.returncode == 5
    own_server.start()
    assert own_server.run("serve").stdout == "a server runs already; `reassure serve --stop` ends it\n"
    assert own_server.run("serve", "--stop").stdout == "the server has been ended\n"
    until(lambda: own_server.found() == 0)
    own_server.pid = 0
    assert own_server.run("serve", "--stop").stdout == "no server runs\n"


def test_it_ends_when_idle(own_server: Serving, tmp_path: Path) -> None:
    own_server.start("--idle", "1s")
    pid, own_server.pid = own_server.pid, 0
    until(lambda: ended(pid))
    assert [path.name for path in (tmp_path / "reassure").iterdir()] == ["lock"]


def test_a_folder_that_others_can_reach_is_not_used(own_server: Serving, tmp_path: Path) -> None:
    (tmp_path / "reassure").mkdir(mode=0o755)
    done = own_server.run("serve")
    assert done.returncode == 153
    assert "other users can reach it" in done.stderr
    (tmp_path / "reassure").chmod(0o700)
    own_server.start()
    (tmp_path / "reassure").chmod(0o750)
    assert own_server.found() == 0


def test_another_user_is_refused(own_server: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command refuses a server of another user, and a server a command of one."""
    own_server.start()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    common = client.common_key()
    with monkeypatch.context() as other:
        other.setattr(client, "peer", lambda connection: (1, os.geteuid() + 1))
        assert client.connected(common) is None
    socket = next(path for path in (tmp_path / "reassure").iterdir() if path.is_socket())
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    for path in (socket, *socket.parents):
        if path != Path("/") and path != Path("/tmp"):
            path.chmod(0o777)
    text = f"import os, socket; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect({str(socket)!r})\n"
    text += "s.settimeout(20); print(s.recv(1))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("b''\n", "")


def test_an_edited_program_is_not_served_by_an_old_process(tmp_path: Path) -> None:
    """Also if the file has the same length and the same time as before; one that was only touched is still the same."""
    program = tmp_path / "program"
    shutil.copytree(ROOT / "src", program, ignore=shutil.ignore_patterns("__pycache__"))
    own = Serving(tmp_path, program)
    file = program / "reassure" / "checkers" / "machine" / "exit_codes.py"
    try:
        time.sleep(0.1)  # files that were written while a server starts are refused
        own.start()
        file.touch()
        assert own.run("check", "core", "--quiet").stdout == "pass (exit code 0)\n"
        assert own.found() == own.pid
        before, text = file.stat(), file.read_text()
        file.write_text(text.replace('"pass"', '"okay"', 1))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        line = [sys.executable, "-m", "reassure", "check", "core", "--quiet"]
        done = subprocess.run(line, env=own.environment, capture_output=True, text=True, check=True)
        assert done.stdout == "okay (exit code 0)\n"
        until(lambda: ended(own.pid))
        time.sleep(0.1)
        own.start()
        file.write_text(text)
        old = own.pid
        time.sleep(0.1)
        own.start()  # where one runs that this ends
        until(lambda: ended(old))
    finally:
        own.end()
