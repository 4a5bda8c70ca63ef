"""Tokenizers of the `tokenizers` library, which reads every tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NoReturn

import tokenizers

from headway.errors import HeadwayError, TokenIdError, TokenizerError
from headway.files import write_text
from headway.tokenizers.byte_level import byte_characters
from headway.tokenizers.cleaning import CleaningStreamDecoder, clean_up
from headway.tokenizers.streaming import BYTE_TOKEN, BytesStreamDecoder, DecoderStep, WindowStreamDecoder, decoder_steps, plain_character
from headway.tokenizers.tokenizer import EncodedPair, StreamDecoder, Tokenizer, check_text, check_token_ids


def raise_library_error(error: BaseException, action: str) -> NoReturn:
    """Raise TokenizerError for an exception of the tokenizers library, Rust panics included. Raise others, such as KeyboardInterrupt, as they are.

    action   completes "the tokenizers library cannot …"
    """
    # A Rust panic is a BaseException of a class that cannot be imported. Other errors are plain Exceptions.
    if isinstance(error, HeadwayError) or not (isinstance(error, Exception) or type(error).__name__ == "PanicException"):
        raise error
    if not isinstance(error, Exception):
        reason = f"its code panicked ({error})"
    else:
        reason = str(error) if type(error) is Exception else f"{error} ({type(error).__name__})"
    raise TokenizerError(f"the tokenizers library cannot {action}: {reason:.500}", hint="download the tokenizer's files again") from error


class LibraryTokenizer(Tokenizer):
    """A tokenizer of the library, with the settings of tokenizer_config.json."""

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        special_tokens: Mapping[str, str] | None = None,
        chat_templates: Mapping[str, str] | None = None,
        cleans_up: bool = False,
    ) -> None:
        """Wrap a tokenizer of the library.

        special_tokens   by name, such as "eos_token": "</s>"
        chat_templates   by name, such as "default"
        cleans_up        remove spaces before punctuation from decoded text
        """
        # A tokenizer.json may contain the truncation and padding of its training, which would cut prompts.
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.special_tokens = dict(special_tokens or {})
        self.chat_templates = dict(chat_templates or {})
        self.cleans_up = cleans_up
        ids = {name: backend.token_to_id(content) for name, content in self.special_tokens.items()}
        self.bos_token_id = ids.get("bos_token")
        self.eos_token_ids = tuple(token_id for token_id in [ids.get("eos_token")] if token_id is not None)
        self.unk_token_id, self.pad_token_id, self.mask_token_id = map(ids.get, ("unk_token", "pad_token", "mask_token"))
        self.cls_token_id, self.sep_token_id = map(ids.get, ("cls_token", "sep_token"))

    @cached_property
    def vocab_size(self) -> int:
        """See Tokenizer."""
        return max(self.backend.get_vocab().values(), default=-1) + 1

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """See Tokenizer.

        Errors   also TokenizerError if the library cannot encode the text, as with an incomplete vocabulary.
        """
        check_text(text)
        try:
            return self.backend.encode(text, add_special_tokens=add_special_tokens).ids
        except BaseException as error:
            raise_library_error(error, "encode the text")

    def encode_pair(self, text: str, other: str | None = None, *, max_len: int | None = None) -> EncodedPair:
        """See Tokenizer.

        Errors   also TokenizerError if the library cannot encode the texts.
        """
        texts = [text] if other is None else [text, other]
        for each in texts:
            check_text(each)
        try:
            encodings = [self.backend.encode(each, add_special_tokens=False) for each in texts]
            sizes = [len(encoding.ids) for encoding in encodings]
            kept = sizes
            if max_len is not None:
                kept = _longest_first(sizes, max(max_len - self.backend.num_special_tokens_to_add(other is not None), 0))
            for encoding, size in zip(encodings, kept, strict=True):
                encoding.truncate(size)
            whole = self.backend.post_process(encodings[0], encodings[1] if other is not None else None)
            return EncodedPair(whole.ids, whole.type_ids, kept != sizes)
        except BaseException as error:
            raise_library_error(error, "encode the text")

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """See Tokenizer.

        Errors   also TokenizerError if the library cannot decode the ids.
        """
        check_token_ids(token_ids)
        text = self._decode(list(token_ids), skip_special_tokens)
        return clean_up(text) if self.cleans_up else text

    def _decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        try:
            return self.backend.decode(token_ids, skip_special_tokens=skip_special_tokens)
        except BaseException as error:
            raise_library_error(error, "decode the token ids")

    def token(self, token_id: int) -> str:
        """See Tokenizer."""
        token = self.backend.id_to_token(token_id) if 0 <= token_id < 2**32 else None
        if token is None:
            raise TokenIdError(f"got token id {token_id}, expected one of the vocabulary, 0 to {self.vocab_size - 1}")
        return token

    def token_bytes(self, token_id: int) -> bytes | None:
        """See Tokenizer."""
        token = self.backend.id_to_token(token_id) if 0 <= token_id < 2**32 else None
        if token is None or token in self._special_contents or token_id == self.unk_token_id:
            return None
        if self._decoder_kinds == ["ByteLevel"]:
            return self._bytes(token_id, frozenset())
        if "ByteFallback" in self._decoder_kinds and BYTE_TOKEN.fullmatch(token):
            return bytes([int(token[3:5], 16)])
        # A decoder may drop the space of the first token of a text.
        return self._decode([*self._anchor, token_id])[len(self._anchor) :].encode()

    @cached_property
    def _anchor(self) -> list[int]:
        """The id of a token that is one plain character, as a list; [] if there is none."""
        return plain_character(self.backend, self._decode)

    def stream_decoder(self, *, after: Sequence[int] = (), skip_special_tokens: bool = True) -> StreamDecoder:
        """See Tokenizer."""
        skipped = self._special_contents if skip_special_tokens else frozenset()
        decoder: BytesStreamDecoder | WindowStreamDecoder
        if self._decoder_kinds == ["ByteLevel"]:
            decoder = BytesStreamDecoder(lambda token_id, previous: self._known_bytes(token_id, skipped))
        else:
            decoder = WindowStreamDecoder(self._decode, self.backend, self._decoder_steps, skipped)
        decoder.feed_context(after)
        return CleaningStreamDecoder(decoder) if self.cleans_up else decoder

    @cached_property
    def _decoder_steps(self) -> list[DecoderStep]:
        """The steps of the decoder, as tokenizer.json writes them."""
        decoder = self.backend.decoder
        return [] if decoder is None else decoder_steps(json.loads(decoder.__getstate__()))

    @cached_property
    def _decoder_kinds(self) -> list[object]:
        return [step["type"] for step in self._decoder_steps]

    @cached_property
    def _special_contents(self) -> frozenset[str]:
        return frozenset(token.content for token in self.backend.get_added_tokens_decoder().values() if token.special)

    @cached_property
    def _known_bytes(self) -> Callable[[int, frozenset[str]], bytes]:
        """`_bytes` with a memory: a stream asks for every token."""
        return lru_cache(maxsize=65536)(self._bytes)

    def _bytes(self, token_id: int, skipped: frozenset[str]) -> bytes:
        token = self.backend.id_to_token(token_id)
        if token is None or token in skipped:
            return b""
        # The library's ByteLevel decoder returns a token with any other character unchanged.
        try:
            return bytes(map(byte_characters().__getitem__, token))
        except KeyError:
            return token.encode()

    def save(self, folder: Path, *, model_max_length: int | None = None) -> None:
        """Write tokenizer.json, tokenizer_config.json and any chat templates, in the form that transformers' AutoTokenizer opens.

        model_max_length   context length of the model in tokens; transformers warns about longer texts

        Errors   OSError if the folder cannot be written. A file that fails keeps its previous content.
        """
        folder = Path(folder)
        config: dict[str, object] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": self.cleans_up}
        config |= self.special_tokens
        if model_max_length is not None:
            config["model_max_length"] = model_max_length
        if self.chat_templates:
            config["chat_template"] = (
                self.chat_templates["default"]
                if list(self.chat_templates) == ["default"]
                else [{"name": name, "template": template} for name, template in self.chat_templates.items()]
            )
        write_text(folder / "tokenizer.json", self.backend.to_str(pretty=True))
        write_text(folder / "tokenizer_config.json", json.dumps(config, indent=2, ensure_ascii=False) + "\n")


def _longest_first(sizes: list[int], limit: int) -> list[int]:
    """Return the numbers of tokens that are kept of one or two texts.

    Source   the strategy longest_first of the tokenizers library
    """
    if sum(sizes) <= limit or len(sizes) == 1:
        return [min(size, limit) for size in sizes]
    short = min(sizes)
    long = short if short > limit else max(short, limit - short)
    if short + long > limit:
        short, long = limit // 2, limit // 2 + limit % 2
    return [long, short] if sizes[0] > sizes[1] else [short, long]
