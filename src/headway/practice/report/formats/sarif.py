"""SARIF 2.1.0, which code scanning and editors read.

Source   docs.oasis-open.org/sarif/sarif/v2.1.0
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import headway
from headway.practice.message import Message
from headway.practice.report.formats import Output, Settings
from headway.practice.report.frames import Place, message_of, place_of, relative_path
from headway.practice.report.results import Report
from headway.practice.rules import GENERAL, rule_id, rules_of, url_of
from headway.practice.source import Source
from headway.practice.verdict import Cause, Verdict

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

LEVELS = {"could not run": "warning", "not judged": "note"}
"""Levels by status; that of the others is an error."""


def outputs(report: Report, settings: Settings) -> Iterator[Output]:
    """Yield one log with one run."""
    yield Output(json.dumps(log_of(report, settings), ensure_ascii=False, indent=2) + "\n", settings.path)


def log_of(report: Report, settings: Settings) -> dict[str, Any]:
    """Return the report as a SARIF log. Correct parts have no result."""
    language = settings.language
    anywhere = next((str(each.path) for each in report.files), "")
    found = [
        (verdict, cause, source)
        for verdict, source in report.with_sources()
        if not verdict.is_correct
        for cause in verdict.causes or (None,)
    ]
    ids = list(dict.fromkeys(_rule_of(verdict, cause) for verdict, cause, _ in found))
    invocation: dict[str, Any] = {"executionSuccessful": report.failure is None}
    if report.failure:
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": {"text": report.failure.text(language)}}]
    driver = {"name": "headway", "version": headway.__version__, "semanticVersion": headway.__version__}
    run = {
        "tool": {"driver": driver | {"rules": [_rule(each, language) for each in ids]}},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
        "results": [
            _result(verdict, cause, source, ids, settings) | _at_start(verdict, anywhere, settings) for verdict, cause, source in found
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule_of(verdict: Verdict, cause: Cause | None) -> str:
    return verdict.rule or "" if cause is None else rule_id(verdict.exercise, cause.name)


def _rule(rule: str, language: str) -> dict[str, Any]:
    """Return the description of a rule, for a pair of mistakes that of both."""
    exercise, _, names = rule.partition("/")
    known = {name: GENERAL[name] for name in names.split("+") if name in GENERAL}
    fixes: list[Message] = []
    if exercise != "file":
        own = rules_of(exercise)
        known |= {name: own[name].says for name in names.split("+") if name in own}
        fixes = [fix for name in names.split("+") if name in own and (fix := own[name].fix)]
    says = " ".join(message.text(language) for message in known.values()) or names
    described: dict[str, Any] = {
        "id": rule,
        "shortDescription": {"text": says},
        "fullDescription": {"text": says},
        "help": {"text": " ".join(fix.text(language) for fix in fixes) or says},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["transformer", exercise]},
    }
    url = url_of(rule) or ""
    return described | ({"helpUri": url} if "://" in url else {})


def _result(verdict: Verdict, cause: Cause | None, source: Source | None, ids: list[str], settings: Settings) -> dict[str, Any]:
    rule, place = _rule_of(verdict, cause), place_of(verdict, cause)
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": ids.index(rule),
        "level": LEVELS.get(verdict.status, "error"),
        "message": {"text": f"{verdict.subject}: {message_of(verdict, cause, settings.language)}"},
    }
    if verdict.file is None:
        return result
    physical: dict[str, Any] = {"artifactLocation": _artifact(verdict.file, settings)}
    if place.line and place.cell is None:  # lines of a notebook's cells are not lines of its file
        physical["region"] = _region(place)
        if source is not None:
            result["partialFingerprints"] = {"primaryLocationLineHash": _fingerprint(rule, source, place)}
    result["locations"] = [{"physicalLocation": physical}]
    if verdict.repair and all(edit.cell is None for edit in verdict.repair.edits) and cause in (None, *verdict.causes[:1]):
        replacements = [{"deletedRegion": _region(edit), "insertedContent": {"text": edit.replacement}} for edit in verdict.repair.edits]
        change = {"artifactLocation": _artifact(verdict.file, settings), "replacements": replacements}
        result["fixes"] = [{"description": {"text": verdict.repair.says.text(settings.language)}, "artifactChanges": [change]}]
    return result


def _at_start(verdict: Verdict, file: str, settings: Settings) -> dict[str, Any]:
    """Return a location in some file for a verdict without one, because code scanning drops results without a location."""
    if verdict.file is not None or not file:
        return {}
    return {"locations": [{"physicalLocation": {"artifactLocation": _artifact(file, settings), "region": {"startLine": 1}}}]}


def _artifact(file: str, settings: Settings) -> dict[str, str]:
    path = relative_path(file, settings.environ)
    return {"uri": Path(path).as_uri()} if Path(path).is_absolute() else {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def _region(place: Place) -> dict[str, int]:
    region = {"startLine": place.line, "startColumn": place.column, "endLine": place.end_line, "endColumn": place.end_column}
    return {name: value for name, value in region.items() if value is not None}


def _fingerprint(rule: str, source: Source, place: Place) -> str:
    """Return a hash that stays the same when the line moves."""
    line = source.lines[place.line - 1].strip() if place.line and place.line <= len(source.lines) else ""
    return hashlib.sha256(f"{rule}\n{line}".encode()).hexdigest()[:16] + ":1"
