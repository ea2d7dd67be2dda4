"""Fetching releases: what is missing is said in a line, and what is kept is trusted only unchanged."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller import class_path as module
from reassure.checkers.kafka.controller.class_path import fetch, fetched, java_source, tool
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.machine.exit_codes import Exit, Failure
from tests.helpers.kafka_jars import class_path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    return tmp_path / "kafka"


def fake_maven(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch, javac: str | None = None) -> None:
    """A path with a Maven that does as told, and a compiler."""
    for name, text in (("mvn", script), ("javac", javac or "exit 0"), ("java", "exit 0")):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_without_java_or_maven_one_line_says_what_is_missing(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert main(["kafka", "fetch", "4.4.0"]) == Exit.SYSTEM.value == 153
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no `javac` on the path: a JDK, 17 or newer," in said and "kafka conform --kept" in said


def test_what_is_no_release_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kafka", "fetch", "trunk"]) == Exit.USAGE.value
    assert (
        capsys.readouterr().err == "reassure: 'trunk' is not a release of Kafka; write 4.4.0, or the path of a build\n"
    )


def test_mavens_refusal_is_one_line_without_hosts(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_maven(
        tmp_path, "echo '[ERROR] Could not transfer artifact a:b:1 from/to x (http://host/y): z'; exit 1", monkeypatch
    )
    with pytest.raises(
        Failure, match=r"^Maven cannot bring org.apache.kafka:kafka-metadata:4.4.0: Could not"
    ) as caught:
        fetch(release("4.4.0"))
    assert "host" not in str(caught.value) and caught.value.code is Exit.SYSTEM


@pytest.mark.parametrize(("given", "used"), [(None, "-XX:TieredStopAtLevel=1"), ("-Xmx1g", "-Xmx1g")])
def test_maven_starts_quickly_unless_the_user_has_options(
    given: str | None, used: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_maven(tmp_path, 'echo "[ERROR] with $MAVEN_OPTS"; exit 1', monkeypatch)
    monkeypatch.delenv("MAVEN_OPTS", raising=False)
    if given:
        monkeypatch.setenv("MAVEN_OPTS", given)
    with pytest.raises(Failure, match=rf": with {used}"):
        fetch(release("4.4.0"))


def test_a_release_that_is_not_published_is_named_and_nothing_else(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maven colours its lines, and says first what it was doing and last where it looked."""
    said = "could not resolve: Could not find artifact org.apache.kafka:kafka-metadata:jar:4.5.0 in host (http://host/)"
    fake_maven(tmp_path, f"printf '[\\033[1;31mERROR\\033[m] \\033[0m {said}\\n'; exit 1", monkeypatch)
    with pytest.raises(Failure) as caught:
        fetch(release("4.5.0"))
    kept = "Could not find artifact org.apache.kafka:kafka-metadata:jar:4.5.0"
    assert str(caught.value) == f"Maven cannot bring org.apache.kafka:kafka-metadata:4.5.0: {kept}"


