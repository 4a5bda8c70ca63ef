"""headway lsp: verdicts in an editor."""

from __future__ import annotations

from headway.cli.check import with_language
from headway.practice.message import Message, PracticeError


@with_language
def command() -> None:
    """Serve verdicts to an editor over standard input and output (Language Server Protocol).

    A document is run when it is opened or saved, in a child process with limits, if the headway.toml of its workspace has
    [lsp] with enable = true, or the editor passes the initialization option {"enable": true}. docs/editors.md shows the setup.
    """
    try:
        from headway.practice.editor.server import make_server
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise PracticeError(
            Message("got no pygls, expected the extra lsp", "没有安装 pygls，应安装附加组件 lsp"),
            hint=Message("run: pip install 'headway[lsp]'", "请运行：pip install 'headway[lsp]'"),
        ) from error
    make_server().start_io()
