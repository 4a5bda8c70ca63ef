"""Keys, the size of bodies, and origins of pages."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path

from starlette.types import Receive, Scope

from headway.errors import OptionError
from headway.server.errors import ApiError

OPEN_PATHS = frozenset({"/", "/health", "/ready", "/look/"})
"""The paths that need no key. Everything else does, paths that do not exist included."""

OPEN_PREFIX = "/page/"
"""Files of the browser page, which are the same for everybody."""

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


def check_address(host: str, api_keys: Sequence[str], *, is_open: bool) -> None:
    """Raise OptionError for an address that other machines reach, unless there is a key or the user wants an open server."""
    if host not in LOCAL_HOSTS and not api_keys and not is_open:
        raise OptionError(
            f"got --host {host} without --api-key, expected a key for an address that other machines reach",
            hint="add --api-key or --api-key-file, or --open to serve everybody",
        )


def allowed_hosts(host: str, api_keys: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that the Host header may have; () for every name.

    Without keys, a page of another site could call a server on this machine after pointing its own name at 127.0.0.1. Its requests
    have that name as their Host, so only the names of this machine and those of the user are accepted.

    host    address that the server listens on
    names   those of --allowed-host
    """
    if not names and (api_keys or host not in LOCAL_HOSTS):
        return ()
    return (*LOCAL_HOSTS, *map(_host_name, names))


def check_host(scope: Scope, allowed: Sequence[str]) -> None:
    """Raise a 421 for a request whose Host header is not among the allowed names. No names allow every one."""
    given = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    if allowed and _host_name(given) not in allowed:
        expected = "localhost, 127.0.0.1, [::1], or a name of headway serve --allowed-host"
        raise ApiError(421, f"got Host {given!r:.100}, expected {expected}", code="host_not_allowed")


def _host_name(host: str) -> str:
    """Return the name of a Host header, without its port and the brackets of an IPv6 address."""
    bracketed = host.startswith("[")
    name = host[1:].partition("]")[0] if bracketed else host if host.count(":") > 1 else host.partition(":")[0]
    return name.lower().removesuffix(".")


def read_keys(keys: Sequence[str], file: Path | None) -> tuple[str, ...]:
    """Return the keys of the command line and those of a file, one per line.

    Errors   OptionError for an empty key, a key that no header can carry, or a file that cannot be read or has no key.
    """
    found = [*keys]
    if file:
        try:
            lines = [line.strip() for line in file.read_text(encoding="utf-8").splitlines()]
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise OptionError(f"got --api-key-file {file}, expected a text file that can be read ({reason})") from error
        from_file = [line for line in lines if line]
        if not from_file:
            raise OptionError(f"got --api-key-file {file} without a key, expected one key per line")
        found += from_file
    if any(not key.isascii() or not key.isprintable() or not key.strip() for key in found):
        raise OptionError("got a key that is empty or has other characters, expected printable ASCII characters")
    return tuple(found)


def authenticate(scope: Scope, api_keys: Sequence[str]) -> str:
    """Return a name of the caller that separates prompt caches; it does not contain the key.

    The key is compared with all keys in constant time.

    Errors   ApiError 401 for a wrong key or none.
    """
    if not api_keys:
        return ""
    path = scope["path"]
    given = _given_key(scope)
    matches = [hmac.compare_digest(given, key.encode()) for key in api_keys]
    if given and any(matches):
        return hashlib.sha256(given).hexdigest()[:16]
    if path in OPEN_PATHS or path.startswith(OPEN_PREFIX):
        return ""
    raise ApiError(
        401,
        "got no valid API key, expected one in the header Authorization: Bearer KEY or X-Api-Key: KEY",
        type="authentication_error",
        code="invalid_api_key",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _given_key(scope: Scope) -> bytes:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    kind, _, value = headers.get(b"authorization", b"").partition(b" ")
    return value.strip() if kind.lower() == b"bearer" else headers.get(b"x-api-key", b"")


async def read_body(scope: Scope, receive: Receive, max_bytes: int, seconds: float) -> bytes:
    """Return the body of a request.

    Errors   ApiError 413 for a larger body, 408 for one that takes longer; ConnectionError if the client leaves.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _body(scope, receive, max_bytes)
    except TimeoutError:
        raise ApiError(408, f"got no complete body within {seconds:g} s, expected one", code="body_too_slow") from None


async def _body(scope: Scope, receive: Receive, max_bytes: int) -> bytes:
    too_large = ApiError(413, f"got a body of more than {max_bytes:,} bytes, expected a smaller one", code="body_too_large")
    length = dict(scope["headers"]).get(b"content-length", b"0")
    if length.isdigit() and int(length[:20]) > max_bytes:
        raise too_large
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > max_bytes:
            raise too_large
        if not message.get("more_body"):
            return b"".join(parts)


def check_content_type(scope: Scope) -> None:
    """Raise a 415 for a body that is declared as something else than JSON: pages can send such bodies to any server."""
    kind = dict(scope["headers"]).get(b"content-type", b"").decode("latin-1").split(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(415, f"got content-type {kind!r:.100}, expected application/json", code="unsupported_media_type")
