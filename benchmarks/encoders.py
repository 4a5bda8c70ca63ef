"""Encoders compared with other programs: `python -m benchmarks.encoders` prints tables in about nine minutes. Nothing else should run.

Random weights in the shapes of MiniLM-L6 and bge-base, 32 texts of 128 tokens, and 32 texts of 16 to 128 tokens; 2 threads; token ids in,
hidden states out. The same shapes with one label as rerankers: a query and texts in, scores of pairs of 128 tokens out (rerankers). Each measurement is a process; the programs take turns. A peer whose package is missing is left out.
HEADWAY_PEERS_PYTHONPATH names a folder with onnxruntime, ctranslate2 and sentence_transformers (pip install --target FOLDER --no-deps …).
"""

from __future__ import annotations

import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import onnx_files, rerankers

THREADS, BATCH, LONGEST, SECONDS = 2, 32, 128, 4.0
ROUNDS = int(os.environ.get("HEADWAY_BENCHMARK_ROUNDS", "3"))
SHAPES = {
    "MiniLM-L6": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536},
    "bge-base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
}
FOLDER = Path(tempfile.gettempdir()) / "headway-benchmark-encoders"
Run = Callable[[list[list[int]]], object]


def main() -> None:
    for shape in SHAPES:
        if not (_reranker_folder(shape) / "config.json").exists():
            _process("make", shape, "")
        for task in ("32 x 128 tokens", "32 x 16 to 128 tokens", rerankers.TASK):
            print(f"\n## {shape}, {task}\n\n| | texts/s, median | all runs |\n|---|---|---|", flush=True)
            runs: dict[str, list[float]] = {name: [] for name in PEERS}
            for _ in range(ROUNDS):
                for name, found in runs.items():
                    result = _process(name, shape, task)
                    found += [result["texts_per_second"]] if "texts_per_second" in result else []
            for name, found in runs.items():
                shown = ", ".join(f"{each:.1f}" for each in found)
                print(f"| {name} | {statistics.median(found):.1f} | {shown} |" if found else f"| {name} | left out | |", flush=True)
            ours = statistics.median(runs["headway int8"])
            best = max((statistics.median(found) for name, found in runs.items() if found and "headway" not in name), default=0.0)
            print(f"| headway int8 / best peer | {ours / best:.2f} | |" if best else "", flush=True)


