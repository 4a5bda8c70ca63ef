"""Tool calls in generated text: formats, and independence of where the text is cut."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.server.tool_calls import parser

TOOLS = ("weather", "search")
HERMES = '<tool_call>\n{"name": "weather", "arguments": {"city": "Köln", "days": [1, {"a": "}"}]}}\n</tool_call>'
SEARCH = '<tool_call>{"arguments": {"q": "a \\"b\\" <c>"}, "name": "search"}</tool_call>'
WEATHER_ARGUMENTS = {"city": "Köln", "days": [1, {"a": "}"}]}
CASES: list[tuple[str, str, str | None, list[tuple[str, Any]]]] = [
    ("hermes", HERMES, None, [("weather", WEATHER_ARGUMENTS)]),
    ("hermes", f"Let me look.\n{HERMES}\n{SEARCH}\n", "Let me look.", [("weather", WEATHER_ARGUMENTS), ("search", {"q": 'a "b" <c>'})]),
    ("hermes", f"{HERMES}\n\nDone  and\ndone.\n", "Done  and\ndone.", [("weather", WEATHER_ARGUMENTS)]),
    ("hermes", "No call here: 1 < 2 and <tool> \n", "No call here: 1 < 2 and <tool> \n", []),
    ("hermes", '<tool_call>{"name": "unknown", "arguments": {}}</tool_call>', '{"name": "unknown", "arguments": {}}', []),
    ("hermes", '<tool_call>{"name": "search"}</tool_call>', None, [("search", {})]),
    ("hermes", '<tool_call>{"name": "search", "arguments": "{\\"q\\": 1}"}</tool_call>', None, [("search", {"q": 1})]),
    ("hermes", '<tool_call>{"name": "search", "arguments": {"q": 1}</tool_call>ok', "ok", [("search", '{"q": 1}')]),
    ("llama3", '{"name": "weather", "parameters": {"city": "x"}}', None, [("weather", {"city": "x"})]),
    (
        "llama3",
        '<|python_tag|>{"name": "weather", "parameters": {}}; {"name": "search", "parameters": {"q": "y;"}}',
        None,
        [("weather", {}), ("search", {"q": "y;"})],
    ),
    ("llama3", '{"answer": 42, "name": 7} is JSON.', '{"answer": 42, "name": 7} is JSON.', []),
    ("llama3", "{not JSON}", "{not JSON}", []),
    ("llama3", "Hello {", "Hello {", []),
    ("mistral", '[TOOL_CALLS][{"name": "search", "arguments": {"q": "[1]"}}]', None, [("search", {"q": "[1]"})]),
    (
        "mistral",
        'Sure. [TOOL_CALLS] [{"name": "search", "arguments": {}}, {"name": "weather", "arguments": {"city": "a"}}]',
        "Sure.",
        [("search", {}), ("weather", {"city": "a"})],
    ),
    ("mistral", ' [{"name": "search", "arguments": {}}]', None, [("search", {})]),
    ("mistral", "[1, 2] is a list", "[1, 2] is a list", []),
    ("mistral", '[{"a": 1}, {"b": 2}]', '[{"a": 1}, {"b": 2}]', []),
]


def parse(kind: str, chunks: list[str], **options: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The whole message, and the deltas, of text in chunks; ids are replaced by numbers."""
    builder = parser(kind, TOOLS, **options)
    deltas = [delta for chunk in chunks for delta in builder.add(chunk)] + builder.flush()
    message: dict[str, Any] = builder.message()
    for number, call in enumerate(message.get("tool_calls", [])):
        assert len(call["id"]) == 9
        call["id"] = number
    return message, [dict(delta) for delta in deltas]


def merge(deltas: list[dict[str, Any]]) -> dict[str, Any]:
    """The message that a client puts together from deltas."""
    message: dict[str, Any] = {"content": "", "calls": []}
    for delta in deltas:
        message["content"] += delta.get("content") or ""
        for call in delta.get("tool_calls", ()):
            if call["index"] == len(message["calls"]):
                assert call["id"]
                assert call["type"] == "function"
                message["calls"].append([call["function"]["name"], ""])
            else:
                assert "id" not in call, "only the first delta of a call has its id"
            message["calls"][call["index"]][1] += call["function"]["arguments"]
    return message


@pytest.mark.parametrize(("kind", "text", "content", "calls"), CASES)
def test_the_formats(kind: str, text: str, content: str | None, calls: list[tuple[str, Any]]) -> None:
    message, deltas = parse(kind, [text])
    found = [(call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())]
    assert message["content"] == content
    assert [name for name, _ in found] == [name for name, _ in calls]
    for (_, arguments), (_, expected) in zip(found, calls, strict=True):
        assert expected == (arguments if isinstance(expected, str) else json.loads(arguments))
    assert merge(deltas) == {"content": content or "", "calls": [list(each) for each in found]}