def test_a_maven_that_hangs_is_given_up(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_maven(tmp_path, "exec sleep 60", monkeypatch)
    with pytest.raises(Failure, match=r"Maven did not finish within 0\.2 s"):
        fetch(release("4.4.0"), seconds=0.2)


def test_a_compiler_that_refuses_is_one_line(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes = 'for word in "$@"; do case $word in -Dmdep.outputFile=*) : > "${word#*=}";; esac; done'
    fake_maven(tmp_path, writes, monkeypatch, javac="echo 'Driver.java:3: error: no such class' >&2; exit 1")
    with pytest.raises(Failure, match=r"javac refuses ControllerDriver\.java: Driver\.java:3: error: no such class"):
        fetch(release("4.4.0"))
    assert fetched(release("4.4.0")) is None


def test_what_was_compiled_once_is_copied(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same texts against the same jars by the same compiler; what has changed in the cache is compiled again."""
    calls, jar = tmp_path / "calls", tmp_path / "some.jar"
    writes = 'for to; do [ "$was" = -d ] && mkdir -p "$to" && echo compiled > "$to/A.class"; was=$to; done'
    writes += f"; echo >> {calls}"
    (tmp_path / "bin").mkdir()
    fake_maven(tmp_path / "bin", "exit 1", monkeypatch, javac=writes)
    jar.write_text("1")
    numbers = itertools.count()

    def times(text: str = "class A {}", most: int = 128) -> int:
        """How often the compiler has run when these classes are there."""
        monkeypatch.setattr(module, "MOST_PROGRAMS", most)
        classes = tmp_path / f"classes{next(numbers)}"
        module.compiled_java(tool("javac"), [jar], {"A.java": text}, classes)
        assert (classes / "A.class").read_text() == "compiled\n"
        return len(calls.read_text())

    assert [times(), times()] == [1, 1]
    assert [times("class A { }"), times("class A { }"), times()] == [2, 2, 2]
    jar.write_text("23")
    assert [times(), times()] == [3, 3]
    for kept in (tmp_path / "java").rglob("A.class"):
        kept.write_text("other\n")
    assert [times(), times()] == [4, 4]
    assert [times("class A {  }", most=1), times("class A {  }")] == [5, 5]
    assert len(list((tmp_path / "java").rglob("A.class"))) == 1


def test_tests_of_a_release_without_them_are_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_maven(tmp_path, "exit 1", monkeypatch)
    remedy = r"3\.9\.2, 4\.0\.2, 4\.1\.0, 4\.1\.2, 4\.3\.1 are, and `reassure kafka test --main` needs none"
    with pytest.raises(Failure, match=rf"^Kafka 4\.4\.0 was published without the jars of its tests; {remedy}$"):
        fetch(release("4.4.0"), tests=True)


def test_maven_is_told_coordinates_and_nothing_of_where_from() -> None:
    pom = module._pom(["org.apache.kafka:kafka-metadata:4.3.0", "org.apache.kafka:kafka-raft:4.3.0:test"])
    assert "<classifier>test</classifier>" in pom and "<repositor" not in pom
    assert re.findall(r"https?://[^\"<]+", pom) == ["http://maven.apache.org/POM/4.0.0"]


def test_the_cache_keeps_the_newest_builds(cache: Path) -> None:
    for number in range(module.MOST_BUILDS + 3):
        place = cache / f"4.3.1+build-{number:012}-driver-0"
        place.mkdir(parents=True)
        (place / "manifest.json").write_text("{}")
        os.utime(place / "manifest.json", (number, number))
    (cache / "4.3.1-driver-0").mkdir()
    module._forget_older_builds()
    names = sorted(place.name for place in cache.iterdir())
    assert len(names) == module.MOST_BUILDS + 1 and "4.3.1-driver-0" in names
    assert names[0] == "4.3.1+build-000000000003-driver-0"


def test_the_driver_comes_with_the_package() -> None:
    assert "package org.apache.kafka.controller;" in java_source()


def test_what_is_kept_is_trusted_only_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = class_path("4.4.0")
    place = tmp_path / "kafka" / kept.classes.parent.name
    shutil.copytree(kept.classes.parent, place)
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    manifest = json.loads((place / "manifest.json").read_text())
    moved = {name.replace(str(kept.classes.parent), str(place)): sha for name, sha in manifest["classes"].items()}
    (place / "manifest.json").write_text(json.dumps({**manifest, "classes": moved}))
    assert fetched(release("4.4.0")) is not None
    wounded = place / kept.classes.name
    wounded.write_bytes(wounded.read_bytes()[:-1])
    assert fetched(release("4.4.0")) is None
    (place / "manifest.json").write_text("{")
    assert fetched(release("4.4.0")) is None


def test_another_driver_is_compiled_beside_with_the_jars_that_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two checkouts with different drivers may run at once; Maven, which is not there here, is not asked again."""
    kept = class_path("4.4.0")
    shutil.copytree(kept.classes.parent, tmp_path / "kafka" / kept.classes.parent.name)
    (tmp_path / "bin").mkdir()
    fake_maven(
        tmp_path / "bin",
        "exit 1",
        monkeypatch,
        javac='for to; do [ "$was" = -d ] && mkdir -p "$to" && : > "$to/A.class"; was=$to; done; exit 0',
    )
    monkeypatch.setenv("REASSURE_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "java_source", lambda name="": "another driver")
    other = fetch(release("4.4.0"))
    assert other.classes.parent != kept.classes.parent and other.jars == kept.jars
    assert len([p for p in (tmp_path / "kafka").iterdir() if p.is_dir()]) == 2 and fetched(release("4.4.0")) == other
