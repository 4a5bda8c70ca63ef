"""From texts to a folder that generates: tokenizer, corpus, training, checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headway.checkpoints.writing import save_checkpoint
from headway.errors import TrainingError
from headway.files import write_text
from headway.models import gpt2
from headway.tokenizers import byte_tokenizer, load_tokenizer, train_bpe
from headway.train.corpus import encode_corpus, open_corpus, read_documents
from headway.train.loop import Progress, Run
from headway.train.options import TrainingOptions
from headway.train.stories import write_corpus

GENERATION = {"do_sample": True, "temperature": 0.7, "top_p": 0.9}


def start(
    out: Path,
    options: TrainingOptions,
    *,
    files: Sequence[Path] = (),
    num_stories: int | None = None,
    vocab_size: int | None = 4096,
    validation_share: float = 0.05,
    say: Callable[[str], None] = lambda text: None,
) -> Run:
    """Make the tokenizer and the corpus in the folder `out`, and a run on them.

    files        texts to train on; or else
    num_stories  how many stories to write and train on
    vocab_size   of the byte-level BPE trained on the texts; None for bytes

    Errors   TrainingError where the folder holds a run already, or the corpus is too small for one context.
    """
    work = out / "training"
    if (work / "options.json").exists():
        raise TrainingError(f"came: {out}, which holds a training run; expected: a new folder; pass --resume to go on with it")
    work.mkdir(parents=True, exist_ok=True)
    if num_stories is not None:
        say(f"writing {num_stories:,} stories")
        write_corpus(work / "stories.txt", num_stories, options.seed)
        files = [work / "stories.txt"]
    documents = list(read_documents(files))
    say(f"tokenizer: {'bytes' if vocab_size is None else f'byte-level BPE of {vocab_size:,}'} from {sum(map(len, documents)):,} characters")
    tokenizer = byte_tokenizer() if vocab_size is None else train_bpe(iter(documents), vocab_size)
    tokenizer.save(out)
    corpus = encode_corpus(documents, tokenizer, work, context=options.context, validation_share=validation_share)
    say(f"corpus: {len(corpus.train):,} tokens to train on, {len(corpus.validation):,} to validate on")
    run = Run(_config(tokenizer.vocab_size, options), corpus, options, work / "state.safetensors")
    write_text(work / "options.json", json.dumps(run.options.to_dict(), indent=2) + "\n")
    return run


def resume(out: Path) -> Run:
    """The run that stopped in the folder `out`, at its last saved step.

    Errors   TrainingError where there is none, or its files are broken.
    """
    work = out / "training"
    try:
        options = TrainingOptions(**json.loads((work / "options.json").read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise TrainingError(
            f"came: {out} without a training run ({error}); expected: a folder that headway train started; leave --resume out to start"
        ) from error
    return Run(_config(load_tokenizer(out).vocab_size, options), open_corpus(work), options, work / "state.safetensors")


def finish(run: Run, out: Path) -> None:
    """Write the trained model into `out`, as a folder that `headway generate --model` and transformers open."""
    (end_of_text,) = load_tokenizer(out).encode("<|endoftext|>")
    generation = {"bos_token_id": end_of_text, "eos_token_id": end_of_text, **GENERATION}
    save_checkpoint(out, gpt2, run.config, run.weights, dtype=run.options.weights_dtype, generation_config=generation)
    write_text(out / "training" / "curve.json", json.dumps(run.curve, indent=1) + "\n")


def train(
    out: Path,
    options: TrainingOptions,
    *,
    report: Callable[[Progress], None] = lambda progress: None,
    is_resumed: bool = False,
    **corpus: Any,
) -> Run:
    """Start or resume, train to the end, and write the model; `corpus` is what start takes."""
    run = resume(out) if is_resumed else start(out, options, **corpus)
    run.train(report)
    finish(run, out)
    return run


def _config(vocab_size: int, options: TrainingOptions) -> gpt2.Config:
    return gpt2.Config(
        vocab_size=vocab_size, n_positions=options.context, n_embd=options.hidden_size, n_layer=options.num_layers, n_head=options.num_heads
    )
