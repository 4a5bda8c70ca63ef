"""Text in, text out: a checkpoint, its tokenizer, and the engine between them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, overload

from headway.checkpoints import Checkpoint, open_checkpoint, resolve_model
from headway.engine import Engine, FinishReason, Request, SampledToken, SamplingOptions
from headway.errors import CheckpointError, OptionError, PromptError, UnsupportedError
from headway.kernels import operations
from headway.tokenizers import Tokenizer, load_tokenizer

Prompt = str | Sequence[int]
"""Text, or token ids."""


@dataclass(frozen=True)
class Piece:
    """A step of a stream: one token, and the text that became final with it.

    text           may be empty: half a character waits for its other half, and what may become a stop string waits too
    token_id       the token; None for text that only waited
    finish_reason  set on the last piece: "stop" or "length"
    log_prob, top_log_probs     as in SampledToken
    """

    text: str
    token_id: int | None = None
    finish_reason: FinishReason | None = None
    log_prob: float | None = None
    top_log_probs: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Completion:
    """What a model added to a prompt.

    text               without the end token and the stop string
    token_ids          the tokens sampled, the end token included
    finish_reason      "stop" at an end token or stop string, "length" at max_new_tokens or the end of the context
    num_prompt_tokens  how long the prompt was
    log_probs, top_log_probs     one per token where num_log_probs was given, else empty
    """

    text: str
    token_ids: list[int]
    finish_reason: FinishReason
    num_prompt_tokens: int
    log_probs: list[float] = field(default_factory=list)
    top_log_probs: list[Mapping[int, float]] = field(default_factory=list)

    def __str__(self) -> str:
        return self.text


def load(
    name_or_folder: str | Path = "stories",
    *,
    array: str = "numpy",
    dtype: str = "float32",
    device: str | None = None,
    ignored_config_keys: Collection[str] = (),
) -> LanguageModel:
    """Load a model: `stories`, a folder, a llama2.c file, or a hub name, which is downloaded if it is not here yet.

    array    the array library that computes: numpy, torch, jax or mlx
    dtype    float32, bfloat16, float16 or float64
    device   torch's, such as "cuda"; the library's own choice by default
    ignored_config_keys   keys of config.json that are not built here, and that you know to change nothing

    Errors   ModelNotFoundError, CheckpointError, UnsupportedError, TokenizerError, OptionError; each says what to do.

    >>> import headway
    >>> model = headway.load("stories")
    >>> model.generate("Once upon a time", max_new_tokens=3, temperature=0).finish_reason
    'length'
    """
    path = resolve_model(name_or_folder)
    checkpoint = open_checkpoint(path, array=array, dtype=dtype, device=device, ignored_config_keys=ignored_config_keys)
    return LanguageModel(checkpoint, load_tokenizer(path), array=array, device=device)


class LanguageModel:
    """A decoder-only model with its tokenizer."""

    def __init__(self, checkpoint: Checkpoint, tokenizer: Tokenizer, *, array: str = "numpy", device: str | None = None) -> None:
        """Put the parts together; `load` makes them from a name."""
        self.config, self.tokenizer = checkpoint.config, tokenizer
        self.engine = Engine(checkpoint.architecture, checkpoint.config, checkpoint.weights, array, device, operations(array))
        self.defaults = _sampling_defaults(checkpoint.generation_config)
        self.end_token_ids = _end_token_ids(checkpoint.generation_config, tokenizer)

    @overload
    def generate(self, prompt: Prompt, **options: Any) -> Completion: ...
    @overload
    def generate(self, prompt: list[str] | list[list[int]], **options: Any) -> list[Completion]: ...
    def generate(self, prompt: Any, **options: Any) -> Any:
        """Continue a prompt, or several together: one completion each, the same as each prompt alone would get.

        Options are those of stream.
        """
        is_batch = not isinstance(prompt, str) and len(prompt) > 0 and not isinstance(prompt[0], Integral)
        prompts = list(prompt) if is_batch else [prompt]
        collected: list[list[Piece]] = [[] for _ in prompts]
        encoded = [self._encode(each) for each in prompts]
        for index, piece in self._stream(encoded, **options):
            collected[index].append(piece)
        completions = [_collect(pieces, len(token_ids)) for pieces, token_ids in zip(collected, encoded, strict=True)]
        return completions if is_batch else completions[0]

    def stream(self, prompt: Prompt, **options: Any) -> Iterator[Piece]:
        """Continue a prompt, piece by piece.

        max_new_tokens      how many tokens to add at most; as many as the context holds by default
        stop                a string, or several, that end the text; they are not part of it
        ignore_end          whether end tokens are passed over; False by default
        temperature, top_k, top_p, min_p, typical_p, repetition_penalty, presence_penalty, frequency_penalty, logit_bias,
        seed, num_log_probs     as in SamplingOptions; by default what the folder's generation_config.json says, else greedy;
                            None switches off what that file switches on

        Errors   PromptError, TokenIdError or OptionError, before anything is computed.
        """
        return (piece for _, piece in self._stream([self._encode(prompt)], **options))

    def chat(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Iterator[Piece]:
        """The next message of a conversation, piece by piece, by the model's own chat template.

        messages   {"role": "user", "content": "…"} and so on, the oldest first

        Errors   TokenizerError where the model has no chat template; else as stream.
        """
        text = self.tokenizer.apply_chat_template(list(messages), add_generation_prompt=True)
        prompt = self.tokenizer.encode(text, add_special_tokens=False)
        # A fine-tuned model often keeps the base model's generation_config.json, and says how a turn ends in its tokenizer alone.
        return (piece for _, piece in self._stream([prompt], more_end_token_ids=self.tokenizer.eos_token_ids, **options))

    def _encode(self, prompt: Prompt) -> list[int]:
        if isinstance(prompt, str):
            return self.tokenizer.encode(prompt)
        if not all(isinstance(token_id, Integral) for token_id in prompt):
            raise PromptError(f"came: a prompt of {type(prompt[0]).__name__}; expected: a text, or whole numbers that are token ids")
        return [int(token_id) for token_id in prompt]

    def _stream(
        self,
        prompts: Sequence[list[int]],
        *,
        max_new_tokens: int | None = None,
        stop: str | Sequence[str] | None = None,
        ignore_end: bool = False,
        more_end_token_ids: Sequence[int] = (),
        **sampling: Any,
    ) -> Iterator[tuple[int, Piece]]:
        options = self._sampling(sampling)
        stops = [stop] if isinstance(stop, str) else list(stop or ())
        if not all(isinstance(each, str) and each for each in stops):
            raise OptionError(f"came: stop={stop!r}; expected: a string, or several, none of them empty; leave it out for none")
        end_token_ids = () if ignore_end else (*self.end_token_ids, *more_end_token_ids)
        generation = self.engine.start([Request(prompt, max_new_tokens, end_token_ids, options) for prompt in prompts])
        texts = [TextStream(self.tokenizer, prompt, stops, end_token_ids) for prompt in prompts]

        def pieces() -> Iterator[tuple[int, Piece]]:
            for token in generation:
                piece = texts[token.index].add(token)
                if piece.finish_reason:
                    generation.finish(token.index)
                yield token.index, piece

        return pieces()

    def _sampling(self, given: dict[str, Any]) -> SamplingOptions:
        known = {each.name for each in fields(SamplingOptions)}
        unknown = sorted(set(given) - known)
        if unknown:
            raise OptionError(f"came: option {', '.join(unknown)}; expected: max_new_tokens, stop, ignore_end, {', '.join(sorted(known))}")
        options = {**self.defaults, **given}
        is_sampling = any(options.get(name) is not None for name in ("top_k", "top_p", "min_p", "typical_p"))
        if options.get("temperature") is None:
            options["temperature"] = 1.0 if is_sampling else 0.0
        return SamplingOptions(**options)


class TextStream:
    """One completion's tokens to text: whole characters only, and cut at the first stop string."""

    def __init__(self, tokenizer: Tokenizer, prompt: Sequence[int], stops: Sequence[str], end_token_ids: Collection[int]) -> None:
        """Start with no text, behind the prompt: some tokenizers drop the space of a first token, and only of that."""
        self.decoder = tokenizer.stream_decoder(after=prompt)
        self.stops, self.end_token_ids = list(stops), set(end_token_ids)
        self.waiting = ""

    def add(self, token: SampledToken) -> Piece:
        """The piece of one token."""
        make = partial(Piece, token_id=token.token_id, log_prob=token.log_prob, top_log_probs=token.top_log_probs)
        if token.token_id not in self.end_token_ids:
            self.waiting += self.decoder.add(token.token_id)
        if token.finish_reason:
            self.waiting += self.decoder.flush()
        cut = min((at for at in map(self.waiting.find, self.stops) if at >= 0), default=None)
        if cut is not None:
            return make(self.waiting[:cut], finish_reason="stop")
        kept = 0 if token.finish_reason else self._possible_stop()
        text, self.waiting = self.waiting[: len(self.waiting) - kept], self.waiting[len(self.waiting) - kept :]
        return make(text, finish_reason=token.finish_reason)

    def _possible_stop(self) -> int:
        """How many characters at the end may be the beginning of a stop string."""
        return max((n for stop in self.stops for n in range(1, len(stop)) if self.waiting.endswith(stop[:n])), default=0)


