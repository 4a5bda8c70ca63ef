from __future__ import annotations

import msgspec
import pytest

import headway.errors
from headway.cluster.messages import decode_events, decode_request, encode_events, encode_request
from headway.engine import GenerationOptions, Request, RequestFailed, Resumption, SampledToken
from headway.errors import HeadwayError, OptionError, PromptError

REQUESTS = [
    Request([1, 2, 3]),
    Request(
        [5],
        GenerationOptions(
            max_new_tokens=9,
            temperature=0.5,
            seed=2**63 + 1,
            stop=["a", "b"],
            logit_bias={3: -1.5, 4: float("-inf")},
            suppress_tokens=[1],
            num_log_probs=2,
            json_schema={"type": "object", "properties": {"é": {"enum": [1, None]}}},
        ),
        end_token_ids=(2, 7),
        num_choices=3,
        priority=-4,
        cache_key="key/salt",
        timeout_seconds=1.5,
    ),
    Request([5], GenerationOptions(stop="a", num_beams=2, early_stopping="never"), resumption=Resumption(2, [8, 9])),
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_arrives_as_it_was(request_):
    arrived = decode_request(encode_request(request_))
    assert arrived.options == request_.options
    for name in ("token_ids", "num_choices", "priority", "cache_key", "timeout_seconds", "resumption"):
        assert getattr(arrived, name) == getattr(request_, name)
    assert tuple(arrived.end_token_ids) == tuple(request_.end_token_ids)


def test_tokens_arrive_with_the_number_of_the_receiver():
    tokens = [
        SampledToken(0, 5, log_prob=-0.5, top_log_probs={5: -0.5, 7: float("-inf")}, choice=1),
        SampledToken(0, 6, "stop", num_cached=3),
    ]
    arrived = decode_events(encode_events(tokens), 42)
    assert [(each.index, each.token_id, each.finish_reason, each.choice, each.num_cached) for each in arrived] == [
        (42, 5, None, 1, 0),
        (42, 6, "stop", 0, 3),
    ]
    assert arrived[0].top_log_probs == tokens[0].top_log_probs


@pytest.mark.parametrize("error", [PromptError("got a, expected b", hint="do c"), HeadwayError("got d")])
def test_errors_arrive_with_class_and_hint(error):
    (failed,) = decode_events(encode_events([RequestFailed(0, error)]), 1)
    assert (type(failed.error), str(failed.error), failed.error.hint) == (type(error), str(error), error.hint)


@pytest.mark.parametrize("name", ["KeyError", "annotations", "__name__", "nothing"])
def test_other_names_are_no_classes_of_errors(name):
    message = msgspec.msgpack.encode({"tokens": [], "error": {"name": name, "text": "t", "hint": None}})
    (failed,) = decode_events(message, 0)
    assert type(failed.error) is headway.errors.HeadwayError


def test_wrong_options_are_refused():
    message = msgspec.msgpack.decode(encode_request(REQUESTS[0]))
    message["options"]["temperature"] = -1
    with pytest.raises((OptionError, msgspec.ValidationError)):
        decode_request(msgspec.msgpack.encode(message))
