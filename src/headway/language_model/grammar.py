"""Constrained decoding: allow only tokens that continue a text of a grammar, by llguidance.

Source   Koo, Liu, He 2024, Automata-based constraints for language model decoding; guidance-ai/llguidance
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from headway.engine import GenerationOptions, LogitsProcessor
from headway.errors import OptionError
from headway.language_model.json_schema import check_schema, find_wrong_part
from headway.language_model.patterns import check_pattern, patterns_of
from headway.tokenizers import Tokenizer

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer
    from llguidance._lib import JsonCompileOptions

WHITESPACE = r" |\n {0,16}"
"""Whitespace between the parts of JSON. A model with flat probabilities would otherwise write line feeds without end."""

JSON_OPTIONS: JsonCompileOptions = {"whitespace_pattern": WHITESPACE, "lenient": False}
"""Options of llguidance. Lenient would ignore the parts of a schema that are not supported."""

MAX_BYTES = 256 * 1024
"""Longest schema, regular expression or grammar."""

MAX_COMPILED = 16
"""Most grammars that are kept compiled."""


class Vocabulary:
    """The tokens of a model as bytes, as llguidance reads them. One is enough for all grammars of a model."""

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        """Read all tokens.

        vocab_size   number of logits of the model, which may differ from the tokenizer's

        Errors   OptionError if llguidance is not installed.
        """
        try:
            import llguidance
        except ImportError as error:
            raise OptionError(
                "got a grammar without a library to apply it, expected llguidance", hint="install it: pip install 'headway[serve]'"
            ) from error
        self.tokenizer, self.vocab_size = tokenizer, vocab_size
        tokens = [tokenizer.token_bytes(token_id) or b"" for token_id in range(vocab_size)]
        self.ids = {token: token_id for token_id, token in enumerate(tokens) if token}
        # The end of a text is a token of its own, after those of the model: each request has its own end tokens.
        self.end_of_text = self.eos_token_id = vocab_size
        self.tokens, self.special_token_ids, self.bos_token_id = [*tokens, b"\xff<end of text>"], [vocab_size], None
        self.longest = max(map(len, tokens), default=0)
        self.wrapped: LLTokenizer = llguidance.LLTokenizer(
            llguidance.TokenizerWrapper(self), n_vocab=vocab_size + 1, eos_token=self.end_of_text
        )

    def __call__(self, data: bytes) -> list[int]:
        """Return the token ids of text that a grammar prescribes: as the tokenizer encodes it, if that decodes to the same bytes."""
        try:
            token_ids = self.tokenizer.encode(data.decode(), add_special_tokens=False)
        except UnicodeDecodeError:
            return self._longest_tokens(data)
        is_same = all(token_id < self.vocab_size for token_id in token_ids) and b"".join(map(self.tokens.__getitem__, token_ids)) == data
        return token_ids if is_same else self._longest_tokens(data)

    def _longest_tokens(self, data: bytes) -> list[int]:
        """Return the token ids of data, each the longest that fits; bytes without a token are left out."""
        token_ids, start = [], 0
        while start < len(data):
            lengths = range(min(self.longest, len(data) - start), 0, -1)
            length = next((length for length in lengths if data[start : start + length] in self.ids), 0)
            if length:
                token_ids.append(self.ids[data[start : start + length]])
            start += length or 1
        return token_ids


@dataclass(frozen=True)
class Grammar:
    """The texts that a request may generate, compiled for a vocabulary.

    start   matcher at the start of a text; it is copied, never advanced
    """

    start: LLMatcher
    vocabulary: Vocabulary

    def processors(self, num_prompt_tokens: int, end_token_ids: Sequence[int]) -> list[LogitsProcessor]:
        """Return the logits processor of one completion, in a list; see GrammarProcessor."""
        return [GrammarProcessor(self, num_prompt_tokens, end_token_ids)]


class GrammarProcessor:
    """A logits processor that allows the tokens that continue a text of the grammar, and end tokens where it is complete."""

    def __init__(self, grammar: Grammar, num_prompt_tokens: int, end_token_ids: Sequence[int]) -> None:
        """Start before the first token of the completion.

        num_prompt_tokens   number of tokens that are not part of the text
        """
        self.grammar, self.num_prompt_tokens, self.end_token_ids = grammar, num_prompt_tokens, list(end_token_ids)
        self.matcher, self.consumed = grammar.start.deep_copy(), list[int]()

    def __call__(self, token_ids: numpy.ndarray, logits: numpy.ndarray, /) -> numpy.ndarray:
        """Return the logits with -inf for each token that is not allowed.

        Shapes
            token_ids  (1, seq_len) integer
            logits     (1, vocab_size)
            return     (1, vocab_size)

        Errors   OptionError if the grammar needs too much work for one token.
        """
        self._consume(token_ids[0, self.num_prompt_tokens :].tolist())
        _check_matcher(self.matcher)
        bits = numpy.frombuffer(self.matcher.compute_bitmask(), numpy.uint8)
        _check_matcher(self.matcher)
        allowed = numpy.zeros(logits.shape[-1], bool)
        of_tokens = numpy.unpackbits(bits, bitorder="little")
        end_of_text = self.grammar.vocabulary.end_of_text
        allowed[:end_of_text] = of_tokens[: min(end_of_text, allowed.size)]
        allowed[self.end_token_ids] = bool(of_tokens[end_of_text])
        return numpy.where(allowed, logits, numpy.asarray(-numpy.inf, logits.dtype))

    def forced_tokens(self, token_ids: list[int], /) -> list[int]:
        """Return the tokens of the text that is the only continuation, as the tokenizer encodes it; [] if there are several.

        A grammar that needs too much work gives [] here, and is an error of the next call for logits, which ends this request alone.
        """
        self._consume(token_ids[self.num_prompt_tokens :])
        if self.matcher.is_error():
            return []
        forced: list[int] = self.matcher.compute_ff_tokens()
        end = self.grammar.vocabulary.end_of_text
        return forced[: forced.index(end)] if end in forced else forced

    def _consume(self, completion: list[int]) -> None:
        """Advance the matcher to the end of the completion. It starts again if the completion is not a continuation."""
        if completion[: len(self.consumed)] != self.consumed:
            self.matcher, self.consumed = self.grammar.start.deep_copy(), []
        added = completion[len(self.consumed) :]
        if added:
            self.matcher.consume_tokens(added)
        self.consumed = completion


def constraint_of(options: GenerationOptions) -> str | None:
    """Return the name of the option that prescribes a grammar; None if none is given."""
    return next((name for name in options.CONSTRAINTS if getattr(options, name) is not None), None)


class GrammarCache:
    """The grammars of a model that were used last, compiled. Threads may use it at the same time."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Start empty."""
        self.vocabulary, self._compiled, self._lock = vocabulary, dict[tuple[str, str], Grammar](), threading.Lock()

    def compile(self, options: GenerationOptions, end_token_ids: Sequence[int]) -> Grammar:
        """Return the grammar of options that have one.

        Errors   those of compile_grammar; OptionError for a model without an end token.
        """
        name = constraint_of(options)
        assert name is not None, "called for options with a constraint"
        if not end_token_ids:
            raise OptionError(
                f"got {name} for a model without an end token, expected one with eos_token_id, which ends the text",
                hint="add eos_token_id to the model's generation_config.json",
            )
        given = getattr(options, name)
        key = name, given if isinstance(given, str) else check_schema(given, MAX_BYTES)
        with self._lock:
            found = self._compiled.pop(key, None)
        found = found or compile_grammar(options, self.vocabulary)
        with self._lock:
            self._compiled[key] = found
            while len(self._compiled) > MAX_COMPILED:
                del self._compiled[next(iter(self._compiled))]
        return found


