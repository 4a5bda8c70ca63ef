"""response_format, regex, grammar and tools, with the openai package as a client."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

import openai
import pydantic
import pytest

from headway.engine.sampler import Sampler
from headway.language_model import LanguageModel
from headway.server.served_model import ServedModel
from headway.server.tools import call_format
from tests.server.conftest import Running, running

pytest.importorskip("llguidance", reason="llguidance is not installed")

PROMPT = [{"role": "user", "content": "Once upon a time"}]
MESSAGES = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ (m.tool_calls[0].function.arguments | tojson) if m.tool_calls }}\n{% endfor %}"
)
TEMPLATES = {
    "hermes": "{% if tools %}{% for tool in tools %}{{ tool.function.name }} {% endfor %} Call with <tool_call>{% endif %}" + MESSAGES,
    "llama3": '{% if tools %}{% for tool in tools %}{{ tool.function.name }} {% endfor %} {"name": …, "parameters": …}{% endif %}'
    + MESSAGES,
    "mistral": "{% if tools %}[AVAILABLE_TOOLS]{% endif %}{% if false %}[TOOL_CALLS]{% endif %}" + MESSAGES,
}


class Place(pydantic.BaseModel):
    country: Literal["Norway", "Peru"]


class Weather(pydantic.BaseModel):
    """The weather at a place."""

    model_config = pydantic.ConfigDict(extra="forbid")
    place: Place
    days: int = pydantic.Field(ge=1, le=9)


class Search(pydantic.BaseModel):
    """Find pages."""

    text: str = pydantic.Field(max_length=12)


TOOLS: list[Any] = [openai.pydantic_function_tool(Weather), openai.pydantic_function_tool(Search)]


@pytest.fixture
def api(server: Running) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture(params=TEMPLATES)
def tool_api(request: pytest.FixtureRequest, stories: LanguageModel) -> Iterator[openai.OpenAI]:
    with (
        running(ServedModel("stories", stories, TEMPLATES[request.param])) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client


@pytest.fixture
def hermes_api(stories: LanguageModel) -> Iterator[openai.OpenAI]:
    with (
        running(ServedModel("stories", stories, TEMPLATES["hermes"])) as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield client


def ask(api: openai.OpenAI, **options: Any) -> Any:
    return api.chat.completions.create(**{"model": "stories", "messages": PROMPT, "max_tokens": 400, "seed": 1} | options)


def test_a_pydantic_model_parses_the_answer(api: openai.OpenAI) -> None:
    completion = api.chat.completions.parse(model="stories", messages=PROMPT, response_format=Weather, max_tokens=200, seed=2)  # type: ignore[arg-type]
    assert isinstance(completion.choices[0].message.parsed, Weather)
    assert completion.choices[0].finish_reason == "stop"


def test_every_choice_follows_the_grammar(api: openai.OpenAI) -> None:
    completion = ask(api, n=3, temperature=1.5, extra_body={"regex": "(red|green|blue){2,5}"})
    texts = [choice.message.content for choice in completion.choices]
    assert all(re.fullmatch("(red|green|blue){2,5}", text) for text in texts)
    assert len(set(texts)) > 1


def test_a_grammar_and_a_completion(api: openai.OpenAI) -> None:
    options: dict[str, Any] = {"model": "stories", "prompt": "Once", "max_tokens": 50, "seed": 1}
    assert re.fullmatch("(ab){1,3}c", api.completions.create(**options, extra_body={"grammar": 'start: "ab"{1,3} "c"'}).choices[0].text)


def test_a_json_object_is_json(api: openai.OpenAI) -> None:
    chunks = ask(api, response_format={"type": "json_object"}, stream=True, max_tokens=100, temperature=0)
    choices = [chunk.choices[0] for chunk in chunks]
    text = "".join(choice.delta.content or "" for choice in choices)
    assert text.startswith("{")
    if choices[-1].finish_reason == "stop":
        assert isinstance(json.loads(text), dict)


@pytest.mark.parametrize(
    ("options", "param", "message"),
    [
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"properties": {"a": {"type": "strin"}}}}}}, "response_format", r"\$\.properties\.a"),
        ({"extra_body": {"regex": "(a"}}, "regex", "unclosed group"),
        ({"extra_body": {"grammar": "x"}}, "grammar", "expected"),
        ({"response_format": {"type": "json_object"}, "extra_body": {"regex": "a"}}, None, "cannot be combined"),
        ({"response_format": {"type": "xml"}}, "response_format.type", "Invalid value"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema", "missing required field"),
        ({"tools": TOOLS}, "tools", "chat template"),
        ({"tool_choice": "required"}, "tool_choice", "without tools"),
        ({"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools[0].function.name", "regex"),
    ],
)  # fmt: skip
def test_wrong_constraints_are_400_and_name_the_field(api: openai.OpenAI, options: dict[str, Any], param: str | None, message: str) -> None:
    with pytest.raises(openai.BadRequestError, match=message) as caught:
        ask(api, **options)
    assert caught.value.param == param


def test_a_required_call_is_parsed_by_its_pydantic_model(tool_api: openai.OpenAI) -> None:
    completion = tool_api.chat.completions.parse(
        model="stories", messages=PROMPT, tools=TOOLS, tool_choice="required", parallel_tool_calls=False, max_tokens=300, seed=3  # type: ignore[arg-type]
    )  # fmt: skip
    (call,) = completion.choices[0].message.tool_calls or ()
    assert isinstance(call.function.parsed_arguments, Weather if call.function.name == "Weather" else Search)
    assert completion.choices[0].finish_reason == "tool_calls"
    assert completion.choices[0].message.content is None


def test_a_named_tool_is_called_and_its_arguments_are_streamed(tool_api: openai.OpenAI) -> None:
    options: dict[str, Any] = {"tools": TOOLS, "tool_choice": {"type": "function", "function": {"name": "Weather"}}}
    whole = ask(tool_api, **options).choices[0].message.tool_calls[0].function
    assert Weather.model_validate_json(whole.arguments)
    deltas = [call for chunk in ask(tool_api, **options, stream=True) for call in chunk.choices[0].delta.tool_calls or ()]
    assert [delta.function.name for delta in deltas if delta.function.name] == ["Weather"]
    assert [delta.id is not None for delta in deltas] == [True] + [False] * (len(deltas) - 1)
    assert "".join(delta.function.arguments or "" for delta in deltas) == whole.arguments
    assert len(deltas) > 3


def test_text_without_calls_is_content_and_tools_are_in_the_prompt(hermes_api: openai.OpenAI) -> None:
    plain, none = ask(hermes_api, max_tokens=8), ask(hermes_api, max_tokens=8, tools=TOOLS, tool_choice="none")
    auto = ask(hermes_api, max_tokens=8, tools=TOOLS)
    assert none.choices[0].message.content == plain.choices[0].message.content
    assert none.usage.prompt_tokens == plain.usage.prompt_tokens < auto.usage.prompt_tokens
    assert auto.choices[0].message.content
    assert auto.choices[0].message.tool_calls is None


def test_a_tool_result_is_sent_with_the_call(hermes_api: openai.OpenAI) -> None:
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "Search", "arguments": '{"text": "x"}'}}
    messages = [
        *PROMPT,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "abcdefghi", "content": "y"},
    ]
    reply = hermes_api.post("../apply-template", body={"messages": messages}, cast_to=dict[str, Any])
    assert '{"text": "x"}' in str(reply["prompt"])
    assert ask(hermes_api, messages=messages, tools=TOOLS, max_tokens=4).choices[0].message.content


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tool_choice": {"type": "function", "function": {"name": "none"}}}, "expected one of Weather, Search"),
        ({"response_format": {"type": "json_object"}}, "expected one of them"),
        ({"tools": [TOOLS[0], TOOLS[0]]}, "same name"),
        (
            {"tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "x"}}}], "tool_choice": "required"},
            "cannot be used",
        ),
    ],
)
def test_tools_that_cannot_be_used_are_400(hermes_api: openai.OpenAI, options: dict[str, Any], message: str) -> None:
    with pytest.raises(openai.BadRequestError, match=message):
        ask(hermes_api, **{"tools": TOOLS} | options)


@pytest.mark.parametrize(
    ("template", "kind"),
    [
        *((template, kind) for kind, template in TEMPLATES.items()),
        ("{{ messages }}", None),
        ("{{ tools }}", None),
        ("{{ tools }}<tool_call><function=", None),
    ],
)
def test_the_format_is_that_of_the_template(template: str, kind: str | None) -> None:
    assert call_format(template) == kind


def test_tokens_that_a_schema_prescribes_save_passes_and_the_text_is_the_same(
    api: openai.OpenAI, stories: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def passes(**options: Any) -> tuple[int, str]:
        before = stories.engine.stats.num_passes
        text = ask(api, response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}, **options)
        return stories.engine.stats.num_passes - before, text.choices[0].message.content

    names = ["country_of_birth", "favourite_animal"]
    schema = {
        "type": "object",
        "properties": {key: {"enum": ["fox", "bear"]} for key in names},
        "required": names,
        "additionalProperties": False,
    }
    for options in ({"temperature": 0}, {"temperature": 1, "seed": 4}):
        num_passes, text = passes(**options)
        with monkeypatch.context() as patched:
            patched.setattr(Sampler, "forcing_processor", None)
            num_plain, plain = passes(**options)
        assert text == plain
        assert json.loads(text).keys() == set(names)
        assert num_passes < num_plain / 2
