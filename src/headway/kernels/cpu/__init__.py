"""A decoder on the processor: packed weights, and passes compiled for the machine at hand.

    layout        what lies where; how weights and caches are arranged
    packing       matrices to packed ones and back; packed_file keeps them in the cache folder
    stack         a decoder of packed weights: token ids to logits; cache holds its keys and values
    machine       the compiled code and the threads that run it: native compiles and keeps code, team has the threads

and what is compiled, by Numba, on the user's own machine:

    instructions  the vector instructions of the processor at hand
    tiles         a few activations times 16 rows, in registers
    products      a block of rows times many activations
    elementwise   norms, activations, rotary positions, rounding
    attention     attention over a cache
    decoder       a whole pass
    packer        packing a matrix
    memory        arrays over addresses, and what threads share

Only those import Numba, and they are imported only where code has to be compiled: once per machine.
"""
