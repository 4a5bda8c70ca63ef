"""What every tokenizer is: encode, decode, stream, render a conversation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from headway.errors import PromptError, TokenIdError
from headway.tokenizers.chat_template import choose_template, render


class StreamDecoder(ABC):
    """Turns token ids that arrive one by one into text that is final.

    The pieces that `add` and `flush` return, put together, are exactly what `decode` makes of all the ids.
    """

    @abstractmethod
    def add(self, token_id: int) -> str:
        """The text that became final with this token: possibly "", never half a character.

        Errors   TokenIdError for a negative id.
        """

    @abstractmethod
    def flush(self) -> str:
        """What still waited, at the end of the text; half a character becomes U+FFFD. The decoder can then start on another text."""


class Tokenizer(ABC):
    """Text to token ids and back.

    bos_token_id     begins a text; None where there is none
    eos_token_ids    end a text, as the tokenizer's files say; the model's generation_config.json may know better
    unk_token_id     stands for what the vocabulary does not have; None where there is none, as in all that follow
    pad_token_id     fills the shorter rows of a batch
    mask_token_id    stands for the token that a model is to guess
    cls_token_id     begins a text of BERT's
    sep_token_id     ends a text of BERT's
    special_tokens   by name, such as "eos_token": "</s>"; chat templates read them
    chat_templates   by name, such as "default": Jinja
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
        """The token ids of a text. A special token written out in the text becomes its one id.

        add_special_tokens   whether to put what the model was trained with around the text, such as the beginning token

        Errors   PromptError for text with half a surrogate pair, which has no UTF-8.
        """

    def encode_target(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """The token ids of a text that a model is to write: those of encode, but where a model reads one language and writes another.

        Errors   as encode.
        """
        return self.encode(text, add_special_tokens=add_special_tokens)

    @abstractmethod
    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """The text of token ids. Bytes that are no UTF-8 become U+FFFD.

        An id without a token adds nothing: models often have more rows than their tokenizer has tokens.

        Errors   TokenIdError for a negative id.
        """

    @abstractmethod
    def token(self, token_id: int) -> str:
        """A token as the vocabulary writes it, such as "Ġthe".

        Errors   TokenIdError for an id without a token.
        """

    @abstractmethod
    def stream_decoder(self, *, after: Sequence[int] = (), skip_special_tokens: bool = True) -> StreamDecoder:
        """A decoder for token ids that arrive one by one.

        after   token ids that stand before them, whose text is not returned: a continued prompt. They decide whether the
                first token begins the text, where SentencePiece drops a space, or goes on with it, where the space stays.
                Half a character at their end is dropped.
        """

    @property
    def has_chat_template(self) -> bool:
        """Whether apply_chat_template can be used."""
        return bool(self.chat_templates)

    def apply_chat_template(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **variables: Any,
    ) -> str:
        """A conversation as the text that the model was trained on. Encode it with add_special_tokens=False.

        messages                such as {"role": "user", "content": "Hello"}, the oldest first; a value None is left out
        add_generation_prompt   whether the text ends where the model's answer begins
        tools                   JSON schemas of functions that the model may call
        variables               what else the template reads, such as enable_thinking=False

        Errors   PromptError for no messages; TokenizerError where there is no template, or the template fails or refuses,
                 with its own words; OptionError for values that JSON does not have.
        Source   transformers, PreTrainedTokenizerBase.apply_chat_template
        """
        template = choose_template(self.chat_templates, has_tools=tools is not None)
        if not messages:
            raise PromptError("came: no messages; expected: at least one, such as {'role': 'user', 'content': 'Hello'}")
        messages = [{key: value for key, value in message.items() if value is not None} for message in messages]
        given = {**self.special_tokens, "messages": messages, "tools": tools, "documents": None, **variables}
        return render(template, {**given, "add_generation_prompt": add_generation_prompt})


def check_text(text: str) -> None:
    """Refuse text that has no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(text[error.start]):04X}"
        raise PromptError(
            f"came: text with half a surrogate pair, {half}, at character {error.start}; expected: whole characters; "
            "read the text as UTF-8 with errors='replace'"
        ) from error


def check_token_ids(token_ids: Sequence[int]) -> None:
    """Refuse ids that no vocabulary can have."""
    wrong = next((token_id for token_id in token_ids if not 0 <= token_id < 2**32), None)
    if wrong is not None:
        raise TokenIdError(f"came: token id {wrong}; expected: 0 or more, below 2**32; take out -1 and -100 where they stand for padding")
