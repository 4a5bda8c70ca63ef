"""Errors in responses: a status code, and an object with the four keys that clients read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from headway.errors import (
    DeadlineError,
    HeadwayError,
    OptionError,
    OverloadedError,
    PromptError,
    ResourceError,
    TokenIdError,
    TokenizerError,
)

CLIENT_ERRORS = (OptionError, PromptError, TokenIdError, TokenizerError)
"""Errors of the engine, the tokenizer and the options that the request itself causes."""

WIRE_NAMES = {
    "max_new_tokens": "max_tokens",
    "min_new_tokens": "min_tokens",
    "ignore_end": "ignore_eos",
    "num_log_probs": "logprobs",
    "json_schema": "response_format",
}
"""Wire names of generation options that are called differently in Python."""


@dataclass(eq=False)
class ApiError(Exception):
    """An error that a client sees.

    status   HTTP status code
    param    the field of the request that is wrong
    headers  more headers of the response, such as Retry-After
    details  more keys of the error object
    """

    status: int
    message: str
    type: str = "invalid_request_error"
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message

    def body(self) -> dict[str, object]:
        """Return the JSON object of the response: OpenAI's four keys, and the details."""
        keys = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return {"error": {**keys, **self.details}}


def invalid(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    """Return a 400 about a field of the request."""
    return ApiError(400, message, param=param, code=code)


def not_built(param: str, reason: str) -> ApiError:
    """Return a 400 for a field that would change the result and is not supported."""
    return invalid(f"got {param}, which is not supported: {reason}", param, "unsupported_parameter")


def context_exceeded(num_prompt_tokens: int, max_seq_len: int, param: str) -> ApiError:
    """Return a 400 for a prompt that leaves no room for a completion."""
    return ApiError(
        400,
        f"got a prompt of {num_prompt_tokens} tokens, which exceeds the available context size of {max_seq_len} tokens, expected at most "
        f"{max_seq_len - 1}; the context also holds the completion",
        type="exceed_context_size_error",
        code="context_length_exceeded",
        param=param,
        details={"n_prompt_tokens": num_prompt_tokens, "n_ctx": max_seq_len},
    )


def overloaded(message: str, retry_after_seconds: float) -> ApiError:
    """Return a 429 with the time after which a retry may succeed."""
    seconds = str(max(1, min(120, round(retry_after_seconds))))
    return ApiError(429, message, type="rate_limit_error", code="rate_limit_exceeded", headers={"Retry-After": seconds})


def unavailable(message: str, code: str = "unavailable") -> ApiError:
    """Return a 503 for a server that is loading, draining or broken."""
    return ApiError(503, message, type="server_error", code=code, headers={"Retry-After": "5"})


def timed_out(seconds: float) -> ApiError:
    """Return a 504 for a request that took longer than its limit. A retry would take as long, so clients must not repeat it."""
    message = f"the request took longer than {seconds:g} s"
    return ApiError(504, message, type="server_error", code="timeout", headers={"x-should-retry": "false"})


def internal() -> ApiError:
    """Return a 500 that tells a client nothing about the cause."""
    return ApiError(500, "internal error; the server's log has the details", type="server_error", code="internal_error")


def from_exception(error: BaseException) -> ApiError:
    """Return the error that a client sees for any exception."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, msgspec.ValidationError):
        return _from_validation(str(error))
    if isinstance(error, msgspec.MsgspecError | UnicodeError | RecursionError):
        return invalid(f"got a body that is not JSON ({str(error)[:200]}), expected a JSON object", code="invalid_json")
    if isinstance(error, CLIENT_ERRORS):
        found = re.match(r"got (?:(\w+)=|(json_schema|regex|grammar)\b)", str(error))
        name = (found[1] or found[2]) if found else ""
        hint = f" ({error.hint})" if error.hint else ""
        return invalid(f"{error}{hint}", WIRE_NAMES.get(name, name) or None)
    if isinstance(error, OverloadedError):
        return overloaded(str(error), 1)
    if isinstance(error, DeadlineError):
        return ApiError(504, str(error), type="server_error", code="timeout")
    if isinstance(error, ResourceError):
        return unavailable(str(error), "out_of_memory")
    if isinstance(error, HeadwayError):
        return ApiError(500, str(error), type="server_error", code="internal_error")
    return internal()


def _from_validation(message: str) -> ApiError:
    """Return the error of a body with a wrong field, which msgspec describes as "… - at `$.messages[0].role`"."""
    reason, _, path = message.partition(" - at `")
    param = path.removesuffix("`").removeprefix("$").removeprefix(".") or None
    field_name = re.search(r"field `([^`]+)`", reason)
    if field_name:
        param = f"{param}.{field_name[1]}" if param else field_name[1]
        if "unknown field" in reason:
            return invalid(f"got {param}, which is not supported", param, "unsupported_parameter")
    where = f" in {param}" if param else ""
    return invalid(f"got a wrong value{where}: {reason[:300]}", param, "invalid_value")
