"""headway chat: a conversation with a model that has a chat template."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Unpack

import typer

from headway.cli import options as o
from headway.cli.load_flags import LoadFlags, with_load_flags
from headway.errors import PromptError, TokenizerError
from headway.language_model import Chunk, GenerationOptionsDict, LanguageModel

MAX_NEW_TOKENS = 512
"""Default of --max-new-tokens."""


@o.with_generation_flags(max_new_tokens=str(MAX_NEW_TOKENS))
@with_load_flags
def command(
    model: o.Model,
    message: Annotated[str | None, typer.Argument(help="Message to answer; without it, messages are read from stdin.")] = None,
    system: o.System = None,
    loading: LoadFlags = LoadFlags(),  # noqa: B008 - frozen
    **generation: Unpack[GenerationOptionsDict],
) -> None:
    """Chat with a model that has a chat template.

    \b
      headway chat --model Qwen/Qwen2-0.5B-Instruct
      headway chat --model ./my-model --system "Answer in one sentence." "What is attention?"
      headway chat --model ./my-model < questions.txt

    Each line is a message. An empty line or Ctrl-D ends the conversation.

    Exit codes: 0 success, 1 output closed early (broken pipe), 2 invalid input, 130 interrupted.
    """
    language_model = loading.load(model)
    with language_model:
        if not language_model.tokenizer.has_chat_template:
            raise TokenizerError(
                f"got {model}, which has no chat template, expected a chat model", hint="use headway generate, which continues plain text"
            )
        generation.setdefault("max_new_tokens", MAX_NEW_TOKENS)
        first = [{"role": "system", "content": system}] if system else []
        messages: list[dict[str, str]] = []
        while (line := message if message is not None else _next_line()) is not None:
            messages.append({"role": "user", "content": line})
            printed = o.print_stream(_answer(language_model, first, messages, loading.chosen_adapter, generation))
            if message is not None:
                return
            messages.append({"role": "assistant", "content": printed.text})


def _answer(
    language_model: LanguageModel,
    first: list[dict[str, str]],
    messages: list[dict[str, str]],
    adapter: str | None,
    generation: GenerationOptionsDict,
) -> Iterator[Chunk]:
    """Return the answer to the last message; drop the oldest question and answer while the conversation exceeds the context."""
    while True:
        try:
            return language_model.chat([*first, *messages], adapter=adapter, **generation)
        except PromptError:
            if len(messages) < 3:
                raise
            del messages[:2]
            print("(the conversation exceeds the context: dropped the oldest question and answer)", file=sys.stderr)


def _next_line() -> str | None:
    """Return the next message, or None at the end of the conversation."""
    is_terminal = sys.stdin.isatty()
    try:
        if is_terminal:
            print("> ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip() or None
    except KeyboardInterrupt:
        if is_terminal:
            print(file=sys.stderr)
        raise
