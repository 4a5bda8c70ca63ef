"""Decoders on the CPU: packed weights, and forward passes that are compiled for the processor.

    layout            memory layout of packed weights, KV caches and records
    packing           matrices to packed matrices and back; packed_file keeps them in the cache folder
    compiled_decoder  a decoder with packed weights, from token ids to logits
    pass_plan         the rows of a pass, checked and divided into tasks
    kv_cache          pages of keys and values
    runtime           the compiled code and the threads that run it: native compiles and keeps code, thread_pool has the threads
    file_lock         one process at a time compiles or packs

and the parts that Numba compiles on the user's machine:

    instructions      vector instructions by processor
    tiles             register tiles: a few activations times 16 rows
    products          a block of rows times many activations
    elementwise       norms, activation functions, rotary embeddings, rounding
    lanes             reductions of vector registers
    attention         attention over a KV cache; attention_tiles has its integer tiles
    kv_page           where a page has the keys and values of a head, and how they are stored
    forward_pass      a forward pass
    packer            packing of a matrix
    checksum          checksums of packed files
    memory            arrays over addresses, atomic operations, barriers
    numba_internals   private names of Numba, all of them

Only the compiled parts import Numba, and they are imported only when code has to be compiled: once per machine.
"""
