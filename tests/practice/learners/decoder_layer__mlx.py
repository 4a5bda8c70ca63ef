# ruff: noqa: N801
import mlx.core as mx
import mlx.nn as nn


class right_library_attention(nn.Module):
    def __init__(self, dims, num_heads, mlp_dims):
        super().__init__()
        self.self_attention = nn.MultiHeadAttention(dims, num_heads)
        self.cross_attention = nn.MultiHeadAttention(dims, num_heads)
        self.ln1, self.ln2, self.ln3 = nn.LayerNorm(dims), nn.LayerNorm(dims), nn.LayerNorm(dims)
        self.linear1, self.linear2 = nn.Linear(dims, mlp_dims), nn.Linear(mlp_dims, dims)

    def __call__(self, x, memory, x_mask, memory_mask):
        y = self.ln1(x)
        x = x + self.self_attention(y, y, y, x_mask)
        y = self.ln2(x)
        x = x + self.cross_attention(y, memory, memory, memory_mask)
        return x + self.linear2(nn.relu(self.linear1(self.ln3(x))))


class right_causal_by_itself(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attn = nn.MultiHeadAttention(d_model, n_heads, bias=True)
        self.cross_attn = nn.MultiHeadAttention(d_model, n_heads, bias=True)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def __call__(self, x, enc_out, src_mask=None):
        causal = nn.MultiHeadAttention.create_additive_causal_mask(x.shape[1])
        x = self.norm1(x + self.self_attn(x, x, x, causal))
        x = self.norm2(x + self.cross_attn(x, enc_out, enc_out, src_mask))
        return self.norm3(x + self.ff(x))


class right_parts_handed_over(nn.Module):
    def __init__(self, size, self_attn, src_attn, feed_forward):
        super().__init__()
        self.self_attn, self.src_attn, self.feed_forward = self_attn, src_attn, feed_forward
        self.norms = [nn.LayerNorm(size) for _ in range(3)]

    def __call__(self, x, memory, src_mask, tgt_mask):
        y = self.norms[0](x)
        x = x + self.self_attn(y, y, y, tgt_mask)
        y = self.norms[1](x)
        x = x + self.src_attn(y, memory, memory, src_mask)
        return x + self.feed_forward(self.norms[2](x))


class wrong_query_from_the_encoder(right_causal_by_itself):
    def __call__(self, x, enc_out, src_mask=None):
        causal = nn.MultiHeadAttention.create_additive_causal_mask(x.shape[1])
        x = self.norm1(x + self.self_attn(x, x, x, causal))
        x = self.norm2(x + self.cross_attn(enc_out, x, x, src_mask))
        return self.norm3(x + self.ff(x))


class wrong_later_positions_visible(right_library_attention):
    def __call__(self, x, memory, x_mask, memory_mask):
        y = self.ln1(x)
        x = x + self.self_attention(y, y, y)
        y = self.ln2(x)
        x = x + self.cross_attention(y, memory, memory, memory_mask)
        return x + self.linear2(mx.maximum(self.linear1(self.ln3(x)), 0))


class wrong_norm_2_missing(right_parts_handed_over):
    def __call__(self, x, memory, src_mask, tgt_mask):
        y = self.norms[0](x)
        x = x + self.self_attn(y, y, y, tgt_mask)
        x = x + self.src_attn(x, memory, memory, src_mask)
        return x + self.feed_forward(self.norms[2](x))
