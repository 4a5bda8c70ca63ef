# ruff: noqa: N806
import math

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)

    def split_heads(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, Q, K, V, mask=None):
        Q, K, V = self.split_heads(self.W_q(Q)), self.split_heads(self.W_k(K)), self.split_heads(self.W_v(V))
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        out = torch.softmax(scores, dim=-1) @ V
        return self.W_o(out.transpose(1, 2).contiguous().view(out.size(0), -1, self.d_model))


class PositionWiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


class right_decoder_layer(nn.Module):  # noqa: N801
    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionWiseFeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, enc_output, src_mask, tgt_mask):
        attn_output = self.self_attn(x, x, x, tgt_mask)
        x = self.norm1(x + self.dropout(attn_output))
        attn_output = self.cross_attn(x, enc_output, enc_output, src_mask)
        x = self.norm2(x + self.dropout(attn_output))
        ff_output = self.feed_forward(x)
        return self.norm3(x + self.dropout(ff_output))


class right_enc_dec_attention(nn.Module):  # noqa: N801
    def __init__(self, d_model, ffn_hidden, n_head, drop_prob):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model=d_model, num_heads=n_head)
        self.norm1 = nn.LayerNorm(d_model, eps=1e-12)
        self.dropout1 = nn.Dropout(p=drop_prob)
        self.enc_dec_attention = MultiHeadAttention(d_model=d_model, num_heads=n_head)
        self.norm2 = nn.LayerNorm(d_model, eps=1e-12)
        self.dropout2 = nn.Dropout(p=drop_prob)
        self.ffn = PositionWiseFeedForward(d_model, ffn_hidden)
        self.norm3 = nn.LayerNorm(d_model, eps=1e-12)
        self.dropout3 = nn.Dropout(p=drop_prob)

    def forward(self, dec, enc, trg_mask, src_mask):
        _x = dec
        x = self.self_attention(dec, dec, dec, trg_mask)
        x = self.norm1(self.dropout1(x) + _x)
        if enc is not None:
            _x = x
            x = self.enc_dec_attention(x, enc, enc, src_mask)
            x = self.norm2(self.dropout2(x) + _x)
        _x = x
        x = self.ffn(x)
        return self.norm3(self.dropout3(x) + _x)


class right_library_attention(nn.Module):  # noqa: N801
    def __init__(self, d_model, nhead, dim_feedforward, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=True)
        self.multihead_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=True)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, tgt, memory, tgt_mask=None, memory_key_padding_mask=None):
        tgt = self.norm1(tgt + self.self_attn(tgt, tgt, tgt, attn_mask=tgt_mask)[0])
        tgt = self.norm2(tgt + self.multihead_attn(tgt, memory, memory, key_padding_mask=memory_key_padding_mask)[0])
        return self.norm3(tgt + self.linear2(F.relu(self.linear1(tgt))))


class right_library(nn.Module):  # noqa: N801
    def __init__(self, d_model, nhead, dim_feedforward):
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(d_model, nhead, dim_feedforward, batch_first=True, norm_first=True)

    def forward(self, tgt, memory, tgt_mask=None):
        return self.layer(tgt, memory, tgt_mask=tgt_mask)


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class right_sublayers(nn.Module):  # noqa: N801
    def __init__(self, size, h, d_ff, dropout):
        super().__init__()
        self.self_attn = MultiHeadAttention(size, h)
        self.src_attn = MultiHeadAttention(size, h)
        self.feed_forward = PositionWiseFeedForward(size, d_ff)
        self.sublayer = nn.ModuleList([SublayerConnection(size, dropout) for _ in range(3)])

    def forward(self, x, memory, src_mask, tgt_mask):
        m = memory
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, tgt_mask))
        x = self.sublayer[1](x, lambda x: self.src_attn(x, m, m, src_mask))
        return self.sublayer[2](x, self.feed_forward)


class right_causal_by_itself(nn.Module):  # noqa: N801
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn_norm = nn.LayerNorm(d_model)
        self.self_attn_norm = nn.LayerNorm(d_model)
        self.ffn_norm = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))

    def forward(self, x, memory, memory_mask=None):
        h = self.self_attn_norm(x)
        x = x + self.self_attn(h, h, h, torch.tril(torch.ones(x.size(1), x.size(1))))
        x = x + self.cross_attn(self.cross_attn_norm(x), memory, memory, memory_mask)
        return x + self.ffn(self.ffn_norm(x))


