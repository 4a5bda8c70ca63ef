"""Verdicts as the diagnostics and code actions of the Language Server Protocol.

Positions of the protocol count from 0, and columns in the units that the client and the server agreed on, usually UTF-16.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types
from pygls.workspace import PositionCodec

from headway.practice.report.frames import Place, message_of, place_of
from headway.practice.report.results import FileResult
from headway.practice.rules import url_of
from headway.practice.source import Source, whole_line
from headway.practice.verdict import Cause, Edit, Repair, Verdict


def diagnostics_of(result: FileResult, codec: PositionCodec, language: str) -> list[types.Diagnostic]:
    """Return one diagnostic for each cause of each verdict that is not correct."""
    assert result.source is not None
    return [
        _diagnostic(verdict, cause, result.source, codec, language)
        for verdict in result.verdicts
        if not verdict.is_correct
        for cause in verdict.causes or (None,)
    ]


def _diagnostic(verdict: Verdict, cause: Cause | None, source: Source, codec: PositionCodec, language: str) -> types.Diagnostic:
    place: Place = place_of(verdict, cause)
    if place is verdict:  # the first line of the definition, not all of it
        line, column, end_line, end_column = whole_line(max(verdict.line, 1), source)
        place = Edit(line, column, end_line, end_column, "")
    rule = verdict.rule or ""
    url = url_of(rule) or ""
    is_link = "://" in url
    return types.Diagnostic(
        range=range_of(place, source, codec),
        message=f"{verdict.subject}: {message_of(verdict, cause, language)}",
        severity=types.DiagnosticSeverity.Warning if verdict.status == "could not run" else types.DiagnosticSeverity.Error,
        code=rule,
        code_description=types.CodeDescription(url) if is_link else None,
        source="headway",
    )


def range_of(place: Place, source: Source, codec: PositionCodec) -> types.Range:
    """Return a place in the units of the client."""
    line, column = place.line or 1, place.column or 1
    end_line, end_column = place.end_line or line, place.end_column or column
    start, end = types.Position(line - 1, column - 1), types.Position(end_line - 1, end_column - 1)
    return codec.range_to_client_units(source.lines, types.Range(start, end))


def actions_of(
    result: FileResult,
    shown: Sequence[types.Diagnostic],
    asked: types.Range,
    document: types.OptionalVersionedTextDocumentIdentifier,
    codec: PositionCodec,
    language: str,
    *,
    is_versioned: bool,
) -> list[types.CodeAction]:
    """Return a quick fix for each repair whose verdict touches a range.

    shown         the diagnostics of the document
    is_versioned  True if the client accepts edits of a version of a document
    """
    found = []
    for verdict in result.verdicts:
        if verdict.repair is None or result.source is None:
            continue
        own = [each for each in shown if each.code == verdict.rule and each.message.startswith(f"{verdict.subject}:")]
        edits = _edits(verdict.repair, result.source, codec)
        if any(_touch(asked, each) for each in [*(each.range for each in own), *(edit.range for edit in edits)]):
            found.append(_action(verdict.repair.says.text(language), own, edits, document, is_versioned=is_versioned))
    return found


def _edits(repair: Repair, source: Source, codec: PositionCodec) -> list[types.TextEdit]:
    return [types.TextEdit(range_of(edit, source, codec), edit.replacement) for edit in repair.edits]


def _action(
    title: str,
    diagnostics: list[types.Diagnostic],
    edits: list[types.TextEdit],
    document: types.OptionalVersionedTextDocumentIdentifier,
    *,
    is_versioned: bool,
) -> types.CodeAction:
    if is_versioned:
        edit = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, edits)])
    else:
        edit = types.WorkspaceEdit(changes={document.uri: edits})
    return types.CodeAction(title, types.CodeActionKind.QuickFix, diagnostics, is_preferred=True, edit=edit)


def _touch(first: types.Range, second: types.Range) -> bool:
    return first.start <= second.end and second.start <= first.end
