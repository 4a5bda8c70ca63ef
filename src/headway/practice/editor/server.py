"""The language server. It runs a document in the sandbox when it is opened or saved, if its workspace permits that."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

import headway
from headway.errors import HeadwayError
from headway.practice.checking import Options, checked
from headway.practice.diagnosis.reading.subject import definitions
from headway.practice.editor.diagnostics import actions_of, diagnostics_of
from headway.practice.message import LANGUAGES
from headway.practice.names import by_name
from headway.practice.report.results import FileResult
from headway.practice.settings import FILE, read_settings
from headway.practice.source import Source, as_read, read
from headway.practice.texts import Texts

TEXTS = Texts("check")

FAILED = TEXTS["could_not_check"]


@dataclass
class State:
    """The server's knowledge about its client and the documents.

    is_enabled   True if the client permits every document
    results      the last result and its diagnostics by document
    newest       number of the last check that was begun, by document; results of earlier checks are dropped
    """

    is_enabled: bool = False
    language: str = "en"
    is_versioned: bool = False
    results: dict[str, tuple[FileResult, list[types.Diagnostic]]] = field(default_factory=dict)
    newest: dict[str, int] = field(default_factory=dict)
    one_at_a_time: threading.Lock = field(default_factory=threading.Lock)
    is_refusal_shown: bool = False


def make_server() -> LanguageServer:
    """Return a server for documents in Python."""
    server, state = LanguageServer("headway", headway.__version__), State()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        given: Any = params.initialization_options or {}
        state.is_enabled = isinstance(given, dict) and given.get("enable") is True
        wanted = given.get("language") if isinstance(given, dict) else None
        state.language = wanted or ("zh" if (params.locale or "").lower().startswith("zh") else "en")
        if state.language not in LANGUAGES:
            state.language = "en"
        edits = params.capabilities.workspace and params.capabilities.workspace.workspace_edit
        state.is_versioned = bool(edits and edits.document_changes)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.thread()
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        _check(server, state, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    @server.thread()
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        _check(server, state, params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        state.newest[uri] = state.newest.get(uri, 0) + 1
        state.results.pop(uri, None)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        known, document = state.results.get(uri), server.workspace.get_text_document(uri)
        if known is None or not _is_same(known[0].source, document.source):
            return []
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri, document.version)
        codec = server.workspace.position_codec
        return actions_of(*known, params.range, identifier, codec, state.language, is_versioned=state.is_versioned)

    return server


def _check(server: LanguageServer, state: State, uri: str) -> None:
    """Run a document, unless a newer check of it has begun, and publish its diagnostics."""
    number = state.newest[uri] = state.newest.get(uri, 0) + 1
    path = to_fs_path(uri) if uri.startswith("file:") else None
    if path is None or not path.endswith(".py"):
        return
    try:
        source = read(Path(path))
        if not _is_same(source, server.workspace.get_text_document(uri).source) or not _has_part(source):
            return
        if not _is_permitted(server, state, Path(path)):
            return
        with state.one_at_a_time:
            if state.newest[uri] != number:
                return
            result = checked(source, Options(), is_named=False)
    except HeadwayError as error:
        _log(server, FAILED.format(path=path, error=error).text(state.language), types.MessageType.Warning)
        return
    except Exception as error:  # a failure of the tool ends neither the server nor the editor's session
        _log(server, FAILED.format(path=path, error=f"{type(error).__name__}: {error}").text(state.language), types.MessageType.Error)
        return
    if state.newest[uri] == number:
        shown = diagnostics_of(result, server.workspace.position_codec, state.language)
        state.results[uri] = (result, shown)
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown))


def _has_part(source: Source) -> bool:
    """Return True if a name in a file says that it is a part; other files are never run."""
    return source.tree is not None and any(by_name(name) for name in definitions(source.tree))


def _is_permitted(server: LanguageServer, state: State, path: Path) -> bool:
    """Return True if the client, or the headway.toml of the document's workspace folder, permits to run it.

    Errors   OptionError for a headway.toml that is not TOML.
    """
    if state.is_enabled:
        return True
    folders = [Path(found) for each in server.workspace.folders.values() if (found := to_fs_path(each.uri))]
    root = server.workspace.root_path
    for folder in [*folders, *([Path(root)] if root else [])]:
        file = folder / FILE
        if path.resolve().is_relative_to(folder.resolve()) and file.is_file():
            table = read_settings(file).get("lsp")
            if isinstance(table, dict) and table.get("enable") is True:
                return True
    if not state.is_refusal_shown:
        state.is_refusal_shown = True
        _log(server, TEXTS["no_code_is_run"].format(file=FILE).text(state.language), types.MessageType.Info)
    return False


def _is_same(source: Source | None, text: str) -> bool:
    """Return True if a file and a document have the same text, apart from line ends."""
    return source is not None and source.text == as_read(text.removeprefix("\ufeff"))


def _log(server: LanguageServer, message: str, level: types.MessageType) -> None:
    server.window_log_message(types.LogMessageParams(level, message))