class right_returns_attention(nn.Module):  # noqa: N801
    def __init__(self, hid_dim, n_heads, pf_dim, dropout):
        super().__init__()
        self.self_attn_layer_norm = nn.LayerNorm(hid_dim)
        self.enc_attn_layer_norm = nn.LayerNorm(hid_dim)
        self.ff_layer_norm = nn.LayerNorm(hid_dim)
        self.self_attention = MultiHeadAttention(hid_dim, n_heads)
        self.encoder_attention = MultiHeadAttention(hid_dim, n_heads)
        self.positionwise_feedforward = PositionWiseFeedForward(hid_dim, pf_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, trg, enc_src, trg_mask, src_mask):
        _trg = self.self_attention(trg, trg, trg, trg_mask)
        trg = self.self_attn_layer_norm(trg + self.dropout(_trg))
        _trg = self.encoder_attention(trg, enc_src, enc_src, src_mask)
        trg = self.enc_attn_layer_norm(trg + self.dropout(_trg))
        _trg = self.positionwise_feedforward(trg)
        return self.ff_layer_norm(trg + self.dropout(_trg)), _trg


class Base(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.cross_attn = MultiHeadAttention(d_model, num_heads)
        self.ff = PositionWiseFeedForward(d_model, d_ff)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)


class wrong_query_from_the_encoder(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attn(enc_output, x, x, src_mask))
        return self.norm3(x + self.ff(x))


class wrong_encoder_not_used(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attn(x, x, x))
        return self.norm3(x + self.ff(x))


class wrong_values_from_the_decoder(Base):  # noqa: N801
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attn(x, memory, x, src_mask))
        return self.norm3(x + self.ff(x))


class wrong_query_and_keys_from_the_encoder(Base):  # noqa: N801
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attn(memory, memory, x, src_mask))
        return self.norm3(x + self.ff(x))


class wrong_masks_exchanged(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask, tgt_mask):
        x = self.norm1(x + self.self_attn(x, x, x, src_mask))
        x = self.norm2(x + self.cross_attn(x, enc_output, enc_output, tgt_mask))
        return self.norm3(x + self.ff(x))


class wrong_target_mask_for_both(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask, tgt_mask):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attn(x, enc_output, enc_output, tgt_mask))
        return self.norm3(x + self.ff(x))


class wrong_source_mask_ignored(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask, tgt_mask):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attn(x, enc_output, enc_output))
        return self.norm3(x + self.ff(x))


class wrong_later_positions_visible(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x))
        x = self.norm2(x + self.cross_attn(x, enc_output, enc_output, src_mask))
        return self.norm3(x + self.ff(x))


class wrong_later_positions_visible__no_mask(Base):  # noqa: N801
    def forward(self, x, memory):
        x = self.norm1(x + self.self_attn(x, x, x))
        x = self.norm2(x + self.cross_attn(x, memory, memory))
        return self.norm3(x + self.ff(x))


class wrong_cross_attention_first(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.cross_attn(x, enc_output, enc_output, src_mask))
        x = self.norm2(x + self.self_attn(x, x, x, tgt_mask))
        return self.norm3(x + self.ff(x))


class wrong_feed_forward_before_cross_attention(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.ff(x))
        return self.norm3(x + self.cross_attn(x, enc_output, enc_output, src_mask))


