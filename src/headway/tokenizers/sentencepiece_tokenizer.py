"""Tokenizers based on the `sentencepiece` library: T5, Llama 2, and Marian with a vocabulary file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tokenizers import AddedToken

from headway.errors import TokenIdError
from headway.tokenizers.cleaning import CleaningStreamDecoder
from headway.tokenizers.sentencepiece_model import PieceModel
from headway.tokenizers.sentencepiece_streaming import SPACE, PieceStreamDecoder, StrippingStreamDecoder
from headway.tokenizers.tokenizer import StreamDecoder, Tokenizer, check_text, check_token_ids


@dataclass(frozen=True)
class Rules:
    """Special tokens and options that are not part of the SentencePiece model.

    added              tokens that are cut out of a text before the library encodes it
    special_tokens     by name, such as "eos_token": "</s>"
    chat_templates     by name, such as "default"
    adds_begin         make encode add the bos token
    adds_end           make encode add the eos token
    cleans_up          make decode remove spaces before punctuation
    splits_special     encode special tokens that occur in a text as plain text
    """

    added: Sequence[AddedToken]
    special_tokens: Mapping[str, str]
    chat_templates: Mapping[str, str] = field(default_factory=dict)
    adds_begin: bool = False
    adds_end: bool = False
    cleans_up: bool = False
    splits_special: bool = False


class SentencePieceTokenizer(Tokenizer):
    """T5 and Llama 2: the id of a piece is its index in the model, and added tokens follow."""

    def __init__(self, first: PieceModel, other: PieceModel, ids: Mapping[str, int], rules: Rules, *, drops_space: bool = True) -> None:
        """Take the models, the ids of pieces and added tokens, and the rules.

        first         encodes the start of a text, and decodes
        other         encodes text after a special token
        drops_space   make decode drop the space that encode adds before the first word
        """
        self.first, self.other, self.ids, self.rules, self.drops_space = first, other, ids, rules, drops_space
        self.pieces = {token_id: piece for piece, token_id in self._target_vocab.items()}
        self.special_tokens, self.chat_templates = dict(rules.special_tokens), dict(rules.chat_templates)
        end = self._special_id(self._target_vocab, "eos_token")
        self.eos_token_ids = () if end is None else (end,)
        self.bos_token_id = self._special_id(ids, "bos_token")
        self.unk_token_id, self.pad_token_id = self._special_id(ids, "unk_token"), self._special_id(ids, "pad_token")
        self.mask_token_id = self._special_id(ids, "mask_token")
        self.cls_token_id, self.sep_token_id = self._special_id(ids, "cls_token"), self._special_id(ids, "sep_token")

    @property
    def _target_vocab(self) -> Mapping[str, int]:
        """The vocabulary of the tokens that the model generates."""
        return self.ids

    def _special_id(self, ids: Mapping[str, int], name: str) -> int | None:
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
            token_ids += [self.ids[part]] if is_added else self._encode_part(part, is_first=start == 0)
        return self._add_special_tokens(token_ids, self.ids) if add_special_tokens else token_ids

    def _add_special_tokens(self, token_ids: list[int], ids: Mapping[str, int]) -> list[int]:
        begin = [ids[self.special_tokens["bos_token"]]] if self.rules.adds_begin else []
        end = [ids[self.special_tokens["eos_token"]]] if self.rules.adds_end else []
        return [*begin, *token_ids, *end]

    def _encode_part(self, text: str, *, is_first: bool) -> list[int]:
        return (self.first if is_first else self.other).encode_ids(text)

    def _parts(self, text: str) -> Iterator[tuple[str, bool, int]]:
        """Split a text into added tokens and other text. Yield each part, True for an added token, and the part's start."""
        end = 0
        for match in self._pattern.finditer(text):
            if match.start() > end:
                yield text[end : match.start()], False, end
            yield match[match.lastindex or 0], True, match.start()
            end = match.end()
        if end < len(text):
            yield text[end:], False, end

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Matches added tokens, the longest first, with the adjacent spaces that their flags include."""
        cut = [token for token in self.rules.added if not (token.special and self.rules.splits_special)]
        return re.compile("|".join(map(_token_pattern, sorted(cut, key=lambda token: -len(token.content)))) or "(?!)")

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """See Tokenizer."""
        check_token_ids(token_ids)
        decoder = self.stream_decoder(skip_special_tokens=skip_special_tokens)
        return "".join([*map(decoder.add, token_ids), decoder.flush()])

    def token(self, token_id: int) -> str:
        """See Tokenizer. For separate vocabularies, return the token of the target vocabulary."""
        if token_id not in self.pieces:
            raise TokenIdError(f"got token id {token_id}, expected one of the vocabulary, 0 to {self.vocab_size - 1}")
        return self.pieces[token_id]

    def token_bytes(self, token_id: int) -> bytes | None:
        """See Tokenizer."""
        piece = self.pieces.get(token_id)
        if piece is None or piece in self._special_contents or piece == self.special_tokens.get("unk_token"):
            return None
        if any(token.content == piece for token in self.rules.added):
            return piece.encode()
        byte = self.first.byte(piece)
        if byte is not None:
            return bytes([byte])
        return None if self.first.is_control(piece) else piece.replace(SPACE, " ").encode()

    def stream_decoder(self, *, after: Sequence[int] = (), skip_special_tokens: bool = True) -> StreamDecoder:
        """See Tokenizer."""
        decoder = self._decoder(skip_special_tokens)
        decoder.feed_context(after)
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
    """Marian: encode reads the source language, decode writes the target language.

    The id of a piece is its id in the vocabulary; a piece that the vocabulary lacks is unknown. For a model of several target
    languages a text begins with the code of one, such as >>fra<<, which is one token.

    Source   transformers, models/marian/tokenization_marian.py
    """

    def __init__(
        self, source: PieceModel, target: PieceModel, ids: Mapping[str, int], rules: Rules, *, target_ids: Mapping[str, int] | None = None
    ) -> None:
        """Take the models and the ids of the pieces.

        ids          of both languages, or of the source language if target_ids is given
        target_ids   of the target language
        """
        self.target_ids = target_ids
        super().__init__(source, target, ids, rules)

    @property
    def _target_vocab(self) -> Mapping[str, int]:
        return self.ids if self.target_ids is None else self.target_ids

    def encode_target(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """See Tokenizer."""
        check_text(text)
        ids = self._target_vocab
        token_ids: list[int] = []
        for part, is_added, _ in self._parts(text):
            token_ids += [ids[part]] if is_added else self._vocab_ids(part, self.other, ids)
        return self._add_special_tokens(token_ids, ids) if add_special_tokens else token_ids

    def _encode_part(self, text: str, *, is_first: bool) -> list[int]:
        return self._vocab_ids(text, self.first, self.ids)

    def _vocab_ids(self, text: str, model: PieceModel, ids: Mapping[str, int]) -> list[int]:
        end = text.find("<<") + 2 if text.startswith(">>") else 0
        code = text[: max(end, 0)] if end > 1 else ""
        pieces = [*([code] if code else []), *model.encode_pieces(text[len(code) :])]
        unknown = ids[self.special_tokens["unk_token"]]
        return [ids.get(piece, unknown) for piece in pieces]

    def _decoder(self, skip_special_tokens: bool) -> StrippingStreamDecoder:
        # transformers decodes a shared vocabulary with the source model; the two models differ only in how they start a text.
        model = self.first if self.target_ids is None else self.other
        special = self._special_contents
        skipped, shown = (special, frozenset()) if skip_special_tokens else (frozenset(), special)
        return StrippingStreamDecoder(PieceStreamDecoder(model, self.pieces, skipped=skipped, shown=shown, is_apart=True, has_begun=False))


def _token_pattern(token: AddedToken) -> str:
    edges = (r"(?<!\w)", r"(?!\w)") if token.single_word else ("", "")
    before, after = r"\s*" if token.lstrip else "", r"\s*" if token.rstrip else ""
    return f"{before}{edges[0]}({re.escape(token.content)}){edges[1]}{after}"
