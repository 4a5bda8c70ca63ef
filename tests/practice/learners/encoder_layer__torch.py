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

    def scaled_dot_product_attention(self, Q, K, V, mask=None):
        attn_scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            attn_scores = attn_scores.masked_fill(mask == 0, -1e9)
        return torch.matmul(torch.softmax(attn_scores, dim=-1), V)

    def split_heads(self, x):
        batch_size, seq_length, _ = x.size()
        return x.view(batch_size, seq_length, self.num_heads, self.d_k).transpose(1, 2)

    def combine_heads(self, x):
        batch_size, _, seq_length, _ = x.size()
        return x.transpose(1, 2).contiguous().view(batch_size, seq_length, self.d_model)

    def forward(self, Q, K, V, mask=None):
        Q, K, V = self.split_heads(self.W_q(Q)), self.split_heads(self.W_k(K)), self.split_heads(self.W_v(V))
        return self.W_o(self.combine_heads(self.scaled_dot_product_attention(Q, K, V, mask)))


class PositionWiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.fc2(self.relu(self.fc1(x)))


class right_encoder_layer(nn.Module):  # noqa: N801
    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionWiseFeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        attn_output = self.self_attn(x, x, x, mask)
        x = self.norm1(x + self.dropout(attn_output))
        ff_output = self.feed_forward(x)
        return self.norm2(x + self.dropout(ff_output))


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-12):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, unbiased=False, keepdim=True)
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta


class WithConcat(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_concat = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        score = (q @ k.transpose(2, 3)) / math.sqrt(q.size(-1))
        if mask is not None:
            score = score.masked_fill(mask == 0, -10000)
        out = torch.softmax(score, dim=-1) @ v
        return self.w_concat(out.transpose(1, 2).contiguous().view(out.size(0), out.size(2), -1))

    def split(self, tensor):
        batch_size, length, d_model = tensor.size()
        return tensor.view(batch_size, length, self.n_head, d_model // self.n_head).transpose(1, 2)


class right_residual_in_a_name(nn.Module):  # noqa: N801
    def __init__(self, d_model, ffn_hidden, n_head, drop_prob):
        super().__init__()
        self.attention = WithConcat(d_model=d_model, n_head=n_head)
        self.norm1 = LayerNorm(d_model=d_model)
        self.dropout1 = nn.Dropout(p=drop_prob)
        self.ffn = PositionWiseFeedForward(d_model, ffn_hidden)
        self.norm2 = LayerNorm(d_model=d_model)
        self.dropout2 = nn.Dropout(p=drop_prob)

    def forward(self, x, src_mask):
        _x = x
        x = self.attention(q=x, k=x, v=x, mask=src_mask)
        x = self.dropout1(x)
        x = self.norm1(x + _x)
        _x = x
        x = self.ffn(x)
        x = self.dropout2(x)
        return self.norm2(x + _x)


class right_pre_norm(nn.Module):  # noqa: N801
    def __init__(self, dim, heads, mlp_dim, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, dropout=dropout, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, mlp_dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(mlp_dim, dim), nn.Dropout(dropout))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class right_library_attention_with_masks(nn.Module):  # noqa: N801
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=True)
        self.linear1 = nn.Linear(d_model, dim_feedforward)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = nn.Linear(dim_feedforward, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)

    def forward(self, src, src_key_padding_mask=None):
        src2 = self.self_attn(src, src, src, key_padding_mask=src_key_padding_mask)[0]
        src = self.norm1(src + self.dropout1(src2))
        src2 = self.linear2(self.dropout(F.relu(self.linear1(src))))
        return self.norm2(src + self.dropout2(src2))


class right_library(nn.Module):  # noqa: N801
    def __init__(self, d_model, nhead, dim_feedforward, dropout):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward, dropout, batch_first=True)

    def forward(self, x):
        return self.layer(x)


