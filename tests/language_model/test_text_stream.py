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
    stream, pieces = TextStream(tokenizer, tokenizer.encode("x"), StopMatcher(stops), {END}), []
    for place, token_id in enumerate(token_ids):
        piece = stream.add(SampledToken(0, token_id, finish if place == len(token_ids) - 1 else None))  # type: ignore[arg-type]
        pieces.append(piece.text)
        if piece.finish_reason:
            return pieces, piece.finish_reason
    return pieces, None


def test_a_stop_string_is_cut_off_and_nothing_of_it_is_shown():
    pieces, reason = stream_text("one two END three", ["END"])
    assert "".join(pieces) == "one two "
    assert reason == "stop"


def test_the_beginning_of_a_stop_string_that_does_not_come_is_shown_in_the_end():
    pieces, reason = stream_text("one EN", ["END"])
    assert "".join(pieces) == "one EN"
    assert reason == "length"


def test_of_several_stop_strings_the_one_that_begins_first_cuts():
    assert "".join(stream_text("abcd", ["cd", "bc"])[0]) == "a"


def test_a_character_of_several_tokens_comes_in_one_piece():
    pieces, _ = stream_text("né 猫 🦊!", [])
    assert "".join(pieces) == "né 猫 🦊!"
    assert {piece for piece in pieces if piece} == set("né 猫🦊!")


def test_a_hypothesis_is_a_completion_with_its_score():
    tokenizer = byte_tokenizer()
    hypothesis = Hypothesis([*tokenizer.encode("né"), END], -0.5, "stop")
    completion = completion_of(hypothesis, TextStream(tokenizer, [], StopMatcher([]), {END}), 7)
    assert (completion.text, completion.token_ids, completion.finish_reason) == ("né", hypothesis.token_ids, "stop")
    assert (completion.score, completion.num_prompt_tokens, completion.alternatives) == (-0.5, 7, [])


def test_a_stop_string_cuts_a_hypothesis():
    tokenizer = byte_tokenizer()
    completion = completion_of(
        Hypothesis(tokenizer.encode("one two"), -0.5, "length"), TextStream(tokenizer, [], StopMatcher([" t"]), {END}), 7
    )
    assert (completion.text, completion.token_ids, completion.finish_reason) == ("one", tokenizer.encode("one t"), "stop")