def compile_grammar(options: GenerationOptions, vocabulary: Vocabulary) -> Grammar:
    """Compile json_schema, regex or grammar of the options.

    Errors   OptionError for one that is invalid, not supported, allows no text or exceeds the limits; for a schema it names the part.
    """
    if options.json_schema is not None:
        return Grammar(_schema_matcher(options.json_schema, vocabulary), vocabulary)
    name, text = ("regex", options.regex) if options.regex is not None else ("grammar", options.grammar)
    assert text is not None, "called for options with a constraint"
    return Grammar(_text_matcher(name, text, vocabulary), vocabulary)


def json_rule(schema: Mapping[str, object]) -> str:
    """Return the right-hand side of a grammar rule for JSON of a schema, with bounded whitespace.

    Errors   OptionError for a schema that is too large or not JSON.
    """
    text = check_schema(schema, MAX_BYTES)
    return f"%json {json.dumps({**json.loads(text), 'x-guidance': JSON_OPTIONS})}"


def _schema_matcher(schema: Mapping[str, object], vocabulary: Vocabulary) -> LLMatcher:
    from llguidance import LLMatcher

    text = check_schema(schema, MAX_BYTES)
    plain: dict[str, object] = json.loads(text)
    for path, pattern in patterns_of(plain):
        check_pattern(f"json_schema with {path}", pattern)

    def compiled(part: Mapping[str, object]) -> LLMatcher:
        return _matcher(LLMatcher.grammar_from_json_schema(json.dumps(part), overrides=JSON_OPTIONS), vocabulary)

    try:
        matcher = compiled(plain)
    except ValueError as error:  # such as a number that is too large
        raise OptionError(f"got json_schema with an error: {error!s:.200}, expected a valid JSON Schema") from error
    if matcher.is_error():
        path, reason = find_wrong_part(plain, lambda part: _error_of(compiled(part)))
        raise OptionError(
            f"got json_schema with an error at {path}: {reason}, expected a schema that is valid and supported",
            hint="supported are type, properties, required, items, enum, const, anyOf, allOf, $ref, pattern, format, and limits of "
            "lengths and numbers",
        )
    return matcher


