"""Answers of releases kept in files: the comparison without a JVM, and answers that are stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from reassure.checkers.cli.main import main
from reassure.checkers.kafka.controller import answers as module
from reassure.checkers.kafka.controller.answers import RecordedAnswers, Recorder
from reassure.checkers.kafka.controller.conform import Conformance, Controller, conform
from reassure.checkers.kafka.controller.model_steps import NativeSteps
from reassure.checkers.kafka.controller.model_view import ModelView
from reassure.checkers.kafka.controller.releases import release
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.checkers.machine.progress import Progress
from reassure.checkers.request.prepare import prepare
from reassure.spec.kafka.releases import RELEASES_OF_RULES
from tests.helpers.kafka_jars import shared_driver

SMALL = ["brokers=2", "admin_requests=1", "unclean=off"]


def compared(controller: Controller, pairs: list[str]) -> Conformance:
    prepared = prepare("kraft_kafka", pairs)
    bound, lowered = prepared.bound, prepared.lowered
    view = ModelView(bound)
    return conform(NativeSteps(bound, lowered, view), view, controller, Progress(quiet=True))


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Conformance]:
    """The answers of a release to a small space, and what came of comparing it."""
    path = tmp_path_factory.mktemp("answers") / "4.4.0.answers"
    driver = shared_driver("4.4.0")
    recorder = Recorder(driver)
    found = compared(recorder, SMALL)
    recorder.write(path)
    return path, found


def test_kept_answers_say_what_the_jvm_says(kept: tuple[Path, Conformance]) -> None:
    path, wanted = kept
    recorded = RecordedAnswers(release("4.4.0"), path)
    found = compared(recorded, SMALL)
    recorded.must_answer()
    assert found.actions == wanted.actions
    assert [(g.cause, g.count) for g in found.disagreements] == [(g.cause, g.count) for g in wanted.disagreements]


def test_a_model_with_other_steps_makes_answers_stale(kept: tuple[Path, Conformance]) -> None:
    recorded = RecordedAnswers(release("4.4.0"), kept[0])
    compared(recorded, ["brokers=2", "admin_requests=1"])
    with pytest.raises(Failure, match=r"steps of the model are not among the answers of Kafka 4\.4\.0") as caught:
        recorded.must_answer()
    assert caught.value.code is Exit.DRIFT


def test_another_driver_makes_answers_stale(kept: tuple[Path, Conformance], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "driver_digest", lambda: "another")
    with pytest.raises(Failure, match=r"^the answers of Kafka 4\.4\.0 are stale: `reassure kafka record"):
        RecordedAnswers(release("4.4.0"), kept[0])


def test_answers_of_another_release_are_refused(kept: tuple[Path, Conformance]) -> None:
    with pytest.raises(Failure, match=r"it has the answers of Kafka 4\.4\.0, not of 4\.3\.1$") as caught:
        RecordedAnswers(release("4.3.1"), kept[0])
    assert caught.value.code is Exit.SYSTEM


@pytest.mark.parametrize("content", [b"", b"reassure answers 1\n", b"reassure answers 1\n\0\0\0\2{}abc"])
def test_a_damaged_file_is_a_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "4.4.0.answers"
    path.write_bytes(content)
    with pytest.raises(Failure, match=r"4\.4\.0\.answers cannot be read: "):
        RecordedAnswers(release("4.4.0"), path)


def test_without_answers_a_line_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"^no answers of Kafka 9\.9\.9 are kept: `reassure kafka record"):
        RecordedAnswers(release("9.9.9"), tmp_path / "none")


def test_the_same_answers_are_the_same_bytes(
    kept: tuple[Path, Conformance], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from reassure.checkers.kafka.controller import command as kafka

    monkeypatch.setattr(kafka, "KEPT_CONFIGURATIONS", ((),))
    options = [f"--set={pair}" for pair in SMALL]
    assert main(["kafka", "record", "--release", "4.4.0", *options, "--out", str(tmp_path)]) == Exit.OK.value
    assert (tmp_path / "4.4.0.answers").read_bytes() == kept[0].read_bytes()
    assert "answers in" in capsys.readouterr().out


KEPT = sorted(path.name.removesuffix(".answers") for path in module.answers_folder().iterdir())


def test_answers_are_kept_for_all_rules() -> None:
    assert {release(version).rules for version in KEPT} == set(RELEASES_OF_RULES)


@pytest.mark.parametrize(
    "version", [pytest.param(v, marks=[] if v in ("3.9.2", "4.1.2", "4.4.0") else [pytest.mark.slow]) for v in KEPT]
)
def test_the_model_has_the_rules_of_every_release(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Against the answers that come with the project, without a JVM: a step that is not among them fails too."""
    assert main(["kafka", "conform", "kraft_kafka", "--kept", "--release", version, "--quiet"]) == Exit.OK.value
    said = capsys.readouterr().out
    assert f"no disagreement with Kafka {version}" in said


def test_the_rules_of_another_release_disagree(capsys: pytest.CaptureFixture[str]) -> None:
    """What is compared with 4.2 under the rules of 4.3 is not found among its answers, or is found otherwise."""
    options = ["--kept", "--release", "4.2.2", "--set", "release=4.3", "--depth", "8", "--quiet"]
    assert main(["kafka", "conform", "kraft_kafka", *options]) in (Exit.DRIFT.value, Exit.DISAGREE.value)
