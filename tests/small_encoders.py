"""Small random BERTs saved by transformers, with a tokenizer whose tokens are words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

VOCAB = "[PAD] [UNK] [CLS] [SEP] [MASK] paris is the capital of france play ##ing . a ( ) : query find".split()


def save_bert(folder: Path, kind: str = "BertModel", *, max_seq_len: int = 14, **keys: Any) -> Path:
    """A folder with a BERT and its tokenizer; every parameter is drawn, and none is exactly 0 or 1."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(VOCAB))
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), model_max_length=max_seq_len)
    tokenizer.save_pretrained(folder)
    sizes = {"vocab_size": len(VOCAB), "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20}
    torch.manual_seed(0)
    model = getattr(transformers, kind)(transformers.BertConfig(**sizes, max_position_embeddings=max_seq_len, **keys))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    model.save_pretrained(folder)
    return folder
