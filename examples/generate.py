"""Load a model and stream its text."""

import sys

import headway

name = sys.argv[1] if len(sys.argv) > 1 else "stories"  # or a folder, or a hub name such as Qwen/Qwen2-0.5B

with headway.load(name) as model:
    for chunk in model.stream("One rainy day", max_new_tokens=80, temperature=0.7, top_p=0.9, seed=1):
        print(chunk.text, end="", flush=True)
    print()

    completions = model.generate(["The little fox", "Mia and her brother"], max_new_tokens=20, temperature=0)
    for completion in completions:
        print(f"{completion.text!r} ({completion.finish_reason}, {len(completion.token_ids)} tokens)")
