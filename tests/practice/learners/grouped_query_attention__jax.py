import jax
import jax.numpy as jnp


def right_repeated(query, key, value):
    n = query.shape[1] // key.shape[1]
    k, v = jnp.repeat(key, n, axis=1), jnp.repeat(value, n, axis=1)
    return jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", query, k) / jnp.sqrt(query.shape[-1])) @ v


def wrong_tiled_not_repeated(query, key, value):
    n = query.shape[1] // key.shape[1]
    k, v = jnp.tile(key, (1, n, 1, 1)), jnp.tile(value, (1, n, 1, 1))
    return jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", query, k) / jnp.sqrt(query.shape[-1])) @ v


def rope(x, base=10000.0):
    half = x.shape[-1] // 2
    angles = jnp.outer(jnp.arange(x.shape[-2]), base ** (-jnp.arange(half) / half))
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate(
        [first * jnp.cos(angles) - second * jnp.sin(angles), second * jnp.cos(angles) + first * jnp.sin(angles)], axis=-1
    )


class Right_weights_given_and_rotated:
    def __init__(self, wq, wk, wv, wo, num_heads, num_kv_heads):
        self.wq, self.wk, self.wv, self.wo = wq, wk, wv, wo
        self.num_heads, self.num_kv_heads = num_heads, num_kv_heads

    def __call__(self, x):
        def heads(weight, count):
            return (x @ weight.T).reshape(len(x), count, -1).transpose(1, 0, 2)

        q = rope(heads(self.wq, self.num_heads))
        k, v = rope(heads(self.wk, self.num_kv_heads)), heads(self.wv, self.num_kv_heads)
        repeats = self.num_heads // self.num_kv_heads
        k, v = jnp.repeat(k, repeats, axis=0), jnp.repeat(v, repeats, axis=0)
        scores = q @ k.transpose(0, 2, 1) / jnp.sqrt(q.shape[-1])
        scores = jnp.where(jnp.tril(jnp.ones((len(x), len(x)))) == 0, -jnp.inf, scores)
        return (jax.nn.softmax(scores, axis=-1) @ v).transpose(1, 0, 2).reshape(len(x), -1) @ self.wo.T
