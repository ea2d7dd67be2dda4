"""Builds of one's own as engines: how a checkout or jars are found, named, compiled against, and refused."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller import class_path as module
from reassure.checkers.kafka.controller import explore_by_spark as by_spark
from reassure.checkers.kafka.controller.class_path import ClassPath, fetch, fetched
from reassure.checkers.kafka.controller.explore import Scope
from reassure.checkers.kafka.controller.explore_by_spark import ExpandTask, expanded
from reassure.checkers.kafka.controller.releases import (
    libraries_of,
    local_build,
    newer_source,
    own_release,
    release,
    release_on_worker,
)
from reassure.checkers.kafka.controller.words import packed_state
from reassure.checkers.machine.exit_codes import Exit, Failure
from tests.helpers.command import said
from tests.helpers.kafka_checkout import lay_out, unpack
from tests.helpers.kafka_jars import class_path

NAME = re.compile(r"4\.3\.2-SNAPSHOT\+build-[0-9a-f]{12}")
SMALL = ["--set=brokers=2", "--set=unclean=off", "--set=admin_requests=1", "--quiet"]
DEFECTS = Path(__file__).parents[4] / "checkers" / "kafka" / "controller" / "defects"
CLASSES = Path("metadata/build/classes/java/main/org/apache/kafka")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The classes of 4.3.1 in a checkout that states the version after it. Tests change a `copy` only."""
    return lay_out("4.3.1", tmp_path_factory.mktemp("kafka") / "checkout", "4.3.2-SNAPSHOT")


def copy(checkout: Path, to: Path) -> Path:
    """A copy whose files may be removed or replaced, not written to."""
    return shutil.copytree(checkout, to / "copy", symlinks=True, copy_function=os.link)


def kafka_jars(version: str = "4.3.1") -> list[Path]:
    return [jar for jar in class_path(version).jars if jar.name.startswith("kafka-")]


# -- what a path stands for ----------------------------------------------------------------------------------------


def test_a_checkout_is_a_release_with_its_version_and_digest(checkout: Path) -> None:
    kafka = release(str(checkout))
    assert NAME.fullmatch(kafka.version) and kafka.stated == "4.3.2-SNAPSHOT"
    assert (kafka.rules, kafka.listed, kafka.build) == ("4.3", False, str(checkout))
    build = local_build(str(checkout))
    jars = [f"kafka-{name}-4.3.1.jar" for name in ("storage-api", "storage")]
    assert [p.name for p in build.parts] == ["metadata", "server-common", "kafka-clients-4.3.1.jar", "raft", *jars]
    assert "jackson-databind" in " ".join(part.name for part in build.libraries)
    assert release_on_worker(kafka.version, kafka.build) == kafka
    with pytest.raises(Failure, match=r"is Kafka 4\.3\.2-SNAPSHOT\+build-.* on a worker, and 4\.3\.2\+build-0"):
        release_on_worker("4.3.2+build-0", kafka.build)


def test_the_name_depends_on_the_classes_and_not_on_the_place(checkout: Path, tmp_path: Path) -> None:
    other = copy(checkout, tmp_path)
    assert release(str(other)).version == release(str(checkout)).version
    edited = other / CLASSES / "controller" / "PartitionChangeBuilder.class"
    content = edited.read_bytes()
    edited.unlink()
    edited.write_bytes(content[:-1])
    assert release(str(other)).version != release(str(checkout)).version


def test_jars_in_a_folder_or_in_a_list_are_a_build(tmp_path: Path) -> None:
    jars = class_path("4.3.1").jars
    (tmp_path / "libs").mkdir()
    for jar in jars:
        (tmp_path / "libs" / jar.name).symlink_to(jar)
    for noise in ("slf4j-reload4j-1.7.36.jar", "kafka-metadata-4.3.1-test.jar", "kafka-metadata-4.3.1-sources.jar"):
        (tmp_path / "libs" / noise).symlink_to(jars[0])
    whole = local_build(str(tmp_path))
    assert {part.name for part in (*whole.parts, *whole.libraries)} == {jar.name for jar in jars}
    assert whole.stated == "4.3.1" and release(str(tmp_path)).rules == "4.3"
    with contextlib.chdir(tmp_path.parent):
        assert release(tmp_path.name) == release(str(tmp_path))  # executors of Spark have another working directory
    with contextlib.chdir(tmp_path):
        (tmp_path / "4.4.0").mkdir()
        assert release("4.4.0").listed, "the name of a release is not that of a folder"
    listed = local_build(os.pathsep.join(map(str, sorted(jars, key=lambda jar: jar.name))))
    assert listed.name == whole.name == local_build(str(tmp_path / "libs")).name


