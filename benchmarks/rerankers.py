"""Rerankers of several programs, for benchmarks.encoders: a query and texts in, the scores of 32 pairs of 128 tokens out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy

from benchmarks import onnx_files

TASK = "reranking 32 pairs of 128 tokens"
QUERY_TOKENS, TEXT_TOKENS, VOCAB_SIZE = 16, 109, 30522
Rerank = Callable[[str, list[str]], object]


def make(path: Path, sizes: dict[str, int]) -> None:
    """Write a BERT with one label and a tokenizer of words as transformers saves them."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    path.mkdir(parents=True, exist_ok=True)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    (path / "vocab.txt").write_text("\n".join([*special, *(_word(index) for index in range(len(special), VOCAB_SIZE))]))
    BertTokenizer(str(path / "vocab.txt"), model_max_length=512).save_pretrained(path)
    torch.manual_seed(0)
    config = BertConfig(**sizes, vocab_size=VOCAB_SIZE, max_position_embeddings=512, num_labels=1, position_embedding_type="absolute")
    BertForSequenceClassification(config).save_pretrained(path)


def _word(index: int) -> str:
    """Return four letters for an index of the vocabulary."""
    return "".join(chr(ord("a") + index // 26**place % 26) for place in range(4))


def texts(random: Any, count: int) -> tuple[str, list[str]]:
    """Return a query and texts; a pair of them has 128 tokens with the special ones."""

    def text(length: int) -> str:
        return " ".join(_word(random.randrange(1000, 30000)) for _ in range(length))

    return text(QUERY_TOKENS), [text(TEXT_TOKENS) for _ in range(count)]


def headway(path: Path, kind: str, num_threads: int) -> Rerank:
    from headway.language_model import load

    return load(path, weights=kind, num_threads=num_threads).rerank


def sentence_transformers(path: Path, kind: str, num_threads: int) -> Rerank:
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(num_threads)
    model = CrossEncoder(str(path), device="cpu", model_kwargs={"dtype": getattr(torch, kind)})

    def rerank(query: str, texts: list[str]) -> object:
        return model.predict([(query, text) for text in texts], batch_size=len(texts), show_progress_bar=False)

    return rerank


def onnx_runtime(path: Path, kind: str, num_threads: int) -> Rerank:
    from transformers import AutoTokenizer

    tokenizer, session = AutoTokenizer.from_pretrained(path), onnx_files.session(path, kind, num_threads, partial(_export, path))

    def rerank(query: str, texts: list[str]) -> object:
        return session.run(None, dict(tokenizer([query] * len(texts), texts, padding=True, return_tensors="np")))

    return rerank


def _export(path: Path, file: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    names = ["input_ids", "attention_mask", "token_type_ids"]

    class Scores(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = AutoModelForSequenceClassification.from_pretrained(path, attn_implementation="eager").eval()

        def forward(self, *inputs: Any) -> Any:
            return self.model(**dict(zip(names, inputs, strict=True))).logits

    example = (torch.ones((2, 8), dtype=torch.int64),) * 3
    options = {"input_names": names, "output_names": ["scores"], "opset_version": 17, "dynamo": False}
    torch.onnx.export(Scores(), example, str(file), dynamic_axes={name: {0: "batch", 1: "seq"} for name in names}, **options)


def ctranslate2_model(path: Path, kind: str, num_threads: int) -> Rerank:
    from safetensors.numpy import load_file
    from transformers import AutoTokenizer

    from benchmarks.encoders import ctranslate2_encoder

    tokenizer, encoder = AutoTokenizer.from_pretrained(path), ctranslate2_encoder(path, kind)
    weights = load_file(path / "model.safetensors")

    def rerank(query: str, texts: list[str]) -> object:
        pairs = tokenizer([query] * len(texts), texts)
        pooled = encoder.forward_batch(pairs["input_ids"], token_type_ids=pairs["token_type_ids"]).pooler_output
        return numpy.array(pooled) @ weights["classifier.weight"].T + weights["classifier.bias"]

    return rerank


PEERS: dict[str, Callable[[Path, str, int], Rerank]] = {
    "headway": headway,
    "torch": sentence_transformers,
    "ONNX Runtime": onnx_runtime,
    "CTranslate2": ctranslate2_model,
}


def reranker(name: str, path: Path, num_threads: int) -> Rerank:
    """Return the reranker of a program and a number format, such as "headway int8"."""
    program, kind = name.rsplit(" ", 1)
    return PEERS[program](path, kind, num_threads)
