"""What lies where: the numbers that Python and the compiled code hand each other, and how packed weights are arranged.

A packed matrix is cut into blocks of 16 rows, filled up with zeros, and into groups of 32 inputs, filled up likewise. Within a
block the rows lie side by side, so that one register holds the same inputs of several rows:

    float32             (num_blocks, num_inputs, 16)
    bfloat16            (num_blocks, num_inputs / 2, 16, 2)
    int8                (num_blocks, num_groups, 8, 16, 4)     scales (num_blocks, num_groups, 16) float16
    int4                (num_blocks, num_groups, 4, 16, 4)     the lower nibbles are a group's inputs 0 to 15, the upper 16 to 31

A cache of keys and values is the same thing, positions being the rows of the keys and the inputs of the values:

    float32, bfloat16   keys    (num_sequences, num_kv_heads, capacity / 16, head_dim, 16)
                        values  (num_sequences, num_kv_heads, head_dim / 16, capacity, 16)
    int16, int8         keys    (num_sequences, num_kv_heads, capacity / 16, head_dim / 2, 16, 2)
                        values  (num_sequences, num_kv_heads, head_dim / 16, capacity / 2, 16, 2)
                        scales  (num_sequences, num_kv_heads, capacity) float32, of the keys and of the values

Records are arrays of int64; the constants are the places in them. An address of 0 means that there is no such thing.
"""

NUM_ROWS = 16
GROUP = 32
CACHE_LINE = 64

FLOAT32, BFLOAT16, INT8, INT4, INT16 = range(5)
LAYER_NORM, RMS_NORM = range(2)
SILU, GELU, GELU_TANH, RELU = range(4)

KIND, CODES, SCALES, BIAS, ROWS, COLUMNS = range(6)
"""A packed matrix: its kind, the addresses of codes, scales and bias, its rows, and its columns filled up to whole groups."""
MATRIX_SIZE = 6

X_KIND, X_FLOATS, X_BYTES, X_SCALES, X_SUMS, X_WIDE, X_WIDE_SCALES, X_COLUMNS = range(8)
"""Activations: the kind of weights they meet, the addresses of their forms, and their columns filled up to whole groups.

    float32    (num_tokens, columns); bfloat16 for weights in bfloat16 where the processor multiplies pairs of them
    int8       (num_tokens, columns), with scales and sums of each group, (num_tokens, num_groups)
    int16      (num_tokens / 6, columns / 2, 6, 2), the same numbers with six tokens side by side; scales (num_tokens / 6, num_groups, 6)
"""
ACTIVATIONS_SIZE = 8
WIDE_TOKENS = 6

ATTENTION_NORM, ATTENTION_NORM_BIAS, FEED_FORWARD_NORM, FEED_FORWARD_NORM_BIAS, QUERY_NORM, KEY_NORM, WINDOW = range(7)
KEYS, VALUES, KEY_SCALES, VALUE_SCALES = range(7, 11)
QUERY, KEY, VALUE, OUTPUT, GATE, UP, DOWN = range(11, 11 + 7 * MATRIX_SIZE, MATRIX_SIZE)
LAYER_SIZE = 11 + 7 * MATRIX_SIZE
"""A layer: addresses of its norms and of its part of the cache, how many positions a token sees (0 for all), and its matrices."""

FIRST_ROW, LAST_ROW, FIRST_KEY, LAST_KEY, PARTIAL = range(5)
"""A piece of attention: rows of one sequence, the keys they look at, and where to leave a part of the answer (-1: it is whole)."""
ITEM_SIZE = 5

NUM_THREADS, ARRIVED, MEETING = range(3)
"""The beginning of every record that a team of threads is handed: how many they are, where they count arrivals, how often they met."""

(
    COUNTERS,
    SCRATCH,
    SCRATCH_BYTES,
    NUM_LAYERS,
    LAYERS,
    HIDDEN_SIZE,
    NUM_HEADS,
    NUM_KV_HEADS,
    HEAD_DIM,
    NORM,
    ACTIVATION,
    FLOATS,
    COSINES,
    SINES,
    POSITION_TABLE,
    EMBEDDING,
    HEAD,
    FINAL_NORM,
    FINAL_NORM_BIAS,
    CACHE_KIND,
    CAPACITY,
    NUM_TOKENS,
    TOKEN_IDS,
    POSITIONS,
    SEQUENCES,
    NUM_ITEMS,
    ITEMS,
    FIRST_PARTIALS,
    PARTIALS,
    RESIDUAL,
    QUERIES,
    NEW_KEYS,
    NEW_VALUES,
    ATTENDED,
    NORMED_ACTIVATIONS,
    ATTENDED_ACTIVATIONS,
    INNER_ACTIVATIONS,
    NUM_WANTED,
    WANTED,
    HIDDEN_OUT,
    LOGITS,
) = range(3, 44)
PLAN_SIZE = 44
"""A pass: the model, the cache, this pass's tokens, and where everything is put."""

COUNTERS_PER_LAYER = 12
TOKENS_AT_ONCE = 512
"""Tokens of a pass, at most."""
GROUPS_AT_ONCE = 8
"""Groups of 32 of the feed-forward's inner numbers that a single token computes together, at most."""
KEYS_AT_ONCE = 128
"""Keys whose scores are held at a time; a part of the answer begins at a multiple of it."""
KEYS_OF_A_PART = 512
"""Keys that one piece of work looks at where a single token attends to many."""
ROWS_AT_ONCE = 96
"""Query heads of one key head that attend together, at most, where there are several tokens."""

(
    SOURCE,
    SOURCE_KIND,
    ROW_STRIDE,
    COLUMN_STRIDE,
    NUM_COLUMNS,
    PACK_COUNTER,
    BAD_COUNTER,
    PACK_SCRATCH,
) = range(3, 11)
PACK_TARGET = 11
PACK_SIZE = PACK_TARGET + MATRIX_SIZE
"""A matrix to pack: address, kind and strides (in numbers) of the source, its columns, what threads share, and the packed matrix."""