def test_a_folder_with_a_class_of_the_controller_twice_is_refused(tmp_path: Path) -> None:
    """By the names of the jars one of them would count, and a changed class may be in the other."""
    for jar in class_path("4.3.1").jars:
        (tmp_path / jar.name).symlink_to(jar)
    name = "org/apache/kafka/controller/ReplicationControlManager.class"
    with zipfile.ZipFile(tmp_path / "metadata-patched.jar", "w") as patched:
        patched.writestr(name, b"")
    why = f"{tmp_path} has kafka-metadata-4.3.1.jar and metadata-patched.jar, and both have {name}: remove one of them"
    with pytest.raises(Failure) as refused:
        local_build(str(tmp_path))
    assert (str(refused.value), refused.value.code) == (why, Exit.SYSTEM)


def test_classes_before_jars(checkout: Path, tmp_path: Path) -> None:
    """A patch as a folder of classes, before the jars of a release."""
    classes = checkout / "metadata" / "build" / "classes" / "java" / "main"
    build = local_build(os.pathsep.join([str(classes), *map(str, kafka_jars())]))
    assert build.parts[0].paths == (classes,) and build.stated == "4.3.1"


def test_a_build_without_a_version_is_unknown_and_has_no_rules(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = copy(checkout, tmp_path)
    (other / "gradle.properties").unlink()
    clients = next((other / "clients").rglob("*.jar"))
    unpack(clients, other / "clients" / "build")
    clients.unlink()
    for file in [*other.rglob("kafka-version.properties"), *(other / "storage").rglob("*.jar")]:
        file.unlink()
    kafka = release(str(other))
    assert re.fullmatch(r"unknown\+build-[0-9a-f]{12}", kafka.version) and kafka.rules == ""
    assert main(["kafka", "conform", "kraft_kafka", "--release", str(other), *SMALL]) == Exit.USAGE.value
    hint = "`conform --set release=4.4` or `explore --explain 4.4`"
    text = f"{kafka.version}; it has 3.9, 4.0, 4.1, 4.2, 4.3, 4.4, fixed; {hint}"
    assert capsys.readouterr().err.endswith(f"reassure: kraft_kafka has no rules of Kafka {text} names rules\n")
    explore = ["explore", "--release", str(other), "--explain"]
    assert main(["kafka", *explore]) == Exit.USAGE.value
    assert text in capsys.readouterr().err
    with pytest.raises(Failure, match=r"has no libraries \(slf4j-api, .*\) and states no version by which Maven"):
        libraries_of(kafka)


@pytest.mark.parametrize(
    ("states", "rules", "libraries"),
    [("4.1.3-SNAPSHOT", "4.2", "4.1.2"), ("4.5.0-SNAPSHOT", "4.5", "4.4.0"), ("4.0.1", "4.0", "4.0.1")],
)
def test_the_rules_and_libraries_of_the_version_that_a_checkout_states(
    states: str, rules: str, libraries: str, checkout: Path, tmp_path: Path
) -> None:
    other = copy(checkout, tmp_path)
    (other / "gradle.properties").unlink()
    (other / "gradle.properties").write_text(f"group=org.apache.kafka\nversion={states}\nscalaVersion=2.13.16\n")
    kafka = release(str(other))
    assert (kafka.stated, kafka.rules, libraries_of(kafka).version) == (states, rules, libraries)


def test_a_source_that_is_newer_than_the_classes_is_told(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = copy(checkout, tmp_path)
    assert newer_source(str(other)) is None
    source = other / "metadata" / "src" / "main" / "java" / "A.java"
    source.parent.mkdir(parents=True)
    source.write_text("class A {}")
    os.utime(source, (1, 1))
    assert newer_source(str(other)) is None
    os.utime(source)
    assert newer_source(str(other)) == source
    _, out, err = said(capsys, "kafka", "fetch", str(other))
    assert NAME.match(out.removeprefix("Kafka ")) and err.splitlines()[1:] == [
        f"note: {source} is newer than the classes of its module: build again if it has changed"
    ]


# -- what cannot be used -------------------------------------------------------------------------------------------


def test_what_is_not_a_build_is_one_line(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.jar").write_text("no archive")
    sources = tmp_path / "sources"
    for name in ("metadata/src", "clients/src"):
        (sources / name).mkdir(parents=True)
    (sources / "gradle.properties").write_text("version=4.5.0-SNAPSHOT\n")
    partly = copy(checkout, tmp_path)
    shutil.rmtree(partly / "raft" / "build")
    few = os.pathsep.join(str(jar) for jar in kafka_jars() if "clients" not in jar.name)
    mixed = os.pathsep.join(str(jar) for jar in [*kafka_jars(), *kafka_jars("4.4.0")])
    (metadata,) = (jar for jar in kafka_jars("4.4.0") if jar.name == "kafka-metadata-4.4.0.jar")
    foreign = os.pathsep.join(str(jar) for jar in [metadata, *kafka_jars()])
    for text, why in (
        (str(tmp_path / "none"), f"{tmp_path / 'none'} does not exist"),
        (str(tmp_path / "empty"), "has no jars, no classes (a folder `org`) and no checkout of Kafka"),
        (str(tmp_path / "text.jar"), "text.jar is neither a jar nor a folder"),
        (
            str(sources),
            "is a checkout of Kafka that is not built: neither metadata/build/classes/java/main nor a jar in "
            "metadata/build/libs is there; `./gradlew :metadata:jar :server-common:jar :clients:jar :raft:jar` builds",
        ),
        (str(partly), "neither raft/build/classes/java/main nor a jar in raft/build/libs is there; `./gradlew :raft:"),
        (few, "has no class org.apache.kafka.common.Uuid: the jar or classes of kafka-clients are missing"),
        (mixed, "mixes jars of Kafka 4.3.1 and 4.4.0"),
        (foreign, "mixes jars of Kafka 4.3.1 and 4.4.0"),
    ):
        code, out, err = said(capsys, "kafka", "explore", "--release", text, "--depth", "1")
        assert (code, out) == (153, "") and why in err and err.count("\n") == 1, err


def test_two_jars_of_a_module_are_refused(checkout: Path, tmp_path: Path) -> None:
    other = copy(checkout, tmp_path)
    jar = next((other / "clients").rglob("*.jar"))
    os.link(jar, jar.with_name("kafka-clients-4.3.0-SNAPSHOT.jar"))
    with pytest.raises(Failure, match=r"kafka-clients-4\.3\.0-SNAPSHOT\.jar, .*: `\./gradlew clean` removes older"):
        release(str(other))


def test_a_build_that_lacks_a_class_of_the_driver_is_one_line(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = copy(checkout, tmp_path)
    (other / CLASSES / "controller" / "QuorumFeatures.class").unlink()
    code, out, err = said(capsys, "kafka", "fetch", str(other))
    assert (code, out) == (153, "")
    first = r"ControllerDriver\.java:\d+: error: cannot find symbol, symbol: class QuorumFeatures"
    assert re.fullmatch(
        rf"reassure: the driver does not compile against {re.escape(str(other))}: {first}", err.splitlines()[1]
    )


def test_a_digest_in_a_trace_is_no_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SECURITY.md, 4."""
    data = json.loads((DEFECTS / "rollback-never-ends.itf.json").read_text())
    data["#meta"]["kafka"]["release"] = "4.3.1+build-1a2b3c4d5e6f"
    trace = tmp_path / "run.itf.json"
    trace.write_text(json.dumps(data))
    assert main(["kafka", "replay", str(trace)]) == Exit.USAGE.value
    assert capsys.readouterr().err == (
        "reassure: 4.3.1+build-1a2b3c4d5e6f names a build by its digest: write its path, as in --release PATH\n"
    )


# -- commands ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled(checkout: Path) -> ClassPath:
    return fetch(release(str(checkout)))


def test_the_cache_holds_what_the_checkout_had(compiled: ClassPath, checkout: Path, tmp_path: Path) -> None:
    """Folders of classes are copied; the same classes elsewhere are not compiled again, and others are."""
    assert [str(jar) for jar in compiled.jars if str(jar).startswith(str(checkout / "metadata"))] == []
    assert len([jar for jar in compiled.jars if jar.parent.name == "modules"]) == 3
    assert not any("slf4j-reload4j" in jar.name for jar in compiled.jars)
    other = copy(checkout, tmp_path)
    kafka = release(str(other))
    assert fetched(kafka) is not None
    edited = other / CLASSES / "controller" / "PartitionChangeBuilder.class"
    edited.unlink()
    assert fetched(release(str(other))) is None
    with pytest.raises(Failure, match=r"copy has changed since this command began: start it again$"):
        module._jars_of_build(kafka, False, tmp_path / "fresh", 1)


def test_a_build_that_changes_while_it_is_copied_is_not_kept(
    compiled: ClassPath, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept bears the digest of what was there when the command began."""
    other = copy(checkout, tmp_path)
    (file := other / CLASSES / "controller" / "PartitionChangeBuilder.class").unlink()
    shutil.copy(checkout / file.relative_to(other), file)
    (resources := other / "metadata/build/resources/main").mkdir(parents=True, exist_ok=True)
    (resources / "own.properties").write_text("of=this_test")
    kafka = release(str(other))
    compiles = module.compile_java

    def compiled_meanwhile(*arguments: Any) -> None:
        compiles(*arguments)
        file.unlink()

    monkeypatch.setattr(module, "compile_java", compiled_meanwhile)
    with pytest.raises(Failure, match=r"copy has changed since this command began: start it again$"):
        fetch(kafka)
    assert fetched(kafka) is None


def test_a_build_is_compared_with_the_rules_that_a_line_names(
    compiled: ClassPath, checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.json"
    options = ["--release", str(checkout), *SMALL, "--json", str(record)]
    code, out, err = said(capsys, "kafka", "conform", "kraft_kafka", *options)
    name = compiled.release.version
    assert (code, err) == (0, f"{checkout} is Kafka {name}\n")
    like = "like 4.3.1: the build states 4.3.2-SNAPSHOT"
    assert out.startswith(f"Kafka {name} is compared with the rules of 4.3, {like}\nkraft_kafka beside Kafka {name}: ")
    words = f"{' '.join(SMALL[:-1])} --release={checkout}"
    ending = f"pass (exit code 0)\nagain: reassure kafka conform kraft_kafka {words}\n"
    assert out.endswith(f"no disagreement with Kafka {name}\n\n{ending}")
    assert [r["release"] for r in json.loads(record.read_text())["releases"]] == [name]
    other = ["--release", str(checkout), "--set=unclean=off", "--set=release=4.2", "--depth=3", "--quiet"]
    code, out, _ = said(capsys, "kafka", "conform", "kraft_kafka", *other)
    assert code == 19 and out.startswith(f"Kafka {name} is compared with the rules of 4.2\n")


@pytest.mark.slow
def test_a_build_is_explored_and_its_runs_are_replayed_and_tested(
    compiled: ClassPath, checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SECURITY.md, 3."""
    name, path = compiled.release.version, str(checkout)
    options = ["--brokers=2", "--depth=4", "--unclean=off", "--jvms=1", "--quiet", "--trace-dir", str(tmp_path)]
    code, out, _ = said(capsys, "kafka", "explore", "--release", path, *options, "--explain", "4.2")
    lines = out.splitlines()
    assert code == 19 and lines[0] == f"Kafka {name} is compared with the rules of 4.2"
    assert lines[1].startswith(f"Kafka {name}, 2 brokers, MinISR 2, 2 replicas at first, unclean election off: ")
    assert re.search(rf"kraft_kafka's rules for Kafka {re.escape(name)} differ from the class in [1-9]", out)
    trace = tmp_path / f"kafka-{name}--requests_are_understood.itf.json"
    assert json.loads(trace.read_text())["#meta"]["kafka"]["release"] == name
    code, out, _ = said(capsys, "kafka", "replay", str(trace), "--release", path, "4.3.1")
    told = f"runs {trace}: 3 commands of 3 steps, each with the same result\n"
    assert (code, out) == (0, "".join(f"Kafka {v} {told}" for v in (name, "4.3.1")))
    code, out, _ = said(capsys, "kafka", "test", str(trace), "--release", path, "--main", "--run")
    assert code == 12 and f" on Kafka {name} fails: AssertionError: " in out


def test_a_task_of_spark_runs_the_build_at_its_path(compiled: ClassPath, checkout: Path) -> None:
    """SECURITY.md, 3."""
    class_path("4.3.1")
    scope = Scope(2)
    states = np.array([packed_state(state)[::2] for state in scope.initial_states()], np.int64).tobytes()
    tasks = [ExpandTask(compiled.release.version, scope, str(checkout)), ExpandTask("4.3.1", scope)]
    of_build, of_release = (expanded(task, states) for task in tasks)
    by_spark._drivers.pop(tasks[1]).close()
    assert of_build == of_release and len(of_build) > 0


def test_commands_about_published_releases_refuse_a_build(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, why in (
        (["conform", "kraft_kafka", "--kept"], "--kept has answers of releases, not of builds"),
        (["record"], f"{checkout} is a build: answers are kept of releases"),
    ):
        code, _, err = said(capsys, "kafka", *words, "--release", str(checkout))
        assert code == 64 and err.splitlines()[-1] == f"reassure: {why}"


def test_tests_of_kafka_that_are_not_compiled_are_one_line(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(DEFECTS / "rollback-never-ends.itf.json")
    code, _, err = said(capsys, "kafka", "confirm", trace, "--release", str(checkout))
    assert code == 153 and err.splitlines()[-1] == (
        f"reassure: {checkout} has no classes of the tests of kafka-metadata, such as "
        "org.apache.kafka.controller.ReplicationControlManagerTest; in a checkout `./gradlew :metadata:testClasses "
        ":server-common:testClasses :clients:testClasses :raft:testClasses` compiles them, and "
        "`reassure kafka test --main` needs none"
    )


@pytest.mark.slow
def test_a_build_with_the_tests_of_kafka_confirms_a_run_and_fails_its_test(
    checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The classes of the tests as Gradle compiles them, the libraries of the tests by Maven."""
    other = copy(checkout, tmp_path)
    for jar in class_path("4.3.1", tests=True).jars:
        if match := re.fullmatch(r"kafka-([a-z-]+)-4\.3\.1-test\.jar", jar.name):
            unpack(jar, other / match[1] / "build", "test")
        if jar.name == "kafka-metadata-4.3.1-test-sources.jar":
            with zipfile.ZipFile(jar) as archive:
                archive.extractall(other / "metadata" / "src" / "test" / "java")
    trace = str(DEFECTS / "rollback-never-ends.itf.json")
    code, out, _ = said(capsys, "kafka", "confirm", trace, "--release", str(other))
    assert code == 0 and NAME.search(out) and out.endswith("gives the results of the trace\n")
    code, out, _ = said(capsys, "kafka", "test", trace, "--release", str(other), "--run")
    assert code == 12 and re.search(r"in ReplicationControlManagerTest of Kafka 4\.3\.2-SNAPSHOT\S+ fails: ", out)


def test_a_checkout_without_libraries_gets_those_of_the_release(checkout: Path, tmp_path: Path) -> None:
    other = copy(checkout, tmp_path)
    shutil.rmtree(other / "core")
    kafka = release(str(other))
    jars = module._jars_of_build(kafka, False, tmp_path / "fresh", 60)
    assert {j.name for j in jars[6:]} == {j.name for j in class_path("4.3.1").jars if not j.name.startswith("kafka-")}


def test_the_rules_of_a_build_name_stay_those_of_releases() -> None:
    assert own_release("4.3").version == "4.3.1" and not own_release("4.3").build
