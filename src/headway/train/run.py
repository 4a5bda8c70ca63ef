"""Training runs: make tokenizer and corpus, train, and write a model folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.arrays import check_computing
from headway.checkpoints import resolve_model
from headway.checkpoints.writing import save_checkpoint
from headway.errors import HeadwayError, OptionError, TrainingError, quantity
from headway.files import emptied_on_error, write_text
from headway.json_files import read_json_object
from headway.tokenizers import load_tokenizer
from headway.tokenizers.library import LibraryTokenizer
from headway.train.architectures import Architecture, Weights
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
    """Training data and tokenizer. Exactly one of files, num_stories, and source with target is given.

    files             text files; for pairs, files with a source, a tab and a target on each line
    num_stories       number of stories to generate and train on (not for pairs)
    source, target    two files whose lines with the same number are pairs
    tokenizer         bpe, bytes or characters
    vocab_size        vocabulary size of bpe; 4096 by default
    invented_share    share of the stories with invented names, from 0 to 1
    validation_share  share of the data to validate on

    Errors   OptionError for no data or more than one kind of it, or a value out of range.
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
        names = [name for name, is_given in given.items() if is_given]
        if len(names) != 1:
            raise OptionError(
                f"got {' and '.join(names) or 'no training data'}, expected one of files, stories, and a source file with a target file"
            )
        if bool(self.source) != bool(self.target):
            raise OptionError("got one of a source file and a target file, expected both")
        if self.num_stories is not None and self.num_stories < 1:
            raise OptionError(f"got num_stories={self.num_stories}, expected at least 1")
        if not 0 <= self.invented_share <= 1:
            raise OptionError(f"got invented_share={self.invented_share}, expected 0 to 1")
        if not 0 < self.validation_share < 1:
            raise OptionError(f"got validation_share={self.validation_share}, expected above 0 and below 1")

    def check_for(self, architecture: str) -> None:
        """Raise OptionError unless the architecture can be trained on this kind of data."""
        if Architecture(architecture).reads_pairs and self.num_stories is not None:
            raise OptionError(
                f"stories and architecture={architecture} cannot be combined", hint="it is trained on pairs: pass files of pairs"
            )
        if not Architecture(architecture).reads_pairs and self.source:
            raise OptionError(
                f"a source file and architecture={architecture} cannot be combined",
                hint="pass text files, or use --architecture transformer",
            )


def start(
    out: Path, options: TrainingOptions, data: Data, *, say: Callable[[str], None] = lambda text: None, processes: Processes = ALONE
) -> Run:
    """Create tokenizer and corpus in the folder `out`, and return a new run. Nothing of it remains in the folder after an error.

    Errors   TrainingError if `out` is a file or contains a run, or if the corpus is invalid or too small; OptionError for options
             that cannot be combined, or a device that torch does not support.
    """
    check_computing("torch", "float32", options.device)
    data.check_for(options.architecture)
    check_processes(options, processes)
    for_this_process(options, processes)
    with emptied_on_error(out) if processes.is_first else nullcontext():
        processes.run_on_first(lambda: _prepare(out, options, data, say))
        run = _open(out, options, processes)
        processes.run_on_first(lambda: _write_options(out, run.options))
    return run


def resume(out: Path, *, processes: Processes = ALONE, **changed: Any) -> Run:
    """Return the run in the folder `out`, at its last saved step.

    changed   options to change from this step on; those that determine the model or its batches cannot change

    Errors   TrainingError if there is no run or its files are corrupt; OptionError for an option that cannot change, or a device
             that torch does not support.
    """
    fixed = sorted(set(changed) - CHANGEABLE)
    if fixed:
        raise OptionError(
            f"got {', '.join(fixed)} for a resumed run, expected only {', '.join(sorted(CHANGEABLE))}",
            hint="leave the other options out, or start a new run",
        )
    options = replace(_read_options(out), **changed)
    check_computing("torch", "float32", options.device)
    run = _open(out, options, processes)
    if run.step > run.options.num_steps:
        raise OptionError(f"got num_steps={run.options.num_steps} for a run at step {run.step}, expected at least {run.step}")
    if changed:
        processes.run_on_first(lambda: _write_options(out, run.options))
    return run


def finish(run: Run, out: Path, *, say: Callable[[str], None] = lambda text: None) -> None:
    """Write the trained model into the folder `out`, in the format of Hugging Face, and the loss curves into `out`/training."""
    weights = run.full_weights()
    run.processes.run_on_first(lambda: _finish(run, weights, out, say))


def train(
    out: Path, options: TrainingOptions, data: Data | None = None, *, report: Callable[[Progress], None] = lambda progress: None
) -> Run:
    """Start a run, or resume it if `data` is None; train all steps and write the model."""
    run = resume(out) if data is None else start(out, options, data)
    run.train(report)
    finish(run, out)
    return run


