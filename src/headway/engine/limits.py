"""The bounds of a model, and the checks of requests against them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from headway.engine.batch import Runner
from headway.engine.pages import Pool
from headway.engine.request import Request, Resumption
from headway.errors import OptionError, PromptError, TokenIdError, expect_adapter

DEFAULT_MAX_NEW_TOKENS = 512
"""Limit for requests without max_new_tokens on models without a maximum sequence length."""


@dataclass(frozen=True)
class ModelLimits:
    """Bounds of a model on token ids and lengths.

    vocab_size              number of token ids of the prompt
    max_seq_len             longest sequence that the model supports; None for no limit
    is_encoder_decoder      True if an encoder reads the prompt and a decoder answers it
    decoder_vocab_size      number of token ids of the completion; vocab_size if None
    decoder_start_token_id  first token of an encoder–decoder's decoder
    """

    vocab_size: int
    max_seq_len: int | None = None
    is_encoder_decoder: bool = False
    decoder_vocab_size: int | None = None
    decoder_start_token_id: int | None = None


@dataclass(frozen=True)
class RequestLimits:
    """Bounds of an engine on its requests: those of the model, those of the memory for keys and values, and the runner's adapters."""

    model: ModelLimits
    pool: Pool
    runner: Runner

    def check(self, request: Request) -> None:
        """Raise the error of a request that can never run.

        Errors   PromptError for an empty prompt, one that fills the context, or a request that could never fit in the KV cache;
                 TokenIdError for a token id out of range; OptionError for an encoder–decoder without a start token, options
                 that cannot be combined, or an unknown adapter.
        """
        expect_adapter(request.adapter, self.runner.adapters)
        self._check_token_ids(request)
        self._check_lengths(request)
        if request.num_choices > 1 and request.options.num_beams > 1:
            raise OptionError(
                f"num_choices={request.num_choices} and num_beams={request.options.num_beams} cannot be combined",
                hint="set num_best for several texts of a beam search",
            )
        if not 0 <= request.num_scored < max(1, len(request.token_ids)):
            raise OptionError(f"got num_scored={request.num_scored}, expected 0 to {len(request.token_ids) - 1}")
        if request.num_scored and (request.options.num_beams > 1 or request.resumption is not None or self.model.is_encoder_decoder):
            raise OptionError("got num_scored with beam search, a resumption or an encoder–decoder, expected none of them")
        if request.resumption is not None:
            self._check_resumption(request, request.resumption)

    def decoder_prompt(self, request: Request) -> Sequence[int]:
        """Return the first tokens of the decoder: the start token of an encoder–decoder, else the prompt.

        Errors   OptionError for an encoder–decoder without a start token.
        """
        if not self.model.is_encoder_decoder:
            return request.token_ids
        if self.model.decoder_start_token_id is None:
            raise OptionError(
                "got an encoder–decoder without decoder_start_token_id, expected the first token of its decoder",
                hint="add decoder_start_token_id to the model's config.json",
            )
        return [self.model.decoder_start_token_id]

    def max_new_tokens(self, request: Request) -> int:
        """Return the number of tokens after which a request ends: its option, or what the context and the KV cache allow."""
        num_prompt, context = len(self.decoder_prompt(request)), self.model.max_seq_len
        bounds = [request.options.max_new_tokens, None if context is None else context - num_prompt]
        bound = min((each for each in bounds if each is not None), default=DEFAULT_MAX_NEW_TOKENS)
        if request.options.max_new_tokens is None:
            bound = int(min(bound, max(1, self._longest(request) - num_prompt)))
        return bound

    def _check_token_ids(self, request: Request) -> None:
        model, options = self.model, request.options
        if not len(request.token_ids):
            raise PromptError("got an empty prompt, expected at least one token")
        _check_range(request.token_ids, model.vocab_size, "in the prompt", "use the tokenizer of this model")
        vocab_size = model.decoder_vocab_size or model.vocab_size
        if model.is_encoder_decoder:
            _check_range(self.decoder_prompt(request), vocab_size, "as decoder_start_token_id")
        if options.logit_bias:
            _check_range(options.logit_bias, vocab_size, "in logit_bias")
        if options.suppress_tokens is not None:
            _check_range(options.suppress_tokens, vocab_size, "in suppress_tokens")
        for name in ("forced_bos_token_id", "forced_eos_token_id"):
            if (token_id := getattr(options, name)) is not None:
                _check_range([token_id], vocab_size, f"as {name}")

    def _check_resumption(self, request: Request, resumption: Resumption) -> None:
        _check_range(resumption.token_ids, self.model.decoder_vocab_size or self.model.vocab_size, "in resumption")
        if request.num_choices > 1 or request.options.num_beams > 1:
            raise OptionError("got a resumption with several choices or beams, expected one completion")
        num_tokens, bound = len(resumption.token_ids), self.max_new_tokens(request)
        if num_tokens >= bound:
            raise OptionError(f"got a resumption of {num_tokens} tokens, expected fewer than max_new_tokens={bound}")

    def _check_lengths(self, request: Request) -> None:
        limit, length = self.model.max_seq_len, len(request.token_ids)
        if limit is not None and self.model.is_encoder_decoder and length > limit:
            raise PromptError(f"got a prompt of {length} tokens, expected at most {limit}", hint="shorten the prompt")
        if limit is not None and not self.model.is_encoder_decoder and length >= limit:
            raise PromptError(
                f"got a prompt of {length} tokens, expected at most {limit - 1}",
                hint=f"shorten the prompt; the context of {limit} tokens also holds the completion",
            )
        num_tokens, longest = len(self.decoder_prompt(request)) + self.max_new_tokens(request), self._longest(request)
        if num_tokens > longest:
            raise PromptError(
                f"got a request for {num_tokens:,} tokens, expected at most {int(longest):,}, which the KV cache holds",
                hint="set a smaller max_new_tokens, shorten the prompt, or give the cache more memory",
            )

    def _longest(self, request: Request) -> float:
        """Return the number of tokens up to which the sequences of a request fit in the KV cache."""
        num_sequences = max(request.options.num_beams, request.num_choices)
        return self.pool.longest(len(self.decoder_prompt(request)), num_sequences)


def _check_range(token_ids: Collection[int], vocab_size: int, where: str, hint: str | None = None) -> None:
    if len(token_ids) and not (min(token_ids) >= 0 and max(token_ids) < vocab_size):
        wrong = next(token_id for token_id in token_ids if not 0 <= token_id < vocab_size)
        raise TokenIdError(f"got token id {wrong} {where}, expected 0 to {vocab_size - 1}", hint=hint)
