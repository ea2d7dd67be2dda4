"""Builds of a release with patches: what the folder holds, and what is refused in a line."""

from __future__ import annotations

import difflib
import json
import subprocess
import zipfile
from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.builds import patched_build as module
from reassure.checkers.kafka.builds.patched_build import make_build, read_patch, sources
from reassure.checkers.kafka.builds.source_patch import OWN_LENGTH, Copied, SourcePatch, hunks_of
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.machine.exit_codes import Exit, Failure
from tests.helpers.kafka_jars import class_path, kafka_sources

FIXES = Path(__file__).parents[4] / "docs" / "findings"
PATCHES = [*sorted((Path(module.__file__).parent / "patches").glob("*.patch")), *sorted(FIXES.glob("*.patch"))]
CONTROLLER = "org/apache/kafka/controller"
CHANGED = f"{CONTROLLER}/PartitionReassignmentRevert.java"


def edited(folder: Path, old: str = "class", new: str = "/* changed */ class") -> Path:
    """A copy of a class of 4.3.1 with another text in it, once."""
    path = folder / Path(CHANGED).name
    path.write_text(kafka_sources("4.3.1").text(CHANGED).replace(old, new, 1))
    return path


def test_a_build_holds_all_jars_and_the_new_classes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jar = kafka_sources("4.3.1").jar.with_name("kafka-metadata-4.3.1.jar")
    hidden = edited(tmp_path, "    boolean unclean() {", "    record Extra() { }\n\n    boolean unclean() {")
    out = tmp_path / "build"
    assert main(["kafka", "build", str(hidden), "--out", str(out)]) == 0
    printed = "".join(capsys.readouterr().out.split())
    assert printed.startswith("Kafka4.3.1withchangesinPartitionReassignmentRevert:2classescompiled;thebuildisin/")
    classes = [
        f"{CONTROLLER}/PartitionReassignmentRevert$Extra.class",
        f"{CONTROLLER}/PartitionReassignmentRevert.class",
    ]
    description = json.loads((out / "build.json").read_text())
    assert description["release"] == "4.3.1" and description["files"] == [CHANGED]
    assert description["classes"] == classes and description["patches"][0]["name"] == hidden.name
    assert (out / "sources" / CHANGED).read_text() == hidden.read_text()
    assert {"kafka-clients-4.3.1.jar", "kafka-metadata-4.3.1.jar"} <= {path.name for path in out.glob("*.jar")}
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(out / jar.name) as new:
        assert set(new.namelist()) == {*old.namelist(), classes[0]}
        changed = [name for name in old.namelist() if old.read(name) != new.read(name)]
        assert changed == [classes[1]]


@pytest.mark.slow
def test_an_older_build_is_replaced_and_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    out, name = tmp_path / "build", "kafka-metadata-4.3.1.jar"
    make_build([edited(tmp_path)], release("4.3.1"), out)
    first = (out / name).read_bytes()
    make_build([edited(tmp_path)], release("4.3.1"), out)
    assert (out / name).read_bytes() == first
    make_build([edited(tmp_path, "return unclean;", "return !unclean;")], release("4.3.1"), out)
    assert (out / name).read_bytes() != first


