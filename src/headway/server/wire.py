"""Bodies of requests, with their bounds. Every number has one, checked before anything is allocated.

A field that is not here would change the result and is not supported: it is a 400 that names it. The fields of `Ignored` are accepted and
have no effect on the result.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from headway.server.errors import invalid

MAX_CHOICES = 16
MAX_PROMPTS = 256
MAX_MESSAGES = 4096
MAX_STOPS = 16
MAX_LOG_PROBS = 20
MAX_TOKENS = 10_000_000
MAX_GRAMMAR = 256 * 1024
MAX_TOOLS = 128

Tokens = Annotated[int, Meta(ge=1, le=MAX_TOKENS)]
TokenIds = Annotated[list[Annotated[int, Meta(ge=0, lt=2**31)]], Meta(min_length=1)]
Name = Annotated[str, Meta(max_length=512)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Stop = Annotated[str, Meta(min_length=1, max_length=4096)]


class TextFormat(Struct, tag="text", forbid_unknown_fields=True):
    """Any text."""


class JsonObjectFormat(Struct, tag="json_object", forbid_unknown_fields=True):
    """Any JSON object."""


class NamedSchema(Struct, forbid_unknown_fields=True):
    """A JSON Schema with a name. Every schema is followed strictly."""

    schema: dict[str, Any]
    name: Name | None = None
    description: str | None = None
    strict: bool | None = None


class JsonSchemaFormat(Struct, tag="json_schema", forbid_unknown_fields=True):
    """JSON that is valid under a schema."""

    json_schema: NamedSchema


Grammar = Annotated[str, Meta(min_length=1, max_length=MAX_GRAMMAR)]


class Sampling(Struct, kw_only=True, forbid_unknown_fields=True):
    """Fields of all generations: OpenAI's, and ours under vLLM's names."""

    model: Name | None = None
    n: Annotated[int, Meta(ge=1, le=MAX_CHOICES)] | None = None
    max_tokens: Tokens | None = None
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: Annotated[dict[str, Annotated[float, Meta(ge=-100, le=100)]], Meta(max_length=4096)] | None = None
    stop: Stop | Annotated[list[Stop], Meta(max_length=MAX_STOPS)] | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    top_k: Annotated[int, Meta(ge=-1, le=2**31)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    typical_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    repetition_penalty: Annotated[float, Meta(ge=0.01, le=100)] | None = None
    min_tokens: Annotated[int, Meta(ge=0, le=MAX_TOKENS)] | None = None
    ignore_eos: bool | None = None
    response_format: TextFormat | JsonObjectFormat | JsonSchemaFormat | None = None
    regex: Grammar | None = None
    grammar: Grammar | None = None
    cache_salt: Name | None = None
    priority: Annotated[int, Meta(ge=-(2**31), le=2**31)] | None = None
    # Accepted without effect: they are about accounts, billing and storage.
    user: Name | None = None
    metadata: dict[str, Any] | None = None
    store: bool | None = None
    service_tier: str | None = None
    safety_identifier: Name | None = None
    prompt_cache_key: Name | None = None
    prompt_cache_retention: str | None = None

    def generation_options(self) -> dict[str, object]:
        """Return the keywords of `LanguageModel.generate`; None turns off what the model's files set."""
        given: dict[str, object] = {
            "max_new_tokens": self.max_tokens,
            "temperature": None if self.temperature is None else 0.0 if self.temperature < 1e-6 else self.temperature,
            "top_p": None if self.top_p is None else max(self.top_p, 1e-6),
            "presence_penalty": self.presence_penalty or None,
            "frequency_penalty": self.frequency_penalty or None,
            "logit_bias": self._logit_bias() or None,
            "stop": ([self.stop] if isinstance(self.stop, str) else self.stop) or None,
            "seed": None if self.seed is None else self.seed % 2**64,
            "typical_p": self.typical_p,
            "repetition_penalty": self.repetition_penalty,
            "min_new_tokens": self.min_tokens,
            "ignore_end": self.ignore_eos,
            "json_schema": self._json_schema(),
            "regex": self.regex,
            "grammar": self.grammar,
        }
        given = {name: value for name, value in given.items() if value is not None}
        # 0 and -1 turn off what the model's files set.
        if self.top_k is not None:
            given["top_k"] = self.top_k if self.top_k > 0 else None
        if self.min_p is not None:
            given["min_p"] = max(self.min_p, 1e-6) if self.min_p else None
        return given

    @property
    def constraint(self) -> str | None:
        """Name of the field that constrains the text; None if there is none."""
        if self._json_schema() is not None:
            return "response_format"
        return next((name for name in ("regex", "grammar") if getattr(self, name) is not None), None)

    @property
    def has_grammar(self) -> bool:
        """True if a grammar has to be compiled, which takes time."""
        return self.constraint is not None

    def _json_schema(self) -> dict[str, Any] | None:
        if isinstance(self.response_format, JsonObjectFormat):
            return {"type": "object"}
        return self.response_format.json_schema.schema if isinstance(self.response_format, JsonSchemaFormat) else None

    def _logit_bias(self) -> dict[int, float]:
        try:
            return {int(token_id): bias for token_id, bias in (self.logit_bias or {}).items()}
        except ValueError:
            raise invalid("got logit_bias with a key that is no integer, expected token ids", "logit_bias") from None


