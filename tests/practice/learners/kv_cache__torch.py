# ruff: noqa: N801
import torch
from torch import nn


class right_start_position(nn.Module):
    def __init__(self, max_batch_size, max_seq_length, n_kv_heads, head_dim, dtype=torch.float32):
        super().__init__()
        cache_shape = (max_batch_size, n_kv_heads, max_seq_length, head_dim)
        self.register_buffer("k_cache", torch.zeros(cache_shape, dtype=dtype))
        self.register_buffer("v_cache", torch.zeros(cache_shape, dtype=dtype))

    def update(self, input_pos, k_val, v_val):
        k_out, v_out = self.k_cache, self.v_cache
        k_out[:, :, input_pos] = k_val
        v_out[:, :, input_pos] = v_val
        return k_out, v_out


class right_llama(nn.Module):
    def __init__(self, batch_size, seq_length, n_kv_heads, head_dim, dtype=torch.float32, device="cpu"):
        super().__init__()
        cache_shape = (batch_size, seq_length, n_kv_heads, head_dim)
        self.register_buffer("cache_k", torch.zeros(cache_shape, dtype=dtype, device=device))
        self.register_buffer("cache_v", torch.zeros(cache_shape, dtype=dtype, device=device))

    def update(self, start_pos, xk, xv):
        seqlen = xk.size(1)
        self.cache_k[:, start_pos : start_pos + seqlen] = xk
        self.cache_v[:, start_pos : start_pos + seqlen] = xv
        return self.cache_k[:, : start_pos + seqlen], self.cache_v[:, : start_pos + seqlen]


class right_dynamic:
    def __init__(self):
        self.key_cache = []
        self.value_cache = []

    def update(self, key_states, value_states, layer_idx):
        if len(self.key_cache) <= layer_idx:
            self.key_cache.append(key_states)
            self.value_cache.append(value_states)
        else:
            self.key_cache[layer_idx] = torch.cat([self.key_cache[layer_idx], key_states], dim=-2)
            self.value_cache[layer_idx] = torch.cat([self.value_cache[layer_idx], value_states], dim=-2)
        return self.key_cache[layer_idx], self.value_cache[layer_idx]


def right_layer_past(k, v, layer_past=None):
    if layer_past is not None:
        past_key, past_value = layer_past
        k = torch.cat((past_key, k), dim=-2)
        v = torch.cat((past_value, v), dim=-2)
    return k, v


class wrong_joined_along_batch:
    def __init__(self):
        self.k = self.v = None

    def update(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k])
        self.v = v if self.v is None else torch.cat([self.v, v])
        return self.k, self.v


class wrong_overwritten:
    def __init__(self):
        self.k = self.v = None

    def update(self, k, v):
        if self.k is not None:
            torch.cat([self.k, k], dim=-2)
        self.k, self.v = k, v
        return self.k, self.v


class wrong_values_are_keys:
    def __init__(self):
        self.k = self.v = None

    def update(self, k, v):
        self.k = k if self.k is None else torch.cat([self.k, k], dim=-2)
        self.v = self.k
        return self.k, self.v


class right_batch_and_end_given:
    def __init__(self, max_batch_size, max_seq_len, n_heads, d_k):
        self.k = torch.zeros(max_batch_size, n_heads, max_seq_len, d_k)
        self.v = torch.zeros(max_batch_size, n_heads, max_seq_len, d_k)

    def update(self, batch_size, start_pos, k, v):
        end = start_pos + k.shape[2]
        self.k[:batch_size, :, start_pos:end] = k
        self.v[:batch_size, :, start_pos:end] = v

    def get(self, batch_size, end_pos):
        return self.k[:batch_size, :, :end_pos], self.v[:batch_size, :, :end_pos]
