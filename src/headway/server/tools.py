"""Tools of a chat request: their place in the template, the parser of the answer, and a grammar if a call is required."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from headway.language_model.grammar import json_rule
from headway.server.errors import invalid, not_built
from headway.server.message import MessageBuilder
from headway.server.served_model import ServedModel
from headway.server.tool_calls import parser
from headway.server.wire import ChatRequest, NamedToolChoice, Tool

MAX_CALLS = 16
"""Most calls in an answer that must call a tool; a weak model would otherwise call without end."""


OTHER_FORMATS = ("<function=", "<arg_key>")
"""Marks of formats that are not JSON: those of Qwen3-Coder and GLM."""


@dataclass(frozen=True)
class ToolUse:
    """Tools that an answer may call.

    definitions   as chat templates read them
    new_message   returns the builder of one choice's message
    grammar       Lark grammar of the answer; None if it need not call a tool
    """

    definitions: Sequence[Mapping[str, object]]
    new_message: Callable[[], MessageBuilder]
    grammar: str | None = None


def tool_use(served: ServedModel, body: ChatRequest) -> ToolUse | None:
    """Return the tools of a request; None if it has none, or forbids calls.

    Errors   ApiError for a model whose template has no tools, for a choice of no tool of the request, and for two constraints.
    """
    tools, choice = body.tools or [], body.tool_choice
    if not tools and choice not in (None, "none", "auto"):
        raise invalid("got tool_choice without tools, expected tools to choose from", "tool_choice")
    if not tools or choice == "none":
        return None
    kind = call_format(served.template)
    if kind is None:
        raise not_built("tools", f"the chat template of {served.name} has no tools in the format of Hermes, Llama 3 or Mistral")
    names = [tool.function.name for tool in tools]
    if len(set(names)) < len(names):
        raise invalid("got two tools of the same name, expected different names", "tools")
    if body.constraint:
        raise invalid(f"got tools and {body.constraint}, expected one of them; or tool_choice: 'none'", body.constraint)
    if isinstance(choice, NamedToolChoice):
        allowed = [tool for tool in tools if tool.function.name == choice.function.name]
        if not allowed:
            raise invalid(f"got tool_choice {choice.function.name!r}, expected one of {', '.join(names)}", "tool_choice")
    else:
        allowed = tools
    is_single = body.parallel_tool_calls is False or isinstance(choice, NamedToolChoice)
    return ToolUse(
        [definition(tool) for tool in tools],
        partial(parser, kind, names, max_calls=1 if is_single else None),
        None if choice in (None, "auto") else call_grammar(kind, allowed, 1 if is_single else MAX_CALLS),
    )


def call_format(template: str) -> str | None:
    """Return the format in which a chat template asks for calls; None for a template without tools, or an unknown format."""
    if not re.search(r"\btools\b", template) or any(mark in template for mark in OTHER_FORMATS):
        return None
    marks = {"hermes": "<tool_call>", "mistral": "[TOOL_CALLS]", "llama3": '"parameters"'}
    return next((kind for kind, mark in marks.items() if mark in template), None)


def call_grammar(kind: str, tools: Sequence[Tool], max_calls: int) -> str:
    """Return the Lark grammar of an answer that calls tools and has no other text."""
    key = "parameters" if kind == "llama3" else "arguments"
    # Each tool has its own JSON rule: references within its parameters are relative to them.
    rules = [f"call: {' | '.join(f'call_{number}' for number in range(len(tools)))}"]
    for number, tool in enumerate(tools):
        before = json.dumps(f'{{"name": "{tool.function.name}", "{key}": ')
        rules += [
            f'call_{number}: {before} json_{number} "}}"',
            f"json_{number}: {json_rule({'type': 'object', **(tool.function.parameters or {})})}",
        ]
    begin, between, end = {
        "hermes": ("<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>"),
        "llama3": ("", "; ", ""),
        "mistral": ("[", ", ", "]"),
    }[kind]
    more = f"({json.dumps(between)} call){{0,{max_calls - 1}}}" if max_calls > 1 else ""
    parts = [json.dumps(begin) if begin else "", "call", more, json.dumps(end) if end else ""]
    return "\n".join([f"start: {' '.join(part for part in parts if part)}", *rules])


def template_calls(calls: Sequence[Any] | None) -> list[dict[str, object]] | None:
    """Return the calls of an assistant's message as chat templates read them: with the arguments as an object."""
    return [
        {"type": "function", "id": call.id, "function": {"name": call.function.name, "arguments": _arguments(call.function.arguments)}}
        for call in calls or ()
    ] or None


def arguments_object(text: str) -> object:
    """Return the arguments of a generated call as an object; {} if they are not complete."""
    value = _arguments(text)
    return value if isinstance(value, dict) else {}


def _arguments(text: str) -> object:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def definition(tool: Tool) -> dict[str, object]:
    """Return a tool as chat templates read it."""
    function = {"name": tool.function.name, "description": tool.function.description or "", "parameters": tool.function.parameters or {}}
    return {"type": "function", "function": function}