class StreamOptions(Struct, forbid_unknown_fields=True):
    """Options of a streamed response."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None  # pads events with random text at OpenAI; there is none here


class ChatTemplateOptions(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Variables of chat templates that a request may set."""

    enable_thinking: bool | None = None
    thinking: bool | None = None


class TextPart(Struct, tag="text", forbid_unknown_fields=True):
    """Text within a message."""

    text: str


class RefusalPart(Struct, tag="refusal", forbid_unknown_fields=True):
    """A refusal within a message of the assistant."""

    refusal: str


class FunctionCall(Struct, forbid_unknown_fields=True):
    """Name and JSON arguments of a call in an assistant's message."""

    name: Name
    arguments: str


class ToolCall(Struct, forbid_unknown_fields=True):
    """A call in an assistant's message."""

    function: FunctionCall
    id: Name | None = None
    type: Literal["function"] = "function"
    index: int | None = None


class Message(Struct, kw_only=True, forbid_unknown_fields=True):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[TextPart | RefusalPart] | None = None
    name: Name | None = None
    tool_calls: Annotated[list[ToolCall], Meta(max_length=128)] | None = None
    tool_call_id: Name | None = None
    reasoning_content: str | None = None
    # Clients send an assistant's message as they received it.
    refusal: str | None = None
    annotations: list[Any] | None = None
    audio: None = None
    function_call: None = None

    @property
    def text(self) -> str | None:
        """The content as one string; parts are joined by line feeds, as in llama.cpp and vLLM."""
        if self.content is None or isinstance(self.content, str):
            return self.content
        return "\n".join(part.text if isinstance(part, TextPart) else part.refusal for part in self.content)


class FunctionDefinition(Struct, forbid_unknown_fields=True):
    """A function that the model may call."""

    name: Annotated[str, Meta(pattern="^[a-zA-Z0-9_.-]{1,64}$")]
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(Struct, forbid_unknown_fields=True):
    """A tool that the model may use."""

    function: FunctionDefinition
    type: Literal["function"] = "function"


class FunctionName(Struct, forbid_unknown_fields=True):
    """Name of a function."""

    name: Name


class NamedToolChoice(Struct, forbid_unknown_fields=True):
    """The tool that the model has to call."""

    function: FunctionName
    type: Literal["function"] = "function"


