"""headway chat: a conversation with a model that has a chat template."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from headway.cli import options as o
from headway.errors import PromptError, TokenizerError
from headway.language_model import Chunk, LanguageModel


def command(
    model: o.Model,
    message: Annotated[str | None, typer.Argument(help="Say this, print the answer, and leave; without it, a conversation.")] = None,
    system: Annotated[str | None, typer.Option(help="What the model is told before the conversation.")] = None,
    max_new_tokens: o.MaxNewTokens = 512,
    temperature: o.Temperature = None,
    top_k: o.TopK = None,
    top_p: o.TopP = None,
    min_p: o.MinP = None,
    seed: o.Seed = None,
    stop: o.Stop = None,
    array: o.Array = o.ArrayLibrary.numpy,
    dtype: o.Dtype = "float32",
    device: o.Device = None,
    weights: o.PackedWeights = o.Weights.auto,
    cache: o.CacheKind = None,
    threads: o.Threads = None,
    ignore_config_key: o.IgnoreConfigKey = None,
) -> None:
    """Talk with a model that has a chat template.

    \b
      headway chat --model Qwen/Qwen2-0.5B-Instruct
      headway chat --model ./my-model --system "Answer in one sentence." "What is attention?"
      headway chat --model ./my-model < questions.txt

    One message per line. An empty line or Ctrl-D ends the conversation.

    Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    language_model = o.load_shown(
        model, weights, cache, threads, array=array.value, dtype=dtype, device=device, ignored_config_keys=ignore_config_key or ()
    )
    if not language_model.tokenizer.has_chat_template:
        raise TokenizerError(f"came: {model}, which has no chat template; expected: a model made for conversation; use headway generate")
    sampling = o.sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)
    told = [{"role": "system", "content": system}] if system else []
    said: list[dict[str, str]] = []
    while (line := message if message is not None else _next_line()) is not None:
        said.append({"role": "user", "content": line})
        answer, _ = o.print_stream(_answer(language_model, told, said, max_new_tokens=max_new_tokens, stop=stop, **sampling))
        if message is not None:
            return
        said.append({"role": "assistant", "content": answer})


def _answer(language_model: LanguageModel, told: list[dict[str, str]], said: list[dict[str, str]], **options: Any) -> Iterator[Chunk]:
    """The answer to the last message; the oldest question and answer are dropped where the conversation outgrows the context."""
    while True:
        try:
            return language_model.chat([*told, *said], **options)
        except PromptError:
            if len(said) < 3:
                raise
            del said[:2]
            print("(the conversation outgrew the context: its oldest question and answer are dropped)", file=sys.stderr)


def _next_line() -> str | None:
    """The next message, or None at the end."""
    if sys.stdin.isatty():
        print("> ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() or None
