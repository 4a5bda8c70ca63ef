"""The openai package as a client: sync, async, streamed."""

from __future__ import annotations

import asyncio
import base64

import numpy
import openai
import pytest

PROMPT = "Once upon a time"
MESSAGES = [{"role": "user", "content": PROMPT}]


@pytest.fixture
def api(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_a_completion_is_the_text_of_generate(api, stories):
    completion = api.completions.create(model="stories", prompt=PROMPT, max_tokens=20, temperature=0)
    expected = stories.generate(PROMPT, max_new_tokens=20, temperature=0)
    assert completion.choices[0].text == expected.text
    assert completion.choices[0].finish_reason == "length"
    assert completion.usage.prompt_tokens == expected.num_prompt_tokens
    assert completion.usage.completion_tokens == 20
    assert completion.usage.total_tokens == 20 + expected.num_prompt_tokens


def test_a_seed_gives_the_text_of_generate(api, stories):
    completion = api.completions.create(model="stories", prompt=PROMPT, max_tokens=20, temperature=0.9, top_p=0.8, seed=5)
    assert completion.choices[0].text == stories.generate(PROMPT, max_new_tokens=20, temperature=0.9, top_p=0.8, seed=5).text


def test_a_chat_without_a_template_continues_the_text(api, stories):
    completion = api.chat.completions.create(model="stories", messages=MESSAGES, max_completion_tokens=12, temperature=0)
    assert completion.choices[0].message.role == "assistant"
    assert completion.choices[0].message.content == stories.generate(PROMPT, max_new_tokens=12, temperature=0).text


def test_a_stream_adds_up_to_the_whole_text(api, stories):
    options = {"model": "stories", "messages": MESSAGES, "max_tokens": 15, "temperature": 0}
    chunks = list(api.chat.completions.create(**options, stream=True, stream_options={"include_usage": True}))
    *parts, end, usage = chunks
    assert parts[0].choices[0].delta.role == "assistant"
    assert "".join(part.choices[0].delta.content or "" for part in parts) == stories.generate(PROMPT, max_new_tokens=15, temperature=0).text
    assert end.choices[0].finish_reason == "length"
    assert usage.choices == []
    assert usage.usage.completion_tokens == 15
    assert all(part.usage is None for part in (*parts, end))
    assert len({chunk.id for chunk in chunks}) == 1


def test_a_completion_stream_adds_up_to_the_whole_text(api, stories):
    chunks = list(api.completions.create(model="stories", prompt=PROMPT, max_tokens=15, temperature=0, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == stories.generate(PROMPT, max_new_tokens=15, temperature=0).text
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["length"]


def test_async_clients_get_what_they_would_get_alone(server, stories):
    prompts = ["The fox", "A little girl", "One day", "In the garden"]

    async def ask() -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
            calls = [client.completions.create(model="stories", prompt=prompt, max_tokens=12, temperature=0) for prompt in prompts]
            return [completion.choices[0].text for completion in await asyncio.gather(*calls)]

    assert asyncio.run(ask()) == [each.text for each in stories.generate(prompts, max_new_tokens=12, temperature=0)]


def test_several_choices_and_prompts_are_numbered_through(api, stories):
    prompts = [PROMPT, stories.tokenizer.encode("The fox")]
    completion = api.completions.create(model="stories", prompt=prompts[0], n=3, max_tokens=8, temperature=1, seed=1)
    assert [choice.index for choice in completion.choices] == [0, 1, 2]
    assert len({choice.text for choice in completion.choices}) > 1
    many = api.completions.create(model="stories", prompt=[stories.tokenizer.encode(PROMPT), prompts[1]], max_tokens=6, temperature=0)
    assert [choice.text for choice in many.choices] == [stories.generate(each, max_new_tokens=6, temperature=0).text for each in prompts]


def test_an_empty_prompt_starts_a_text(api, stories):
    expected = stories.generate([stories.tokenizer.bos_token_id], max_new_tokens=5, temperature=0)
    assert api.completions.create(model="stories", prompt="", max_tokens=5, temperature=0).choices[0].text == expected.text


def test_echo_puts_the_prompt_first(api):
    completion = api.completions.create(model="stories", prompt=PROMPT, max_tokens=3, temperature=0, echo=True)
    assert completion.choices[0].text.startswith(PROMPT)
    chunks = list(api.completions.create(model="stories", prompt=PROMPT, max_tokens=3, temperature=0, echo=True, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == completion.choices[0].text


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_string_ends_the_text_before_it(api, stories, stream):
    whole = stories.generate(PROMPT, max_new_tokens=30, temperature=0).text
    stop = whole[10:14]
    answer = api.completions.create(model="stories", prompt=PROMPT, max_tokens=30, temperature=0, stop=[stop, "never"], stream=stream)
    choices = [chunk.choices[0] for chunk in answer] if stream else [answer.choices[0]]
    assert "".join(choice.text for choice in choices) == whole[: whole.index(stop)]
    assert choices[-1].finish_reason == "stop"


def test_log_probs_of_chat_are_those_of_generate(api, stories):
    options = {"model": "stories", "messages": MESSAGES, "max_tokens": 5, "temperature": 0, "logprobs": True, "top_logprobs": 3}
    content = api.chat.completions.create(**options).choices[0].logprobs.content
    expected = stories.generate(PROMPT, max_new_tokens=5, temperature=0, num_log_probs=3)
    assert [entry.logprob for entry in content] == pytest.approx(expected.log_probs)
    assert b"".join(bytes(entry.bytes) for entry in content).decode() == expected.text
    assert all(entry.top_logprobs[0].token == entry.token for entry in content)
    streamed = [chunk.choices[0].logprobs for chunk in api.chat.completions.create(**options, stream=True)]
    assert [entry for each in streamed if each for entry in each.content] == content


def test_log_probs_of_completions_have_offsets_into_the_text(api):
    choice = api.completions.create(model="stories", prompt=PROMPT, max_tokens=6, temperature=0, logprobs=2).choices[0]
    for token, offset in zip(choice.logprobs.tokens, choice.logprobs.text_offset, strict=True):
        assert choice.text[offset : offset + len(token)] == token
    assert all(len(top) == 2 for top in choice.logprobs.top_logprobs)


def test_logit_bias_forbids_a_token(api, stories):
    options = {"model": "stories", "prompt": PROMPT, "max_tokens": 1, "temperature": 0}
    first = api.completions.create(**options).choices[0].text
    (token_id,) = stories.tokenizer.encode(first)
    assert api.completions.create(**options, logit_bias={str(token_id): -100}).choices[0].text != first


def test_embeddings_are_those_of_embed(api, stories):
    texts = ["The fox is here.", "A girl."]
    expected = stories.embed(texts)
    as_base64 = api.embeddings.create(model="stories", input=texts)  # the client's default, decoded by it
    as_floats = api.embeddings.create(model="stories", input=texts, encoding_format="float")
    as_ids = api.embeddings.create(model="stories", input=[stories.tokenizer.encode(text) for text in texts], encoding_format="float")
    for answer in (as_base64, as_floats, as_ids):
        numpy.testing.assert_allclose([each.embedding for each in answer.data], expected, rtol=1e-6)
    raw = api.embeddings.with_raw_response.create(model="stories", input=texts, encoding_format="base64").http_response.json()
    assert numpy.frombuffer(base64.b64decode(raw["data"][1]["embedding"]), "<f4") == pytest.approx(expected[1])


def test_ids_of_another_tokenizer_are_refused(api):
    with pytest.raises(openai.BadRequestError, match="token id 99999"):
        api.embeddings.create(model="stories", input=[[1, 99999]])


def test_the_model_is_listed(api):
    assert [model.id for model in api.models.list()] == ["stories"]
    assert api.models.retrieve("stories").object == "model"
    with pytest.raises(openai.NotFoundError):
        api.models.retrieve("gpt-4")


@pytest.mark.parametrize(
    ("options", "error", "param", "code"),
    [
        ({"model": "gpt-4"}, openai.NotFoundError, "model", "model_not_found"),
        ({"temperature": -1}, openai.BadRequestError, "temperature", "invalid_value"),
        ({"n": 10**9}, openai.BadRequestError, "n", "invalid_value"),
        ({"extra_body": {"guided_choice": ["a"]}}, openai.BadRequestError, "guided_choice", "unsupported_parameter"),
        ({"logit_bias": {"x": 1}}, openai.BadRequestError, "logit_bias", None),
        ({"logit_bias": {"100000": 1}}, openai.BadRequestError, None, None),
        ({"messages": [{"role": "user", "content": "word " * 2000}]}, openai.BadRequestError, "messages", "context_length_exceeded"),
        ({"messages": []}, openai.BadRequestError, "messages", "invalid_value"),
        ({"top_logprobs": 2}, openai.BadRequestError, "top_logprobs", None),
    ],
)
def test_a_wrong_request_is_refused_with_its_field(api, options, error, param, code):
    with pytest.raises(error) as caught:
        api.chat.completions.create(**{"model": "stories", "messages": MESSAGES, "max_tokens": 2, **options})
    assert set(caught.value.body) >= {"message", "type", "param", "code"}
    assert caught.value.param == param
    assert caught.value.code == code
    assert caught.value.request_id.startswith("req_")