def _text_matcher(name: str, text: str, vocabulary: Vocabulary) -> LLMatcher:
    from llguidance import LLMatcher

    if len(text) > MAX_BYTES:
        raise OptionError(f"got {name} of {len(text):,} characters, expected at most {MAX_BYTES:,}")
    check_pattern(name, text)
    is_regex = name == "regex"
    matcher = _matcher(LLMatcher.grammar_from_regex(text) if is_regex else LLMatcher.grammar_from_lark(text), vocabulary)
    if matcher.is_error():
        expected = (
            "a regular expression in the syntax of Rust's regex" if is_regex else "a grammar in Lark's syntax with a rule named start"
        )
        raise OptionError(f"got {name} with an error: {_error_of(matcher)}, expected {expected}")
    return matcher


def _matcher(source: str, vocabulary: Vocabulary) -> LLMatcher:
    """Return a matcher at the start of a text. It is in an error state if the source is invalid or allows no text."""
    from llguidance import LLMatcher, LLParserLimits

    matcher = LLMatcher(vocabulary.wrapped, source, log_level=0, limits=LLParserLimits(verbose_errors=False))
    if not matcher.is_error():
        matcher.compute_bitmask()  # finds a grammar without any text
    return matcher


def _error_of(matcher: LLMatcher) -> str:
    """Return the error of a matcher in one line; "" for none."""
    text = matcher.get_error().removesuffix("<non-verbose/>")
    if text.startswith("NoExtension"):
        return "it allows no text"
    of_regex = re.search(r"regex parse error.*?\nerror: ([^\n]*)", text, re.DOTALL)
    return of_regex[1] if of_regex else text.partition("\n")[0][:300]


def _check_matcher(matcher: LLMatcher) -> None:
    """Raise OptionError for a matcher that failed at a token."""
    if matcher.is_error():
        raise OptionError(
            f"the grammar cannot be applied any further: {_error_of(matcher)}", hint="make the schema, regex or grammar simpler"
        )