class right_config_style(nn.Module):  # noqa: N801
    def __init__(self, config):
        super().__init__()
        self.layer_norm_1 = nn.LayerNorm(config.hidden_size)
        self.layer_norm_2 = nn.LayerNorm(config.hidden_size)
        self.attention = MultiHeadAttention(config.hidden_size, config.num_attention_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(config.hidden_size, config.intermediate_size), nn.GELU(), nn.Linear(config.intermediate_size, config.hidden_size)
        )

    def forward(self, x):
        hidden_state = self.layer_norm_1(x)
        x = x + self.attention(hidden_state, hidden_state, hidden_state)
        return x + self.feed_forward(self.layer_norm_2(x))


class FusedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.qkv_layer = nn.Linear(d_model, 3 * d_model)
        self.linear_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask):
        batch_size, sequence_length, d_model = x.size()
        qkv = self.qkv_layer(x).reshape(batch_size, sequence_length, self.num_heads, 3 * self.head_dim).permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        scaled = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_dim)
        if mask is not None:
            scaled = scaled.permute(1, 0, 2, 3) + mask
            scaled = scaled.permute(1, 0, 2, 3)
        values = torch.matmul(F.softmax(scaled, dim=-1), v)
        return self.linear_layer(values.permute(0, 2, 1, 3).reshape(batch_size, sequence_length, d_model))


class LayerNormalization(nn.Module):
    def __init__(self, parameters_shape, eps=1e-5):
        super().__init__()
        self.parameters_shape = parameters_shape
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(parameters_shape))
        self.beta = nn.Parameter(torch.zeros(parameters_shape))

    def forward(self, inputs):
        dims = [-(i + 1) for i in range(len(self.parameters_shape))]
        mean = inputs.mean(dim=dims, keepdim=True)
        var = ((inputs - mean) ** 2).mean(dim=dims, keepdim=True)
        return self.gamma * (inputs - mean) / (var + self.eps).sqrt() + self.beta


class right_fused_and_added_mask(nn.Module):  # noqa: N801
    def __init__(self, d_model, ffn_hidden, num_heads, drop_prob):
        super().__init__()
        self.attention = FusedAttention(d_model=d_model, num_heads=num_heads)
        self.norm1 = LayerNormalization(parameters_shape=[d_model])
        self.dropout1 = nn.Dropout(p=drop_prob)
        self.ffn = PositionWiseFeedForward(d_model, ffn_hidden)
        self.norm2 = LayerNormalization(parameters_shape=[d_model])
        self.dropout2 = nn.Dropout(p=drop_prob)

    def forward(self, x, self_attention_mask=None):
        residual_x = x.clone()
        x = self.attention(x, mask=self_attention_mask)
        x = self.norm1(self.dropout1(x) + residual_x)
        residual_x = x.clone()
        x = self.ffn(x)
        return self.norm2(self.dropout2(x) + residual_x)


