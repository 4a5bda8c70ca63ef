"""Routes of llama-server."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from headway.engine import Request
from headway.server.generation import Times
from headway.server.llama_cpp.results import timings

PROMPT = "Once upon a time"
MESSAGES = [{"role": "user", "content": PROMPT}]


def test_a_completion_is_the_text_of_generate(client, stories):
    body = client.post("/completion", json={"prompt": PROMPT, "n_predict": 12, "temperature": 0, "return_tokens": True}).json()
    expected = stories.generate(PROMPT, max_new_tokens=12, temperature=0)
    assert (body["content"], body["tokens"]) == (expected.text, expected.token_ids)
    assert (body["stop"], body["stop_type"], body["truncated"]) == (True, "limit", False)
    assert body["timings"]["prompt_n"] + body["timings"]["cache_n"] == body["tokens_evaluated"] == expected.num_prompt_tokens
    assert body["timings"]["predicted_n"] == body["tokens_predicted"] == 12
    assert body["generation_settings"]["n_predict"] == 12


def test_a_stream_adds_up_and_ends_with_the_result(client, stories):
    given = {"prompt": PROMPT, "n_predict": 12, "temperature": 0, "stream": True, "timings_per_token": True}
    with client.stream("POST", "/completion", json=given) as response:
        events = [json.loads(line[6:]) for line in response.iter_lines() if line]
    *tokens, last = events
    assert "".join(event["content"] for event in events) == stories.generate(PROMPT, max_new_tokens=12, temperature=0).text
    assert [event["timings"]["predicted_n"] for event in tokens] == list(range(1, 13))
    assert [event["stop"] for event in events] == [False] * 12 + [True]
    assert (last["content"], last["stop_type"]) == ("", "limit")


def test_prompts_are_texts_ids_and_both(client, stories):
    ids = stories.tokenizer.encode(PROMPT)
    prompts = [PROMPT, ids, {"prompt_string": PROMPT}, [*ids[:1], stories.tokenizer.decode(ids[1:])]]
    bodies = client.post("/completion", json={"prompt": prompts, "n_predict": 4, "temperature": 0}).json()
    assert len({body["content"] for body in bodies[:3]}) == 1
    assert [body["index"] for body in bodies] == [0, 1, 2, 3]
    assert client.post("/completion", json={"prompt": ids, "n_predict": 4, "temperature": 0}).json()["content"] == bodies[0]["content"]


def test_a_stop_word_is_named(client, stories):
    word = stories.generate(PROMPT, max_new_tokens=30, temperature=0).text[10:14]
    body = client.post("/completion", json={"prompt": PROMPT, "n_predict": 30, "temperature": 0, "stop": [word]}).json()
    assert (body["stop_type"], body["stopping_word"]) == ("word", word)


def test_a_grammar_in_gbnf_and_a_schema_constrain_the_text(client):
    pytest.importorskip("llguidance", reason="llguidance is not installed")
    given = {"prompt": PROMPT, "n_predict": 20}
    assert client.post("/completion", json={**given, "grammar": 'root ::= "a"{5,5}'}).json()["content"] == "aaaaa"
    assert client.post("/completion", json={**given, "json_schema": {"const": "x"}}).json()["content"] == '"x"'
    chat = {"messages": MESSAGES, "max_tokens": 20, "response_format": {"type": "json_object", "schema": {"const": 7}}}
    assert client.post("/chat/completions", json=chat).json()["choices"][0]["message"]["content"] == "7"
    content = client.post("/completion", json={**given, "json_schema": {}, "temperature": 0}).json()["content"]
    assert content.lstrip()[0] in '{["-0123456789tfn'  # the first character of any JSON


@pytest.mark.parametrize("grammar", ["root ::= (a", 'foo ::= "a"', "root ::= nothing", 'root ::= "a\\'])
def test_a_wrong_grammar_is_refused(client, grammar):
    pytest.importorskip("llguidance", reason="llguidance is not installed")
    wrong = client.post("/completion", json={"prompt": PROMPT, "n_predict": 4, "grammar": grammar})
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (400, "grammar")


@pytest.mark.parametrize("text", ["²", "--5", "9" * 5000])
def test_a_bias_of_a_text_that_resembles_a_number_is_of_its_tokens(client, text):
    assert client.post("/completion", json={"prompt": PROMPT, "n_predict": 4, "logit_bias": {text: -100}}).status_code == 200


def test_probabilities_have_token_ids(client):
    body = client.post("/completion", json={"prompt": PROMPT, "n_predict": 3, "temperature": 0, "n_probs": 2}).json()
    for entry in body["completion_probabilities"]:
        assert entry["id"] == entry["top_logprobs"][0]["id"], "the greedy token is the most likely one"
        assert len(entry["top_logprobs"]) == 2


def test_fields_of_the_response_can_be_chosen(client):
    body = client.post(
        "/completion", json={"prompt": PROMPT, "n_predict": 2, "response_fields": ["content", "generation_settings/n_predict"]}
    ).json()
    assert set(body) == {"content", "generation_settings/n_predict"}


def test_biases_are_by_id_or_text(client, stories):
    (first,) = stories.generate(PROMPT, max_new_tokens=1, temperature=0).token_ids
    text = stories.tokenizer.decode([first])
    for bias in ({str(first): -100}, [[first, False]], [[text, -100]]):
        body = client.post(
            "/completion", json={"prompt": PROMPT, "n_predict": 1, "temperature": 0, "logit_bias": bias, "return_tokens": True}
        )
        assert body.json()["tokens"] != [first], bias


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mirostat", 2),
        ("lora", [{"id": 0}]),
        ("return_progress", True),
        ("post_sampling_probs", True),
        ("xtc_probability", 0.5),
        ("unheard", 1),
    ],
)
def test_a_field_that_is_not_built_is_named(client, field, value):
    response = client.post("/completion", json={"prompt": PROMPT, field: value})
    assert (response.status_code, response.json()["error"]["param"]) == (400, field)


def test_values_that_turn_off_what_is_not_built_are_accepted(client):
    off = {"mirostat": 0, "xtc_probability": 0.0, "dry_multiplier": 0, "lora": [], "id_slot": 1, "cache_prompt": True, "seed": -1}
    assert client.post("/completion", json={"prompt": PROMPT, "n_predict": 1, **off}).status_code == 200


def test_a_chat_has_timings_and_on_request_everything(client):
    plain = client.post("/chat/completions", json={"messages": MESSAGES, "n_predict": 4}).json()
    assert plain["timings"]["predicted_n"] == plain["usage"]["completion_tokens"] == 4
    assert "__verbose" not in plain
    verbose = client.post("/chat/completions", json={"messages": MESSAGES, "n_predict": 4, "verbose": True}).json()
    assert PROMPT in verbose["__verbose"]["prompt"]
    assert client.post("/v1/chat/completions", json={"messages": MESSAGES, "n_predict": 4}).status_code == 400, "OpenAI's has no n_predict"


def test_a_last_message_of_the_assistant_is_continued(client, stories):
    messages = [*MESSAGES, {"role": "assistant", "content": "There was"}]
    body = client.post("/chat/completions", json={"messages": messages, "n_predict": 4, "temperature": 0, "verbose": True}).json()
    assert body["__verbose"]["prompt"].endswith("There was")
    twice = client.post("/chat/completions", json={"messages": [*messages, messages[-1]]})
    assert twice.status_code == 400
    explicit = client.post(
        "/v1/chat/completions", json={"messages": messages, "max_tokens": 4, "temperature": 0, "continue_final_message": True}
    )
    assert explicit.json()["choices"][0]["message"]["content"] == body["choices"][0]["message"]["content"]


def test_the_length_of_a_conversation(client, stories):
    assert client.post("/chat/completions/input_tokens", json={"messages": MESSAGES}).json() == {
        "input_tokens": len(stories.tokenizer.encode(PROMPT))
    }


def test_properties_and_slots(client, server):
    assert client.get("/props").json()["default_generation_settings"]["n_ctx"] == server.service.find(None).served.max_seq_len
    assert [slot["is_processing"] for slot in client.get("/slots").json()] == [False] * 4


def test_vectors_are_those_of_openai_in_a_list(client):
    given = {"input": ["A fox", "a girl"]}
    own, openai = client.post("/embeddings", json=given).json(), client.post("/v1/embeddings", json=given).json()["data"]
    assert [each["embedding"][0] for each in own] == [each["embedding"] for each in openai]


def test_inputs_of_vectors_are_texts_objects_and_both(client, stories):
    ids = stories.tokenizer.encode(" fox", add_special_tokens=False)
    text = "A" + stories.tokenizer.decode(ids)
    inputs = [
        text,
        {"prompt_string": text},
        {"content": [{"type": "text", "text": text[:2]}, {"type": "text", "text": text[2:]}]},
        ["A", *ids],
    ]
    vectors = [each["embedding"] for each in client.post("/embedding", json={"content": inputs}).json()]
    assert vectors == vectors[:1] * 4


@pytest.mark.parametrize("wrong", [[], {"content": "string"}, {"content": [{"type": "image_url"}]}, [10**9], 7, [[]]])
def test_other_inputs_of_vectors_are_refused(client, wrong):
    assert client.post("/embeddings", json={"input": wrong}).status_code == 400


@pytest.mark.parametrize("path", ["/embeddings", "/v1/embeddings"])
def test_an_input_that_would_be_cut_is_refused(client, path, monkeypatch, stories):
    embedder = stories.embedder
    monkeypatch.setattr(stories, "embedder", replace(embedder, options=replace(embedder.options, max_seq_length=8)))
    response = client.post(path, json={"input": ["A fox", "A fox " * 20]})
    assert response.status_code == 400
    assert "too large" in response.json()["error"]["message"]


@pytest.mark.parametrize("grammar", ["\n".join(f'r{i} ::= "a"' for i in range(1001)), "\n" * 1001 + 'root ::= "a"', 'root ::= "a"{10001}'])
def test_a_large_grammar_is_refused_before_its_conversion(client, grammar, monkeypatch):
    gbnf_to_lark = pytest.importorskip("llguidance.gbnf_to_lark", reason="llguidance is not installed")
    monkeypatch.setattr(gbnf_to_lark, "any_to_lark", None)
    answer = client.post("/completion", json={"prompt": "a", "grammar": grammar})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "grammar")
    assert "expected at most" in answer.json()["error"]["message"]


def test_the_rate_of_tokens_that_arrive_at_once_is_finite():
    generation = SimpleNamespace(times=Times(1.0, 2.0, 2.0), requests=[Request([1, 2])], num_cached=[0])
    found = timings(generation, 0, 16)
    assert found["predicted_per_second"] == 1e3 / found["predicted_ms"] * 15
    assert timings(generation, 0, 1)["predicted_per_second"] == 0
