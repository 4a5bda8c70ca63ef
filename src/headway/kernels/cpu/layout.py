"""The memory layout of packed weights, caches and records: the constants that Python and the compiled code share.

A packed matrix is cut into blocks of 16 rows and groups of 32 inputs, both padded with zeros. The 16 rows of a block are interleaved,
so that one vector register holds the same inputs of several rows:

    float32             (num_blocks, num_inputs, 16)
    bfloat16            (num_blocks, num_inputs / 2, 16, 2)
    int8                (num_blocks, num_groups, 8, 16, 4)     scales (num_blocks, num_groups, 16) float16
    int4                (num_blocks, num_groups, 4, 16, 4)     the lower nibbles are a group's inputs 0 to 15, the upper 16 to 31

A KV cache consists of pages of 128 tokens. A page has the same layout in each layer, with positions as the rows of the keys and as the
inputs of the values:

    float32, bfloat16   keys    (num_kv_heads, 8, head_dim, 16)
                        values  (num_kv_heads, head_dim / 16, 128, 16)
    int16, int8         keys    (num_kv_heads, 8, head_dim / 2, 16, 2)
                        values  (num_kv_heads, head_dim / 16, 64, 16, 2)
                        scales  (num_kv_heads, 128) float32, of the keys and of the values

Records are arrays of int64, and the constants are indices into them. An address of 0 means that the part is absent.
"""

NUM_ROWS = 16
GROUP = 32
CACHE_LINE = 64

FLOAT32, BFLOAT16, INT8, INT4, INT16 = range(5)
LAYER_NORM, RMS_NORM = range(2)
SILU, GELU, GELU_TANH, RELU = range(4)

KIND, CODES, SCALES, BIAS, ROWS, COLUMNS = range(6)
"""A packed matrix: its kind, the addresses of codes, scales and bias, the number of rows, and of columns padded to whole groups."""
MATRIX_SIZE = 6

X_KIND, X_FLOATS, X_INT8, X_SCALES, X_SUMS, X_INT16, X_INT16_SCALES, X_COLUMNS = range(8)
"""Activations: the kind of weights they are multiplied by, the addresses of their forms, and their columns padded to whole groups.

    float32    (num_tokens, columns); bfloat16 for bfloat16 weights if the processor multiplies pairs of bfloat16
    int8       (num_tokens, columns), with the scale and the sum of each group, (num_tokens, num_groups)
    int16      (num_tokens / 6, columns / 2, 6, 2), the int8 codes with six tokens interleaved; scales (num_tokens / 6, num_groups, 6)
"""
ACTIVATIONS_SIZE = 8
INT16_TOKENS = 6

ATTENTION_NORM, ATTENTION_NORM_BIAS, FEED_FORWARD_NORM, FEED_FORWARD_NORM_BIAS, QUERY_NORM, KEY_NORM, WINDOW = range(7)
KEYS, VALUES, KEY_SCALES, VALUE_SCALES = range(7, 11)
QUERY, KEY, VALUE, OUTPUT, GATE, UP, DOWN = range(11, 11 + 7 * MATRIX_SIZE, MATRIX_SIZE)
LAYER_SIZE = 11 + 7 * MATRIX_SIZE
"""A layer: addresses of its norms, the number of positions a token attends to (0 for all), the byte offsets of its keys, values and
their scales from the start of a page, and its matrices."""

FIRST_ROW, LAST_ROW, FIRST_KEY, LAST_KEY, PARTIAL = range(5)
"""A task of attention: rows of one sequence, the range of keys, and which of the partial results of each row to write (-1: the result is
whole)."""
TASK_SIZE = 5

NUM_THREADS, ARRIVALS, NUM_BARRIERS = range(3)
"""The first fields of every record that a thread pool runs: the number of threads, the address of the count of arrivals at barriers,
and the number of barriers passed so far."""

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
    KV_KIND,
    NUM_TOKENS,
    TOKEN_IDS,
    POSITIONS,
    PAGES,
    FIRST_PAGES,
    NUM_TASKS,
    TASKS,
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
LAUNCH_SIZE = 44
"""The launch record of a forward pass: addresses and sizes of the model, the pass's tokens and the buffers.

PAGES        address of the addresses of the pages of every sequence; a page that is 0 is never read
FIRST_PAGES  address of the index in PAGES of the first page of each token's sequence
"""

COUNTERS_PER_LAYER = 12
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
ROWS_PER_TASK = 96
"""Maximum number of query heads of one key head in one task, for passes with several tokens per sequence."""

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
"""A matrix to pack: address, kind and strides (in elements) of the source, its columns, two counters, scratch, and the packed matrix."""

CONTENT, CONTENT_SIZE, CHECKSUMS, CHUNK_COUNTER = range(3, 7)
CHECKSUM_SIZE = 7
"""Memory to check: its address and size in bytes (a multiple of 32), and the addresses of the results and of a counter."""
CHUNK_BYTES = 1 << 20
"""Bytes per checksum."""