class InnerAttention(nn.Module):
    def __init__(self, n_head, d_model, d_k, d_v, dropout=0.1):
        super().__init__()
        self.n_head, self.d_k, self.d_v = n_head, d_k, d_v
        self.w_qs = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_ks = nn.Linear(d_model, n_head * d_k, bias=False)
        self.w_vs = nn.Linear(d_model, n_head * d_v, bias=False)
        self.fc = nn.Linear(n_head * d_v, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.layer_norm = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, q, k, v, mask=None):
        sz_b, len_q, len_k, len_v = q.size(0), q.size(1), k.size(1), v.size(1)
        residual = q
        q = self.w_qs(q).view(sz_b, len_q, self.n_head, self.d_k).transpose(1, 2)
        k = self.w_ks(k).view(sz_b, len_k, self.n_head, self.d_k).transpose(1, 2)
        v = self.w_vs(v).view(sz_b, len_v, self.n_head, self.d_v).transpose(1, 2)
        attn = torch.matmul(q / self.d_k**0.5, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        q = torch.matmul(attn, v).transpose(1, 2).contiguous().view(sz_b, len_q, -1)
        q = self.dropout(self.fc(q))
        q += residual
        return self.layer_norm(q), attn


class InnerFeedForward(nn.Module):
    def __init__(self, d_in, d_hid, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_in, d_hid)
        self.w_2 = nn.Linear(d_hid, d_in)
        self.layer_norm = nn.LayerNorm(d_in, eps=1e-6)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        residual = x
        x = self.dropout(self.w_2(F.relu(self.w_1(x))))
        x += residual
        return self.layer_norm(x)


class right_norms_inside(nn.Module):  # noqa: N801
    def __init__(self, d_model, d_inner, n_head, d_k, d_v, dropout=0.1):
        super().__init__()
        self.slf_attn = InnerAttention(n_head, d_model, d_k, d_v, dropout=dropout)
        self.pos_ffn = InnerFeedForward(d_model, d_inner, dropout=dropout)

    def forward(self, enc_input, slf_attn_mask=None):
        enc_output, enc_slf_attn = self.slf_attn(enc_input, enc_input, enc_input, mask=slf_attn_mask)
        return self.pos_ffn(enc_output), enc_slf_attn


class right_value_key_query(nn.Module):  # noqa: N801
    def __init__(self, embed_size, heads, dropout, forward_expansion):
        super().__init__()
        self.attention = MultiHeadAttention(embed_size, heads)
        self.norm1 = nn.LayerNorm(embed_size)
        self.norm2 = nn.LayerNorm(embed_size)
        self.feed_forward = nn.Sequential(
            nn.Linear(embed_size, forward_expansion * embed_size), nn.ReLU(), nn.Linear(forward_expansion * embed_size, embed_size)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask):
        attention = self.attention(query, key, value, mask)
        x = self.dropout(self.norm1(attention + query))
        forward = self.feed_forward(x)
        return self.dropout(self.norm2(forward + x))


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class right_sublayers(nn.Module):  # noqa: N801
    def __init__(self, d_model, h, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, h)
        self.feed_forward = PositionWiseFeedForward(d_model, d_ff)
        self.sublayer = nn.ModuleList([SublayerConnection(d_model, dropout) for _ in range(2)])

    def forward(self, x, mask):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
        return self.sublayer[1](x, self.feed_forward)


class right_named_norms(nn.Module):  # noqa: N801
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.ffn_norm = nn.LayerNorm(d_model)
        self.attn_norm = nn.LayerNorm(d_model)
        self.w1, self.w2 = nn.Linear(d_model, d_ff, bias=False), nn.Linear(d_ff, d_model, bias=False)
        self.heads = num_heads
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.v_proj, self.o_proj = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        h = self.attn_norm(x)
        q, k, v = (f(h).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        x = x + self.o_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))
        return x + self.w2(F.silu(self.w1(self.ffn_norm(x))))


