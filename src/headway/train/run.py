"""From texts, or pairs of them, to a folder that generates: tokenizer, corpus, training, checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.arrays import check_computing
from headway.checkpoints import resolve_model
from headway.checkpoints.writing import save_checkpoint
from headway.errors import HeadwayError, OptionError, TrainingError
from headway.files import write_text
from headway.tokenizers import load_tokenizer
from headway.train.architectures import ARCHITECTURES
from headway.train.corpus import encode_corpus, open_corpus, read_documents
from headway.train.distributed import ALONE, Processes, check_processes, for_this_process
from headway.train.loop import Progress, Run
from headway.train.options import CHANGEABLE, TrainingOptions
from headway.train.pair_corpus import encode_pairs, open_pairs
from headway.train.pairs import read_pairs, read_parallel
from headway.train.plot import save_plot
from headway.train.story_writer import load_story_writer
from headway.train.tokenizer import check_kind, make_tokenizer

SAMPLING = {"do_sample": True, "temperature": 0.7, "top_p": 0.9}


@dataclass(frozen=True)
class Data:
    """What to train on: one of the three, and for pairs one of the first and the last.

    files            texts; for pairs, files with a source, a tab and a target on each line
    num_stories      how many stories to write and train on
    source, target   two files whose lines are pairs
    tokenizer        bpe, bytes or characters
    vocab_size       of the bpe; 4096 by default
    invented_share   share of the stories with invented names, from 0 to 1
    validation_share how much is held back to validate on

    Errors   OptionError for none of the three, or several, or a share that is none.
    """

    files: Sequence[Path] = ()
    num_stories: int | None = None
    source: Path | None = None
    target: Path | None = None
    tokenizer: str = "bpe"
    vocab_size: int | None = None
    invented_share: float = 0.0
    validation_share: float = 0.05

    def __post_init__(self) -> None:
        check_kind(self.tokenizer, self.vocab_size)
        given = {
            "files": self.files,
            "stories": self.num_stories is not None,
            "a source file and a target file": self.source or self.target,
        }
        names = [name for name, is_there in given.items() if is_there]
        if len(names) != 1:
            raise OptionError(f"came: {' and '.join(names) or 'neither files nor --stories nor a source file'}; expected: one to train on")
        if bool(self.source) != bool(self.target):
            raise OptionError("came: one of a source file and a target file; expected: both, with a pair on each line")
        if self.num_stories is not None and self.num_stories < 1:
            raise OptionError(f"came: num_stories={self.num_stories}; expected: at least 1")
        if not 0 <= self.invented_share <= 1:
            raise OptionError(f"got invented_share={self.invented_share}, expected 0 to 1")
        if not 0 < self.validation_share < 1:
            raise OptionError(f"came: validation_share={self.validation_share}; expected: above 0 and below 1")

    def check_for(self, architecture: str) -> None:
        """Raise OptionError unless this is what the architecture learns from."""
        if ARCHITECTURES[architecture].reads_pairs and self.num_stories is not None:
            raise OptionError(f"came: stories with architecture={architecture}; expected: pairs, in one file with tabs or in two")
        if not ARCHITECTURES[architecture].reads_pairs and self.source:
            raise OptionError(f"came: a source file with architecture={architecture}; expected: texts; pairs are for transformer")


def start(
    out: Path, options: TrainingOptions, data: Data, *, say: Callable[[str], None] = lambda text: None, processes: Processes = ALONE
) -> Run:
    """Make the tokenizer and the corpus in the folder `out`, and a run on them.

    Errors   TrainingError where the folder holds a run already, or the corpus is broken or too small; OptionError for options that do
             not fit together, or a device that torch does not have.
    """
    check_computing("torch", "float32", options.device)
    data.check_for(options.architecture)
    check_processes(options, processes)
    for_this_process(options, processes)
    processes.once(lambda: _prepare(out, options, data, say))
    run = _open(out, options, processes)
    processes.once(lambda: _keep_options(out, run.options))
    return run


def resume(out: Path, *, processes: Processes = ALONE, **changed: Any) -> Run:
    """The run that stopped in the folder `out`, at its last saved step.

    changed   options that hold from now on, of those that leave the model and its batches what they are

    Errors   TrainingError where there is none, or its files are broken; OptionError for an option that may not change, or a device that
             torch does not have.
    """
    fixed = sorted(set(changed) - CHANGEABLE)
    if fixed:
        raise OptionError(
            f"came: {', '.join(fixed)} for a run that goes on; expected: any of {', '.join(sorted(CHANGEABLE))}; leave it out"
        )
    try:
        options = TrainingOptions(**json.loads((out / "training" / "options.json").read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise TrainingError(
            f"came: {out} without a training run ({error}); expected: a folder that headway train started; leave --resume out to start"
        ) from error
    options = replace(options, **changed)
    check_computing("torch", "float32", options.device)
    run = _open(out, options, processes)
    if run.step > run.options.num_steps:
        raise OptionError(f"came: num_steps={run.options.num_steps} for a run at step {run.step}; expected: at least as many")
    if changed:
        processes.once(lambda: _keep_options(out, run.options))
    return run


def finish(run: Run, out: Path, *, say: Callable[[str], None] = lambda text: None) -> None:
    """Write the trained model into `out`, as a folder that Headway and transformers open, and the curve beside its state."""
    weights = run.whole_weights()
    run.processes.once(lambda: _finish(run, weights, out, say))


def train(
    out: Path, options: TrainingOptions, data: Data | None = None, *, report: Callable[[Progress], None] = lambda progress: None
) -> Run:
    """Start, or go on where there is no data, train to the end, and write the model."""
    run = resume(out) if data is None else start(out, options, data)
    run.train(report)
    finish(run, out)
    return run


def _prepare(out: Path, options: TrainingOptions, data: Data, say: Callable[[str], None]) -> None:
    """Write the tokenizer and the corpus."""
    work = out / "training"
    if (work / "options.json").exists():
        raise TrainingError(f"came: {out}, which holds a training run; expected: a new folder; pass --resume to go on with it")
    reads_pairs = ARCHITECTURES[options.architecture].reads_pairs
    pairs, documents = (_pairs(data), []) if reads_pairs else ([], _documents(work, options, data, say))
    texts = [text for pair in pairs for text in pair] or documents
    if options.init_from is not None:
        say(f"tokenizer: that of {options.init_from}")
        tokenizer = load_tokenizer(resolve_model(options.init_from))
    else:
        say(f"tokenizer: {data.tokenizer} from {sum(map(len, texts)):,} characters")
        tokenizer = make_tokenizer(iter(texts), data.tokenizer, data.vocab_size, is_for_pairs=reads_pairs)
    work.mkdir(parents=True, exist_ok=True)
    tokenizer.save(out)
    if reads_pairs:
        kept = encode_pairs(pairs, tokenizer, work, options, validation_share=data.validation_share)
        say(
            f"corpus: {kept.num_train:,} pairs to train on, {len(pairs) - kept.num_train:,} to validate on; {tokenizer.vocab_size:,} tokens"
        )
    else:
        corpus = encode_corpus(documents, tokenizer, work, context=options.context, validation_share=data.validation_share)
        say(f"corpus: {len(corpus.train):,} tokens to train on, {len(corpus.validation):,} to validate on")


def _pairs(data: Data) -> list[tuple[str, str]]:
    if data.source and data.target:
        return read_parallel(data.source, data.target)
    return [pair for path in data.files for pair in read_pairs(path)]


def _documents(work: Path, options: TrainingOptions, data: Data, say: Callable[[str], None]) -> list[str]:
    if data.num_stories is None:
        return list(read_documents(data.files))
    writer = load_story_writer()
    say(f"writing {data.num_stories:,} stories")
    work.mkdir(parents=True, exist_ok=True)
    writer.write_corpus(work / "stories.txt", data.num_stories, options.seed, invented_share=data.invented_share)
    return list(read_documents([work / "stories.txt"]))


def _open(out: Path, options: TrainingOptions, processes: Processes) -> Run:
    architecture, work = ARCHITECTURES[options.architecture], out / "training"
    corpus = open_pairs(work) if architecture.reads_pairs else open_corpus(work)
    config = architecture.config(load_tokenizer(out).vocab_size, options)
    return Run(config, corpus, options, work / "state.safetensors", processes)


def _keep_options(out: Path, options: TrainingOptions) -> None:
    write_text(out / "training" / "options.json", json.dumps(options.to_dict(), indent=2) + "\n")


def _finish(run: Run, weights: Any, out: Path, say: Callable[[str], None]) -> None:
    architecture = ARCHITECTURES[run.options.architecture]
    save_checkpoint(
        out, architecture.module, run.config, weights, dtype=run.options.weights_dtype, generation_config=_generation_config(run, out)
    )
    write_text(out / "training" / "curve.json", json.dumps(run.curve, indent=1) + "\n")
    try:
        save_plot(out / "training" / "curve.png", run.history)
    except HeadwayError as error:
        say(str(error))


def _generation_config(run: Run, out: Path) -> dict[str, Any]:
    tokenizer = load_tokenizer(out)
    (end_token_id,) = tokenizer.eos_token_ids
    if not ARCHITECTURES[run.options.architecture].reads_pairs:
        return {"bos_token_id": end_token_id, "eos_token_id": end_token_id, **SAMPLING}
    start_token_id = tokenizer.pad_token_id
    return {
        "eos_token_id": end_token_id,
        "pad_token_id": start_token_id,
        "decoder_start_token_id": start_token_id,
        "max_length": run.options.context,
    }
