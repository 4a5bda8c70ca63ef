"""Settings of a server."""

from __future__ import annotations

from dataclasses import dataclass

from headway.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a server.

    api_keys              accepted keys; none of them: everybody may call
    accept_any_model      serve the first model under every name
    max_waiting           choices that may wait for their first token before further requests get 429
    max_waiting_tokens    prompt tokens of these
    timeout_seconds       time from arrival after which a request ends with an error
    drain_seconds         time that running requests have to finish after SIGTERM
    ping_seconds          time without an event after which a stream sends a comment
    max_body_bytes        larger bodies get 413
    allowed_hosts         names that the Host header may have, with any port; none of them: every name
    cors_origins          origins whose pages may call the server; "*" is every origin
    model_bytes           memory of the models that are loaded on demand, with their KV caches; None for no bound
    has_look              serve the page of headway look, which needs memory for the weights in float32
    """

    api_keys: tuple[str, ...] = ()
    accept_any_model: bool = False
    max_waiting: int = 256
    max_waiting_tokens: int = 1_000_000
    timeout_seconds: float = 600.0
    drain_seconds: float = 30.0
    ping_seconds: float = 15.0
    max_body_bytes: int = 8 * 1024 * 1024
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    model_bytes: int | None = None
    has_look: bool = False

    def __post_init__(self) -> None:
        """Check the times.

        Errors   OptionError for a time that is negative or not a number.
        """
        for name in ("timeout_seconds", "drain_seconds", "ping_seconds"):
            if not getattr(self, name) >= 0:
                raise OptionError(f"got {name}={getattr(self, name)}, expected at least 0")
