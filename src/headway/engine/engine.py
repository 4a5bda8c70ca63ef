"""A model that requests can be run on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from headway import functions
from headway.arrays import Operations
from headway.engine.generation import Generation
from headway.engine.protocols import Architecture, Config, DecoderStack, EncoderDecoderArchitecture, EncoderDecoderConfig, KVCache, Weights
from headway.engine.request import Request
from headway.errors import HeadwayError, OptionError, PromptError, ResourceError, TokenIdError

DEFAULT_MAX_NEW_TOKENS = 512
"""Limit for requests without max_new_tokens on models without a maximum sequence length."""


@dataclass(frozen=True)
class Engine:
    """A model that requests can be run on.

    architecture            a module of headway.models: a decoder or an encoder–decoder
    array                   array library of the weights
    ops                     functions that the architecture calls: headway.functions, or headway.kernels.operations(array)
    decoder_start_token_id  first token of an encoder–decoder's decoder
    sampling_ops            functions that samplers call on NumPy arrays: headway.functions, or headway.kernels.operations("numpy")
    stack                   fused twin of the decoder's passes, compiled or captured; None runs the architecture
    """

    architecture: Architecture | EncoderDecoderArchitecture
    config: Config
    weights: Weights
    array: str = "numpy"
    device: str | None = None
    ops: Operations = functions
    decoder_start_token_id: int | None = None
    sampling_ops: Operations = functions
    stack: DecoderStack | None = None

    def start(self, requests: Sequence[Request]) -> Generation:
        """Start a batch of requests; iterate over the result for the tokens.

        Errors   PromptError for an empty prompt, or one that fills the context; TokenIdError for a token id out of range;
                 OptionError for an encoder–decoder without a start token.
        """
        for request in requests:
            self._check(request)
        return Generation(self, requests)

    @property
    def is_encoder_decoder(self) -> bool:
        """True if an encoder reads the prompt and a decoder answers it."""
        return self.architecture.KIND == "encoder-decoder"

    @property
    def has_fixed_batch_size(self) -> bool:
        """True if a smaller batch would have to be compiled or captured again; copies of a running row replace finished ones."""
        return self.array == "jax" or (self.array == "torch" and self.stack is not None)

    def decoder_prompt(self, request: Request) -> Sequence[int]:
        """Return the first tokens of the decoder: the start token of an encoder–decoder, else the prompt."""
        if not self.is_encoder_decoder:
            return request.token_ids
        if self.decoder_start_token_id is None:
            raise OptionError(
                "got an encoder–decoder without decoder_start_token_id, expected the first token of its decoder",
                hint="add decoder_start_token_id to the model's config.json",
            )
        return [self.decoder_start_token_id]

    def new_kv_cache(self, num_rows: int, max_seq_len: int) -> Sequence[KVCache]:
        """Return empty KV caches for `num_rows` rows.

        Errors   ResourceError if they do not fit in memory.
        """
        try:
            if self.stack:
                return [self.stack.new_cache(num_rows, max_seq_len)]
            return self.architecture.new_kv_cache(self.config, num_rows, max_seq_len, self.weights.token_embedding)
        except MemoryError as error:
            if isinstance(error, HeadwayError):
                raise
            raise ResourceError(
                f"got a KV cache of {num_rows} x {max_seq_len:,} tokens, which does not fit in memory",
                hint="set a smaller max_new_tokens, or use fewer prompts",
            ) from error

    def max_new_tokens(self, request: Request) -> int:
        """Return the number of tokens after which the request ends."""
        limit = self.config.max_seq_len
        bounds = [request.options.max_new_tokens, None if limit is None else limit - len(self.decoder_prompt(request))]
        return min((bound for bound in bounds if bound is not None), default=DEFAULT_MAX_NEW_TOKENS)

    def _check(self, request: Request) -> None:
        if not len(request.token_ids):
            raise PromptError("got an empty prompt, expected at least one token")
        _check_token_ids(request.token_ids, self.config.vocab_size, "in the prompt", "use the tokenizer of this model")
        vocab_size = self.config.vocab_size
        if self.is_encoder_decoder:
            vocab_size = cast(EncoderDecoderConfig, self.config).decoder_vocab_size
        _check_token_ids(self.decoder_prompt(request), vocab_size, "as decoder_start_token_id")
        options = request.options
        _check_token_ids(options.logit_bias or (), vocab_size, "in logit_bias")
        _check_token_ids(() if options.suppress_tokens is None else options.suppress_tokens, vocab_size, "in suppress_tokens")
        _check_token_ids([options.forced_bos_token_id or 0], vocab_size, "as forced_bos_token_id")
        _check_token_ids([options.forced_eos_token_id or 0], vocab_size, "as forced_eos_token_id")
        limit, length = self.config.max_seq_len, len(request.token_ids)
        if limit is not None and self.is_encoder_decoder and length > limit:
            raise PromptError(f"got a prompt of {length} tokens, expected at most {limit}", hint="shorten the prompt")
        if limit is not None and not self.is_encoder_decoder and length >= limit:
            raise PromptError(
                f"got a prompt of {length} tokens, expected at most {limit - 1}",
                hint=f"shorten the prompt; the context of {limit} tokens also holds the completion",
            )


def _check_token_ids(token_ids: Iterable[int], vocab_size: int, where: str, hint: str | None = None) -> None:
    wrong = next((token_id for token_id in token_ids if not 0 <= token_id < vocab_size), None)
    if wrong is not None:
        raise TokenIdError(f"got token id {wrong} {where}, expected 0 to {vocab_size - 1}", hint=hint)
