"""A checkpoint with its tokenizer, and what can be asked of the two."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, overload

import numpy

from headway.arrays import check_computing
from headway.checkpoints import Checkpoint, open_checkpoint, resolve_model
from headway.checkpoints.sentence_transformers import SentenceOptions, read_sentence_options
from headway.engine import Engine
from headway.errors import OptionError, PromptError, UnsupportedError
from headway.kernels import operations
from headway.kernels.cpu.progress import Progress, no_progress
from headway.language_model.compiled import captured_stack, compiled_stack, weights_kind
from headway.language_model.embedding import Embedder
from headway.language_model.fill_mask import FilledText, fill_mask
from headway.language_model.options import options_of, own_options, token_ids_of
from headway.language_model.text_stream import Chunk, Completion, TextStream, collect, completion_of
from headway.tokenizers import Tokenizer, load_tokenizer

Prompt = str | Sequence[int]
"""Text, or token ids."""


def load(
    name_or_folder: str | Path = "stories",
    *,
    array: str = "numpy",
    dtype: str = "float32",
    device: str | None = None,
    weights: str = "auto",
    cache: str | None = None,
    num_threads: int | None = None,
    ignored_config_keys: Collection[str] = (),
    progress: Progress = no_progress,
) -> LanguageModel:
    """Load a model: `stories`, a folder, a llama2.c file, or a hub name, which is downloaded if it is not here yet.

    array    the array library that computes: numpy, torch, jax or mlx
    dtype    float32, bfloat16, float16 or float64
    device   torch's, such as "cuda"; the library's own choice by default
    weights  how a decoder's weights are packed for the compiled kernels: float32, bfloat16, int8 or int4; plain runs the
             definitions on weights as they are; auto is int8 on NumPy where the architecture has kernels, else plain, with a
             decoder's steps captured where torch computes on CUDA
    cache    how compiled kernels keep keys and values: float32, bfloat16, int16 or int8; by default float32 and bfloat16 weights have
             their own kind, the others int16
    num_threads   that the compiled kernels use; one per physical core by default
    progress     called with what has to be done before the first text, how much of it is done, and how much there is
    ignored_config_keys   keys of config.json that are not built here, and that you know to change nothing

    Errors   ModelNotFoundError, CheckpointError, UnsupportedError, TokenizerError, OptionError; each says what to do.

    >>> import headway
    >>> model = headway.load("stories")
    >>> model.generate("Once upon a time", max_new_tokens=3, temperature=0).finish_reason
    'length'
    """
    check_computing(array, dtype, device)
    path, kind = resolve_model(name_or_folder), weights_kind(weights, array, dtype)
    stored = None if kind != "none" else dtype
    checkpoint = open_checkpoint(path, array=array, dtype=stored, device=device, ignored_config_keys=ignored_config_keys)
    if kind != "none" and weights == "auto" and not hasattr(checkpoint.architecture, "stack"):
        kind, checkpoint = "none", open_checkpoint(path, ignored_config_keys=ignored_config_keys)
    for name, given in (("cache", cache), ("num_threads", num_threads)):
        if kind == "none" and given is not None:
            raise OptionError(f"came: {name}={given!r} for a model without packed weights; expected: a decoder's on numpy; leave it out")
    stack = None
    if kind != "none":
        stack = compiled_stack(checkpoint, path, kind, num_threads=num_threads, cache_kind=cache, progress=progress)
    elif weights == "auto" and array == "torch":
        stack = captured_stack(checkpoint, operations(array))
    return LanguageModel(checkpoint, load_tokenizer(path), read_sentence_options(path), array=array, device=device, stack=stack)


class LanguageModel:
    """A model with its tokenizer: a decoder continues its prompt, an encoder–decoder answers it, an encoder fills its masks.

    Every one of them turns texts into vectors.

    kind       "decoder", "encoder-decoder" or "encoder"
    embedder   texts to vectors, as the folder's own sentence-transformers files say
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        tokenizer: Tokenizer,
        sentence_options: SentenceOptions | None = None,
        *,
        array: str = "numpy",
        device: str | None = None,
        stack: Any = None,
    ) -> None:
        """Put the parts together; `load` makes them from a name."""
        self.config, self.tokenizer, self.kind = checkpoint.config, tokenizer, checkpoint.architecture.KIND
        own = checkpoint.generation_config
        start = (*token_ids_of(own, "decoder_start_token_id"), *token_ids_of(own, "bos_token_id"), None)[0]
        ops = operations(array)
        self.engine = Engine(
            checkpoint.architecture, checkpoint.config, checkpoint.weights, array, device, ops, start, operations("numpy"), stack
        )
        compiled = stack if array == "numpy" else None  # a captured one has steps alone
        self.embedder = Embedder(checkpoint, tokenizer, sentence_options or SentenceOptions(), array, device, ops, compiled)
        self.defaults = own_options(own)
        self.end_token_ids = token_ids_of(own, "eos_token_id") or tuple(tokenizer.eos_token_ids)

    @property
    def continues_prompts(self) -> bool:
        """Whether what it writes stands behind the prompt, as a decoder's does."""
        return self.kind == "decoder"

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
        collected: list[list[Chunk]] = [[] for _ in prompts]
        encoded = [self._encode(each) for each in prompts]
        for index, chunk in self._stream(encoded, **options):
            collected[index].append(chunk)
        completions = [collect(chunks, len(token_ids)) for chunks, token_ids in zip(collected, encoded, strict=True)]
        return completions if is_batch else completions[0]

    def stream(self, prompt: Prompt, **options: Any) -> Iterator[Chunk]:
        """Continue a prompt, chunk by chunk. A beam search says nothing until it ends, and then everything.

        max_new_tokens      how many tokens to add at most; as many as the context holds by default
        min_new_tokens      how many to add at least; none by default
        stop                a string, or several, that end the text; they are not part of it; they cut what a beam search found
        ignore_end          whether end tokens are passed over; False by default
        temperature, top_k, top_p, min_p, typical_p, repetition_penalty, presence_penalty, frequency_penalty, logit_bias,
        no_repeat_ngram_size, suppress_tokens, forced_bos_token_id, forced_eos_token_id, seed, num_log_probs
                            as in SamplingOptions
        num_beams, num_best, length_penalty, early_stopping, renormalize_logits
                            as in BeamOptions

        By default what the folder's generation_config.json says, else greedy; None switches off what that file switches on.
        A call that asks for a search switches the file's sampling off, and one that asks to sample its search.

        Errors   PromptError, TokenIdError or OptionError, before anything is computed.
        """
        return (chunk for _, chunk in self._stream([self._encode(prompt)], **options))

    def chat(self, messages: Sequence[Mapping[str, Any]], **options: Any) -> Iterator[Chunk]:
        """The next message of a conversation, chunk by chunk, by the model's own chat template.

        messages   {"role": "user", "content": "…"} and so on, the oldest first

        Errors   TokenizerError where the model has no chat template; else as stream.
        """
        text = self.tokenizer.apply_chat_template(list(messages), add_generation_prompt=True)
        prompt = self.tokenizer.encode(text, add_special_tokens=False)
        # A fine-tuned model often keeps the base model's generation_config.json, and says how a turn ends in its tokenizer alone.
        return (chunk for _, chunk in self._stream([prompt], more_end_token_ids=self.tokenizer.eos_token_ids, **options))

    def fill_mask(self, text: str, *, top_k: int = 5) -> FilledText:
        """The text with the likeliest token in the place of each [MASK]; options and errors as in headway.language_model.fill_mask."""
        embedder = self.embedder
        return fill_mask(
            text, embedder.checkpoint, self.tokenizer, top_k=top_k, array=embedder.array, device=embedder.device, ops=embedder.ops
        )

    def embed(self, texts: Sequence[str], **options: Any) -> numpy.ndarray:
        """Vectors of the texts, (num_texts, hidden_size) in float32; options and errors as in Embedder.embed."""
        return self.embedder.embed(texts, **options)

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
        stop: str | Sequence[str] | None = None,
        ignore_end: bool = False,
        more_end_token_ids: Sequence[int] = (),
        **given: Any,
    ) -> Iterator[tuple[int, Chunk]]:
        if self.kind == "encoder":
            raise UnsupportedError(
                "came: an encoder, which writes no text; expected: a decoder or an encoder–decoder; an encoder can fill_mask and embed"
            )
        options = options_of(given, self.defaults)
        stops = [stop] if isinstance(stop, str) else list(stop or ())
        if not all(isinstance(each, str) and each for each in stops):
            raise OptionError(f"came: stop={stop!r}; expected: a string, or several, none of them empty; leave it out for none")
        ends = () if ignore_end else tuple(dict.fromkeys((*self.end_token_ids, *more_end_token_ids)))
        num_before = [len(prompt) if self.continues_prompts else 1 for prompt in prompts]
        generation = self.engine.start([options.request(*each, ends) for each in zip(prompts, num_before, strict=True)])

        def begin(prompt: Sequence[int]) -> TextStream:
            return TextStream(self.tokenizer, prompt if self.continues_prompts else (), stops, ends)

        def last(chunk: Chunk, index: int) -> Chunk:
            generation.finish(index)
            found, prompt = generation.hypotheses(index), prompts[index]
            others = [completion_of(hypothesis, begin(prompt), len(prompt)) for hypothesis in found[1:]]
            return replace(chunk, score=found[0].score, alternatives=others) if found else chunk

        def chunks() -> Iterator[tuple[int, Chunk]]:
            texts = [begin(prompt) for prompt in prompts]
            for token in generation:
                chunk = texts[token.index].add(token)
                yield token.index, last(chunk, token.index) if chunk.finish_reason else chunk

        return chunks()