def _collect(pieces: Sequence[Piece], num_prompt_tokens: int) -> Completion:
    last = pieces[-1].finish_reason
    assert last is not None, "the engine ends every request with a reason"
    return Completion(
        text="".join(piece.text for piece in pieces),
        token_ids=[piece.token_id for piece in pieces if piece.token_id is not None],
        finish_reason=last,
        num_prompt_tokens=num_prompt_tokens,
        log_probs=[piece.log_prob for piece in pieces if piece.log_prob is not None],
        top_log_probs=[piece.top_log_probs for piece in pieces if piece.top_log_probs],
    )


def _sampling_defaults(generation_config: Mapping[str, Any]) -> dict[str, Any]:
    """generation_config.json's own sampling, where it samples.

    Errors   UnsupportedError for a key that would change the result and is not built here.
    """
    given = {key: value for key, value in generation_config.items() if value not in (None, [], {})}
    wrong = {key: given[key] for key, off in _REFUSED.items() if given.get(key, off) != off}
    if wrong:
        raise UnsupportedError(
            f"came: generation_config.json with {wrong}; expected: none of these, which are not built here; take them out of the file"
        )
    names = ("temperature", "top_k", "top_p", "min_p", "typical_p") if given.get("do_sample") else ()
    defaults = {name: given[name] for name in (*names, "repetition_penalty") if name in given and given[name] not in _OFF[name]}
    if given.get("do_sample"):
        defaults.setdefault("temperature", 1.0)
    try:
        SamplingOptions(**defaults)
    except OptionError as error:
        raise CheckpointError(f"{error}; this stands in the model's generation_config.json") from error
    return defaults


_REFUSED = {
    "num_beams": 1,
    "no_repeat_ngram_size": 0,
    "penalty_alpha": None,
    "bad_words_ids": None,
    "suppress_tokens": None,
    "guidance_scale": None,
}
"""Keys of generation_config.json that would change the result and are not built here, and what they are when off."""

_OFF = {"temperature": (), "top_k": (0, -1), "top_p": (1,), "min_p": (0,), "typical_p": (1,), "repetition_penalty": (1,)}
"""What published files write for off."""


def _end_token_ids(generation_config: Mapping[str, Any], tokenizer: Tokenizer) -> tuple[int, ...]:
    given = generation_config.get("eos_token_id")
    if given is None:
        return tuple(tokenizer.eos_token_ids)
    token_ids = given if isinstance(given, list) else [given]
    if not all(isinstance(token_id, int) for token_id in token_ids):
        raise CheckpointError(f"came: generation_config.json with eos_token_id={given!r}; expected: a token id, or a list of them")
    return tuple(token_ids)
