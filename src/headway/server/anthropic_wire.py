"""Bodies of Anthropic's Messages API, and their translation to chat requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from headway.server.errors import invalid, not_built
from headway.server.wire import (
    MAX_MESSAGES,
    MAX_STOPS,
    MAX_TOKENS,
    MAX_TOOLS,
    ChatRequest,
    ChatTemplateOptions,
    FunctionCall,
    FunctionDefinition,
    FunctionName,
    JsonSchemaFormat,
    Message,
    Name,
    NamedSchema,
    NamedToolChoice,
    Stop,
    Tool,
    ToolCall,
)


class TextBlock(Struct, tag="text"):
    """Text within a message; cache_control and citations have no effect."""

    text: str


class ThinkingBlock(Struct, tag="thinking"):
    """Earlier thoughts of the model. Its chat template decides which of them it reads again."""

    thinking: str = ""


class RedactedThinkingBlock(Struct, tag="redacted_thinking"):
    """Earlier thoughts that nobody can read."""


class ImageBlock(Struct, tag="image"):
    """An image, which no model here reads."""


class DocumentBlock(Struct, tag="document"):
    """A document, which no model here reads."""


class ToolUseBlock(Struct, tag="tool_use"):
    """A call in an assistant's message."""

    id: Name
    name: Name
    input: dict[str, Any]


class ToolResultBlock(Struct, tag="tool_result"):
    """The result of a call, in a user's message."""

    tool_use_id: Name
    content: str | list[TextBlock | ImageBlock | DocumentBlock] | None = None
    is_error: bool | None = None


Block = TextBlock | ThinkingBlock | RedactedThinkingBlock | ImageBlock | DocumentBlock | ToolUseBlock | ToolResultBlock


class AnthropicMessage(Struct, forbid_unknown_fields=True):
    """A message of a conversation."""

    role: Literal["user", "assistant", "system"]
    content: str | list[Block]

    def messages(self) -> list[Message]:
        """Return the message as chat messages: results of calls are messages of their own, and come first."""
        if isinstance(self.content, str):
            return [Message(role=self.role, content=self.content)]
        results = [
            Message(role="tool", content=_text(block.content), tool_call_id=block.tool_use_id)
            for block in self.content
            if isinstance(block, ToolResultBlock)
        ]
        calls = [
            ToolCall(FunctionCall(block.name, msgspec.json.encode(block.input).decode()), block.id)
            for block in self.content
            if isinstance(block, ToolUseBlock)
        ]
        text = _text([block for block in self.content if isinstance(block, TextBlock | ImageBlock | DocumentBlock)])
        thoughts = "\n".join(block.thinking for block in self.content if isinstance(block, ThinkingBlock))
        if results and not text and not calls:
            return results
        return [*results, Message(role=self.role, content=text, tool_calls=calls or None, reasoning_content=thoughts or None)]


class Thinking(Struct):
    """Extended thinking, for templates that have a switch for it. The budget has no effect."""

    type: Literal["enabled", "disabled", "adaptive"]


class AnthropicTool(Struct):
    """A tool that the model may call; `type` names tools that Anthropic itself runs."""

    name: Annotated[str, Meta(pattern="^[a-zA-Z0-9_.-]{1,64}$")]
    input_schema: dict[str, Any] | None = None
    description: str | None = None
    type: str | None = None


class ToolChoice(Struct):
    """The use of tools that a request wants."""

    type: Literal["auto", "any", "tool", "none"]
    name: Name | None = None
    disable_parallel_tool_use: bool | None = None

    def choice(self) -> Literal["none", "auto", "required"] | NamedToolChoice:
        """Return the choice of a chat request."""
        if self.type == "tool":
            return NamedToolChoice(FunctionName(self.name or ""))
        return "required" if self.type == "any" else self.type


class OutputFormat(Struct, tag="json_schema", forbid_unknown_fields=True):
    """JSON that is valid under a schema."""

    schema: dict[str, Any]


class OutputConfig(Struct, forbid_unknown_fields=True):
    """The form of the answer."""

    format: OutputFormat | None = None


class CountRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/messages/count_tokens, and the part that both bodies share."""

    messages: Annotated[list[AnthropicMessage], Meta(min_length=1, max_length=MAX_MESSAGES)]
    model: Name | None = None
    system: str | list[TextBlock] | None = None
    thinking: Thinking | None = None
    tools: Annotated[list[AnthropicTool], Meta(max_length=MAX_TOOLS)] | None = None
    tool_choice: ToolChoice | None = None
    output_config: OutputConfig | None = None

    def chat(self) -> ChatRequest:
        """Return the conversation as a chat request.

        Errors   ApiError for images, documents and tools that Anthropic runs.
        """
        system = [Message(role="system", content=_text(self.system))] if self.system else []
        schema = self.output_config.format if self.output_config else None
        return ChatRequest(
            model=self.model,
            messages=[*system, *(each for message in self.messages for each in message.messages())],
            tools=[_tool(tool) for tool in self.tools] if self.tools else None,
            tool_choice=self.tool_choice.choice() if self.tool_choice else None,
            parallel_tool_calls=False if self.tool_choice and self.tool_choice.disable_parallel_tool_use else None,
            chat_template_kwargs=ChatTemplateOptions(enable_thinking=self.thinking.type != "disabled") if self.thinking else None,
            response_format=JsonSchemaFormat(NamedSchema(schema.schema)) if schema else None,
        )


class MessagesRequest(CountRequest, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/messages."""

    max_tokens: Annotated[int, Meta(ge=1, le=MAX_TOKENS)]
    stop_sequences: Annotated[list[Stop], Meta(max_length=MAX_STOPS)] | None = None
    stream: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    # Accepted without effect.
    metadata: dict[str, Any] | None = None
    service_tier: str | None = None

    def chat(self) -> ChatRequest:
        """Return the conversation as a chat request."""
        request = super().chat()
        request.max_tokens, request.stop = self.max_tokens, self.stop_sequences
        request.temperature, request.top_p, request.top_k = self.temperature, self.top_p, self.top_k
        return request


def _tool(tool: AnthropicTool) -> Tool:
    if tool.type not in (None, "custom"):
        raise not_built("tools", f"the tool {tool.type!r:.100} runs at Anthropic; leave it out")
    return Tool(FunctionDefinition(tool.name, tool.description, tool.input_schema))


def _text(content: str | Sequence[TextBlock | ImageBlock | DocumentBlock] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if any(not isinstance(part, TextBlock) for part in content):
        raise invalid("got an image or a document, expected text: image input is not supported by the models here", "messages")
    return "\n".join(part.text for part in content if isinstance(part, TextBlock))
