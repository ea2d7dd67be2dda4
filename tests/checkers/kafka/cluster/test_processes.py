"""Processes of a cluster: ports, memory, folders, and the warden that ends them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reassure.checkers.kafka.cluster import processes, warden
from reassure.checkers.kafka.cluster.distribution import Distribution
from reassure.checkers.kafka.cluster.observed import FIRST_SEGMENT
from reassure.checkers.kafka.cluster.processes import Cluster, enough_memory, free_ports, kafka_uuid
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.machine.exit_codes import Exit, Failure, SystemFailure

NOTHING = Distribution(release("4.4.0"), ())


def test_ports_are_free_and_different() -> None:
    ports = free_ports(6)
    assert len(set(ports)) == 6
    assert min(ports) > 1024


def test_too_little_memory_is_a_line() -> None:
    enough_memory(1)
    with pytest.raises(
        SystemFailure, match=r"^1000000 JVMs need about 420,000,000 MiB of memory; [\d,]+ MiB are free$"
    ):
        enough_memory(1_000_000)
    enough_memory(1, 420 << 20)
    with pytest.raises(SystemFailure, match=r"^5 JVMs need about 2,100 MiB of memory; --memory allows 2,048 MiB$"):
        enough_memory(5, 2 << 30)


def test_ids_are_those_of_kafka() -> None:
    ids = {kafka_uuid() for _ in range(200)}
    assert len(ids) == 200
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{21}", text) for text in ids)


@pytest.fixture(autouse=True)
def without_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tool of a distribution is looked for; each does nothing."""
    monkeypatch.setattr(processes, "tool", lambda name: "true")


def test_a_folder_with_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemFailure, match="is not empty: a cluster needs a new folder"):
        Cluster(NOTHING, 1, True, tmp_path)
    with pytest.raises(SystemFailure, match=r"Not a directory|File exists"):
        Cluster(NOTHING, 1, True, tmp_path / "file")


@pytest.mark.parametrize("kept", [True, False])
def test_the_folder_of_a_cluster(tmp_path: Path, kept: bool) -> None:
    with Cluster(NOTHING, 2, True, tmp_path / "new" if kept else None) as cluster:
        assert [node.node for node in cluster.brokers] == [1, 2]
        assert cluster.addresses == ",".join(f"127.0.0.1:{cluster.nodes[n].port}" for n in (1, 2))
        (cluster.folder / "file").touch()
    assert cluster.folder.exists() is kept
    assert cluster.warden.poll() == 0


def test_a_lost_log() -> None:
    with Cluster(NOTHING, 2, True) as cluster:
        for broker, name in ((1, "t-0"), (2, "t-0"), (2, f"t-0.{'a' * 32}-delete"), (2, "t2-0"), (2, "t-1")):
            (cluster.nodes[broker].data / name).mkdir(parents=True)
        cluster.lose_log(2, "t")
        assert [sorted(p.name for p in broker.data.iterdir()) for broker in cluster.brokers] == [
            ["t-0"],
            ["t-1", "t2-0"],
        ]


def test_the_tail_of_a_log_that_was_not_on_the_disk() -> None:
    """Of one broker's log of one topic."""
    with Cluster(NOTHING, 2, True) as cluster:
        for broker, name in ((1, "t-0"), (2, "t-0"), (2, "t-1")):
            (cluster.nodes[broker].data / name).mkdir(parents=True)
            (cluster.nodes[broker].data / name / FIRST_SEGMENT).write_bytes(b"12345")
        assert cluster.write_back(2, "t") == 5
        with open(cluster.segment(2, "t"), "ab") as log:
            log.write(b"678")
        cluster.lose_tail(2, "t", 5)
        assert [cluster.segment(broker, "t").read_bytes() for broker in (1, 2)] == [b"12345"] * 2
        cluster.lose_tail(2, "t", 3)
        assert cluster.segment(2, "t").read_bytes() == b"123"
        assert (cluster.nodes[2].data / "t-1" / FIRST_SEGMENT).read_bytes() == b"12345"
        with pytest.raises(FileNotFoundError):
            cluster.write_back(1, "other")


def test_a_limit_on_memory_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {1: 500 << 20, 2: 700 << 20}
    monkeypatch.setattr(processes, "process_memory", lambda process: taken[process])
    with Cluster(NOTHING, 1, True, memory=1300 << 20) as cluster:
        cluster.clients += taken
        cluster.alive()
        taken[2] = 801 << 20
        with pytest.raises(
            Failure, match=r"^the processes take 1,301 MiB of memory; --memory allows 1,300 MiB$"
        ) as ended:
            cluster.alive()
        assert ended.value.code is Exit.INCONCLUSIVE
        cluster.memory = None
        cluster.alive()


def test_brokers_of_a_gated_cluster_reach_the_controller_by_the_gate() -> None:
    with Cluster(NOTHING, 1, True, gated=True) as cluster:
        cluster.format()
        assert cluster.gate is not None
        texts = [(node.folder / "server.properties").read_text() for node in (*cluster.brokers, cluster.controller)]
        voters = f"controller.quorum.voters=1000@127.0.0.1:{cluster.gate.port}\n"
        assert [voters in text for text in texts] == [True, True]
        advertised = f"advertised.listeners=CONTROLLER://127.0.0.1:{cluster.gate.port}\n"
        assert [advertised in text for text in texts] == [False, True]
    with Cluster(NOTHING, 1, True) as cluster:
        assert cluster.gate is None


def test_the_warden_ends_what_still_runs(tmp_path: Path) -> None:
    sleeper = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    forgotten, ended = subprocess.Popen(sleeper), subprocess.Popen(sleeper)
    try:
        folder = tmp_path / "cluster"
        folder.mkdir()
        with subprocess.Popen(
            [sys.executable, "-S", "-E", warden.__file__], stdin=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None
            process.stdin.write(f"remove {folder}\n+{forgotten.pid}\n+{ended.pid}\n-{ended.pid}\n")
            process.stdin.close()  # as when the program ends
        assert forgotten.wait(10) == -9
        assert not folder.exists()
        time.sleep(0.1)
        assert ended.poll() is None  # it was taken off the list
    finally:
        forgotten.kill()
        ended.kill()
        ended.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_every_process_ends_with_the_program(number: signal.Signals, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\ncase "$*" in *StorageTool*) exit 0;; esac\nexec sleep 60\n')
    java.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PATH": f"{java.parent}{os.pathsep}{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    environment.pop("JAVA_HOME", None)
    with subprocess.Popen(
        [sys.executable, program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        folder, *pids = process.stdout.readline().split()
        assert len(pids) == 3
        assert Path(folder).is_dir()
        process.send_signal(number)
        process.wait(20)
    end = time.monotonic() + 20
    while time.monotonic() < end and (Path(folder).exists() or any(map(is_running, pids))):
        time.sleep(0.05)
    assert [pid for pid in pids if is_running(pid)] == []
    assert not Path(folder).exists()


PROGRAM = """
import signal
import time
from reassure.checkers.kafka.cluster.distribution import Distribution
from reassure.checkers.kafka.cluster.processes import Cluster
from reassure.checkers.kafka.controller.releases import release

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background inherits that it is ignored
with Cluster(Distribution(release("4.4.0"), ()), 2, True) as cluster:
    cluster.format()
    for number in cluster.nodes:
        cluster.start(number)
    print(cluster.folder, *(node.jvm.pid for node in cluster.nodes.values()), flush=True)
    time.sleep(60)
"""


def is_running(pid: str) -> bool:
    """Whether a process runs; one that has ended and is not waited for yet does not."""
    state = Path("/proc") / pid / "stat"
    try:
        return state.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
