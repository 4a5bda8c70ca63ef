"""A folder of exercises, from softmax to a GPT-2 that writes a story: stubs, checks on save, hints, solutions, and bugs to find."""
