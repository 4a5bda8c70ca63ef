"""Base classes of all tokenizers and stream decoders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway.errors import PromptError, TokenIdError, TokenizerError
from headway.tokenizers.chat_template import choose_template, render


@dataclass(frozen=True)
class EncodedPair:
    """The token ids of a text or a pair of texts, special tokens included.

    token_types  0 for the tokens of the first text, 1 for those of the second; all 0 if the tokenizer does not distinguish them
    is_cut       True if a text was truncated
    """

    token_ids: list[int]
    token_types: list[int]
    is_cut: bool = False


class StreamDecoder(ABC):
    """Decode token ids that arrive one at a time.

    The texts that `add` and `flush` return, concatenated, are exactly what `decode` returns for all ids together.
    """

    @abstractmethod
    def add(self, token_id: int) -> str:
        """Return the text that became final with this token. It may be empty and never ends inside a character.

        Errors   TokenIdError for a negative id.
        """

    @abstractmethod
    def flush(self) -> str:
        """Return the text still held at the end, an incomplete character as U+FFFD. The decoder is then ready for another text."""


class Tokenizer(ABC):
    """Convert text to token ids and back.

    bos_token_id     first token of a text; None if there is none, as for the ids below
    eos_token_ids    tokens that end a text according to the tokenizer's files; generation_config.json takes precedence
    unk_token_id     replaces text that the vocabulary lacks
    pad_token_id     fills the shorter rows of a batch
    mask_token_id    marks the token that a masked language model predicts
    cls_token_id     first token of a BERT text
    sep_token_id     last token of a BERT text
    special_tokens   by name, such as "eos_token": "</s>"; chat templates read them
    chat_templates   Jinja templates by name, such as "default"
    """

    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    unk_token_id: int | None = None
    pad_token_id: int | None = None
    mask_token_id: int | None = None
    cls_token_id: int | None = None
    sep_token_id: int | None = None
    special_tokens: Mapping[str, str]
    chat_templates: Mapping[str, str]

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """One more than the largest token id."""

    @abstractmethod
    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Return the token ids of a text. A special token that occurs in the text becomes its id.

        add_special_tokens   add the tokens that the model was trained with, such as the bos token

        Errors   PromptError for text with a lone surrogate, which has no UTF-8 form.
        """

    def encode_target(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Return the token ids of a target text. They differ from `encode` for models with separate source and target vocabularies.

        Errors   as encode.
        """
        return self.encode(text, add_special_tokens=add_special_tokens)

    def encode_pair(self, text: str, other: str | None = None, *, max_len: int | None = None) -> EncodedPair:
        """Return the token ids of a text, or of a pair of texts with the tokens that separate them.

        max_len   maximum number of tokens, special ones included; the texts are truncated at their ends, the longer one first

        Errors   as encode; TokenizerError for a tokenizer that encodes no pairs.
        """
        raise TokenizerError("got a tokenizer that encodes no pairs of texts, expected one with a tokenizer.json or BERT's vocab.txt")

    @abstractmethod
    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """Return the text of token ids. Bytes that are not UTF-8 become U+FFFD.

        An id without a token adds nothing: many models have more embedding rows than their tokenizer has tokens.

        Errors   TokenIdError for a negative id.
        """

    @abstractmethod
    def token(self, token_id: int) -> str:
        """Return a token as the vocabulary writes it, such as "Ġthe".

        Errors   TokenIdError for an id without a token.
        """

    @abstractmethod
    def token_bytes(self, token_id: int) -> bytes | None:
        """Return the UTF-8 bytes that a token adds in the middle of a text, at times a part of a character.

        None for a special token, the unknown token, and an id without a token.
        """

    @abstractmethod
    def stream_decoder(self, *, after: Sequence[int] = (), skip_special_tokens: bool = True) -> StreamDecoder:
        """Return a decoder for token ids that arrive one at a time.

        after   preceding token ids, such as a prompt, whose text is not returned. They decide if the first token starts the text
                (SentencePiece drops its space) or continues it (the space stays). An incomplete character at their end is dropped.
        """

    @property
    def has_chat_template(self) -> bool:
        """True if apply_chat_template can be used."""
        return bool(self.chat_templates)

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, object]],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[Mapping[str, object]] | None = None,
        **variables: object,
    ) -> str:
        """Render a conversation as the text that the model was trained on. Encode it with add_special_tokens=False.

        messages                such as {"role": "user", "content": "Hello"}, the oldest first; keys with the value None are dropped
        add_generation_prompt   end the text where the model's answer begins
        tools                   JSON schemas of the functions that the model may call
        variables               other variables of the template, such as enable_thinking=False

        Errors   PromptError for no messages; TokenizerError if there is no template, if it fails or rejects the conversation (with
                 its own message), or needs too many steps; OptionError for values that are not JSON.
        Source   transformers, PreTrainedTokenizerBase.apply_chat_template
        """
        template = choose_template(self.chat_templates, has_tools=tools is not None)
        if not messages:
            raise PromptError("got no messages, expected at least one", hint="pass a message such as {'role': 'user', 'content': 'Hello'}")
        messages = [{key: value for key, value in message.items() if value is not None} for message in messages]
        given = {**self.special_tokens, "messages": messages, "tools": tools, "documents": None, **variables}
        return render(template, {**given, "add_generation_prompt": add_generation_prompt})


def check_text(text: str) -> None:
    """Raise PromptError for text that has no UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        surrogate = f"U+{ord(text[error.start]):04X}"
        raise PromptError(
            f"got text with the lone surrogate {surrogate} at character {error.start}, expected text that has a UTF-8 form",
            hint="read the text as UTF-8 with errors='replace'",
        ) from error


def check_token_ids(token_ids: Sequence[int]) -> None:
    """Raise TokenIdError for ids outside 0 to 2**32 - 1."""
    invalid = next((token_id for token_id in token_ids if not 0 <= token_id < 2**32), None)
    if invalid is not None:
        raise TokenIdError(
            f"got token id {invalid}, expected 0 or more and less than 2**32", hint="remove -1 and -100 if they are used as padding"
        )
