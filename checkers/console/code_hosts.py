"""Problems as code hosts show them beside the code: SARIF 2.1.0, and annotations of GitHub Actions."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reassure import __version__
from reassure.checkers.machine.exit_codes import VERDICTS, Exit

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "%SRCROOT%"
MOST_RESULTS = 5000
"""Results that code hosts take of one run."""
MOST_OF_A_SUMMARY = 900_000
"""Characters of a job's summary; GitHub refuses 1 MiB."""
ANSWERED = (
    Exit.OK, Exit.SAFETY, Exit.LIVENESS, Exit.DEADLOCK, Exit.EXPECTATION, Exit.VACUOUS, Exit.DRIFT, Exit.TRACE,
    Exit.INCONCLUSIVE,
)  # fmt: skip
"""Exit codes of a command that ran, whatever its result."""


@dataclass(frozen=True)
class SourcePlace:
    """The place of a declaration. line: from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        path, here = Path(self.file), Path.cwd()
        return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{self.line}"


@dataclass(frozen=True)
class Alert:
    """A problem at a place of the sources.

    rule, about: the rule that is broken, as a slug and in words. identity: of the problem from run to run; it has
    neither counts nor lines, so that the same problem stays one alert. story, steps: a run that shows it.
    """

    rule: str
    about: str
    text: str
    place: SourcePlace
    identity: str
    warning: bool = False
    story: str = ""
    steps: tuple[tuple[SourcePlace, str], ...] = ()


def sarif_log(alerts: Sequence[Alert], code: Exit) -> str:
    """The log of a run as JSON: a rule for each kind of problem, a code flow for each run that shows one."""
    about = {alert.rule: alert.about for alert in reversed(alerts)}
    names = sorted(about)
    driver = {
        "name": "reassure",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [{"id": name, "shortDescription": {"text": about[name]}} for name in names],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": code in ANSWERED,
                "exitCode": code.value,
                "exitCodeDescription": VERDICTS[code],
            }
        ],
        "results": [_result(alert, names.index(alert.rule)) for alert in alerts[:MOST_RESULTS]],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(alert: Alert, rule: int) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": alert.rule,
        "ruleIndex": rule,
        "level": "warning" if alert.warning else "error",
        "message": {"text": alert.text},
        "locations": [{"physicalLocation": _physical(alert.place)}],
        "partialFingerprints": {"reassure/v1": hashlib.sha256(alert.identity.encode()).hexdigest()[:32]},
    }
    if alert.steps:
        steps = [
            {"executionOrder": n, "location": {"physicalLocation": _physical(place), "message": {"text": text}}}
            for n, (place, text) in enumerate(alert.steps)
        ]
        result["codeFlows"] = [{"message": {"text": alert.story}, "threadFlows": [{"locations": steps}]}]
    return result


def _physical(place: SourcePlace) -> dict[str, object]:
    return {
        "artifactLocation": {"uri": place.file.replace(" ", "%20"), "uriBaseId": ROOT},
        "region": {"startLine": place.line},
    }


# -- GitHub Actions ----------------------------------------------------------------------------------------------------


def in_actions() -> bool:
    """Whether this runs in a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def annotation(place: SourcePlace, title: str, text: str, warning: bool = False) -> str:
    """The command of a workflow that shows a problem at its line."""
    about = f"file={_value(place.file)},line={place.line},title={_value(title)}"
    return f"::{'warning' if warning else 'error'} {about}::{_data(text)}"


def add_to_summary(text: str) -> None:
    """Adds Markdown to the summary of the job, if the job asks for one."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text if len(text) <= MOST_OF_A_SUMMARY else text[:MOST_OF_A_SUMMARY] + "\n\n(cut)\n")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
