import mlx.core as mx


def right_mlx_lm(N: int, offset: int = 0):
    rinds = mx.arange(offset + N)
    linds = mx.arange(offset, offset + N) if offset else rinds
    return linds[:, None] >= rinds[None]


def right_two_lengths(L: int, S: int, dtype: mx.Dtype) -> mx.array:
    mask = mx.tril(mx.ones((L, S)), k=(S - L))
    return mx.where(mask, mx.array(0), mx.array(-mx.inf)).astype(dtype)


def right_additive(N: int):
    indices = mx.arange(N)
    return (indices[:, None] < indices[None]).astype(mx.float32) * -1e9


def wrong_diagonal_hidden(N: int):
    indices = mx.arange(N)
    return indices[:, None] > indices[None]


def wrong_zero_times_infinity(N: int):
    return mx.triu(mx.ones((N, N)), k=1) * -mx.inf
