"""Tokenizers that go through the `sentencepiece` library: T5's and Llama 2's, and Marian's with a vocabulary of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tokenizers import AddedToken

from headway.errors import TokenIdError
from headway.tokenizers.cleaning import CleaningStreamDecoder
from headway.tokenizers.sentencepiece_streaming import PieceStreamDecoder, StrippingStreamDecoder
from headway.tokenizers.tokenizer import StreamDecoder, Tokenizer, check_text, check_token_ids


@dataclass(frozen=True)
class Rules:
    """What stands beside the pieces.

    added              tokens that are cut out of a text, before the library sees it
    special_tokens     by name, such as "eos_token": "</s>"
    chat_templates     by name, such as "default"
    adds_begin         whether encode puts the beginning token before a text
    adds_end           whether encode puts the end token behind a text
    cleans_up          whether decode takes out spaces before punctuation
    splits_special     whether a special token written out in a text is text
    """

    added: Sequence[AddedToken]
    special_tokens: Mapping[str, str]
    chat_templates: Mapping[str, str] = field(default_factory=dict)
    adds_begin: bool = False
    adds_end: bool = False
    cleans_up: bool = False
    splits_special: bool = False


class SentencePieceTokenizer(Tokenizer):
    """T5's and Llama 2's: a piece's id is its place in the file, and added tokens follow."""

    def __init__(self, first: Any, other: Any, ids: Mapping[str, int], rules: Rules, *, drops_space: bool = True) -> None:
        """Take the library's processors, the ids of pieces and added tokens, and the rules.

        first         encodes text at the beginning, and decodes
        other         encodes text behind a special token
        drops_space   whether decode drops the space that encode puts before the first word
        """
        self.first, self.other, self.ids, self.rules, self.drops_space = first, other, ids, rules, drops_space
        self.pieces = {token_id: piece for piece, token_id in self._written_ids.items()}
        self.special_tokens, self.chat_templates = dict(rules.special_tokens), dict(rules.chat_templates)
        end = self._named(self._written_ids, "eos_token")
        self.eos_token_ids = () if end is None else (end,)
        self.bos_token_id = self._named(ids, "bos_token")
        self.unk_token_id, self.pad_token_id = self._named(ids, "unk_token"), self._named(ids, "pad_token")
        self.mask_token_id = self._named(ids, "mask_token")
        self.cls_token_id, self.sep_token_id = self._named(ids, "cls_token"), self._named(ids, "sep_token")

    @property
    def _written_ids(self) -> Mapping[str, int]:
        """The vocabulary that decode reads."""
        return self.ids

    def _named(self, ids: Mapping[str, int], name: str) -> int | None:
        return ids.get(self.special_tokens.get(name, ""))

    @cached_property
    def vocab_size(self) -> int:
        """See Tokenizer."""
        return max([*self.ids.values(), *self.pieces], default=-1) + 1

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """See Tokenizer."""
        check_text(text)
        token_ids: list[int] = []
        for part, is_added, start in self._parts(text):
            token_ids += [self.ids[part]] if is_added else self._encoded(part, is_first=start == 0)
        return self._surrounded(token_ids, self.ids) if add_special_tokens else token_ids

    def _surrounded(self, token_ids: list[int], ids: Mapping[str, int]) -> list[int]:
        begin = [ids[self.special_tokens["bos_token"]]] if self.rules.adds_begin else []
        end = [ids[self.special_tokens["eos_token"]]] if self.rules.adds_end else []
        return [*begin, *token_ids, *end]

    def _encoded(self, text: str, *, is_first: bool) -> list[int]:
        return (self.first if is_first else self.other).encode(text, out_type=int)

    def _parts(self, text: str) -> Iterator[tuple[str, bool, int]]:
        """The added tokens in a text and what stands between them: each with whether it is one, and where it starts."""
        place = 0
        for match in self._pattern.finditer(text):
            if match.start() > place:
                yield text[place : match.start()], False, place
            yield match[match.lastindex or 0], True, match.start()
            place = match.end()
        if place < len(text):
            yield text[place:], False, place

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Finds added tokens, the longest first, with the spaces beside them that their flags take in."""
        cut = [token for token in self.rules.added if not (token.special and self.rules.splits_special)]
        return re.compile("|".join(map(_one, sorted(cut, key=lambda token: -len(token.content)))) or "(?!)")

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """See Tokenizer."""
        check_token_ids(token_ids)
        decoder = self.stream_decoder(skip_special_tokens=skip_special_tokens)
        return "".join([*map(decoder.add, token_ids), decoder.flush()])

    def token(self, token_id: int) -> str:
        """See Tokenizer. Where a model writes with a vocabulary of its own, its token."""
        if token_id not in self.pieces:
            raise TokenIdError(f"came: token id {token_id}; expected: one of the vocabulary's, 0 to {self.vocab_size - 1}")
        return self.pieces[token_id]

    def stream_decoder(self, *, after: Sequence[int] = (), skip_special_tokens: bool = True) -> StreamDecoder:
        """See Tokenizer."""
        decoder = self._decoder(skip_special_tokens)
        decoder.hide(after)
        return CleaningStreamDecoder(decoder) if self.rules.cleans_up else decoder

    def _decoder(self, skip_special_tokens: bool) -> PieceStreamDecoder | StrippingStreamDecoder:
        special = self._special_contents
        shown = {token.content for token in self.rules.added} - (special if skip_special_tokens else frozenset())
        skipped = special if skip_special_tokens else frozenset()
        return PieceStreamDecoder(self.first, self.pieces, skipped=skipped, shown=shown, is_apart=False, has_begun=not self.drops_space)

    @cached_property
    def _special_contents(self) -> frozenset[str]:
        return frozenset(token.content for token in self.rules.added if token.special)


class MarianTokenizer(SentencePieceTokenizer):
    """Marian's: encode reads the source language, decode writes the target language.

    A piece's id is the vocabulary's, and a piece that the vocabulary lacks is unknown. A text for a model of several target
    languages begins with the code of one, such as >>fra<<, which is one token.

    Source   transformers, models/marian/tokenization_marian.py
    """

    def __init__(
        self, source: Any, target: Any, ids: Mapping[str, int], rules: Rules, *, target_ids: Mapping[str, int] | None = None
    ) -> None:
        """Take the library's processors and the ids of both languages' pieces, or of each."""
        self.target_ids = target_ids
        super().__init__(source, target, ids, rules)

    @property
    def _written_ids(self) -> Mapping[str, int]:
        return self.ids if self.target_ids is None else self.target_ids

    def encode_target(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """See Tokenizer."""
        check_text(text)
        ids = self._written_ids
        token_ids: list[int] = []
        for part, is_added, _ in self._parts(text):
            token_ids += [ids[part]] if is_added else self._ids_of(part, self.other, ids)
        return self._surrounded(token_ids, ids) if add_special_tokens else token_ids

    def _encoded(self, text: str, *, is_first: bool) -> list[int]:
        return self._ids_of(text, self.first, self.ids)

    def _ids_of(self, text: str, processor: Any, ids: Mapping[str, int]) -> list[int]:
        end = text.find("<<") + 2 if text.startswith(">>") else 0
        code = text[: max(end, 0)] if end > 1 else ""
        pieces = [*([code] if code else []), *processor.encode(text[len(code) :], out_type=str)]
        unknown = ids[self.special_tokens["unk_token"]]
        return [ids.get(piece, unknown) for piece in pieces]

    def _decoder(self, skip_special_tokens: bool) -> StrippingStreamDecoder:
        # transformers decodes a shared vocabulary's pieces with the source's model, which differ in what begins a text alone.
        processor = self.first if self.target_ids is None else self.other
        special = self._special_contents
        skipped, shown = (special, frozenset()) if skip_special_tokens else (frozenset(), special)
        return StrippingStreamDecoder(
            PieceStreamDecoder(processor, self.pieces, skipped=skipped, shown=shown, is_apart=True, has_begun=False)
        )


def _one(token: AddedToken) -> str:
    edges = (r"(?<!\w)", r"(?!\w)") if token.single_word else ("", "")
    before, behind = r"\s*" if token.lstrip else "", r"\s*" if token.rstrip else ""
    return f"{before}{edges[0]}({re.escape(token.content)}){edges[1]}{behind}"
