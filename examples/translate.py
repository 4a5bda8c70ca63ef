"""Translate with an encoder–decoder, greedily and with beam search."""

import sys

import headway

name = sys.argv[1] if len(sys.argv) > 1 else "Helsinki-NLP/opus-mt-en-de"

model = headway.load(name)
print("greedy:", model.generate("The house is wonderful.", num_beams=1, max_new_tokens=40))

best = model.generate("The house is wonderful.", num_beams=4, num_best=3, max_new_tokens=40)
print(f"beams: {best.text} (score {best.score:.3f})")
for other in best.alternatives:
    print(f"       {other.text} (score {other.score:.3f})")
