# ruff: noqa: N801
import mlx.core as mx


class right_tiny_llm:
    def __init__(self):
        self.key_values = None
        self.offset = 0

    def update_and_fetch(self, key, value, mask_length=None, mask=None):
        if self.key_values is None:
            self.key_values = (key, value)
            self.offset = key.shape[2]
            return key, value, self.offset, mask
        prev_keys, prev_values = self.key_values
        new_keys = mx.concat([prev_keys, key], axis=2)
        new_values = mx.concat([prev_values, value], axis=2)
        self.key_values = (new_keys, new_values)
        self.offset += value.shape[2]
        return new_keys, new_values, self.offset, mask


class right_mlx_lm:
    step = 4

    def __init__(self):
        self.keys = None
        self.values = None
        self.offset = 0

    def update_and_fetch(self, keys, values):
        prev = self.offset
        if self.keys is None or (prev + keys.shape[2]) > self.keys.shape[2]:
            B, n_kv_heads, _, k_head_dim = keys.shape
            v_head_dim = values.shape[3]
            n_steps = (self.step + keys.shape[2] - 1) // self.step
            new_k = mx.zeros((B, n_kv_heads, n_steps * self.step, k_head_dim), keys.dtype)
            new_v = mx.zeros((B, n_kv_heads, n_steps * self.step, v_head_dim), values.dtype)
            if self.keys is not None:
                if prev % self.step != 0:
                    self.keys = self.keys[..., :prev, :]
                    self.values = self.values[..., :prev, :]
                self.keys = mx.concatenate([self.keys, new_k], axis=2)
                self.values = mx.concatenate([self.values, new_v], axis=2)
            else:
                self.keys, self.values = new_k, new_v
        self.offset += keys.shape[2]
        self.keys[..., prev : self.offset, :] = keys
        self.values[..., prev : self.offset, :] = values
        return self.keys[..., : self.offset, :], self.values[..., : self.offset, :]


class wrong_put_in_front:
    def __init__(self):
        self.key_values = None

    def update_and_fetch(self, key, value):
        if self.key_values is not None:
            key = mx.concat([key, self.key_values[0]], axis=2)
            value = mx.concat([value, self.key_values[1]], axis=2)
        self.key_values = (key, value)
        return key, value


class wrong_values_not_kept:
    def __init__(self):
        self.keys = None

    def update_and_fetch(self, key, value):
        self.keys = key if self.keys is None else mx.concat([self.keys, key], axis=2)
        return self.keys, value