class ChatRequest(Sampling, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/chat/completions."""

    messages: Annotated[list[Message], Meta(min_length=1, max_length=MAX_MESSAGES)]
    max_completion_tokens: Tokens | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=MAX_LOG_PROBS)] | None = None
    modalities: list[Literal["text"]] | None = None
    chat_template_kwargs: ChatTemplateOptions | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    tools: Annotated[list[Tool], Meta(max_length=MAX_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedToolChoice | None = None
    parallel_tool_calls: bool | None = None

    @property
    def has_grammar(self) -> bool:
        """See Sampling. A tool that has to be called is a grammar, too."""
        return self.constraint is not None or (bool(self.tools) and self.tool_choice not in (None, "none", "auto"))

    def generation_options(self) -> dict[str, object]:
        """Return the keywords of `LanguageModel.generate`."""
        options = super().generation_options()
        if self.max_completion_tokens is not None:
            options["max_new_tokens"] = self.max_completion_tokens
        if self.top_logprobs is not None and not self.logprobs:
            raise invalid("got top_logprobs without logprobs, expected logprobs: true with it", "top_logprobs")
        if self.logprobs:
            options["num_log_probs"] = self.top_logprobs or 0
        return options


class CompletionRequest(Sampling, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/completions. max_tokens may be 0: with echo and logprobs that scores a text."""

    max_tokens: Annotated[int, Meta(ge=0, le=MAX_TOKENS)] | None = None
    prompt: str | list[Any] = ""
    echo: bool | None = None
    best_of: Annotated[int, Meta(ge=1, le=MAX_CHOICES)] | None = None
    logprobs: Annotated[int, Meta(ge=0, le=MAX_LOG_PROBS)] | None = None
    suffix: str | None = None

    def generation_options(self) -> dict[str, object]:
        """Return the keywords of `LanguageModel.generate`; OpenAI's default of max_tokens is 16."""
        options = {"max_new_tokens": 16, **super().generation_options()}
        options["max_new_tokens"] = options["max_new_tokens"] or 1
        if self.logprobs is not None:
            options["num_log_probs"] = self.logprobs
        return options


class EmbeddingRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/embeddings."""

    input: str | list[Any]
    model: Name | None = None
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1, le=65536)] | None = None
    user: Name | None = None


class TokenizeRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /tokenize: `content` as in llama.cpp, `prompt` or `messages` as in vLLM."""

    content: str | None = None
    prompt: str | None = None
    messages: Annotated[list[Message], Meta(min_length=1, max_length=MAX_MESSAGES)] | None = None
    model: Name | None = None
    add_special: bool | None = None
    add_special_tokens: bool | None = None
    with_pieces: bool | None = None


class DetokenizeRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /detokenize."""

    tokens: list[Annotated[int, Meta(ge=0, lt=2**31)]]
    model: Name | None = None


class TemplateRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /apply-template."""

    messages: Annotated[list[Message], Meta(min_length=1, max_length=MAX_MESSAGES)]
    model: Name | None = None
    add_generation_prompt: bool = True
    tools: Annotated[list[Tool], Meta(max_length=MAX_TOOLS)] | None = None
    chat_template_kwargs: ChatTemplateOptions | None = None


_Body = TypeVar("_Body")
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


def decode(kind: type[_Body], body: bytes) -> _Body:
    """Return the body of a request.

    Errors   msgspec.MsgspecError, UnicodeError or RecursionError for a body that is not JSON or has wrong fields.
    """
    if kind not in _decoders:
        _decoders[kind] = msgspec.json.Decoder(kind)
    value: _Body = _decoders[kind].decode(body)
    return value


def prompts_of(value: str | list[Any], param: str) -> list[str | list[int]]:
    """Return the prompts of a body: a text, a list of texts, token ids, or a list of lists of token ids.

    Errors   ApiError for anything else, for no prompts, and for too many.
    """
    if isinstance(value, str):
        return [value]
    for kind in (TokenIds, list[str], list[TokenIds]):
        try:
            converted: Any = msgspec.convert(value, kind)
        except msgspec.ValidationError:
            continue
        prompts = [converted] if kind is TokenIds else converted
        if 1 <= len(prompts) <= MAX_PROMPTS:
            return prompts
    raise invalid(f"got a wrong {param}, expected a text, token ids, or a list of 1 to {MAX_PROMPTS} texts or lists of token ids", param)
