"""Anthropic's client, and the Responses API of the openai client."""

from __future__ import annotations

import anthropic
import openai
import pytest

PROMPT = "Once upon a time"
MESSAGES = [{"role": "user", "content": PROMPT}]
GREEDY = {"temperature": 0}  # the client's own method has no temperature


@pytest.fixture
def claude(server):
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def api(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def test_a_message_is_the_text_of_generate(claude, stories):
    message = claude.messages.create(model="stories", messages=MESSAGES, max_tokens=12, extra_body=GREEDY)
    assert message.content[0].text == stories.generate(PROMPT, max_new_tokens=12, temperature=0).text
    assert message.stop_reason == "max_tokens"
    assert (message.usage.input_tokens + message.usage.cache_read_input_tokens, message.usage.output_tokens) == (4, 12)


def test_a_streamed_message_adds_up(claude, stories):
    with claude.messages.stream(model="stories", messages=MESSAGES, max_tokens=12, extra_body=GREEDY) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == stories.generate(PROMPT, max_new_tokens=12, temperature=0).text == final.content[0].text
    assert final.stop_reason == "max_tokens"
    assert final.usage.output_tokens == 12


def test_the_stop_sequence_is_named(claude, stories):
    whole = stories.generate(PROMPT, max_new_tokens=30, temperature=0).text
    message = claude.messages.create(
        model="stories", messages=MESSAGES, max_tokens=30, extra_body=GREEDY, stop_sequences=["never", whole[10:14]]
    )
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", whole[10:14])
    assert message.content[0].text == whole[: whole.index(whole[10:14])]


def test_tokens_of_a_conversation_are_counted(claude, stories):
    counted = claude.messages.count_tokens(model="stories", messages=MESSAGES, system="Tell a story.")
    assert counted.input_tokens == len(stories.tokenizer.encode(f"Tell a story.\n{PROMPT}"))


def test_anthropic_errors_have_their_types(claude):
    with pytest.raises(anthropic.NotFoundError) as caught:
        claude.messages.create(model="claude", messages=MESSAGES, max_tokens=5)
    assert caught.value.body["type"] == "error"
    assert caught.value.body["error"]["type"] == "not_found_error"


def test_a_response_is_the_text_of_generate(api, stories):
    response = api.responses.create(model="stories", input=PROMPT, max_output_tokens=12, temperature=0)
    assert response.output_text == stories.generate(PROMPT, max_new_tokens=12, temperature=0).text
    assert response.status == "incomplete"
    assert response.incomplete_details.reason == "max_output_tokens"
    assert response.usage.total_tokens == 16


def test_a_streamed_response_adds_up(api, stories):
    with api.responses.stream(model="stories", input=PROMPT, max_output_tokens=12, temperature=0) as stream:
        events = list(stream)
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == stories.generate(PROMPT, max_new_tokens=12, temperature=0).text
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_an_earlier_response_can_be_sent_as_input(api):
    first = api.responses.create(model="stories", input=PROMPT, max_output_tokens=3, temperature=0)
    items = [{"role": "user", "content": PROMPT}, *(item.model_dump() for item in first.output), {"role": "user", "content": "Then"}]
    assert api.responses.create(
        model="stories", input=items, max_output_tokens=3, instructions="Go.", tools=[{"type": "web_search"}]
    ).output


def test_a_response_repeats_its_format_without_the_fields_that_were_not_given(client):
    given = {"type": "json_schema", "name": "word", "schema": {"type": "string", "maxLength": 3}}
    answer = client.post("/v1/responses", json={"input": PROMPT, "max_output_tokens": 8, "text": {"format": given}})
    assert (answer.status_code, answer.json()["text"]["format"]) == (200, given)


def test_stored_responses_are_refused(api):
    with pytest.raises(openai.BadRequestError) as caught:
        api.responses.create(model="stories", input=PROMPT, previous_response_id="resp_1")
    assert caught.value.param == "previous_response_id"


@pytest.mark.parametrize("kind", [["message"], {}, None, 1, "image"])
def test_an_input_of_an_unknown_type_is_refused(client, kind):
    answer = client.post("/v1/responses", json={"input": [{"type": kind, "role": "user", "content": "Hi"}]})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "input[0].type")
