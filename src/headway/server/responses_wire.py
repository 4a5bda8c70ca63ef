"""The body of OpenAI's Responses API, and its translation to a chat request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from headway.server.errors import invalid, not_built
from headway.server.wire import (
    MAX_MESSAGES,
    MAX_TOKENS,
    MAX_TOOLS,
    ChatRequest,
    FunctionCall,
    FunctionDefinition,
    FunctionName,
    JsonObjectFormat,
    JsonSchemaFormat,
    Message,
    Name,
    NamedSchema,
    NamedToolChoice,
    TextFormat,
    Tool,
    ToolCall,
)


class InputPart(Struct, tag_field="type", tag="input_text"):
    """Text of a user."""

    text: str


class OutputPart(Struct, tag_field="type", tag="output_text"):
    """Text of the assistant, as an earlier response returned it."""

    text: str


class InputMessage(Struct):
    """A message of the input; ids and statuses of earlier responses have no effect."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[InputPart | OutputPart]


class InputCall(Struct):
    """A call of a function by the model, as an earlier response returned it."""

    call_id: Name
    name: Name
    arguments: str


class InputResult(Struct):
    """The result of a call."""

    call_id: Name
    output: str | list[InputPart]


class InputReasoning(Struct):
    """Earlier thoughts, which are not shown to the model again."""


Item = InputMessage | InputCall | InputResult | InputReasoning
ITEMS: dict[str, type[Item]] = {
    "message": InputMessage,
    "function_call": InputCall,
    "function_call_output": InputResult,
    "reasoning": InputReasoning,
}
"""The items of an input by type; one without a type is a message."""


class PlainFormat(Struct, tag="text", forbid_unknown_fields=True):
    """Any text."""


class ObjectFormat(Struct, tag="json_object", forbid_unknown_fields=True):
    """Any JSON object."""


class SchemaFormat(Struct, tag="json_schema", forbid_unknown_fields=True, omit_defaults=True):
    """JSON that is valid under a schema, which is followed strictly."""

    schema: dict[str, Any]
    name: Name | None = None
    description: str | None = None
    strict: bool | None = None


class TextSettings(Struct, forbid_unknown_fields=True):
    """Settings of the answer's text."""

    format: PlainFormat | ObjectFormat | SchemaFormat | None = None
    verbosity: None = None


class FunctionTool(Struct):
    """A function that the model may call; tools of other types are OpenAI's own."""

    type: str
    name: Name = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class NamedChoice(Struct, forbid_unknown_fields=True):
    """The function that the model has to call."""

    type: Literal["function"]
    name: Name


class ResponsesRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/responses."""

    input: str | Annotated[list[dict[str, Any]], Meta(max_length=MAX_MESSAGES)] = ""
    model: Name | None = None
    instructions: str | None = None
    max_output_tokens: Annotated[int, Meta(ge=1, le=MAX_TOKENS)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    stream: bool | None = None
    text: TextSettings | None = None
    tools: Annotated[list[FunctionTool], Meta(max_length=MAX_TOOLS)] | None = None
    tool_choice: Literal["none", "auto", "required"] | NamedChoice | None = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    conversation: None = None
    background: bool | None = None
    reasoning: None = None
    truncation: Literal["disabled"] | None = None
    include: list[str] | None = None
    # Accepted without effect.
    metadata: dict[str, str] | None = None
    store: bool | None = None
    user: Name | None = None
    service_tier: str | None = None
    safety_identifier: Name | None = None
    prompt_cache_key: Name | None = None
    prompt_cache_retention: str | None = None
    stream_options: dict[str, Any] | None = None

    def chat(self) -> ChatRequest:
        """Return the input as a chat request.

        Errors   ApiError for an item that is wrong, and for fields that are not supported.
        """
        if self.previous_response_id:
            raise not_built("previous_response_id", "responses are not stored; send the earlier messages in input")
        if self.background:
            raise not_built("background", "responses are not stored")
        if "message.output_text.logprobs" in (self.include or ()):
            raise not_built("include", "there are no log-probabilities here; use /v1/chat/completions")
        system = [Message(role="system", content=self.instructions)] if self.instructions else []
        user = [Message(role="user", content=self.input)] if isinstance(self.input, str) else _messages(self.input)
        tools = self.functions()
        if any(not re.fullmatch("[a-zA-Z0-9_.-]{1,64}", tool.name) for tool in tools):
            raise invalid("got a function with a wrong name, expected 1 to 64 letters, digits, _, . or -", "tools")
        choice = self.tool_choice
        return ChatRequest(
            model=self.model,
            messages=[*system, *user],
            max_tokens=self.max_output_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            tools=[Tool(FunctionDefinition(tool.name, tool.description, tool.parameters, tool.strict)) for tool in tools] or None,
            tool_choice=NamedToolChoice(FunctionName(choice.name)) if isinstance(choice, NamedChoice) else choice,
            parallel_tool_calls=self.parallel_tool_calls,
            response_format=self._format(),
        )

    def functions(self) -> list[FunctionTool]:
        """Return the functions among the tools.

        Clients offer tools that OpenAI runs, such as web_search, to every server; a model that does not know them answers without.
        """
        return [tool for tool in self.tools or () if tool.type == "function"]

    def _format(self) -> TextFormat | JsonObjectFormat | JsonSchemaFormat | None:
        given = self.text.format if self.text else None
        if isinstance(given, SchemaFormat):
            return JsonSchemaFormat(NamedSchema(given.schema, given.name))
        return JsonObjectFormat() if isinstance(given, ObjectFormat) else None


def _messages(values: Sequence[dict[str, Any]]) -> list[Message]:
    """Return items as chat messages; calls that follow a message of the assistant, or one another, are one message."""
    found: list[Message] = []
    for number, value in enumerate(values):
        item = _item(number, value)
        if isinstance(item, InputMessage):
            found.append(Message(role=item.role, content=_text(item.content)))
        elif isinstance(item, InputResult):
            found.append(Message(role="tool", content=_text(item.output), tool_call_id=item.call_id))
        elif isinstance(item, InputCall):
            if not found or found[-1].role != "assistant":
                found.append(Message(role="assistant"))
            call = ToolCall(FunctionCall(item.name, item.arguments), item.call_id)
            found[-1].tool_calls = [*(found[-1].tool_calls or ()), call]
    return found


def _item(number: int, value: dict[str, Any]) -> Item:
    kind = value.get("type", "message")
    if not isinstance(kind, str) or kind not in ITEMS:
        raise invalid(f"got an input of type {kind!r:.100}, expected one of {', '.join(ITEMS)}", f"input[{number}].type")
    try:
        item: Item = msgspec.convert(value, ITEMS[kind])
    except msgspec.ValidationError as error:
        raise invalid(f"got a wrong value in input[{number}]: {error!s:.300}", f"input[{number}]", "invalid_value") from None
    return item


def _text(content: str | Sequence[InputPart | OutputPart]) -> str:
    return content if isinstance(content, str) else "\n".join(part.text for part in content)
