"""What JUnit prints of Kafka's own tests, read: a test that was not run has not passed."""

from __future__ import annotations

import pytest

from reassure.checkers.kafka.builds.own_tests import OwnTests, outcome_of
from reassure.checkers.machine.exit_codes import Failure

TREE = """.
'-- JUnit Jupiter [OK]
  '-- ReplicationControlManagerTest [OK]
    +-- testCreateTopics() [OK]
    '-- testShrinkAndExpandIsr() [{}
"""
SUMMARY = """
[         3 containers found      ]
[         0 containers skipped    ]
[         3 containers successful ]
[         {containers} containers failed     ]
[         {found} tests found           ]
[         {skipped} tests skipped         ]
[         0 tests aborted         ]
[         {passed} tests successful      ]
[         {failed} tests failed          ]
"""


def printed(row: str = "OK]", **other: int) -> str:
    counts = {"containers": 0, "found": 2, "skipped": 0, "passed": 2, "failed": 0}
    return TREE.replace("{}", row) + SUMMARY.format(**(counts | other))


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        (printed(), OwnTests(2, ())),
        (printed(found=3, skipped=1), OwnTests(2, ())),
        (printed("X] it shrinks", passed=1, failed=1), OwnTests(1, ("testShrinkAndExpandIsr(): it shrinks",))),
        (printed("X] no class Mock", found=9, containers=1), OwnTests(2, ("testShrinkAndExpandIsr(): no class Mock",))),
    ],
    ids=["all pass", "one is switched off", "one fails", "a class cannot begin"],
)
def test_what_passes_and_fails(output: str, outcome: OwnTests) -> None:
    assert outcome_of(output) == outcome


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("", "JUnit ran no test of Kafka's: it printed nothing"),
        ("java.lang.Error: x\n", "JUnit ran no test of Kafka's: java.lang.Error: x"),
        (printed(found=2, skipped=2, passed=0), "JUnit ran no test of Kafka's: ."),
        (printed(found=9), "JUnit did not run 7 of 9 tests of Kafka's to their end"),
    ],
    ids=["nothing", "an error", "all are switched off", "most are left"],
)
def test_what_did_not_run_has_not_passed(output: str, message: str) -> None:
    with pytest.raises(Failure) as refused:
        outcome_of(output)
    assert str(refused.value) == message
