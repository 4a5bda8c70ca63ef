"""A model that requests can be started on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from headway import functions
from headway.arrays import Operations
from headway.engine.generation import Generation
from headway.engine.request import Request
from headway.errors import OptionError, PromptError, TokenIdError

UNBOUNDED = 512
"""How many tokens are added at most where neither the request nor the model says."""


@dataclass(frozen=True)
class Engine:
    """A model that requests can be started on.

    architecture            the module of headway.models, a decoder or an encoder–decoder
    array                   the array library of the weights
    ops                     what forward calls: the definitions, or headway.kernels.operations(array)
    decoder_start_token_id  what an encoder–decoder's decoder begins with
    sampling                what choosers call on NumPy's logits: the definitions, or headway.kernels.operations("numpy")
    stack                   a twin of a decoder's passes: compiled, with weights of its own, or captured; None runs the architecture's
    """

    architecture: ModuleType
    config: Any
    weights: Any
    array: str = "numpy"
    device: str | None = None
    ops: Operations = functions
    decoder_start_token_id: int | None = None
    sampling: Operations = functions
    stack: Any = None

    def start(self, requests: Sequence[Request]) -> Generation:
        """Begin to continue some prompts together; iterate over the result for the tokens.

        Errors   PromptError for an empty prompt, or one that leaves no room in the context; TokenIdError for an id out of range;
                 OptionError for an encoder–decoder without a start token.
        """
        for request in requests:
            self._check(request)
        return Generation(self, requests)

    @property
    def is_encoder_decoder(self) -> bool:
        """Whether prompts are read by an encoder, and answered rather than continued."""
        return self.architecture.KIND == "encoder-decoder"

    @property
    def keeps_rows(self) -> bool:
        """Whether fewer rows would be compiled or captured anew, so that copies of one that goes on fill the batch instead."""
        return self.array == "jax" or (self.array == "torch" and self.stack is not None)

    def decoder_prompt(self, request: Request) -> Sequence[int]:
        """What the decoder begins with: the start token of an encoder–decoder, else the prompt."""
        if not self.is_encoder_decoder:
            return request.token_ids
        if self.decoder_start_token_id is None:
            raise OptionError(
                "came: an encoder–decoder without decoder_start_token_id; expected: the token that its decoder begins with; "
                "it stands in the model's config.json"
            )
        return [self.decoder_start_token_id]

    def new_kv_cache(self, num_rows: int, max_seq_len: int) -> list[Any]:
        """Empty caches for so many rows, each of which can take the rows that go on."""
        if self.stack:
            return [self.stack.new_cache(num_rows, max_seq_len)]
        return self.architecture.new_kv_cache(self.config, num_rows, max_seq_len, self.weights.token_embedding)

    def room(self, request: Request) -> int:
        """How many tokens can be added."""
        limit = self.config.max_seq_len
        bounds = [request.max_new_tokens, None if limit is None else limit - len(self.decoder_prompt(request))]
        return min((bound for bound in bounds if bound is not None), default=UNBOUNDED)

    def _check(self, request: Request) -> None:
        if not len(request.token_ids):
            raise PromptError("came: an empty prompt; expected: at least one token to continue")
        _check_token_ids(request.token_ids, self.config.vocab_size, "in the prompt", "; does the tokenizer belong to this model?")
        vocab_size = self.config.decoder_vocab_size if self.is_encoder_decoder else self.config.vocab_size
        _check_token_ids(self.decoder_prompt(request), vocab_size, "to begin with")
        options = request.sampling
        for name in ("logit_bias", "suppress_tokens"):
            _check_token_ids(getattr(options, name) or (), vocab_size, f"in {name}")
        for name in ("forced_bos_token_id", "forced_eos_token_id"):
            _check_token_ids([getattr(options, name) or 0], vocab_size, f"as {name}")
        limit = self.config.max_seq_len
        if limit is not None and self.is_encoder_decoder and len(request.token_ids) > limit:
            raise PromptError(f"came: a prompt of {len(request.token_ids)} tokens; expected: at most {limit}; shorten the prompt")
        if limit is not None and not self.is_encoder_decoder and len(request.token_ids) >= limit:
            raise PromptError(
                f"came: a prompt of {len(request.token_ids)} tokens; expected: at most {limit - 1}, "
                f"so that the context of {limit} has room for a new one; shorten the prompt"
            )


def _check_token_ids(token_ids: Iterable[int], vocab_size: int, where: str, hint: str = "") -> None:
    wrong = next((token_id for token_id in token_ids if not 0 <= token_id < vocab_size), None)
    if wrong is not None:
        raise TokenIdError(f"came: token id {wrong} {where}; expected: 0 to {vocab_size - 1}{hint}")
