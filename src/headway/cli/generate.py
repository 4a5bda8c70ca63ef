"""headway generate: continue or answer a prompt, or fill its masks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Unpack

import typer

from headway.cli import options as o
from headway.cli.load_flags import LoadFlags, with_load_flags
from headway.errors import OptionError, PromptError
from headway.language_model import Chunk, GenerationOptionsDict, LanguageModel

MAX_NEW_TOKENS = 400
"""Default of --max-new-tokens for decoders."""


@o.with_generation_flags(max_new_tokens=f"{MAX_NEW_TOKENS}; the model's for an encoder–decoder")
@with_load_flags
def command(
    prompt: Annotated[
        str | None,
        typer.Argument(help="Text to continue, or to answer with an encoder–decoder. Without it, or with -, it is read from stdin."),
    ] = None,
    model: o.Model = "stories",
    prompt_file: Annotated[str | None, typer.Option(help="File to read the prompt from; - is stdin.")] = None,
    system: o.System = None,
    loading: LoadFlags = LoadFlags(),  # noqa: B008 - frozen
    echo: Annotated[bool, typer.Option(help="Print the prompt before its continuation. Answers are printed without the prompt.")] = True,
    as_json: o.Json = False,
    **generation: Unpack[GenerationOptionsDict],
) -> None:
    """Continue a text, answer it with an encoder–decoder, or fill its [MASK] with an encoder.

    \b
      headway generate "Once upon a time"
      echo "The little fox" | headway generate --model Qwen/Qwen2-0.5B --seed 7 --json
      headway generate --model google/flan-t5-small --num-beams 4 "Translate to German: The house is small."

    The text goes to stdout while it is generated, the throughput to stderr.

    Exit codes: 0 success, 1 output closed early (broken pipe), 2 invalid input, 130 interrupted.
    """
    prompt = _prompt(prompt, prompt_file)
    language_model = loading.load(model)
    with language_model:
        if system is not None:
            chunks = _answer(language_model, model, system, prompt, loading.chosen_adapter, generation)
        elif language_model.kind == "encoder":
            _fill(language_model, model, prompt, as_json=as_json)
            return
        else:
            if language_model.continues_prompts:
                generation.setdefault("max_new_tokens", MAX_NEW_TOKENS)
            chunks = language_model.stream(prompt, adapter=loading.chosen_adapter, **generation)
        before = prompt if echo and language_model.continues_prompts and system is None else ""
        printed = o.print_stream(chunks, before=before, quiet=as_json)
        if as_json:
            o.print_json({"model": model, "prompt": prompt, "text": printed.text, **printed.figures()})


def _prompt(prompt: str | None, prompt_file: str | None) -> str:
    """Return the prompt: the argument, the content of a file, or stdin.

    Errors   OptionError for two prompts or none, or a file that cannot be read; PromptError for text that is not UTF-8.
    """
    if prompt is not None and prompt_file is not None:
        raise OptionError("a prompt and --prompt-file cannot be combined", hint="leave one of them out")
    source = prompt_file or ("-" if prompt is None else prompt)
    if prompt_file is None and source != "-":
        return source
    if source == "-":
        if sys.stdin.isatty():
            raise OptionError("got no prompt, expected a text", hint='headway generate "Once upon a time"')
        name, text = "standard input", sys.stdin.read()
    else:
        try:
            name, text = source, Path(source).read_text(encoding="utf-8-sig", errors="surrogateescape")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise OptionError(f"got --prompt-file {source!r:.200}, expected a text file that can be read ({reason})") from error
    try:
        text.encode()
    except UnicodeEncodeError as error:
        byte = ord(text[error.start]) - 0xDC00
        raise PromptError(
            f"got {name} with byte 0x{byte:02x} at character {error.start}, expected UTF-8 text", hint="convert it, for example with iconv"
        ) from None
    return text.rstrip("\n")


def _answer(
    language_model: LanguageModel, name: str, system: str, prompt: str, adapter: str | None, generation: GenerationOptionsDict
) -> Iterator[Chunk]:
    """Return the answer to the prompt, rendered with the system message by the chat template."""
    if language_model.kind == "encoder" or not language_model.tokenizer.has_chat_template:
        raise OptionError(
            f"got --system for {name}, which has no chat template, expected a chat model",
            hint="leave --system out and put the instructions in the prompt",
        )
    generation.setdefault("max_new_tokens", MAX_NEW_TOKENS)
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    return language_model.chat(messages, adapter=adapter, **generation)


def _fill(language_model: LanguageModel, name: str, prompt: str, *, as_json: bool) -> None:
    """Print the filled text on stdout and the candidates on stderr."""
    filled = language_model.fill_mask(prompt)
    if as_json:
        masks = [[asdict(candidate) for candidate in mask] for mask in filled.masks]
        o.print_json({"model": name, "prompt": prompt, "text": filled.text, "masks": masks})
        return
    print(filled.text)
    for mask in filled.masks:
        print(", ".join(f"{candidate.text} {candidate.probability:.3f}" for candidate in mask), file=sys.stderr)
