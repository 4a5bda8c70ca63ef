"""Chinese words in the names of parameters, settings and parts, in the English of the tables of names."""

from __future__ import annotations

import re
from functools import cache

WORDS: tuple[tuple[str, str], ...] = (
    ("编码器层数", "num_encoder_layers"),
    ("解码器层数", "num_decoder_layers"),
    ("词汇表大小", "vocab_size"),
    ("词表大小", "vocab_size"),
    ("词汇量", "vocab_size"),
    ("上下文长度", "context_length"),
    ("序列长度", "seq_len"),
    ("最大长度", "max_len"),
    ("批量大小", "batch_size"),
    ("批大小", "batch_size"),
    ("注意力头数", "num_heads"),
    ("自注意力", "self_attention"),
    ("位置编码", "positional_encoding"),
    ("残差连接", "residual_connection"),
    ("层归一化", "layer_norm"),
    ("头维度", "head_dim"),
    ("丢弃率", "dropout"),
    ("注意力", "attention"),
    ("归一化", "norm"),
    ("编码器", "encoder"),
    ("解码器", "decoder"),
    ("头数", "num_heads"),
    ("层数", "num_layers"),
    ("维度", "dim"),
    ("维数", "dim"),
    ("大小", "size"),
    ("隐藏", "hidden"),
    ("中间", "intermediate"),
    ("模型", "model"),
    ("嵌入", "embedding"),
    ("前馈", "feed_forward"),
    ("多头", "multi_head"),
    ("因果", "causal"),
    ("交叉", "cross"),
    ("残差", "residual"),
    ("掩码", "mask"),
    ("查询", "query"),
    ("输入", "input"),
    ("偏置", "bias"),
    ("层", "layer"),
    ("块", "block"),
    ("键", "key"),
    ("值", "value"),
)
"""Chinese words and what they are called in English, those that contain others first."""


@cache
def in_english(name: str) -> str:
    """Return a name with its Chinese words in English: `前馈维度` → `feed_forward_dim`; any other name as it is."""
    if name.isascii():
        return name
    for word, english in WORDS:
        name = name.replace(word, f"_{english}_")
    return re.sub(r"_+", "_", name).strip("_")