class wrong_residual_2_missing(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(self.cross_attn(x, enc_output, enc_output, src_mask))
        return self.norm3(x + self.ff(x))


class wrong_residual_from_input(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        residual = x
        x = self.norm1(residual + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(residual + self.cross_attn(x, enc_output, enc_output, src_mask))
        return self.norm3(residual + self.ff(x))


class wrong_attention_shared(nn.Module):  # noqa: N801
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.ff = PositionWiseFeedForward(d_model, d_ff)

    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.attention(x, x, x, tgt_mask))
        x = self.norm2(x + self.attention(x, enc_output, enc_output, src_mask))
        return self.norm3(x + self.ff(x))


class wrong_norm_shared(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm1(x + self.cross_attn(x, enc_output, enc_output, src_mask))
        return self.norm1(x + self.ff(x))


class wrong_norm_3_missing(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attn(x, enc_output, enc_output, src_mask))
        return x + self.ff(x)


class wrong_in_parallel(Base):  # noqa: N801
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        h = self.norm1(x)
        return x + self.self_attn(h, h, h, tgt_mask) + self.cross_attn(self.norm2(x), memory, memory, src_mask) + self.ff(self.norm3(x))


class wrong_activation_missing(Base):  # noqa: N801
    def forward(self, x, enc_output, src_mask=None, tgt_mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, tgt_mask))
        x = self.norm2(x + self.cross_attn(x, enc_output, enc_output, src_mask))
        return self.norm3(x + self.ff.fc2(self.ff.fc1(x)))


class wrong_residual_from_normalised(Base):  # noqa: N801
    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        x = self.norm1(x)
        x = x + self.self_attn(x, x, x, tgt_mask)
        x = self.norm2(x)
        x = x + self.cross_attn(x, memory, memory, src_mask)
        x = self.norm3(x)
        return x + self.ff(x)


class SelfAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.embed_size, self.heads, self.head_dim = embed_size, heads, embed_size // heads
        self.values = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.queries = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask):
        N = query.shape[0]
        value_len, key_len, query_len = values.shape[1], keys.shape[1], query.shape[1]
        values = self.values(values).reshape(N, value_len, self.heads, self.head_dim)
        keys = self.keys(keys).reshape(N, key_len, self.heads, self.head_dim)
        queries = self.queries(query).reshape(N, query_len, self.heads, self.head_dim)
        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / (self.head_dim ** (1 / 2)), dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", [attention, values]).reshape(N, query_len, self.heads * self.head_dim)
        return self.fc_out(out)


class TransformerBlock(nn.Module):
    def __init__(self, embed_size, heads, dropout, forward_expansion):
        super().__init__()
        self.attention = SelfAttention(embed_size, heads)
        self.norm1 = nn.LayerNorm(embed_size)
        self.norm2 = nn.LayerNorm(embed_size)
        self.feed_forward = nn.Sequential(
            nn.Linear(embed_size, forward_expansion * embed_size), nn.ReLU(), nn.Linear(forward_expansion * embed_size, embed_size)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask):
        attention = self.attention(value, key, query, mask)
        x = self.dropout(self.norm1(attention + query))
        forward = self.feed_forward(x)
        return self.dropout(self.norm2(forward + x))


class right_key_and_value(nn.Module):
    def __init__(self, embed_size, heads, forward_expansion, dropout, device):
        super().__init__()
        self.norm = nn.LayerNorm(embed_size)
        self.attention = SelfAttention(embed_size, heads=heads)
        self.transformer_block = TransformerBlock(embed_size, heads, dropout, forward_expansion)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, value, key, src_mask, trg_mask):
        attention = self.attention(x, x, x, trg_mask)
        query = self.dropout(self.norm(attention + x))
        return self.transformer_block(value, key, query, src_mask)


class right_flat(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.h = num_heads
        for n in ("q1", "k1", "v1", "o1", "q2", "k2", "v2", "o2"):
            setattr(self, n, nn.Linear(d_model, d_model))
        self.ff1, self.ff2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.ln1, self.ln2, self.ln3 = (nn.LayerNorm(d_model) for _ in range(3))

    def att(self, q, k, v, o, x, m, mask):
        q, k, v = (f(y).unflatten(-1, (self.h, -1)).transpose(1, 2) for f, y in ((q, x), (k, m), (v, m)))
        return o(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))

    def forward(self, x, memory, tgt_mask=None, memory_mask=None):
        x = self.ln1(x + self.att(self.q1, self.k1, self.v1, self.o1, x, x, tgt_mask))
        x = self.ln2(x + self.att(self.q2, self.k2, self.v2, self.o2, x, memory, memory_mask))
        return self.ln3(x + self.ff2(F.relu(self.ff1(x))))