class Base(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionWiseFeedForward(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class wrong_residual_1_missing(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(self.dropout(self.self_attn(x, x, x, mask)))
        return self.norm2(x + self.dropout(self.feed_forward(x)))


class wrong_residual_2_missing(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, mask))
        return self.norm2(self.feed_forward(x))


class wrong_residuals_missing(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(self.self_attn(x, x, x, mask))
        return self.norm2(self.feed_forward(x))


class wrong_residuals_missing__pre_norm(Base):  # noqa: N801
    def forward(self, x, mask=None):
        h = self.norm1(x)
        x = self.self_attn(h, h, h, mask)
        return self.feed_forward(self.norm2(x))


class wrong_residual_from_input(Base):  # noqa: N801
    def forward(self, x, mask=None):
        residual = x
        x = self.norm1(residual + self.self_attn(x, x, x, mask))
        return self.norm2(residual + self.feed_forward(x))


class wrong_residual_from_normalised(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(x)
        x = x + self.self_attn(x, x, x, mask)
        x = self.norm2(x)
        return x + self.feed_forward(x)


class wrong_parts_normalised_afterwards(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = x + self.norm1(self.self_attn(x, x, x, mask))
        return x + self.norm2(self.feed_forward(x))


class wrong_norms_missing(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = x + self.self_attn(x, x, x, mask)
        return x + self.feed_forward(x)


class wrong_norm_1_missing(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = x + self.self_attn(x, x, x, mask)
        return self.norm2(x + self.feed_forward(x))


class wrong_norm_2_missing(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, mask))
        return x + self.feed_forward(x)


class wrong_norm_2_missing__pre_norm(Base):  # noqa: N801
    def forward(self, x, mask=None):
        h = self.norm1(x)
        x = x + self.self_attn(h, h, h, mask)
        return x + self.feed_forward(x)


class wrong_norm_shared(nn.Module):  # noqa: N801
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ffn = PositionWiseFeedForward(d_model, d_ff)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.norm(x + self.self_attn(x, x, x, mask))
        return self.norm(x + self.ffn(x))


class wrong_norm_shared__first_twice(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, mask))
        return self.norm1(x + self.feed_forward(x))


class wrong_in_parallel(Base):  # noqa: N801
    def forward(self, x, mask=None):
        h = self.norm1(x)
        return x + self.self_attn(h, h, h, mask) + self.feed_forward(self.norm2(x))


class wrong_feed_forward_first(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(x + self.feed_forward(x))
        return self.norm2(x + self.self_attn(x, x, x, mask))


class wrong_variance_of_n_minus_one(nn.Module):  # noqa: N801
    class Norm(nn.Module):
        def __init__(self, features, eps=1e-6):
            super().__init__()
            self.a_2 = nn.Parameter(torch.ones(features))
            self.b_2 = nn.Parameter(torch.zeros(features))
            self.eps = eps

        def forward(self, x):
            return self.a_2 * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True) + self.eps) + self.b_2

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.ffn = PositionWiseFeedForward(d_model, d_ff)
        self.norm1, self.norm2 = self.Norm(d_model), self.Norm(d_model)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, mask))
        return self.norm2(x + self.ffn(x))


class wrong_activation_missing(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, mask))
        return self.norm2(x + self.feed_forward.fc2(self.feed_forward.fc1(x)))


class wrong_mask_ignored(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x))
        return self.norm2(x + self.feed_forward(x))


class wrong_later_positions_hidden(Base):  # noqa: N801
    def forward(self, x):
        x = self.norm1(x + self.self_attn(x, x, x, torch.tril(torch.ones(x.size(1), x.size(1)))))
        return self.norm2(x + self.feed_forward(x))


class WithoutScale(MultiHeadAttention):
    def scaled_dot_product_attention(self, Q, K, V, mask=None):
        attn_scores = torch.matmul(Q, K.transpose(-2, -1))
        if mask is not None:
            attn_scores = attn_scores.masked_fill(mask == 0, -1e9)
        return torch.matmul(torch.softmax(attn_scores, dim=-1), V)


class wrong_scale_missing(Base):  # noqa: N801
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        self.self_attn = WithoutScale(d_model, num_heads)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


class wrong_dropout_in_eval(Base):  # noqa: N801
    def forward(self, x, mask=None):
        x = self.norm1(x + F.dropout(self.self_attn(x, x, x, mask), self.dropout.p))
        return self.norm2(x + self.feed_forward(x))


class Attention(MultiHeadAttention):
    def attend(self, Q, K, V, mask):
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return torch.softmax(scores, dim=-1) @ V

    def forward(self, Q, K, V, mask=None):
        Q, K, V = self.split_heads(self.W_q(Q)), self.split_heads(self.W_k(K)), self.split_heads(self.W_v(V))
        return self.W_o(self.combine_heads(self.attend(Q, K, V, mask)))


class Layer(nn.Module):
    attention = Attention

    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.self_attn = self.attention(d_model, num_heads)
        self.feed_forward = PositionWiseFeedForward(d_model, d_ff)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, mask))
        return self.norm2(x + self.feed_forward(x))