def test_a_patch_is_printed_without_kafkas_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = kafka_sources("4.3.1").text(CHANGED)
    new = edited(tmp_path, "return unclean;", "return !unclean;")
    diff = tmp_path / "change.diff"
    lines = difflib.unified_diff(
        text.splitlines(), new.read_text().splitlines(), f"a/{CHANGED}", f"b/{CHANGED}", n=0, lineterm=""
    )
    diff.write_text("\n".join(lines) + "\n")
    for path in (new, diff):
        assert main(["kafka", "build", str(path), "--as-patch", "-"]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert printed[0] == f"file {CHANGED}" and printed[1].startswith("@@ 79:16,0 ") and printed[2:] == ["+!"]
    assert main(["kafka", "build", str(new), "--as-patch", str(tmp_path / "p")]) == 0
    assert (tmp_path / "p").read_text().splitlines() == printed
    assert read_patch(tmp_path / "p", kafka_sources("4.3.1")) == read_patch(diff, kafka_sources("4.3.1"))


def test_a_diff_of_patches_is_taken_by_git_in_a_folder_laid_out_as_the_repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release_sources = kafka_sources("4.3.1")
    fixes = sorted(FIXES.glob("fix-*.patch"))
    diff, checkout = tmp_path / "fixes.diff", tmp_path / "kafka"
    assert main(["kafka", "build", *map(str, fixes), "--diff", str(diff)]) == 0
    texts = module.edited_texts([read_patch(path, release_sources) for path in fixes], release_sources)
    for name in texts:
        (checkout / module.IN_REPOSITORY / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / module.IN_REPOSITORY / name).write_text(release_sources.text(name))
    ran = subprocess.run(["git", "apply", str(diff)], cwd=checkout, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {name: (checkout / module.IN_REPOSITORY / name).read_text() for name in texts} == texts
    assert read_patch(diff, release_sources).files.keys() == texts.keys()
    capsys.readouterr()
    assert main(["kafka", "build", *map(str, fixes), "--diff", "-"]) == 0
    assert capsys.readouterr().out == diff.read_text()


def test_a_file_that_kafkas_build_writes_has_no_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "org/apache/kafka/common/metadata/TopicRecord.java"
    path = tmp_path / "TopicRecord.java"
    path.write_text(kafka_sources("4.3.1").text(name).replace("class", "/* changed */ class", 1))
    assert main(["kafka", "build", str(path), "--diff", "-"]) == 153
    assert f"{name} is written by Kafka's build" in capsys.readouterr().err


def test_two_changes_of_one_file_in_a_diff_are_both_made(tmp_path: Path) -> None:
    text = kafka_sources("4.3.1").text(CHANGED)
    first = text.replace("class", "/* one */ class", 1)
    second = first.replace("return unclean;", "return !unclean;")
    path = tmp_path / "series.diff"
    parts = [
        "\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{CHANGED}", f"b/{CHANGED}", lineterm=""))
        for old, new in ((text, first), (first, second))
    ]
    path.write_text("\n".join(parts) + "\n")
    patch = read_patch(path, kafka_sources("4.3.1"))
    assert module.edited_texts([patch], kafka_sources("4.3.1")) == {CHANGED: second}


def test_tests_in_a_diff_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "d.diff"
    of_test = "--- a/metadata/src/test/java/A.java\n+++ b/metadata/src/test/java/A.java\n@@ -1 +1 @@\n-a\n+b\n"
    path.write_text(of_test)
    with pytest.raises(Failure, match="changes nothing but tests"):
        read_patch(path, kafka_sources("4.3.1"))
    path.write_text(
        f"{of_test}--- /dev/null\n+++ b/metadata/src/main/java/org/apache/kafka/New.java\n@@ -0,0 +1 @@\n+x\n"
    )
    assert read_patch(path, kafka_sources("4.3.1")).files == {"org/apache/kafka/New.java": hunks_of("", "x\n")}


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            "file {}\n@@ 29,1 0123456789ab\n+x\n",
            153,
            r"{}, line 29: the digest of the text there is \w{12}, not 0123456789ab",
        ),
        (
            "file org/None.java\n@@ 29,1 0123456789ab\n+x\n",
            153,
            "the sources of kafka-metadata 4.3.1 have no org/None.java",
        ),
        (
            "--- a/No.java\n+++ b/No.java\n@@ -1 +1 @@\n-a\n+b\n",
            153,
            "the sources of kafka-metadata 4.3.1 have no No.java",
        ),
        ("hello\n", 64, ".*: 'hello' is not a line of a patch"),
        (None, 64, ".* cannot be read: No such file or directory"),
    ],
)
def test_a_patch_that_cannot_be_used_is_one_line(
    text: str | None, code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kafka_sources("4.3.1")
    path = tmp_path / "p.patch"
    if text is not None:
        path.write_text(text.replace("{}", CHANGED))
    with pytest.raises(Failure, match="^" + message.replace("{}", CHANGED)):
        make_build([path], release("4.3.1"), tmp_path / "build")
    assert main(["kafka", "build", str(path), "--out", str(tmp_path / "build")]) == code
    assert (capsys.readouterr().err.count("\n"), (tmp_path / "build").exists()) == (1, False)


def test_javacs_first_message_is_one_line(tmp_path: Path) -> None:
    broken = edited(tmp_path, "return unclean;", "return nothing;")
    error = "cannot find symbol, symbol: variable nothing"
    message = rf"^javac refuses PartitionReassignmentRevert\.java: {CHANGED}:79: error: {error}$"
    with pytest.raises(Failure, match=message) as refused:
        make_build([broken], release("4.3.1"), tmp_path / "build")
    assert refused.value.code is Exit.SYSTEM and not (tmp_path / "build").exists()


def test_an_unchanged_source_and_a_stranger_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=f"{CHANGED} is as Kafka 4.3.1 has it: nothing is changed"):
        read_patch(edited(tmp_path, "class", "class"), kafka_sources("4.3.1"))
    (tmp_path / "A.java").write_text("class A { }")
    with pytest.raises(Failure, match="names no package"):
        read_patch(tmp_path / "A.java", kafka_sources("4.3.1"))


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(Failure, match="exists and does not hold a build"):
        make_build([tmp_path / "p"], release("4.3.1"), tmp_path)
    assert (tmp_path / "mine").exists()