def make(shape: str) -> None:
    """Write a folder as transformers saves it."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    BertModel(
        BertConfig(**SHAPES[shape], vocab_size=30522, max_position_embeddings=512, position_embedding_type="absolute")
    ).save_pretrained(FOLDER / shape)
    rerankers.make(_reranker_folder(shape), SHAPES[shape])


def _reranker_folder(shape: str) -> Path:
    return FOLDER / f"{shape}-reranker"


def headway(path: Path, kind: str) -> Run:
    from headway.checkpoints import load_checkpoint
    from headway.language_model.encoders import compiled_encoder

    encoder = compiled_encoder(load_checkpoint(path), path, kind, num_threads=THREADS)
    return encoder.encode


def torch_model(path: Path, kind: str) -> Run:
    """The module that sentence-transformers runs, with its padding."""
    import torch
    from transformers import AutoModel

    torch.set_num_threads(THREADS)
    model = AutoModel.from_pretrained(path, dtype=getattr(torch, kind)).eval()

    def run(texts: list[list[int]]) -> object:
        token_ids, mask = (torch.from_numpy(each) for each in _padded(texts))
        with torch.inference_mode():
            return model(input_ids=token_ids, attention_mask=mask).last_hidden_state

    return run


def onnx_runtime(path: Path, kind: str) -> Run:
    session = onnx_files.session(path, kind, THREADS, partial(_export, path))

    def run(texts: list[list[int]]) -> object:
        token_ids, mask = _padded(texts)
        return session.run(None, {"input_ids": token_ids, "attention_mask": mask})

    return run


def _export(path: Path, file: Path) -> None:
    import torch
    from transformers import AutoModel

    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = AutoModel.from_pretrained(path, attn_implementation="eager").eval()

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    example = torch.ones((2, 8), dtype=torch.int64)
    axes = {"input_ids": {0: "batch", 1: "seq"}, "attention_mask": {0: "batch", 1: "seq"}}
    names = {"input_names": list(axes), "output_names": ["hidden"], "dynamic_axes": axes, "opset_version": 17, "dynamo": False}
    torch.onnx.export(Hidden(), (example, example), str(file), **names)


def ctranslate2_model(path: Path, kind: str) -> Run:
    run: Run = ctranslate2_encoder(path, kind).forward_batch
    return run


def ctranslate2_encoder(path: Path, kind: str) -> Any:
    """Return the encoder, converted when it is first used."""
    import ctranslate2
    from ctranslate2.converters import TransformersConverter

    class Converter(TransformersConverter):
        def load_tokenizer(self, tokenizer_class: type, name: str, **options: object) -> Any:
            from types import SimpleNamespace

            special = dict.fromkeys(("bos_token", "eos_token", "pad_token", "unk_token"), "[0]")
            return SimpleNamespace(get_vocab=lambda: {f"[{index}]": index for index in range(30522)}, **special)

    target = path / f"ctranslate2-{kind}"
    if not target.exists():
        Converter(str(path)).convert(str(target), quantization=kind)
    return ctranslate2.Encoder(str(target), device="cpu", inter_threads=1, intra_threads=THREADS, compute_type=kind)


def _padded(texts: list[list[int]]) -> tuple[Any, Any]:
    import numpy

    token_ids, mask = numpy.zeros((2, len(texts), max(map(len, texts))), numpy.int64)
    for row, text in enumerate(texts):
        token_ids[row, : len(text)], mask[row, : len(text)] = text, 1
    return token_ids, mask


PEERS: dict[str, Callable[[Path], Run]] = {
    "headway int8": partial(headway, kind="int8"),
    "headway bfloat16": partial(headway, kind="bfloat16"),
    "headway float32": partial(headway, kind="float32"),
    "torch float32": partial(torch_model, kind="float32"),
    "torch bfloat16": partial(torch_model, kind="bfloat16"),
    "ONNX Runtime float32": partial(onnx_runtime, kind="float32"),
    "ONNX Runtime int8": partial(onnx_runtime, kind="int8"),
    "CTranslate2 float32": partial(ctranslate2_model, kind="float32"),
    "CTranslate2 int8": partial(ctranslate2_model, kind="int8"),
}


def measure(name: str, shape: str, task: str) -> dict[str, float]:
    """Repeat a batch for some seconds; the first, which is not counted, lets an engine prepare itself."""
    random.seed(0)
    run = _task(name, shape, task)
    run()
    times = [time.perf_counter()]
    while times[-1] - times[0] < SECONDS or len(times) < 4:
        run()
        times.append(time.perf_counter())
    return {"texts_per_second": BATCH / statistics.median(after - before for before, after in itertools.pairwise(times))}


def _task(name: str, shape: str, task: str) -> Callable[[], object]:
    """Return a function that computes the batch."""
    if task == rerankers.TASK:
        return partial(rerankers.reranker(name, _reranker_folder(shape), THREADS), *rerankers.texts(random, BATCH))
    lengths = [LONGEST] * BATCH if "to" not in task.split() else [random.randint(16, LONGEST) for _ in range(BATCH)]
    return partial(PEERS[name](FOLDER / shape), [[random.randint(1000, 30000) for _ in range(length)] for length in lengths])


def _process(name: str, shape: str, task: str) -> dict[str, float]:
    paths = [str(Path(__file__).parents[1] / "src"), os.environ.get("HEADWAY_PEERS_PYTHONPATH", ""), os.environ.get("PYTHONPATH", "")]
    variables = os.environ | {"OMP_NUM_THREADS": str(THREADS), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "benchmarks.encoders", name, shape, task]
    answer = subprocess.run(command, capture_output=True, text=True, env=variables, cwd=Path(__file__).parents[1])
    lines = answer.stdout.splitlines()
    if answer.returncode:
        print(f"{name} left out: {(answer.stderr.splitlines() or [''])[-1]}", file=sys.stderr)
        return {}
    result: dict[str, float] = json.loads(lines[-1]) if lines else {}
    return result


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    elif sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        print(json.dumps(measure(*sys.argv[1:4])))
