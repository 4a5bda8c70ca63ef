"""The engines that Headway is measured against, from their PyPI packages, in a virtual environment of their own (Python 3.11).

`make benchmark` sets it up in .venv-peers, and names what does not install. One measurement by hand:

    .venv-peers/bin/python -m benchmarks.peers.convert
    .venv-peers/bin/python -m benchmarks.peers.measure llama.cpp-q8_0 decode

A file `with_<engine>.py` turns a converted model into a function `generate(prompts, num_tokens)`, which decodes greedily, never stops
early, and returns the time at the end of each step. A step gives every sequence one token; the first step reads the prompts.
"""
