"""/v1/completions with echo and logprobs: log-probabilities of the prompt, as evaluation harnesses ask for them."""

from __future__ import annotations

import json

import pytest

PROMPT = "Once upon a time there was a little fox"


def complete(client, **body):
    answer = client.post("/v1/completions", json={"model": "stories", "temperature": 0, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_text_has_the_log_probabilities_that_its_tokens_had_when_they_were_generated(client, stories):
    generated = complete(client, prompt=PROMPT, max_tokens=12, logprobs=3)["choices"][0]
    token_ids = stories.generate(PROMPT, max_new_tokens=12, temperature=0).token_ids
    whole = complete(client, prompt=[*stories.tokenizer.encode(PROMPT), *token_ids], max_tokens=0, logprobs=3, echo=True)
    scored, own = whole["choices"][0]["logprobs"], generated["logprobs"]
    assert whole["choices"][0]["text"] == PROMPT + generated["text"]
    for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
        assert scored[name][-12:] == [each + len(PROMPT) - own[name][0] if name == "text_offset" else each for each in own[name]]
    assert scored["token_logprobs"][0] is scored["top_logprobs"][0] is None
    assert all(isinstance(value, float) for value in scored["token_logprobs"][1:])
    assert whole["usage"]["completion_tokens"] == 0
    assert whole["choices"][0]["finish_reason"] == "length"


def test_the_log_probabilities_of_the_prompt_and_of_the_new_tokens_follow_each_other(client):
    body = {"prompt": [PROMPT, "A"], "max_tokens": 5, "logprobs": 0, "n": 2, "echo": True, "temperature": 1, "seed": 3}
    choices = complete(client, **body)["choices"]
    plain = complete(client, **{**body, "echo": False})["choices"]
    for index, (choice, other) in enumerate(zip(choices, plain, strict=True)):
        found, prompt = choice["logprobs"], body["prompt"][index // 2]
        assert choice["text"] == prompt + other["text"]
        assert found["token_logprobs"][-5:] == other["logprobs"]["token_logprobs"]
        for token, offset in zip(found["tokens"], found["text_offset"], strict=True):
            assert choice["text"][offset:].startswith(token)
    with client.stream("POST", "/v1/completions", json={**body, "stream": True}) as answer:
        events = [json.loads(line[6:])["choices"][0] for line in answer.iter_lines() if line.startswith("data: {")]
    for choice in choices:
        own = [event for event in events if event["index"] == choice["index"]]
        assert "".join(event["text"] for event in own) == choice["text"]
        assert [value for event in own for value in event["logprobs"]["token_logprobs"]] == choice["logprobs"]["token_logprobs"]
        assert own[-1]["finish_reason"] == choice["finish_reason"]


@pytest.mark.parametrize("echo", [True, False])
def test_no_tokens_are_returned_where_none_are_asked_for(client, echo):
    answer = complete(client, prompt=PROMPT, max_tokens=0, echo=echo)
    assert answer["choices"][0] == {"index": 0, "text": PROMPT if echo else "", "logprobs": None, "finish_reason": "length"}
    assert answer["usage"]["completion_tokens"] == 0
