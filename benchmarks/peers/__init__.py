"""The engines that Headway is measured against, from their PyPI packages, in a virtual environment of their own (Python 3.11).

    export CMAKE_ARGS="-DGGML_NATIVE=ON -DGGML_OPENMP=OFF -DLLAVA_BUILD=OFF"
    pip install --no-cache-dir -r benchmarks/peers/requirements.txt    # a cached llama.cpp may be another CPU's
    pip uninstall -y torchvision
    python -m benchmarks.peers.convert
    python -m benchmarks.peers.measure llama.cpp-q8_0 decode

A file `with_<engine>.py` turns a converted model into a function `generate(prompts, num_tokens)`, which decodes greedily, never stops
early, and returns the time at the end of each step. A step gives every sequence one token; the first step reads the prompts.
"""