class WholeWidth(Attention):
    def attend(self, Q, K, V, mask):
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.d_model)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return torch.softmax(scores, dim=-1) @ V


class wrong_scale_of_whole_width(Layer):
    attention = WholeWidth


class Viewed(Attention):
    def split_heads(self, x):
        return x.view(x.size(0), self.num_heads, x.size(1), self.d_k)


class wrong_heads_viewed_not_split(Layer):
    attention = Viewed


class ViewedBack(Attention):
    def combine_heads(self, x):
        return x.contiguous().view(x.size(0), x.size(2), self.d_model)


class wrong_heads_viewed_not_merged(Layer):
    attention = ViewedBack


class Unmixed(Attention):
    def forward(self, Q, K, V, mask=None):
        Q, K, V = self.split_heads(self.W_q(Q)), self.split_heads(self.W_k(K)), self.split_heads(self.W_v(V))
        return self.combine_heads(self.attend(Q, K, V, mask))


class wrong_no_output_projection(Layer):
    attention = Unmixed


class QueryTwice(Attention):
    def forward(self, Q, K, V, mask=None):
        Q, K, V = self.split_heads(self.W_q(Q)), self.split_heads(self.W_q(K)), self.split_heads(self.W_v(V))
        return self.W_o(self.combine_heads(self.attend(Q, K, V, mask)))


class wrong_key_from_the_query_projection(Layer):
    attention = QueryTwice


class MaskedAfter(Attention):
    def attend(self, Q, K, V, mask):
        weights = torch.softmax(Q @ K.transpose(-2, -1) / math.sqrt(self.d_k), dim=-1)
        if mask is not None:
            weights = weights.masked_fill(mask == 0, 0)
        return weights @ V


class wrong_mask_after_softmax(Layer):
    attention = MaskedAfter


class MaskedRows(Attention):
    def attend(self, Q, K, V, mask):
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask.transpose(-1, -2) == 0, -1e9)
        return torch.softmax(scores, dim=-1) @ V


class wrong_mask_on_rows(Layer):
    attention = MaskedRows


class FilledWithTiny(Attention):
    def attend(self, Q, K, V, mask):
        scores = Q @ K.transpose(-2, -1) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, 1e-9)
        return torch.softmax(scores, dim=-1) @ V


class wrong_hidden_score_is_zero(Layer):
    attention = FilledWithTiny


class wrong_activation_after_second(Layer):
    def forward(self, x, mask=None):
        x = self.norm1(x + self.self_attn(x, x, x, mask))
        return self.norm2(x + F.relu(self.feed_forward.fc2(self.feed_forward.fc1(x))))


class Slices(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads, self.head_dim = heads, embed_size // heads
        self.values = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.keys = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.queries = nn.Linear(self.head_dim, self.head_dim, bias=False)
        self.fc_out = nn.Linear(heads * self.head_dim, embed_size)

    def forward(self, query, keys, values, mask=None):
        N, n = query.shape[:2]
        split = (x.reshape(N, -1, self.heads, self.head_dim) for x in (values, keys, query))
        values, keys, queries = (f(x) for f, x in zip((self.values, self.keys, self.queries), split))
        energy = torch.einsum("nqhd,nkhd->nhqk", queries, keys)
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / self.head_dim**0.5, dim=3)
        return self.fc_out(torch.einsum("nhql,nlhd->nqhd", attention, values).reshape(N, n, -1))


class wrong_split_before_projecting(Layer):
    attention = Slices


class wrong_sublayer_1_missing(Base):  # noqa: N801
    def forward(self, x, mask=None):
        return self.norm2(x + self.dropout(self.feed_forward(x)))


class wrong_sublayer_2_missing(Base):  # noqa: N801
    def forward(self, x, mask=None):
        return self.norm1(x + self.dropout(self.self_attn(x, x, x, mask)))