def test_a_release_without_sources_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class_path("4.4.0")  # its jars are there, or the test is skipped

    def nothing(*_: object) -> None:
        raise Failure(Exit.SYSTEM, "Maven cannot bring x: Could not find artifact x:jar:sources:4.4.0")

    monkeypatch.setattr(module.class_path, "resolved_jars", nothing)
    with pytest.raises(
        Failure, match=r"^Kafka 4\.4\.0 is published without its sources, .* 4\.3\.1 has them$"
    ) as refused:
        sources(release("4.4.0"))
    assert refused.value.code is Exit.SYSTEM


A = 'package a; class A { static final int MOST = 5; static final String END = "a;b"; int most() { return MOST; } }'
B = "package a; class B { static final int TWICE = 2 * A.MOST; }"
C = "package a; class C { int c() { return B.TWICE; } }"
D = "package a; class D { int d() { return new Aa().d(); } }"
ORIGINALS = {"a/A.java": A, "a/B.java": B, "a/C.java": C, "a/D.java": D}


@pytest.mark.parametrize(
    ("text", "users"),
    [
        (A.replace("5;", "6;"), ["a/B.java", "a/C.java"]),
        (A.replace("static final int MOST = 5;", "static int most = 5;"), ["a/B.java", "a/C.java"]),
        (A.replace(";b", ";c"), ["a/B.java", "a/C.java"]),
        (A.replace("= 5", "=\n  5"), []),
        (A.replace("return MOST", "return MOST + 1"), []),
        (A.replace("int most", "static final int LEAST = 1; int most"), []),
    ],
    ids=["another value", "no constant now", "another string", "another layout", "another method", "a new one"],
)
def test_what_has_a_copy_of_a_changed_constant_is_compiled_anew(text: str, users: list[str]) -> None:
    assert sorted(module.users_of_constants({"a/A.java": text}, ORIGINALS)) == users


def test_a_changed_constant_is_changed_wherever_kafka_has_a_copy(tmp_path: Path) -> None:
    """javac has copied it: a build of the changed file alone would act as the release does."""
    node = "org/apache/kafka/image/node"
    path = tmp_path / "ScramImageNode.java"
    path.write_text(kafka_sources("4.3.1").text(f"{node}/{path.name}").replace('NAME = "scram"', 'NAME = "other"'))
    build = make_build([path], release("4.3.1"), tmp_path / "build")
    assert build.files == (f"{node}/ScramImageNode.java",)
    with zipfile.ZipFile(tmp_path / "build" / "kafka-metadata-4.3.1.jar") as jar:
        assert b"other" in jar.read(f"{node}/MetadataImageNode.class")


def test_a_release_whose_jar_has_another_name_gives_no_build(tmp_path: Path) -> None:
    jar = tmp_path / "kafka-metadata-4.3.1-rc1.jar"
    jar.write_bytes(b"")
    (tmp_path / "build").mkdir()
    with pytest.raises(Failure, match="the release has no jar of kafka-metadata by its version"):
        module._link_jars([jar], {}, tmp_path, tmp_path / "build")


@pytest.mark.parametrize("path", PATCHES, ids=lambda path: path.stem)
def test_committed_patches_fit_and_hold_no_line_of_kafkas(path: Path) -> None:
    release_sources = kafka_sources("4.3.1")
    patch: SourcePatch = read_patch(path, release_sources)
    texts = module.edited_texts([patch], release_sources)
    assert patch.comment and texts
    for name, hunks in patch.files.items():
        lines = {line.strip() for line in release_sources.text(name).splitlines()}
        new = [row for hunk in hunks for row in hunk.text if not isinstance(row, Copied)]
        assert [row for row in new if len(row.strip()) >= OWN_LENGTH and row.strip() in lines] == []
        assert hunks_of(release_sources.text(name), texts[name]) == hunks  # no shorter way to write it