def _prepare(out: Path, options: TrainingOptions, data: Data, say: Callable[[str], None]) -> None:
    """Write the tokenizer and the corpus."""
    training = out / "training"
    _check_folder(training)
    if (training / "options.json").exists():
        raise TrainingError(f"got {out}, which contains a training run, expected a new folder", hint="pass --resume to continue the run")
    reads_pairs = Architecture(options.architecture).reads_pairs
    pairs, documents = (_pairs(data), []) if reads_pairs else ([], _documents(training, options, data, say))
    texts = [text for pair in pairs for text in pair] or documents
    if options.init_from is not None:
        say(f"tokenizer: that of {options.init_from}")
        tokenizer = _tokenizer_of(options.init_from)
    else:
        say(f"tokenizer: {data.tokenizer} from {quantity(sum(map(len, texts)), 'character')}")
        tokenizer = make_tokenizer(iter(texts), data.tokenizer, data.vocab_size, is_for_pairs=reads_pairs)
    training.mkdir(parents=True, exist_ok=True)
    tokenizer.save(out)
    if reads_pairs:
        pair_corpus = encode_pairs(pairs, tokenizer, training, options, validation_share=data.validation_share)
        say(
            f"corpus: {quantity(pair_corpus.num_train, 'pair')} to train on, {len(pairs) - pair_corpus.num_train:,} to validate on; "
            f"vocabulary of {tokenizer.vocab_size:,} tokens"
        )
    else:
        corpus = encode_corpus(documents, tokenizer, training, context=options.context, validation_share=data.validation_share)
        say(f"corpus: {len(corpus.train):,} tokens to train on, {len(corpus.validation):,} to validate on")


def _pairs(data: Data) -> list[tuple[str, str]]:
    if data.source and data.target:
        return read_parallel(data.source, data.target)
    return [pair for path in data.files for pair in read_pairs(path)]


def _documents(training: Path, options: TrainingOptions, data: Data, say: Callable[[str], None]) -> list[str]:
    if data.num_stories is None:
        return list(read_documents(data.files))
    writer = load_story_writer()
    say(f"writing {data.num_stories:,} stories")
    training.mkdir(parents=True, exist_ok=True)
    writer.write_corpus(training / "stories.txt", data.num_stories, options.seed, invented_share=data.invented_share)
    return list(read_documents([training / "stories.txt"]))


def _tokenizer_of(model: str) -> LibraryTokenizer:
    """Return the tokenizer of a model, which must be a tokenizer.json: training writes one."""
    tokenizer = load_tokenizer(resolve_model(model))
    if not isinstance(tokenizer, LibraryTokenizer):
        raise OptionError(f"got {model} without a tokenizer.json, expected one", hint="start from a model with a tokenizer.json")
    return tokenizer


def _check_folder(folder: Path) -> None:
    """Raise TrainingError if the folder cannot be created because it or one of its parents is a file."""
    existing = next((path for path in (folder, *folder.parents) if path.exists()), None)
    if existing is not None and not existing.is_dir():
        raise TrainingError(f"got {existing}, which is a file, expected a folder", hint="pass another folder as --out")


def _read_options(out: Path) -> TrainingOptions:
    path = out / "training" / "options.json"
    try:
        values = read_json_object(path, TrainingError)
    except (OSError, TrainingError) as error:
        raise TrainingError(
            f"got {out} without a training run ({error}), expected a folder made by headway train", hint="leave --resume out to start a run"
        ) from error
    unknown = values.keys() - {field.name for field in dataclasses.fields(TrainingOptions)}
    if unknown:
        raise TrainingError(f"got {path} with unknown options {', '.join(sorted(unknown))}", hint="start a new run")
    return TrainingOptions(**values)


def _open(out: Path, options: TrainingOptions, processes: Processes) -> Run:
    architecture, training = Architecture(options.architecture), out / "training"
    corpus = open_pairs(training) if architecture.reads_pairs else open_corpus(training)
    config = architecture.config(load_tokenizer(out).vocab_size, options)
    return Run(config, corpus, options, training / "state.safetensors", processes)


def _write_options(out: Path, options: TrainingOptions) -> None:
    write_text(out / "training" / "options.json", json.dumps(options.to_dict(), indent=2) + "\n")


def _finish(run: Run, weights: Weights, out: Path, say: Callable[[str], None]) -> None:
    architecture = Architecture(run.options.architecture)
    save_checkpoint(
        out, architecture.module, run.config, weights, dtype=run.options.weights_dtype, generation_config=_generation_config(run, out)
    )
    write_text(out / "training" / "curve.json", json.dumps(run.curve, indent=1) + "\n")
    try:
        save_plot(out / "training" / "curve.png", run.history)
    except HeadwayError as error:
        say(f"{error} ({error.hint})" if error.hint else str(error))


def _generation_config(run: Run, out: Path) -> dict[str, int | float | bool | None]:
    tokenizer = load_tokenizer(out)
    (end_token_id,) = tokenizer.eos_token_ids
    if not Architecture(run.options.architecture).reads_pairs:
        # None, because transformers' default of some architectures is not in a small vocabulary.
        return {"bos_token_id": end_token_id, "eos_token_id": end_token_id, "pad_token_id": None, **SAMPLING}
    start_token_id = tokenizer.pad_token_id
    return {
        "eos_token_id": end_token_id,
        "pad_token_id": start_token_id,
        "decoder_start_token_id": start_token_id,
        "max_length": run.options.context,
    }
