# ruff: noqa: N801
import numpy as np


class right_plain:
    def __init__(self):
        self.k = None
        self.v = None

    def update(self, k, v):
        if self.k is None:
            self.k, self.v = k, v
        else:
            self.k = np.concatenate([self.k, k], axis=-2)
            self.v = np.concatenate([self.v, v], axis=-2)
        return self.k, self.v


class right_lists:
    def __init__(self):
        self.keys = []
        self.values = []

    def append(self, key, value):
        self.keys.append(key)
        self.values.append(value)

    def get(self):
        return np.concatenate(self.keys, axis=-2), np.concatenate(self.values, axis=-2)

    def clear(self):
        self.keys = []
        self.values = []


class right_buffer:
    def __init__(self, batch_size, num_heads, max_seq_len, head_dim):
        self.k = np.zeros((batch_size, num_heads, max_seq_len, head_dim))
        self.v = np.zeros((batch_size, num_heads, max_seq_len, head_dim))
        self.length = 0

    def update(self, k, v):
        end = self.length + k.shape[2]
        self.k[:, :, self.length : end] = k
        self.v[:, :, self.length : end] = v
        self.length = end
        return self.k[:, :, :end], self.v[:, :, :end]

    def reset(self):
        self.length = 0


class right_layers:
    def __init__(self, num_layers):
        self.cache = [None] * num_layers

    def update(self, layer_idx, k, v):
        if self.cache[layer_idx] is not None:
            past_k, past_v = self.cache[layer_idx]
            k = np.concatenate([past_k, k], axis=2)
            v = np.concatenate([past_v, v], axis=2)
        self.cache[layer_idx] = (k, v)
        return self.cache[layer_idx]


def right_function(cache, k, v):
    if cache is None:
        return k, v
    return np.concatenate([cache[0], k], axis=-2), np.concatenate([cache[1], v], axis=-2)


def right_two_arrays(k_cache, v_cache, k, v):
    if k_cache is None:
        return k, v
    return np.concatenate((k_cache, k), axis=-2), np.concatenate((v_cache, v), axis=-2)


def right_dict(cache, k, v):
    if cache["k"] is not None:
        k = np.concatenate([cache["k"], k], axis=-2)
        v = np.concatenate([cache["v"], v], axis=-2)
    cache["k"], cache["v"] = k, v
    return k, v


class right_start_position:
    def __init__(self, max_batch_size, max_seq_len, n_kv_heads, head_dim):
        self.cache_k = np.zeros((max_batch_size, max_seq_len, n_kv_heads, head_dim))
        self.cache_v = np.zeros((max_batch_size, max_seq_len, n_kv_heads, head_dim))

    def update(self, start_pos, xk, xv):
        batch_size, seq_len = xk.shape[:2]
        self.cache_k[:batch_size, start_pos : start_pos + seq_len] = xk
        self.cache_v[:batch_size, start_pos : start_pos + seq_len] = xv
        return self.cache_k[:batch_size, : start_pos + seq_len], self.cache_v[:batch_size, : start_pos + seq_len]


class Base:
    def __init__(self):
        self.k = self.v = None


class wrong_overwritten(Base):
    def update(self, k, v):
        self.k, self.v = k, v
        return self.k, self.v


class wrong_position_not_advanced:
    def __init__(self, max_seq_len):
        self.max_seq_len, self.k, self.length = max_seq_len, None, 0

    def update(self, k, v):
        if self.k is None:
            self.k = np.zeros((*k.shape[:-2], self.max_seq_len, k.shape[-1]))
            self.v = np.zeros_like(self.k)
            self.length = k.shape[-2]
        self.k[..., : k.shape[-2], :] = k
        self.v[..., : v.shape[-2], :] = v
        return self.k[..., : self.length, :].copy(), self.v[..., : self.length, :].copy()


class wrong_first_chunk_lost:
    def __init__(self):
        self.k, self.v, self.is_empty = None, None, True

    def update(self, k, v):
        if self.is_empty:
            self.is_empty = False
            return k, v
        self.k = k if self.k is None else np.concatenate([self.k, k], axis=-2)
        self.v = v if self.v is None else np.concatenate([self.v, v], axis=-2)
        return self.k, self.v


class wrong_newest_not_returned(Base):
    def update(self, k, v):
        if self.k is None:
            self.k, self.v = k[..., :0, :], v[..., :0, :]
        before = self.k, self.v
        self.k, self.v = np.concatenate([self.k, k], axis=-2), np.concatenate([self.v, v], axis=-2)
        return before


class wrong_put_in_front(Base):
    def update(self, k, v):
        if self.k is not None:
            k, v = np.concatenate([k, self.k], axis=-2), np.concatenate([v, self.v], axis=-2)
        self.k, self.v = k, v
        return k, v


class wrong_joined_along_width(Base):
    def update(self, k, v):
        if self.k is not None:
            k, v = np.concatenate([self.k, k], axis=-1), np.concatenate([self.v, v], axis=-1)
        self.k, self.v = k, v
        return k, v


class wrong_joined_along_batch(Base):
    def update(self, k, v):
        if self.k is not None:
            k, v = np.concatenate([self.k, k]), np.concatenate([self.v, v])
        self.k, self.v = k, v
        return k, v


class wrong_last_position_dropped:
    def __init__(self, max_seq_len):
        self.max_seq_len, self.k, self.length = max_seq_len, None, 0

    def update(self, k, v):
        if self.k is None:
            self.k = np.zeros((*k.shape[:-2], self.max_seq_len, k.shape[-1]))
            self.v = np.zeros_like(self.k)
        start = max(self.length - 1, 0)
        self.length = start + k.shape[-2]
        self.k[..., start : self.length, :] = k
        self.v[..., start : self.length, :] = v
        return self.k[..., : self.length, :].copy(), self.v[..., : self.length, :].copy()


class wrong_only_last_position_kept(Base):
    def update(self, k, v):
        k, v = k[..., -1:, :], v[..., -1:, :]
        if self.k is not None:
            k, v = np.concatenate([self.k, k], axis=-2), np.concatenate([self.v, v], axis=-2)
        self.k, self.v = k, v
        return k, v


class wrong_values_not_kept(Base):
    def update(self, k, v):
        self.k = k if self.k is None else np.concatenate([self.k, k], axis=-2)
        self.v = v
        return self.k, self.v


class wrong_keys_not_kept(Base):
    def update(self, k, v):
        self.k = k
        self.v = v if self.v is None else np.concatenate([self.v, v], axis=-2)
        return self.k, self.v


class wrong_keys_and_values_exchanged(right_plain):
    def update(self, k, v):
        k, v = super().update(k, v)
        return v, k


class wrong_values_are_keys(right_plain):
    def update(self, k, v):
        k, _ = super().update(k, k)
        return k, k


class wrong_shared_by_layers:
    keys = []
    values = []

    def update(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return np.concatenate(self.keys, axis=-2), np.concatenate(self.values, axis=-2)

    def reset(self):
        self.keys.clear()
        self.values.clear()


class wrong_not_cleared(right_plain):
    def reset(self):
        k, v = None, None
        return k, v


def wrong_overwritten__function(cache, k, v):
    cache = (k, v)
    return cache


def wrong_put_in_front__function(cache, k, v):
    if cache is None:
        return k, v
    return np.concatenate([k, cache[0]], axis=-2), np.concatenate([v, cache[1]], axis=-2)


def wrong_joined_along_batch__function(cache, k, v):
    if cache is None:
        return k, v
    return np.concatenate([cache[0], k]), np.concatenate([cache[1], v])
