"""headway generate: continue a text."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from headway.cli import options as o
from headway.errors import OptionError
from headway.language_model import load


def command(
    prompt: Annotated[str | None, typer.Argument(help="The text to continue; - or nothing reads it from stdin.")] = None,
    model: o.Model = "stories",
    max_new_tokens: o.MaxNewTokens = 400,
    temperature: o.Temperature = None,
    top_k: o.TopK = None,
    top_p: o.TopP = None,
    min_p: o.MinP = None,
    seed: o.Seed = None,
    stop: o.Stop = None,
    array: o.Array = o.ArrayLibrary.numpy,
    dtype: o.Dtype = "float32",
    device: o.Device = None,
    echo: Annotated[bool, typer.Option(help="Print the prompt before its continuation.")] = True,
    ignore_config_key: o.IgnoreConfigKey = None,
    as_json: o.Json = False,
) -> None:
    """Continue a text, and print it as it comes.

    \b
      headway generate "Once upon a time"
      headway generate --model Qwen/Qwen2-0.5B --temperature 0 "The capital of France is"
      echo "The little fox" | headway generate --seed 7 --json

    The text goes to stdout, the pace to stderr. Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    if prompt is None or prompt == "-":
        if sys.stdin.isatty():
            raise OptionError('came: no prompt; expected: a text, as in: headway generate "Once upon a time"; or one on stdin')
        prompt = sys.stdin.read().rstrip("\n")
    language_model = load(model, array=array.value, dtype=dtype, device=device, ignored_config_keys=ignore_config_key or ())
    sampling = o.sampling(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p, seed=seed)
    pieces = language_model.stream(prompt, max_new_tokens=max_new_tokens, stop=stop, **sampling)
    text, figures = o.print_stream(pieces, before=prompt if echo else "", quiet=as_json)
    if as_json:
        o.print_json({"model": model, "prompt": prompt, "text": text, **figures})
