"""torch.nn modules for headway.functions, with parameters named as in the weight trees."""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(f"headway.nn needs PyTorch, which cannot be imported ({error}); run: pip install 'headway[torch]'") from error

from headway.nn.conversion import from_torch, to_torch
from headway.nn.cross_attention import CrossAttention
from headway.nn.decoder import Decoder, DecoderLayer
from headway.nn.dropout import DropoutRates, with_dropout
from headway.nn.encoder import Encoder, EncoderLayer
from headway.nn.feed_forward import FeedForward, GatedFeedForward
from headway.nn.gpt2 import GPT2
from headway.nn.module import Module
from headway.nn.multi_head_attention import MultiHeadAttention
from headway.nn.positions import LearnedPositions, SinusoidalPositions
from headway.nn.self_attention import CausalSelfAttention, SelfAttention
from headway.nn.stacked_heads import StackedHeads
from headway.nn.torch_names import from_torch_state_dict, to_torch_state_dict
from headway.nn.transformer import Transformer

__all__ = [
    "GPT2",
    "CausalSelfAttention",
    "CrossAttention",
    "Decoder",
    "DecoderLayer",
    "DropoutRates",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "GatedFeedForward",
    "LearnedPositions",
    "Module",
    "MultiHeadAttention",
    "SelfAttention",
    "SinusoidalPositions",
    "StackedHeads",
    "Transformer",
    "from_torch",
    "from_torch_state_dict",
    "to_torch",
    "to_torch_state_dict",
    "with_dropout",
]
