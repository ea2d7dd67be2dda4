"""The table of releases: the rules of each, and what a version or the name of rules stands for."""

from __future__ import annotations

import pytest

from reassure.checkers.kafka.controller.command import _releases
from reassure.checkers.kafka.controller.model_view import rules_note
from reassure.checkers.kafka.controller.releases import LATEST, NEWEST, RELEASES, Release, own_release, release
from reassure.checkers.machine.exit_codes import Exit, Failure
from reassure.spec.kafka.releases import RELEASES_OF_RULES, releases_text, rules_in_name, rules_of


def test_the_releases_that_users_run() -> None:
    assert [(r.version, r.rules) for r in RELEASES] == [
        ("3.9.0", "3.9"), ("3.9.1", "3.9"), ("3.9.2", "3.9"),
        ("4.0.0", "4.0"), ("4.0.1", "4.0"), ("4.0.2", "4.0"),
        ("4.1.0", "4.1"), ("4.1.1", "4.2"), ("4.1.2", "4.2"),
        ("4.2.0", "4.2"), ("4.2.1", "4.2"), ("4.2.2", "4.2"),
        ("4.3.0", "4.3"), ("4.3.1", "4.3"), ("4.4.0", "4.4"),
    ]  # fmt: skip
    assert all(r.listed for r in RELEASES) and release("4.4.0") is LATEST is RELEASES[-1]
    assert [r.version for r in RELEASES if not r.tested] == ["4.2.2", "4.4.0"]


def test_all_is_the_newest_patch_of_each_minor_version_and_of_each_rules() -> None:
    """4.1.0 too: no other release goes by the rules of 4.1."""
    assert [r.version for r in NEWEST] == ["3.9.2", "4.0.2", "4.1.0", "4.1.2", "4.2.2", "4.3.1", "4.4.0"]
    assert {r.rules for r in NEWEST} == set(RELEASES_OF_RULES)
    assert _releases(["all", "4.3.0", "4.4.0"]) == [*NEWEST, release("4.3.0")]
    assert _releases([]) == [LATEST]


def test_a_release_that_is_not_in_the_table() -> None:
    assert release("4.1.7") == Release("4.1.7", "4.2", tested=False, listed=False)
    assert release("4.3.2").rules == "4.3" and release("5.0.0").rules == "5.0"
    with pytest.raises(Failure, match=r"^'4\.3' is not a release of Kafka; write 4\.4\.0, or the path") as refused:
        release("4.3")
    assert refused.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("name", "version"),
    [("3.9", "3.9.2"), ("4.1", "4.1.0"), ("4.2", "4.2.2"), ("4.3", "4.3.1"), ("4.1.1", "4.1.1"), ("4.1.7", "4.1.7")],
)
def test_the_name_of_rules_stands_for_the_newest_release_that_goes_by_them(name: str, version: str) -> None:
    assert own_release(name) == release(version)
    assert own_release(None) == LATEST


def test_the_releases_of_rules_in_words() -> None:
    assert rules_in_name("as printed, three, Kafka 4.3") == ("as printed, three", ("4.3",))
    assert rules_in_name("as released, Kafka 3.9 to 4.1") == ("as released", ("3.9", "4.0", "4.1"))
    for other in ("as released", "as released, Kafka 4.3 and more", "as released, Kafka 4.3 to 9.9", "Kafka 4.3"):
        assert rules_in_name(other) == (other, ())
    assert releases_text("4.2") == "4.1.1, 4.1.2, 4.2.0 to 4.2.2"
    assert (releases_text("3.9"), releases_text("4.1"), releases_text("9.9")) == ("3.9.0 to 3.9.2", "4.1.0", "")
    assert [rules_of(name) for name in ("4.1", "4.1.0", "4.1.2", "4.2.1", "4.1.3", "")] == (
        ["4.1", "4.1", "4.2", "4.2", "", ""]
    )


def test_the_note_is_silent_where_version_and_table_say_it() -> None:
    assert rules_note("kraft_kafka", [], release("4.1.0")) == ""
    assert rules_note("kraft", ["release=4.1"], release("4.1.2")) == "", "a model without rules by release"
