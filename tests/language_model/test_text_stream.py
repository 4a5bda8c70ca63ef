"""Token streams as text: whole characters and stop strings."""

from __future__ import annotations

from headway.engine import Hypothesis, SampledToken
from headway.language_model.stop_strings import StopMatcher
from headway.language_model.text_stream import TextStream, completion_of
from headway.tokenizers import byte_tokenizer

END = 256


def stream_text(text: str, stops: list[str], finish: str | None = "length") -> tuple[list[str], str | None]:
    """The chunks' texts, and the finish reason, if a model generates these bytes one by one."""
    tokenizer = byte_tokenizer()
    token_ids = tokenizer.encode(text)
    stream, chunks = TextStream(tokenizer, tokenizer.encode("x"), StopMatcher(stops), {END}), []
    for place, token_id in enumerate(token_ids):
        chunk = stream.add(SampledToken(0, token_id, finish if place == len(token_ids) - 1 else None))  # type: ignore[arg-type]
        chunks.append(chunk.text)
        if chunk.finish_reason:
            return chunks, chunk.finish_reason
    return chunks, None


def test_a_stop_string_is_removed_and_no_part_of_it_is_streamed():
    chunks, reason = stream_text("one two END three", ["END"])
    assert "".join(chunks) == "one two "
    assert reason == "stop"


def test_an_incomplete_stop_string_is_streamed_at_the_end():
    chunks, reason = stream_text("one EN", ["END"])
    assert "".join(chunks) == "one EN"
    assert reason == "length"


def test_of_several_stop_strings_the_one_that_is_complete_first_counts():
    assert "".join(stream_text("abcd", ["cd", "bc"])[0]) == "a"


def test_a_character_of_several_tokens_is_streamed_whole():
    chunks, _ = stream_text("né 猫 🦊!", [])
    assert "".join(chunks) == "né 猫 🦊!"
    assert {chunk for chunk in chunks if chunk} == set("né 猫🦊!")


def test_a_hypothesis_is_a_completion_with_its_score():
    tokenizer = byte_tokenizer()
    hypothesis = Hypothesis([*tokenizer.encode("né"), END], -0.5, "stop")
    completion = completion_of(hypothesis, TextStream(tokenizer, [], StopMatcher([]), {END}), 7)
    assert (completion.text, completion.token_ids, completion.finish_reason) == ("né", hypothesis.token_ids, "stop")
    assert (completion.score, completion.num_prompt_tokens, completion.alternatives) == (-0.5, 7, [])


def test_a_stop_string_truncates_a_hypothesis():
    tokenizer = byte_tokenizer()
    completion = completion_of(
        Hypothesis(tokenizer.encode("one two"), -0.5, "length"), TextStream(tokenizer, [], StopMatcher([" t"]), {END}), 7
    )
    assert (completion.text, completion.token_ids, completion.finish_reason) == ("one", tokenizer.encode("one t"), "stop")
