"""Attention from one definition, on every array library that is installed."""

import numpy as np

from headway.arrays import ARRAY_LIBRARIES, from_numpy, to_numpy
from headway.errors import OptionError
from headway.functions import scaled_dot_product_attention

random = np.random.default_rng(0)
query = random.standard_normal((8, 5, 64), dtype=np.float32)  # (num_heads, query_len, head_dim)
key = random.standard_normal((2, 9, 64), dtype=np.float32)  # (num_kv_heads, key_len, head_dim): four query heads share a key head
value = random.standard_normal((2, 9, 32), dtype=np.float32)
expected = scaled_dot_product_attention(query, key, value, is_causal=True)

for library in ARRAY_LIBRARIES:
    try:
        arrays = [from_numpy(each, library) for each in (query, key, value)]
    except OptionError as error:
        print(f"{library:6} skipped: {error}")
        continue
    output = scaled_dot_product_attention(*arrays, is_causal=True)
    difference = np.abs(to_numpy(output) - expected).max()
    print(f"{library:6} {type(output).__name__:10} {tuple(output.shape)}  largest difference {difference:.1e}")
