"""Tools and structured output on Anthropic's Messages and OpenAI's Responses, with their own clients."""

from __future__ import annotations

import json

import anthropic
import openai
import pytest

from headway.server.anthropic_wire import MessagesRequest
from headway.server.chat import template_message
from headway.server.responses_wire import ResponsesRequest
from headway.server.served_model import ServedModel
from headway.server.wire import decode
from tests.server.conftest import running
from tests.server.test_structured_output import TEMPLATES, Search, Weather

pytest.importorskip("llguidance", reason="llguidance is not installed")

MESSAGES = [{"role": "user", "content": "Once upon a time"}]
CLAUDE_TOOLS = [
    {"name": each.__name__, "description": each.__doc__, "input_schema": each.model_json_schema()} for each in (Weather, Search)
]
FUNCTIONS = [{"type": "function", "name": each.__name__, "parameters": each.model_json_schema()} for each in (Weather, Search)]
NAMED = {"tools": CLAUDE_TOOLS, "tool_choice": {"type": "tool", "name": "Weather"}}
COMMON = {"model": "stories", "messages": MESSAGES, "max_tokens": 400, "extra_body": {"temperature": 0}}


@pytest.fixture(scope="module")
def url(stories):
    with running(ServedModel("stories", stories, TEMPLATES["hermes"])) as server:
        yield server.url


@pytest.fixture
def claude(url):
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def api(url):
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_claude_s_named_tool_is_called_and_its_input_is_streamed(claude):
    message = claude.messages.create(**COMMON, **NAMED)
    (block,) = message.content
    assert (block.type, block.name, message.stop_reason) == ("tool_use", "Weather", "tool_use")
    assert Weather.model_validate(block.input)
    with claude.messages.stream(**COMMON, **NAMED) as stream:
        parts = [event.partial_json for event in stream if event.type == "input_json"]
        final = stream.get_final_message()
    assert json.loads("".join(parts)) == block.input == final.content[0].input
    assert len(parts) > 3
    assert final.stop_reason == "tool_use"


def test_claude_may_answer_with_text_next_to_tools(claude):
    with claude.messages.stream(**{**COMMON, "max_tokens": 8}, tools=CLAUDE_TOOLS) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert [block.type for block in final.content] == ["text"]
    assert final.content[0].text == text
    assert final.stop_reason == "max_tokens"


def test_claude_s_results_are_tool_messages_after_the_call():
    body = {
        "max_tokens": 5,
        "system": "S",
        "messages": [
            {"role": "user", "content": "Weather?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "T"},
                    {"type": "tool_use", "id": "1", "name": "Weather", "input": {"days": 2}},
                ],
            },
            {"role": "user", "content": [{"type": "text", "text": "Go on"}, {"type": "tool_result", "tool_use_id": "1", "content": "Sun"}]},
        ],
    }
    chat = decode(MessagesRequest, json.dumps(body).encode()).chat()
    call = {"type": "function", "id": "1", "function": {"name": "Weather", "arguments": {"days": 2}}}
    assert [template_message(message) for message in chat.messages] == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "T"},
        {"role": "tool", "content": "Sun", "tool_call_id": "1"},
        {"role": "user", "content": "Go on"},
    ]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "runs at Anthropic"),
        ({"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]}, "image input is not supported"),
        ({"tools": CLAUDE_TOOLS, "tool_choice": {"type": "tool", "name": "Unknown"}}, "Unknown"),
    ],
)
def test_what_claude_s_wire_does_not_have_is_refused(claude, more, text):
    with pytest.raises(anthropic.BadRequestError, match=text):
        claude.messages.create(**COMMON | more)


def test_a_schema_constrains_claude_s_text(claude):
    schema = {"type": "object", "properties": {"n": {"const": 7}}, "required": ["n"], "additionalProperties": False}
    body = {"temperature": 0, "output_config": {"format": {"type": "json_schema", "schema": schema}}}
    message = claude.messages.create(**{**COMMON, "extra_body": body})
    assert json.loads(message.content[0].text) == {"n": 7}


def test_a_function_of_responses_is_called_and_its_arguments_are_streamed(api):
    given = {
        "model": "stories",
        "input": "Once",
        "tools": FUNCTIONS,
        "tool_choice": {"type": "function", "name": "Weather"},
        "temperature": 0,
    }
    (call,) = api.responses.create(**given).output
    assert (call.type, call.name, call.status) == ("function_call", "Weather", "completed")
    assert Weather.model_validate_json(call.arguments)
    with api.responses.stream(**given) as stream:
        events = list(stream)
        final = stream.get_final_response()
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert "".join(deltas) == call.arguments == final.output[0].arguments
    assert len(deltas) > 3
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_a_response_of_several_calls_has_an_item_for_each(api):
    response = api.responses.create(
        model="stories", input="Once", tools=FUNCTIONS, tool_choice="required", max_output_tokens=900, top_p=0.9
    )
    assert {item.type for item in response.output} == {"function_call"}
    assert len({item.call_id for item in response.output}) == len(response.output)


def test_responses_parse_a_pydantic_model(api):
    parsed = api.responses.parse(model="stories", input="Once", text_format=Weather, max_output_tokens=200).output_parsed
    assert isinstance(parsed, Weather)


def test_items_of_responses_are_messages_of_a_chat():
    items = [
        {"role": "developer", "content": "S"},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "Weather", "arguments": '{"days": 2}'},
        {"type": "function_call", "call_id": "2", "name": "Search", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "Sun"},
    ]
    chat = decode(ResponsesRequest, json.dumps({"input": items}).encode()).chat()
    calls = [
        {"type": "function", "id": "1", "function": {"name": "Weather", "arguments": {"days": 2}}},
        {"type": "function", "id": "2", "function": {"name": "Search", "arguments": {}}},
    ]
    assert [template_message(message) for message in chat.messages] == [
        {"role": "system", "content": "S"},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "content": "Sun", "tool_call_id": "1"},
    ]


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
        ({"input": [{"type": "function_call", "name": "x"}]}, "input[0]"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"reasoning": {"effort": "low"}}, "reasoning"),
        ({"background": True}, "background"),
    ],
)
def test_what_responses_do_not_have_is_refused(api, more, param):
    with pytest.raises(openai.BadRequestError) as caught:
        api.responses.create(**{"model": "stories", "input": "Once"} | more)
    assert caught.value.param == param
