"""Tokenizers of the `tokenizers` library: everything that a tokenizer.json can say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers

from headway.errors import TokenIdError
from headway.files import write_text
from headway.tokenizers.byte_level import byte_characters
from headway.tokenizers.cleaning import CleaningStreamDecoder, clean_up
from headway.tokenizers.streaming import BytesStreamDecoder, WindowStreamDecoder, decoder_steps
from headway.tokenizers.tokenizer import StreamDecoder, Tokenizer, check_text, check_token_ids


class LibraryTokenizer(Tokenizer):
    """A tokenizer of the library, with what tokenizer_config.json says beside it."""

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        special_tokens: Mapping[str, str] | None = None,
        chat_templates: Mapping[str, str] | None = None,
        cleans_up: bool = False,
    ) -> None:
        """Take a tokenizer of the library, its special tokens and its chat templates by name, and whether to clean up what it decodes."""
        # A tokenizer.json may carry the truncation and padding of its training, which would cut prompts.
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
        """See Tokenizer."""
        check_text(text)
        return self.backend.encode(text, add_special_tokens=add_special_tokens).ids

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """See Tokenizer."""
        check_token_ids(token_ids)
        text = self.backend.decode(list(token_ids), skip_special_tokens=skip_special_tokens)
        return clean_up(text) if self.cleans_up else text

    def token(self, token_id: int) -> str:
        """See Tokenizer."""
        token = self.backend.id_to_token(token_id) if 0 <= token_id < 2**32 else None
        if token is None:
            raise TokenIdError(f"came: token id {token_id}; expected: one of the vocabulary's, 0 to {self.vocab_size - 1}")
        return token

    def stream_decoder(self, *, after: Sequence[int] = (), skip_special_tokens: bool = True) -> StreamDecoder:
        """See Tokenizer."""
        skipped = self._special_contents if skip_special_tokens else frozenset()
        decoder: BytesStreamDecoder | WindowStreamDecoder
        if [step["type"] for step in decoder_steps(self._decoder)] == ["ByteLevel"]:
            decoder = BytesStreamDecoder(lambda token_id, previous: self._bytes(token_id, skipped))
        else:
            decoder = WindowStreamDecoder(self.backend, self._decoder, skipped)
        decoder.hide(after)
        return CleaningStreamDecoder(decoder) if self.cleans_up else decoder

    @cached_property
    def _decoder(self) -> Mapping[str, Any] | None:
        """The decoder as tokenizer.json writes it."""
        decoder = self.backend.decoder
        return None if decoder is None else json.loads(decoder.__getstate__())

    @cached_property
    def _special_contents(self) -> frozenset[str]:
        return frozenset(token.content for token in self.backend.get_added_tokens_decoder().values() if token.special)

    def _bytes(self, token_id: int, skipped: frozenset[str]) -> bytes:
        token = self.backend.id_to_token(token_id)
        if token is None or token in skipped:
            return b""
        # The library's ByteLevel decoder takes a token with any other character for the text itself.
        table = byte_characters()
        return bytes(map(table.__getitem__, token)) if all(character in table for character in token) else token.encode()

    def save(self, folder: Path, *, model_max_length: int | None = None) -> None:
        """Write tokenizer.json, tokenizer_config.json and any chat templates, so that transformers' AutoTokenizer opens the folder.

        model_max_length   the model's context, which transformers warns about

        Errors   OSError where the folder cannot be written; each file is whole or as it was.
        """
        folder = Path(folder)
        config: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": self.cleans_up}
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
