"""The page at `/`: HTML, CSS and ES modules of this package, with a strict content security policy."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib.resources import files

from headway.server.errors import ApiError
from headway.server.replies import Call, Reply

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
"""The page loads files of its own origin only, and runs no code that is written into its HTML."""

HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache"}


@cache
def page_files() -> dict[str, bytes]:
    """Return the content of every file of the page by name."""
    folder = files("headway.server") / "page"
    return {each.name: each.read_bytes() for each in folder.iterdir() if _suffix(each.name) in TYPES}


async def index(call: Call) -> Reply:
    """Return the page, with its link to headway look where that is served."""
    reply = _reply("index.html")
    return replace(reply, body=reply.body.replace(b'id="look" hidden', b'id="look"')) if call.service.settings.has_look else reply


async def file(call: Call) -> Reply:
    """Return a file of the page. Only names of the package's own files are looked up, never a path.

    Errors   ApiError 404 for any other name.
    """
    name = call.path_values["name"]
    if name not in page_files():
        raise ApiError(404, "got an unknown path", code="not_found")
    return _reply(name)


def _reply(name: str) -> Reply:
    return Reply(page_files()[name], content_type=TYPES[_suffix(name)], headers=HEADERS)


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]
