"""Constrained decoding: whatever the logits, a text that ends is one of the grammar."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headway
from headway.engine import GenerationOptions
from headway.errors import OptionError
from headway.language_model import LanguageModel
from headway.language_model.json_schema import find_wrong_part
from headway.tokenizers import Llama2cTokenizer, byte_tokenizer, character_tokenizer, train_bpe
from headway.tokenizers.tokenizer import Tokenizer
from tests.language_model.test_model import make_answering_model, make_model

pytest.importorskip("llguidance", reason="llguidance is not installed")

from headway.language_model.grammar import Grammar, Vocabulary, compile_grammar

PIECES = [f"<0x{byte:02X}>".encode() for byte in range(256)]
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["red", "blue"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}


def check(value: object, schema: dict[str, Any]) -> None:
    """Fail unless the value is valid under a schema of the kinds that `schemas` draws."""
    if "enum" in schema:
        assert value in schema["enum"]
    elif "anyOf" in schema:
        assert any(is_valid(value, each) for each in schema["anyOf"])
    elif schema["type"] == "object":
        assert isinstance(value, dict)
        assert set(schema["required"]) <= set(value) <= set(schema["properties"])
        for name, item in value.items():
            check(item, schema["properties"][name])
    elif schema["type"] == "array":
        assert isinstance(value, list)
        assert schema["minItems"] <= len(value) <= schema["maxItems"]
        for item in value:
            check(item, schema["items"])
    elif schema["type"] == "string":
        assert isinstance(value, str)
        assert len(value) <= schema["maxLength"]
    elif schema["type"] == "integer":
        assert type(value) is int
        assert schema["minimum"] <= value <= schema["maximum"]
    else:
        assert type(value) is {"boolean": bool, "null": type(None)}[schema["type"]]


def is_valid(value: object, schema: dict[str, Any]) -> bool:
    try:
        check(value, schema)
    except AssertionError:
        return False
    return True


LEAVES = st.one_of(
    st.builds(lambda n: {"type": "string", "maxLength": n}, st.integers(0, 6)),
    st.builds(lambda low, n: {"type": "integer", "minimum": low, "maximum": low + n}, st.integers(-200, 200), st.integers(0, 999)),
    st.sampled_from([{"type": "boolean"}, {"type": "null"}]),
    st.builds(lambda values: {"enum": values}, st.lists(st.text(max_size=4) | st.integers(-9, 9), min_size=1, max_size=3)),
)


def objects(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    def build(properties: dict[str, Any], optional: int) -> dict[str, Any]:
        required = [name for place, name in enumerate(properties) if not optional >> place & 1]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    return st.builds(build, st.dictionaries(st.text(min_size=1, max_size=5), children, max_size=3), st.integers(0, 7))


SCHEMAS = objects(
    st.recursive(
        LEAVES,
        lambda children: st.one_of(
            objects(children),
            st.builds(
                lambda items, low, n: {"type": "array", "items": items, "minItems": low, "maxItems": low + n},
                children,
                st.integers(0, 2),
                st.integers(0, 2),
            ),
            st.builds(lambda parts: {"anyOf": parts}, st.lists(children, min_size=1, max_size=3)),
        ),
        max_leaves=4,
    )
)


TOKENIZERS: dict[str, Tokenizer] = {
    "bytes": byte_tokenizer(),
    "byte-level BPE": train_bpe(['{"name": "the cat", "age": 12, "tags": ["red", "blue"]} naïve 中文'] * 3, 320),
    "characters": character_tokenizer(['{"name": "the cat", "age": -1234567890, "tags": ["red", "blue"], true null}\n']),
    "llama2.c": Llama2cTokenizer(
        [b"<unk>", b"\n<s>\n", b"\n</s>\n", *PIECES, b" ", b"a", b"n", b'"', b'{"', b' "', b'":', b"name", b"ame", b"}", b"12"], [0.0] * 270
    ),
}
VOCABULARIES = {name: Vocabulary(tokenizer, tokenizer.vocab_size + 3) for name, tokenizer in TOKENIZERS.items()}


def random_text(grammar: Grammar, seed: int, *, num_prompt_tokens: int = 2, max_tokens: int = 1500) -> str | None:
    """The text of tokens sampled uniformly among the allowed ones; None if it has no end within max_tokens."""
    vocabulary = grammar.vocabulary
    end = vocabulary.vocab_size - 1
    (process,) = grammar.processors(num_prompt_tokens, [end])
    random = numpy.random.default_rng(seed)
    token_ids = [5] * num_prompt_tokens
    for _ in range(max_tokens):
        logits = random.standard_normal((1, vocabulary.vocab_size)).astype(numpy.float32)
        processed = process(numpy.array([token_ids]), logits)
        allowed = processed > -numpy.inf
        assert allowed.any()
        assert (processed[allowed] == logits[allowed]).all()
        token_ids.append(int(processed.argmax()))
        if token_ids[-1] == end:
            break
    else:
        return None
    data = b"".join(vocabulary.tokens[token_id] for token_id in token_ids[num_prompt_tokens:-1])
    return data.decode()


@pytest.mark.parametrize("name", sorted({*TOKENIZERS} - {"characters"}))
@settings(max_examples=10)
@given(schema=SCHEMAS, seed=st.integers(0, 2**32))
def test_random_logits_make_json_that_is_valid_under_the_schema(name: str, schema: dict[str, Any], seed: int) -> None:
    grammar = compile_grammar(GenerationOptions(json_schema=schema), VOCABULARIES[name])
    text = random_text(grammar, seed)
    assert text is not None
    check(json.loads(text), schema)
    try:
        import jsonschema
    except ImportError:
        return
    jsonschema.validate(json.loads(text), schema)


def test_a_model_of_characters_writes_the_characters_that_it_has() -> None:
    text = random_text(compile_grammar(GenerationOptions(json_schema=PERSON), VOCABULARIES["characters"]), 3)
    assert text is not None
    assert set(json.loads(text)) == {"name", "age", "tags"}


@settings(max_examples=5)
@given(schema=SCHEMAS)
def test_the_embedded_model_writes_valid_json(stories: LanguageModel, schema: dict[str, Any]) -> None:
    completion = stories.generate("Once upon a time", json_schema=schema, temperature=0, max_new_tokens=400)
    if completion.finish_reason == "stop":
        check(json.loads(completion.text), schema)
    else:
        assert len(completion.token_ids) == 400


@pytest.fixture(scope="module")
def stories() -> Iterator[LanguageModel]:
    with headway.load("stories", weights="none") as model:
        yield model


@pytest.mark.parametrize("make", [make_model, make_answering_model])
@pytest.mark.parametrize("sampling", [{"temperature": 0}, {"temperature": 1.5, "seed": 1}, {"top_p": 0.9, "seed": 2}])
def test_decoders_and_encoder_decoders_follow_the_grammar(make: Any, sampling: dict[str, Any]) -> None:
    model = make(eos_token_id=256)
    regex = r"(red|green) [a-c]{2,4}!"
    completion = model.generate("abc", regex=regex, max_new_tokens=40, **sampling)
    assert completion.finish_reason == "stop"
    assert re.fullmatch(regex, completion.text)
    assert "".join(chunk.text for chunk in model.stream("abc", regex=regex, max_new_tokens=40, **sampling)) == completion.text


def test_each_prompt_of_a_batch_has_its_own_state(stories: LanguageModel) -> None:
    prompts = ["The dog", "A bird can", "Tom has a new"]
    options: dict[str, Any] = {"regex": " [a-z]{2,8} [a-z]{2,8}!", "max_new_tokens": 30, "temperature": 0}
    together = [completion.text for completion in stories.generate(prompts, **options)]
    assert together == [stories.generate(prompt, **options).text for prompt in prompts]
    assert len(set(together)) > 1
    assert all(re.fullmatch(options["regex"], text) for text in together)


def test_an_end_token_is_allowed_only_at_the_end_of_the_text() -> None:
    grammar = compile_grammar(GenerationOptions(regex="ab?"), VOCABULARIES["bytes"])
    end = 258

    def allowed(text: str) -> set[int]:
        (process,) = grammar.processors(1, [end])
        processed = process(numpy.array([[0, *text.encode()]]), numpy.zeros((1, 260), numpy.float32))
        return set(numpy.flatnonzero(processed[0] == 0).tolist())

    assert allowed("") == {ord("a")}
    assert allowed("a") == {ord("b"), end}
    assert allowed("ab") == {end}


def test_a_processor_accepts_tokens_that_were_taken_back() -> None:
    grammar = compile_grammar(GenerationOptions(regex="ab|cd"), VOCABULARIES["bytes"])
    (process,) = grammar.processors(0, [258])
    logits = numpy.zeros((1, 260), numpy.float32)
    after = {text: process(numpy.array([list(text.encode())], numpy.int64), logits).argmax() for text in ("a", "c", "ab", "c")}
    assert after == {"a": ord("b"), "c": ord("d"), "ab": 258}


def test_end_tokens_with_a_text_are_no_part_of_it() -> None:
    """Some models end at an ordinary token, such as a line feed."""
    grammar = compile_grammar(GenerationOptions(regex="[ab]{3}"), VOCABULARIES["bytes"])
    (process,) = grammar.processors(0, [ord("a")])
    processed = process(numpy.array([[ord("b")]]), numpy.zeros((1, 260), numpy.float32))
    assert numpy.flatnonzero(processed[0] == 0).tolist() == [ord("b")]


def test_whitespace_is_bounded() -> None:
    grammar = compile_grammar(GenerationOptions(json_schema=PERSON), VOCABULARIES["bytes"])
    (process,) = grammar.processors(0, [258])
    token_ids: list[int] = []
    while len(token_ids) < 400 and 258 not in token_ids:
        logits = numpy.zeros((1, 260), numpy.float32)
        logits[0, [ord(" "), ord("\n"), 258]] = [1, 2, 3]
        token_ids.append(int(process(numpy.array([token_ids], numpy.int64), logits).argmax()))
    assert 258 in token_ids


KEYWORDS = (
    "type properties required items enum const anyOf oneOf allOf not pattern minLength maxLength minimum multipleOf format $ref $defs "
    "additionalProperties patternProperties prefixItems minItems maxItems uniqueItems x-guidance $id $schema if a"
).split()
VALUES = st.one_of(
    st.sampled_from(["object", "string", "integer", "array", "#", "#/$defs/a", "^a", "[", "(?i)x", "date-time", "http://x/", "\ud7ff"]),
    st.none() | st.booleans() | st.integers() | st.floats(),
    st.text(max_size=3),
)
ANY_JSON = st.recursive(
    VALUES, lambda parts: st.dictionaries(st.sampled_from(KEYWORDS), parts, max_size=4) | st.lists(parts, max_size=3), max_leaves=9
)


@given(schema=st.dictionaries(st.sampled_from(KEYWORDS), ANY_JSON, max_size=4))
def test_any_schema_is_an_error_or_a_grammar_that_always_allows_a_token(schema: dict[str, Any]) -> None:
    try:
        grammar = compile_grammar(GenerationOptions(json_schema=schema), VOCABULARIES["bytes"])
    except OptionError:
        return
    random_text(grammar, 1, max_tokens=10)


def test_a_lark_grammar_may_be_recursive() -> None:
    grammar = compile_grammar(GenerationOptions(grammar='start: "(" start ")" | "x"'), VOCABULARIES["bytes"])
    texts = [random_text(grammar, seed) for seed in range(20)]
    assert all(text and re.fullmatch(r"\(*x\)*", text) and text.count("(") == text.count(")") for text in texts)
    assert len(set(texts)) > 2


def test_a_schema_may_be_recursive_and_refer_to_its_definitions() -> None:
    node = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}
    schema = {"$ref": "#/$defs/node", "$defs": {"node": {**node, "required": ["next"], "additionalProperties": False}}}
    text = random_text(compile_grammar(GenerationOptions(json_schema=schema), VOCABULARIES["bytes"]), 1)
    assert text is not None
    value = json.loads(text)
    while value is not None:
        assert set(value) == {"next"}
        value = value["next"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"json_schema": {"properties": {"a": {"items": {"type": "strin"}}}}}, r"at \$\.properties\.a\.items: Invalid type: strin"),
        ({"json_schema": {"anyOf": [{"type": "null"}, {"type": "string", "pattern": "(?=x)"}]}}, r"at \$\.anyOf\[1\]: look-around"),
        ({"json_schema": {"$defs": {"b": {"minimum": "x"}}, "$ref": "#/$defs/b"}}, r"at \$\.\$defs\.b"),
        ({"json_schema": {"type": "array", "uniqueItems": True}}, "uniqueItems"),
        ({"json_schema": {"$ref": "file:///etc/passwd"}}, "not present"),
        ({"json_schema": {"$ref": "#"}}, "allows no text"),
        ({"json_schema": {"allOf": [{"type": "string"}, {"type": "null"}]}}, "Unsatisfiable"),
        ({"json_schema": {"minimum": 10**400}}, "number out of range"),
        ({"json_schema": {"enum": [float("nan")]}}, "expected JSON"),
        ({"json_schema": {"enum": [b"x"]}}, "expected JSON"),
        ({"json_schema": {"enum": ["x" * 300_000]}}, "expected at most 262,144"),
        ({"json_schema": {"properties": {"a": {"pattern": "(a{999}){99}"}}}}, r"\$\.properties\.a\.pattern with repetitions of 98,901"),
        ({"json_schema": {"patternProperties": {"a{99999}": {}}}}, r"\$\.patternProperties with repetitions"),
        ({"regex": "(a"}, "unclosed group"),
        ({"regex": "a{1000000}"}, "repetitions of 1,000,000 parts"),
        ({"regex": "a" * 300_000}, "expected at most"),
        ({"grammar": 'begin: "a"'}, "start"),
        ({"grammar": "start: " + "(" * 5000}, "deeply nested"),
    ],
)
def test_a_grammar_that_cannot_be_used_is_an_error_that_names_the_part(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        compile_grammar(GenerationOptions(**options), VOCABULARIES["bytes"])


def test_the_search_for_the_wrong_part_of_a_schema_is_bounded() -> None:
    num_compiled = 0

    def error_of(part: object) -> str:
        nonlocal num_compiled
        num_compiled += len(json.dumps(part))
        return "wrong"

    large: dict[str, Any] = {"enum": ["x" * 100_000]}
    for _ in range(60):
        large = {"not": large}
    assert find_wrong_part(large, error_of)[1] == "wrong"
    assert num_compiled < 2_000_000


def test_a_schema_nested_too_deeply_is_an_error() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"not": schema}
    with pytest.raises(OptionError, match="nested more than 64 deep"):
        compile_grammar(GenerationOptions(json_schema=schema), VOCABULARIES["bytes"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regex": "a", "num_beams": 2}, "num_beams=2 and regex cannot be combined"),
        ({"regex": "a", "grammar": 'start: "a"'}, "regex and grammar cannot be combined"),
        ({"json_schema": {}, "ignore_end": True}, "ignore_end and json_schema cannot be combined"),
        ({"json_schema": "{}"}, "expected a JSON Schema as a dict"),
        ({"regex": ""}, "expected a non-empty string"),
    ],
)
def test_options_that_do_not_fit_a_grammar_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make_model(eos_token_id=256).generate("a", **options)


def test_a_grammar_needs_a_model_with_an_end_token() -> None:
    model = make_model(eos_token_id=256)
    model.end_token_ids = ()
    with pytest.raises(OptionError, match="without an end token"):
        model.generate("a", regex="b")


def test_a_failed_grammar_prescribes_nothing_and_raises_where_it_is_applied():
    vocabulary = Vocabulary(byte_tokenizer(), 256)
    (process,) = compile_grammar(GenerationOptions(regex="abc"), vocabulary).processors(1, [])
    a, b, c, z = (vocabulary.ids[each] for each in (b"a", b"b", b"c", b"z"))
    assert process.forced_tokens([z, a]) == [b, c]
    assert process.forced_tokens([z, a, z]) == []
    with pytest.raises(OptionError, match="the grammar cannot be applied any further"):
        process(numpy.array([[z, a, z]]), numpy.zeros((1, vocabulary.vocab_size), numpy.float32))
