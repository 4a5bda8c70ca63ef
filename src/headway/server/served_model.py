"""A model under a name: prompts and conversations to engine requests."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol, cast

import numpy

from headway.engine import GenerationOptionsDict, Request
from headway.language_model import Chunk, LanguageModel
from headway.language_model.classifier import Ranked
from headway.language_model.memory import cache_bytes, weight_bytes
from headway.language_model.text_stream import TextStream
from headway.server.errors import context_exceeded, invalid
from headway.tokenizers.byte_level import byte_characters
from headway.tokenizers.chat_template import choose_template, render

MAX_RENDERED = 4 * 1024 * 1024
"""Most characters of a rendered conversation."""


@dataclass(frozen=True)
class Prepared:
    """A request for the engine, and a new text stream for each of its choices."""

    request: Request
    new_text: Callable[[], TextStream]


class RemoteModel(Protocol):
    """A model of other processes. Its methods wait for them, and are called in worker threads."""

    def embed(self, texts: list[str]) -> numpy.ndarray:
        """Return the vectors of texts; see ServedModel."""

    def rank(self, query: str, texts: list[str], top_k: int | None, cuts: bool) -> list[Ranked]:
        """Return texts by their relevance; see ServedModel."""


@dataclass(eq=False)
class ServedModel:
    """A model under a name.

    chat_template   a Jinja template in place of the model's own
    remote          computes vectors and ranks of texts in place of the model
    adapters        names of the model's adapters, each of which is a name for requests, too
    adapter         the adapter that requests are computed with
    parent          name of the model without an adapter; None for that itself
    """

    name: str
    model: LanguageModel
    chat_template: str | None = None
    created: int = field(default_factory=lambda: int(time.time()))
    embedding_lock: threading.Lock = field(default_factory=threading.Lock)
    look_lock: threading.Lock = field(default_factory=threading.Lock)
    remote: RemoteModel | None = None
    adapters: tuple[str, ...] = ()
    adapter: str | None = None
    parent: str | None = None

    def named(self, name: str | None) -> ServedModel:
        """Return this model, or with an adapter if that is its name."""
        return self._variants.get(name or "", self)

    @cached_property
    def _variants(self) -> dict[str, ServedModel]:
        return {each: replace(self, name=each, adapter=each, parent=self.name, adapters=()) for each in self.adapters}

    def refuse_adapter(self) -> None:
        """Raise a 400 for an adapter: it changes generated text only."""
        if self.adapter is not None:
            raise invalid(f"got {self.name}, an adapter, which generates text; expected {self.parent}, its model", "model")

    @property
    def max_seq_len(self) -> int | None:
        """Longest prompt and completion together; None for no limit."""
        limit: int | None = self.model.config.max_seq_len
        return limit

    @property
    def num_bytes(self) -> int:
        """Memory of the weights, and of the pages of the KV cache so far."""
        return weight_bytes(self.model) + cache_bytes(self.model)[0]

    @property
    def max_bytes(self) -> int:
        """Memory of the weights, and of the KV cache when it is full."""
        return weight_bytes(self.model) + cache_bytes(self.model)[1]

    @property
    def has_chat_template(self) -> bool:
        """True if conversations are rendered by a template."""
        return self.chat_template is not None or self.model.tokenizer.has_chat_template

    @property
    def template(self) -> str:
        """The chat template, the one for tools if there are two; "" for none."""
        if self.chat_template is not None:
            return self.chat_template
        templates = self.model.tokenizer.chat_templates
        return choose_template(templates, has_tools=True) if templates else ""

    def render_chat(
        self,
        messages: Sequence[Mapping[str, object]],
        variables: Mapping[str, object] | None = None,
        *,
        add_generation_prompt: bool = True,
    ) -> str:
        """Return a conversation as text. A model without a template continues the text of all messages, joined by line feeds.

        Errors   TokenizerError for a template that rejects the conversation; ApiError for too long a text.
        """
        tokenizer = self.model.tokenizer
        given: dict[str, Any] = {**(variables or {}), "add_generation_prompt": add_generation_prompt}
        if self.chat_template is not None:
            own = {**tokenizer.special_tokens, "messages": list(messages), "tools": None, "documents": None}
            text = render(self.chat_template, {**own, **given})
        elif tokenizer.has_chat_template:
            text = tokenizer.apply_chat_template(messages, **given)
        else:
            text = "\n".join(str(message["content"]) for message in messages if message.get("content"))
        if len(text) > MAX_RENDERED:
            raise invalid(f"got a conversation of {len(text):,} characters, expected at most {MAX_RENDERED:,}", "messages")
        return text

    def encode_chat(
        self,
        messages: Sequence[Mapping[str, object]],
        variables: Mapping[str, object] | None = None,
        *,
        add_generation_prompt: bool = True,
        continued: str = "",
    ) -> list[int]:
        """Return the token ids of a conversation.

        variables   those of the template, such as its tools
        continued   start of the answer
        """
        text = self.render_chat(messages, variables, add_generation_prompt=add_generation_prompt) + continued
        return self._or_start(self.model.tokenizer.encode(text, add_special_tokens=not self.has_chat_template))

    def encode(self, prompt: str | Sequence[int]) -> list[int]:
        """Return the token ids of a prompt. An empty one is the token that starts a text, as in OpenAI's API."""
        return self._or_start(self.model.tokenizer.encode(prompt) if isinstance(prompt, str) else list(prompt))

    def _or_start(self, token_ids: list[int]) -> list[int]:
        start = self.model.tokenizer.bos_token_id
        return token_ids or ([] if start is None else [start])

    def prepare(
        self,
        token_ids: Sequence[int],
        options: Mapping[str, object],
        *,
        num_choices: int = 1,
        is_chat: bool = False,
        **fields: object,
    ) -> Prepared:
        """Return the engine request of a prompt.

        options   keywords of `LanguageModel.generate`; a model that sets no temperature has OpenAI's, 1
        fields    of Request: priority, cache_key, timeout_seconds

        Errors   ApiError for a prompt that fills the context; OptionError for options that cannot be combined.
        """
        limit = self.max_seq_len
        if limit is not None and len(token_ids) >= limit:
            raise context_exceeded(len(token_ids), limit, "messages" if is_chat else "prompt")
        if "temperature" not in options and "temperature" not in self.model.defaults:
            options = {**options, "temperature": 1.0}
        request = self.model.request(token_ids, cast(GenerationOptionsDict, options), is_chat=is_chat, adapter=self.adapter)
        request = replace(request, num_choices=num_choices, **fields)  # type: ignore[arg-type]
        return Prepared(request, lambda: self.model.text_stream(request))

    def embed(self, texts: list[str], on_batch: Callable[[int], None] | None = None) -> numpy.ndarray:
        """Return the vectors (num_texts, hidden_size) of texts, in float32. Callers in other threads wait.

        on_batch   called with the number of finished texts at the start and after each batch; an exception ends the work

        Errors   ApiError for a text that is too long, which would be cut.
        """
        self.refuse_adapter()
        if self.remote is not None:
            return self.remote.embed(texts)

        def refuse(cut: list[int]) -> None:
            size, limit = len(self.model.tokenizer.encode(texts[cut[0]])), self.model.embedder.max_seq_len
            message = f"got input {cut[0]} of {size} tokens, which is too large, expected at most {limit}"
            raise invalid(message, "input", "context_length_exceeded")

        with self.embedding_lock:
            if on_batch:
                on_batch(0)
            return self.model.embed(texts, on_batch=on_batch, on_cut=refuse)

    def rank(
        self, query: str, texts: list[str], top_k: int | None, cuts: bool, on_batch: Callable[[int], None] | None = None
    ) -> list[Ranked]:
        """Return texts by their relevance to a query, the most relevant first.

        cuts       True to cut texts that are too long
        on_batch   as in embed

        Errors   UnsupportedError for a model that does not rank; ApiError for a text that is too long.
        """
        self.refuse_adapter()
        if self.remote is not None:
            return self.remote.rank(query, texts, top_k, cuts)

        def refuse(cut: list[int]) -> None:
            limit = self.model.classifier.max_seq_len
            message = f"got document {cut[0]}, which is too large with the query, expected at most {limit} tokens; truncate: true cuts it"
            raise invalid(message, "documents", "context_length_exceeded")

        return self.model.rerank(query, texts, top_k=top_k, on_batch=on_batch, on_cut=None if cuts else refuse)

    def found_stop(self, chunks: Sequence[Chunk], stops: Sequence[str]) -> str | None:
        """Return the stop string that ended a text; None if another reason did."""
        if not stops or chunks[-1].finish_reason != "stop":
            return None
        text = "".join(chunk.text for chunk in chunks)
        raw = self.model.tokenizer.decode([chunk.token_id for chunk in chunks if chunk.token_id is not None])
        rest = raw[len(text) :]
        return max((stop for stop in stops if rest.startswith(stop)), key=len, default=None)

    def token_bytes(self, token_id: int) -> bytes:
        """Return the bytes of a token; b"" for an id without a token."""
        return self._token_bytes(token_id)

    @cached_property
    def _token_bytes(self) -> Callable[[int], bytes]:
        tokenizer = self.model.tokenizer
        # In a byte-level vocabulary é is written as the characters of its two bytes.
        is_byte_level = "Ã" in "".join(map(tokenizer.token, tokenizer.encode("é", add_special_tokens=False)))
        special = set(tokenizer.special_tokens.values())

        @lru_cache(maxsize=65536)
        def token_bytes(token_id: int) -> bytes:
            try:
                token = tokenizer.token(token_id)
            except (IndexError, ValueError):
                return b""
            if byte := re.fullmatch(r"<0x([0-9A-F]{2})>", token):
                return bytes([int(byte[1], 16)])
            characters = byte_characters()
            if is_byte_level and token not in special and all(character in characters for character in token):
                return bytes(characters[character] for character in token)
            return token.replace("▁", " ").encode()

        return token_bytes
