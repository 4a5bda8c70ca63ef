"""Language models: a checkpoint with its tokenizer, for generation, masked tokens and embeddings."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Unpack, cast, overload

import numpy

from headway.checkpoints import Checkpoint, read_adapter, update_bytes
from headway.checkpoints.classification import ClassifierOptions
from headway.checkpoints.sentence_transformers import SentenceOptions
from headway.engine import Engine, EngineOptions, EngineThread, GenerationOptionsDict, Hypothesis, Request
from headway.errors import OptionError, UnsupportedError
from headway.kernels import operations
from headway.kernels.cpu.compiled_decoder import CompiledDecoder
from headway.kernels.cpu.compiled_encoder import CompiledEncoder
from headway.language_model.classifier import Classifier, Label, Ranked, Text
from headway.language_model.embedding import Embedder
from headway.language_model.fill_mask import FilledText, fill_mask
from headway.language_model.grammar import GrammarCache, Vocabulary, constraint_of
from headway.language_model.options import merge_options, own_options, token_ids_of
from headway.language_model.prompts import Prompt, Prompts, is_batch, token_ids_of_prompt
from headway.language_model.stop_strings import StopMatcher
from headway.language_model.text_stream import Chunk, Completion, TextStream, collect, completion_of
from headway.runners import Architecture, CapturedDecoder, CapturedRunner, Model, ReferenceRunner
from headway.tokenizers import Tokenizer


class LanguageModel:
    """A model with its tokenizer.

    A decoder continues a prompt, an encoder–decoder answers it, an encoder fills its masks or classifies it. All three compute embeddings.
    A model can be used as a context manager, which closes it at the end.

    kind           "decoder", "encoder-decoder" or "encoder"
    config         the model's config
    defaults       generation options that generation_config.json sets
    end_token_ids  tokens that end a completion
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        tokenizer: Tokenizer,
        sentence_options: Callable[[], SentenceOptions] = SentenceOptions,
        classifier_options: Callable[[], ClassifierOptions] = lambda: ClassifierOptions({}),
        *,
        array: str = "numpy",
        device: str | None = None,
        decoder: CompiledDecoder | CapturedDecoder | None = None,
        make_encoder: Callable[[], CompiledEncoder] | None = None,
        cache_bytes: int | None = None,
    ) -> None:
        """Combine the parts; `load` reads them from files.

        sentence_options   called when embeddings are first computed, because reading them may fail
        classifier_options called when classes are first computed
        decoder            faster twin of a decoder; None runs the architecture
        make_encoder       returns the faster twin of an encoder when it is first needed; None runs the architecture
        cache_bytes        memory for the keys and values of a compiled decoder
        """
        self.config, self.tokenizer = checkpoint.config, tokenizer
        # The checkpoint of an encoder–decoder may have the encoder only.
        self.kind: str = "encoder" if getattr(checkpoint.weights, "decoder", ...) is None else checkpoint.architecture.KIND
        own = checkpoint.generation_config
        start = (*token_ids_of(own, "decoder_start_token_id"), *token_ids_of(own, "bos_token_id"), None)[0]
        architecture = cast(Architecture, checkpoint.architecture)
        self.model = Model(architecture, checkpoint.config, checkpoint.weights, array, device, operations(array), start)
        self._runner = _runner(self.model, decoder)
        self.engine = Engine(
            self._runner,
            self.model.limits,
            sampling_ops=operations("numpy"),
            options=EngineOptions(cache_bytes=cache_bytes),
        )
        self.defaults = own_options(own)
        self.end_token_ids = token_ids_of(own, "eos_token_id") or tuple(tokenizer.eos_token_ids)
        self.is_closed = False
        self._adapter_bytes: dict[str, int] = {}
        self._make_encoder = make_encoder
        self._thread: EngineThread | None = None
        self._checkpoint, self._sentence_options, self._classifier_options = checkpoint, sentence_options, classifier_options
        self._compiled = None if array == "torch" else cast(CompiledDecoder | None, decoder)
        # A running stream or an embedder may outlive the model. Both hold the engine, so the decoder is closed with the engine.
        self._free = weakref.finalize(self.engine, decoder.close) if decoder else None
        if self._free:
            self._free.atexit = False

    def close(self) -> None:
        """Free the threads and the memory of the weights. The model cannot be used afterwards; closing it twice is allowed."""
        if self.is_closed:
            return
        self.is_closed = True
        if self._thread:
            self._thread.close()
        if self._free:
            self._free()
        if encoder := self.__dict__.pop("_encoder", None):
            encoder.close()
        self._make_encoder = None  # it holds the checkpoint
        self.__dict__.pop("embedder", None)
        self.__dict__.pop("classifier", None)
        del self.engine, self.model, self._checkpoint, self._compiled, self._runner

    def __enter__(self) -> LanguageModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def embedder(self) -> Embedder:
        """Embeddings of texts, as the model's sentence-transformers files configure them.

        Errors   UnsupportedError or CheckpointError for sentence-transformers files that are not supported or broken.
        """
        self._check_open()
        model = self.model
        return Embedder(
            self._checkpoint,
            self.tokenizer,
            self._sentence_options(),
            model.array,
            model.device,
            model.ops,
            self._compiled,
            self._encoder,
            self.engine,
        )

    @cached_property
    def classifier(self) -> Classifier:
        """Classes of texts, and the relevance of texts to a query.

        Errors   UnsupportedError for a model without a classifier, or with one that is not supported; CheckpointError for broken files.
        """
        self._check_open()
        model = self.model
        options = self._classifier_options()
        return Classifier(self._checkpoint, self.tokenizer, options, model.array, model.device, model.ops, self._encoder)

    @cached_property
    def _encoder(self) -> CompiledEncoder | None:
        return self._make_encoder() if self._make_encoder else None

    @property
    def checkpoint(self) -> Checkpoint:
        """Architecture, config and weights, as they were loaded.

        Errors   OptionError for a model that was closed.
        """
        self._check_open()
        return self._checkpoint

    @property
    def adapters(self) -> Collection[str]:
        """Names of the adapters that load_adapter has loaded.

        Errors   OptionError for a model that was closed.
        """
        self._check_open()
        return tuple(self._runner.adapters)

    def load_adapter(self, name: str, folder: str | PathLike[str]) -> None:
        """Load a LoRA adapter, which calls choose by its name. Requests with different adapters run together, over the same base weights.

        folder   as the library PEFT saves it

        Errors   ModelNotFoundError for no such folder; CheckpointError for a broken adapter, or one of another base model;
                 UnsupportedError for a kind of adapter or of model that is not supported; OptionError for a name that is in use.
        """
        self._check_open()
        if not name or name in self._runner.adapters:
            raise OptionError(f"got the adapter name {name!r:.200}, expected a name that no other adapter has")
        updates = read_adapter(self._checkpoint, Path(folder))
        self._runner.add_adapter(name, updates)
        self._adapter_bytes[name] = update_bytes(updates)

    def unload_adapter(self, name: str) -> None:
        """Free an adapter that load_adapter has loaded, and the cached prefixes of its requests. Its name can be used again.

        Errors   OptionError for a name that no adapter has, or whose adapter a request uses.
        """
        self._check_open()
        self.engine.remove_adapter(name)
        self._adapter_bytes.pop(name, None)

    @property
    def adapter_bytes(self) -> int:
        """Memory of the adapters that load_adapter has loaded."""
        return sum(self._adapter_bytes.values())

    @property
    def computed_weights(self) -> object:
        """The weight tree that passes compute with: that of the kernels, where they are used, else the checkpoint's.

        Errors   OptionError for a model that was closed.
        """
        faster = self._compiled or self.__dict__.get("_encoder")
        return self.checkpoint.weights if faster is None else faster.weights

    @property
    def engine_thread(self) -> EngineThread:
        """Thread that runs the engine, for servers; started on first use, and again after it was closed."""
        self._check_open()
        if self._thread is None or not self._thread.is_alive:
            self._thread = EngineThread(self.engine)
        return self._thread

    @property
    def continues_prompts(self) -> bool:
        """True if generated text continues the prompt (decoders), False if it answers it (encoder–decoders)."""
        return self.kind == "decoder"

    @overload
    def generate(self, prompt: Prompt, *, adapter: str | None = None, **options: Unpack[GenerationOptionsDict]) -> Completion: ...
    @overload
    def generate(self, prompt: Prompts, *, adapter: str | None = None, **options: Unpack[GenerationOptionsDict]) -> list[Completion]: ...
    def generate(
        self, prompt: Prompt | Prompts, *, adapter: str | None = None, **options: Unpack[GenerationOptionsDict]
    ) -> Completion | list[Completion]:
        """Continue or answer a prompt, or a list of prompts together.

        Options and errors are those of stream. Each prompt of a list gets the completion that it would get alone.
        """
        has_several = is_batch(prompt)
        prompts = [token_ids_of_prompt(each, self.tokenizer) for each in (cast(Prompts, prompt) if has_several else [prompt])]
        collected: list[list[Chunk]] = [[] for _ in prompts]
        for index, chunk in self._stream(prompts, options, adapter=adapter):
            collected[index].append(chunk)
        completions = [collect(chunks, len(token_ids)) for chunks, token_ids in zip(collected, prompts, strict=True)]
        return completions if has_several else completions[0]

    def stream(self, prompt: Prompt, *, adapter: str | None = None, **options: Unpack[GenerationOptionsDict]) -> Iterator[Chunk]:
        """Continue or answer a prompt, chunk by chunk. A beam search yields all its chunks at its end.

        adapter   name of an adapter that load_adapter has loaded; None for the model itself

        The options are the fields of headway.language_model.GenerationOptions, which documents them. An option that is not
        given has the value in the model's generation_config.json, or else its default; None turns off what that file sets.
        A call with num_beams above 1 turns off the file's sampling, and a call with a sampling option its beam search.

        Errors   PromptError, TokenIdError or OptionError, before anything is computed.
        """
        return (chunk for _, chunk in self._stream([token_ids_of_prompt(prompt, self.tokenizer)], options, adapter=adapter))

    def chat(
        self, messages: Sequence[Mapping[str, object]], *, adapter: str | None = None, **options: Unpack[GenerationOptionsDict]
    ) -> Iterator[Chunk]:
        """Generate the next message of a conversation, chunk by chunk, with the model's chat template.

        messages   such as {"role": "user", "content": "…"}, oldest first

        Options are those of stream.

        Errors   TokenizerError if the model has no chat template; else as stream.
        """
        return (chunk for _, chunk in self._stream([self.chat_prompt(messages)], options, is_chat=True, adapter=adapter))

    def chat_prompt(self, messages: Sequence[Mapping[str, object]], tools: Sequence[Mapping[str, object]] | None = None) -> list[int]:
        """Return the token ids of a conversation in the model's chat template, up to the start of the next message.

        tools   descriptions of functions that the model may call

        Errors   TokenizerError if the model has no chat template, or it fails.
        """
        text = self.tokenizer.apply_chat_template(list(messages), tools=tools, add_generation_prompt=True)
        return self.tokenizer.encode(text, add_special_tokens=False)

    def request(
        self, token_ids: Sequence[int], options: GenerationOptionsDict, *, is_chat: bool = False, adapter: str | None = None
    ) -> Request:
        """Return a request for the engine: the options of a call with the model's defaults, and its end tokens.

        is_chat   True for a prompt of chat_prompt, which also ends where the tokenizer ends a turn: a fine-tuned model often keeps the
                  generation_config.json of its base model

        Errors   UnsupportedError for an encoder; OptionError; PromptError if the prompt is longer than the model's max_length.
        """
        self._check_open()
        if self.kind == "encoder":
            raise UnsupportedError(
                "got an encoder, which generates no text, expected a decoder or an encoder–decoder", hint="use fill_mask or embed"
            )
        merged = merge_options(options, self.defaults)
        more = self.tokenizer.eos_token_ids if is_chat else ()
        end_token_ids = () if merged.options.ignore_end else tuple(dict.fromkeys((*self.end_token_ids, *more)))
        length = len(token_ids) if self.continues_prompts else 1
        return self.with_processors(Request(token_ids, merged.for_prompt(length), end_token_ids, adapter=adapter))

    def with_processors(self, request: Request) -> Request:
        """Return a request with the processors of its options, such as a grammar; those of another process cannot be sent.

        Errors   OptionError for a grammar that is not valid or not supported, and for a model without an end token.
        """
        has_grammar = constraint_of(request.options) is not None
        grammar = self._grammars.compile(request.options, request.end_token_ids) if has_grammar else None
        length = len(request.token_ids) if self.continues_prompts else 1
        make = tuple if grammar is None else partial(grammar.processors, length, request.end_token_ids)
        return replace(request, make_processors=make)

    def text_stream(self, request: Request) -> TextStream:
        """Return a decoder of the tokens of one completion of a request, which cuts it at the request's stop strings."""
        before = request.token_ids if self.continues_prompts else ()
        return TextStream(self.tokenizer, before, StopMatcher(request.options.stop_strings), request.end_token_ids)

    def fill_mask(self, text: str, *, top_k: int = 5) -> FilledText:
        """Replace each mask of a text by the most likely token; see headway.language_model.fill_mask.fill_mask."""
        self._check_open()
        model = self.model
        return fill_mask(text, self._checkpoint, self.tokenizer, top_k=top_k, array=model.array, device=model.device, ops=model.ops)

    def embed(
        self,
        texts: Sequence[str],
        *,
        batch_size: int = 32,
        is_normalized: bool | None = None,
        prompt: str | None = None,
        on_batch: Callable[[int], None] | None = None,
        on_cut: Callable[[list[int]], None] | None = None,
    ) -> numpy.ndarray:
        """Return the embeddings of texts, (num_texts, hidden_size) in float32; see Embedder.embed."""
        return self.embedder.embed(
            texts, batch_size=batch_size, is_normalized=is_normalized, prompt=prompt, on_batch=on_batch, on_cut=on_cut
        )

    def classify(
        self,
        texts: Sequence[Text],
        *,
        top_k: int | None = None,
        batch_size: int = 32,
        on_batch: Callable[[int], None] | None = None,
        on_cut: Callable[[list[int]], None] | None = None,
    ) -> list[list[Label]]:
        """Return the labels of each text, or pair of texts, the most likely first; see Classifier.classify."""
        return self.classifier.classify(texts, top_k=top_k, batch_size=batch_size, on_batch=on_batch, on_cut=on_cut)

    def rerank(
        self,
        query: str,
        texts: Sequence[str],
        *,
        top_k: int | None = None,
        batch_size: int = 32,
        on_batch: Callable[[int], None] | None = None,
        on_cut: Callable[[list[int]], None] | None = None,
    ) -> list[Ranked]:
        """Return texts by their relevance to a query, the most relevant first; see Classifier.rerank."""
        return self.classifier.rerank(query, texts, top_k=top_k, batch_size=batch_size, on_batch=on_batch, on_cut=on_cut)

    def _check_open(self) -> None:
        if self.is_closed:
            raise OptionError("got a closed model, expected an open one", hint="load the model again")

    @cached_property
    def _grammars(self) -> GrammarCache:
        return GrammarCache(Vocabulary(self.tokenizer, cast(int, getattr(self.config, "decoder_vocab_size", self.config.vocab_size))))

    def _stream(
        self, prompts: Sequence[list[int]], options: GenerationOptionsDict, *, is_chat: bool = False, adapter: str | None = None
    ) -> Iterator[tuple[int, Chunk]]:
        """Yield the chunks of several prompts as they become final, each with the number of its prompt."""
        requests = [self.request(prompt, options, is_chat=is_chat, adapter=adapter) for prompt in prompts]
        stream = self.engine.stream(requests)

        def chunks() -> Iterator[tuple[int, Chunk]]:
            texts = [self.text_stream(request) for request in requests]
            for token in stream:
                chunk = texts[token.index].add(token)
                if chunk.finish_reason:
                    stream.finish(token.index)
                    chunk = self._with_hypotheses(chunk, token.hypotheses, requests[token.index])
                yield token.index, chunk

        return chunks()

    def _with_hypotheses(self, chunk: Chunk, hypotheses: Sequence[Hypothesis], request: Request) -> Chunk:
        """Return the last chunk of a beam search with its score, and the other texts that were found."""
        if not hypotheses:
            return chunk
        others = [completion_of(each, self.text_stream(request), len(request.token_ids)) for each in hypotheses[1:]]
        return replace(chunk, score=hypotheses[0].score, alternatives=others)


def _runner(model: Model, decoder: CompiledDecoder | CapturedDecoder | None) -> CompiledDecoder | ReferenceRunner:
    if decoder is None:
        return ReferenceRunner(model)
    return CapturedRunner(model, cast(CapturedDecoder, decoder)) if model.array == "torch" else cast(CompiledDecoder, decoder)