def cut(text: str, places: list[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *sorted(place % (len(text) + 1) for place in places), len(text)])]


PARTS = st.sampled_from(
    [
        *('"', "{", "}", "[", "]", ",", ":", ";", "\\", " ", "\n", "<", "a"),
        *('{"name": "search", "arguments": {"q": 1}}', '{"name": "weather", "parameters": ', '"arguments": ', '{"name": "none"}'),
        *("<tool_call>", "</tool_call>", "<tool_", "[TOOL_CALLS]", "[TOOL", "<|python_tag|>", "Text. "),
    ]
)
TEXTS = st.lists(PARTS, max_size=12).map("".join) | st.sampled_from([text for _, text, _, _ in CASES])


@settings(max_examples=100)
@given(kind=st.sampled_from(["hermes", "llama3", "mistral"]), text=TEXTS, places=st.lists(st.integers(0, 200), max_size=8))
def test_the_message_does_not_depend_on_the_cuts(kind: str, text: str, places: list[int]) -> None:
    whole, deltas = parse(kind, [text])
    for chunks in (cut(text, places), list(text)):
        message, parts = parse(kind, chunks)
        assert message == whole
        assert merge(parts) == merge(deltas)
    calls = [[call["function"]["name"], call["function"]["arguments"]] for call in whole.get("tool_calls", ())]
    assert merge(deltas) == {"content": whole["content"] or "", "calls": calls}


def test_arguments_are_streamed_before_the_call_ends() -> None:
    builder = parser("hermes", TOOLS)
    assert builder.add('I look.<tool_call>{"name": "sea') == [{"content": "I look."}]
    (begun,) = builder.add('rch", "argum')
    assert begun["tool_calls"][0]["function"] == {"name": "search", "arguments": ""}  # type: ignore[index]
    assert builder.add('ents": {"q": "x') == [{"tool_calls": [{"index": 0, "function": {"arguments": '{"q": "x'}}]}]


def test_text_that_may_be_a_mark_is_held_back_only_as_long_as_needed() -> None:
    builder = parser("hermes", TOOLS)
    assert builder.add("a < b <tool") == [{"content": "a < b"}]
    assert builder.add("box> c") == [{"content": " <toolbox> c"}]


@pytest.mark.parametrize(
    ("kind", "start", "more", "end"),
    [
        ("hermes", '<tool_call>{"name": "search", "arguments": {"q": "', 'ab \\" ', '"}}</tool_call>'),
        ("llama3", '{"name": "search", "parameters": {"q": ["a"', ', {"b": [1]}', "]}}"),
        ("llama3", '{"arguments": "', "abc", '", "name": "none"}'),
        ("hermes", '<tool_call>{"name": "search", "arguments": {}}', "} x", "</tool_call>"),
        ("hermes", "text", " \n ", "text"),
        ("mistral", "[", "   ", "]"),
        ("mistral", '[{"name": "search", "arguments": {}}', ";], ", ""),
    ],
)
def test_the_time_is_linear(kind: str, start: str, more: str, end: str) -> None:
    def seconds(number: int) -> float:
        builder, began = parser(kind, TOOLS), time.process_time()
        for chunk in [*start, *[more] * number, *end]:
            builder.add(chunk)
        builder.flush()
        return time.process_time() - began

    assert min(seconds(20_000) for _ in range(2)) < 40 * max(0.002, min(seconds(2_000) for _ in range(3)))


def test_the_finish_reason_is_tool_calls_only_for_a_complete_message_with_calls() -> None:
    called, plain = parser("hermes", TOOLS), parser("hermes", TOOLS)
    called.add(HERMES)
    plain.add("text")
    assert (called.finish_reason("stop"), called.finish_reason("length")) == ("tool_calls", "length")
    assert (plain.finish_reason("stop"), plain.finish_reason("length")) == ("stop", "length")


@pytest.mark.parametrize("kind", ["hermes", "llama3", "mistral"])
def test_calls_after_the_largest_number_are_dropped(kind: str) -> None:
    call = '{"name": "search", "arguments": {"q": 1}}'
    text = {"hermes": f"<tool_call>{call}</tool_call>" * 3, "llama3": f"{call}; {call}", "mistral": f"[{call}, {call}]"}[kind]
    message, deltas = parse(kind, [text], max_calls=1)
    assert [each["function"]["name"] for each in message["tool_calls"]] == ["search"]
    assert message["content"] is None
    assert len(merge(deltas)["calls"]) == 1


def test_a_text_that_ends_inside_a_call_keeps_the_arguments_so_far() -> None:
    message, _ = parse("hermes", ['<tool_call>{"name": "search", "arguments": {"q": "unfin'])
    assert message["tool_calls"][0]["function"]["arguments"] == '{"q": "unfin'
    message, _ = parse("hermes", ['<tool_call>{"name": "sea'])
    assert message == {"role": "assistant", "content": '{"name": "sea', "refusal": None}
