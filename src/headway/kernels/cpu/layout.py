"""The memory layout of packed weights, caches and records: the constants that Python and the compiled code share.

A packed matrix is cut into blocks of 16 rows and groups of 32 inputs, both padded with zeros. The 16 rows of a block are interleaved,
so that one vector register holds the same inputs of several rows:

    float32             (num_blocks, num_inputs, 16)
    bfloat16            (num_blocks, num_inputs / 2, 16, 2)
    int8                (num_blocks, num_groups, 8, 16, 4)     scales (num_blocks, num_groups, 16) float16
    int8_rows           (num_blocks, num_groups, 8, 16, 4)     scales (num_blocks, 2, 16) float32, of rows; and sums of codes
    int4                (num_blocks, num_groups, 4, 16, 4)     the lower nibbles are a group's inputs 0 to 15, the upper 16 to 31

A KV cache consists of pages of 128 tokens. A page has the same layout in each layer, with positions as the rows of the keys and as the
inputs of the values:

    float32, bfloat16   keys    (num_kv_heads, 8, head_dim, 16)
                        values  (num_kv_heads, head_dim / 16, 128, 16)
    int16, int8         keys    (num_kv_heads, 8, head_dim / 2, 16, 2)
                        values  (num_kv_heads, head_dim / 16, 64, 16, 2)
                        scales  (num_kv_heads, 128) float32, of the keys and of the values

The indices of the fields of records are those of headway.kernels.cpu.records.
"""

from headway.kernels.cpu.fields import *  # noqa: F403

NUM_ROWS = 16
GROUP = 32
CACHE_LINE = 64

FLOAT32, BFLOAT16, INT8, INT4, INT16, INT8_ROWS = range(6)
LAYER_NORM, RMS_NORM = range(2)
SILU, GELU, GELU_TANH, RELU = range(4)

INT16_TOKENS = 6
"""Number of tokens whose int16 activations are interleaved."""
MIN_INT16_TOKENS = 12
"""Smallest number of tokens for which converting int8 weights to int16 first is faster."""
ROWS_AT_ONCE = INT16_TOKENS
"""Number of rows that one task rounds: they share cache lines, which two threads should not write to at the same time."""
GROUPS_AT_ONCE = 16
"""Number of groups of weights that are converted to int16 at a time."""
WIDE_CODES_BYTES = 2 * GROUPS_AT_ONCE * GROUP * NUM_ROWS
WIDE_BYTES = WIDE_CODES_BYTES + 4 * GROUPS_AT_ONCE * NUM_ROWS
"""Bytes of these weights of 16 rows, and of them together with their scales in float32."""

ROW_TOKENS = 24
"""Number of tokens whose activations are interleaved where a row has one scale."""
ROW_NUMBERS_BYTES = 2 * 4 * NUM_ROWS
"""Bytes of the scales of 16 rows, and of the sums of their codes, where a row has one scale."""

UPDATED_QUERY, UPDATED_KEY, UPDATED_VALUE, UPDATED_OUTPUT, UPDATED_GATE, UPDATED_UP, UPDATED_DOWN = range(7)
UPDATED_PARTS = 7
"""Number of matrices of a layer that an adapter can update."""
UPDATED_ROWS = 256
"""Number of output features to which one task adds an update."""
UPDATE_COUNTERS_PER_LAYER = 6 * UPDATED_PARTS

COUNTERS_PER_LAYER = 16
SLOTS_PER_TILE = 12
"""The first slot of an expert is a multiple of this: see experts."""
EXPERT_SIZES = 3 * MATRIX_SIZE  # noqa: F405
"""Size of the matrices of an expert: gate, up and down."""
TOKENS_PER_PASS = 512
"""Maximum number of tokens in a pass."""
GROUPS_PER_TASK = 8
"""Maximum number of groups of 32 feed-forward units that one task computes for a single token."""
KEYS_PER_BLOCK = 128
"""Number of keys whose scores are held at a time, and number of tokens in a page."""
KEYS_PER_PARTIAL = 512
"""Number of keys whose partial result is merged into the result for the keys before them; one task each if there are few rows."""
MAX_SPLIT_ROWS = 8
"""Maximum number of rows that are split by keys."""
LOGITS_PER_TASK = 4096
"""Number of logits that one task scales."""
ROWS_PER_TASK = 96
"""Maximum number of query heads of one key head in one task, for passes with several tokens per sequence."""
QUERIES_PER_CHUNK = 24
"""Number of queries of an encoder whose scores are held at a time."""

CHUNK_BYTES = 1 << 20
"""Bytes per checksum."""
