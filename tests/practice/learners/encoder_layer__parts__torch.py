# ruff: noqa: N801
import copy

import torch
import torch.nn as nn


def clones(module, N):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.a_2 * (x - mean) / torch.sqrt(var + self.eps) + self.b_2


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout):
        super().__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class right_annotated(nn.Module):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__()
        self.self_attn = self_attn
        self.feed_forward = feed_forward
        self.sublayer = clones(SublayerConnection(size, dropout), 2)
        self.size = size

    def forward(self, x, mask):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        return self.sublayer[1](x, self.feed_forward)


class ResidualConnection(nn.Module):
    def __init__(self, features, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(features)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class right_blocks_handed_over(nn.Module):
    def __init__(self, features, self_attention_block, feed_forward_block, dropout):
        super().__init__()
        self.self_attention_block = self_attention_block
        self.feed_forward_block = feed_forward_block
        self.residual_connections = nn.ModuleList([ResidualConnection(features, dropout) for _ in range(2)])

    def forward(self, x, src_mask):
        x = self.residual_connections[0](x, lambda x: self.self_attention_block(x, x, x, src_mask))
        return self.residual_connections[1](x, self.feed_forward_block)


class right_post_norm(nn.Module):
    def __init__(self, d_model, attention, ffn, dropout=0.1):
        super().__init__()
        self.attention, self.ffn = attention, ffn
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.dropout(self.attention(query=x, key=x, value=x, mask=mask)))
        return self.norm2(x + self.dropout(self.ffn(x)))


class right_weights_returned(nn.Module):
    def __init__(self, d_model, self_attn, feed_forward):
        super().__init__()
        self.self_attn, self.feed_forward = self_attn, feed_forward
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        attended, weights = self.self_attn(x, x, x, mask)
        x = self.norm1(x + attended)
        return self.norm2(x + self.feed_forward(x))


class WithoutResidual(SublayerConnection):
    def forward(self, x, sublayer):
        return self.dropout(sublayer(self.norm(x)))


class wrong_residuals_missing(right_annotated):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__(size, self_attn, feed_forward, dropout)
        self.sublayer = clones(WithoutResidual(size, dropout), 2)


class FromNormalised(SublayerConnection):
    def forward(self, x, sublayer):
        x = self.norm(x)
        return x + self.dropout(sublayer(x))


class wrong_residual_from_normalised(right_annotated):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__(size, self_attn, feed_forward, dropout)
        self.sublayer = clones(FromNormalised(size, dropout), 2)


class wrong_feed_forward_first(right_annotated):
    def forward(self, x, mask):
        x = self.sublayer[1](x, self.feed_forward)
        return self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))


class wrong_mask_ignored(right_annotated):
    def forward(self, x, mask):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x))
        return self.sublayer[1](x, self.feed_forward)


class wrong_norm_shared(right_annotated):
    def forward(self, x, mask):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        return self.sublayer[0](x, self.feed_forward)


class Unbiased(LayerNorm):
    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True)
        return self.a_2 * (x - mean) / torch.sqrt(var + self.eps) + self.b_2


class UnbiasedConnection(SublayerConnection):
    def __init__(self, size, dropout):
        super().__init__(size, dropout)
        self.norm = Unbiased(size)


class Deviation(LayerNorm):
    def forward(self, x):
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.b_2


class DeviationConnection(SublayerConnection):
    def __init__(self, size, dropout):
        super().__init__(size, dropout)
        self.norm = Deviation(size)


class right_norm_by_sample_deviation(right_annotated):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__(size, self_attn, feed_forward, dropout)
        self.sublayer = clones(DeviationConnection(size, dropout), 2)


class wrong_variance_of_n_minus_one(right_annotated):
    def __init__(self, size, self_attn, feed_forward, dropout):
        super().__init__(size, self_attn, feed_forward, dropout)
        self.sublayer = clones(UnbiasedConnection(size, dropout), 2)


class EightHeadAttention(nn.Module):
    """An attention whose number of heads is a default that no layer passes."""

    def __init__(self, hidden_size, rate, heads=8):
        super().__init__()
        self.heads, self.scale = heads, (hidden_size // heads) ** -0.5
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(hidden_size, hidden_size, bias=False) for _ in range(4))
        self.drop = nn.Dropout(rate)

    def forward(self, query, key, value, mask):
        q, k, v = (
            part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part, x in ((self.to_q, query), (self.to_k, key), (self.to_v, value))
        )
        scores = (q * self.scale @ k.mT).masked_fill(mask.unsqueeze(1), -1e9)
        return self.to_out((self.drop(scores.softmax(-1)) @ v).transpose(1, 2).flatten(2))


class right_dropouts_named_after_the_parts(nn.Module):
    def __init__(self, hidden_size, filter_size, dropout_rate):
        super().__init__()
        self.self_attention_norm, self.ffn_norm = nn.LayerNorm(hidden_size, eps=1e-6), nn.LayerNorm(hidden_size, eps=1e-6)
        self.self_attention = EightHeadAttention(hidden_size, dropout_rate)
        self.self_attention_dropout, self.ffn_dropout = nn.Dropout(dropout_rate), nn.Dropout(dropout_rate)
        self.ffn = nn.Sequential(nn.Linear(hidden_size, filter_size), nn.ReLU(), nn.Linear(filter_size, hidden_size))

    def forward(self, x, mask):
        y = self.self_attention_norm(x)
        x = x + self.self_attention_dropout(self.self_attention(y, y, y, mask))
        return x + self.ffn_dropout(self.ffn(self.ffn_norm(x)))


class wrong_norm_1_missing__dropouts_named_after_the_parts(right_dropouts_named_after_the_parts):
    def forward(self, x, mask):
        x = x + self.self_attention_dropout(self.self_attention(x, x, x, mask))
        return x + self.ffn_dropout(self.ffn(self.ffn_norm(x)))
