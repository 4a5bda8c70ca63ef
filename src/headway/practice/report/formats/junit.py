"""JUnit XML, which GitLab, Jenkins and Azure read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from headway.practice.report.formats import Output, Settings
from headway.practice.report.results import Report
from headway.practice.verdict import Verdict

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot contain."""


def outputs(report: Report, settings: Settings) -> Iterator[Output]:
    """Yield one document with a suite for each file."""
    yield Output(xml_of(report, settings.language), settings.path)


def xml_of(report: Report, language: str) -> str:
    """Return the report as XML. A wrong part is a failure; code that could not run, and a failure of the
    check itself, is an error; what was not judged is skipped.
    """
    root = ElementTree.Element("testsuites", name="headway check", time=f"{report.seconds:.3f}")
    suites = [(str(each.path), each.shown, each.seconds) for each in report.files if each.shown]
    suites += [("required", [*report.missing], 0.0)] if report.missing else []
    for name, verdicts, seconds in suites:
        _add_suite(root, name, verdicts, seconds, language)
    if report.failure:
        suite = ElementTree.SubElement(root, "testsuite", name="headway", tests="1", failures="0", errors="1")
        case = ElementTree.SubElement(suite, "testcase", classname="headway", name="check")
        ElementTree.SubElement(case, "error", type="failure", message=_clean(report.failure.text(language)))
    for count in ("tests", "failures", "errors", "skipped"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _add_suite(root: ElementTree.Element, name: str, verdicts: list[Verdict], seconds: float, language: str) -> None:
    kinds = [_kind(each) for each in verdicts]
    counts = {"tests": len(kinds), "failures": kinds.count("failure"), "errors": kinds.count("error"), "skipped": kinds.count("skipped")}
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(name), time=f"{seconds:.3f}")
    for key, value in counts.items():
        suite.set(key, str(value))
    for verdict, kind in zip(verdicts, kinds, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname=_clean(name), name=_clean(verdict.subject))
        if verdict.file is not None:
            case.set("file", _clean(verdict.file))
            case.set("line", str(verdict.line))
        text = _clean(verdict.text(language))
        if kind == "skipped":
            ElementTree.SubElement(case, kind, message=text)
        elif kind is None:
            ElementTree.SubElement(case, "system-out").text = text
        else:
            says = verdict.causes[0].says if verdict.causes else verdict.status_word
            ElementTree.SubElement(case, kind, type=_clean(verdict.rule or ""), message=_clean(says.text(language))).text = text


def _kind(verdict: Verdict) -> str | None:
    if verdict.is_correct:
        return None
    return {"could not run": "error", "not judged": "skipped"}.get(verdict.status, "failure")


def _clean(text: str) -> str:
    return NOT_XML.sub("�", text)
