"""headway generate: continue a text, or answer it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from headway.cli import options as o
from headway.errors import OptionError
from headway.language_model import LanguageModel


def command(
    prompt: Annotated[
        str | None, typer.Argument(help="The text to continue, or for an encoder–decoder to answer; - or nothing reads it from stdin.")
    ] = None,
    model: o.Model = "stories",
    max_new_tokens: o.MaxNewTokens = None,
    temperature: o.Temperature = None,
    top_k: o.TopK = None,
    top_p: o.TopP = None,
    min_p: o.MinP = None,
    no_repeat_ngram_size: o.NoRepeatNgramSize = None,
    seed: o.Seed = None,
    num_beams: o.NumBeams = None,
    num_best: o.NumBest = None,
    length_penalty: o.LengthPenalty = None,
    early_stopping: o.EarlyEnd = None,
    stop: o.Stop = None,
    array: o.Array = o.ArrayLibrary.numpy,
    dtype: o.Dtype = "float32",
    device: o.Device = None,
    weights: o.PackedWeights = o.Weights.auto,
    cache: o.CacheKind = None,
    threads: o.Threads = None,
    echo: Annotated[bool, typer.Option(help="Print the prompt before its continuation; never before an encoder–decoder's answer.")] = True,
    ignore_config_key: o.IgnoreConfigKey = None,
    as_json: o.Json = False,
) -> None:
    """Continue a text, answer it with an encoder–decoder, or fill its [MASK] with an encoder, and print it as it comes.

    \b
      headway generate "Once upon a time"
      echo "The little fox" | headway generate --model Qwen/Qwen2-0.5B --seed 7 --json
      headway generate --model google/flan-t5-small --num-beams 4 "Translate to German: The house is small."

    The text goes to stdout, the pace to stderr. A decoder adds 400 tokens at most where nothing else is said.

    Exit codes: 0 done, 2 bad input, 130 interrupted.
    """
    if prompt is None or prompt == "-":
        if sys.stdin.isatty():
            raise OptionError('came: no prompt; expected: a text, as in: headway generate "Once upon a time"; or one on stdin')
        prompt = sys.stdin.read().rstrip("\n")
    language_model = o.load_shown(
        model, weights, cache, threads, array=array.value, dtype=dtype, device=device, ignored_config_keys=ignore_config_key or ()
    )
    if language_model.kind == "encoder":
        _fill(language_model, model, prompt, as_json=as_json)
        return
    if max_new_tokens is None and language_model.continues_prompts:
        max_new_tokens = 400
    options = o.sampling(
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        min_p=min_p,
        no_repeat_ngram_size=no_repeat_ngram_size,
        seed=seed,
        num_beams=num_beams,
        num_best=num_best,
        length_penalty=length_penalty,
        early_stopping=early_stopping,
    )
    before = prompt if echo and language_model.continues_prompts else ""
    text, figures = o.print_stream(language_model.stream(prompt, stop=stop, **options), before=before, quiet=as_json)
    if as_json:
        o.print_json({"model": model, "prompt": prompt, "text": text, **figures})


def _fill(language_model: LanguageModel, name: str, prompt: str, *, as_json: bool) -> None:
    """An encoder's answer: the filled text on stdout, the candidates on stderr."""
    filled = language_model.fill_mask(prompt)
    if as_json:
        masks = [[asdict(candidate) for candidate in mask] for mask in filled.masks]
        o.print_json({"model": name, "prompt": prompt, "text": filled.text, "masks": masks})
        return
    print(filled.text)
    for mask in filled.masks:
        print(", ".join(f"{candidate.text} {candidate.probability:.3f}" for candidate in mask), file=sys.stderr)
