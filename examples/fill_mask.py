"""Fill each [MASK] of a text with an encoder such as BERT."""

import sys

import headway

name = sys.argv[1] if len(sys.argv) > 1 else "google-bert/bert-base-uncased"

model = headway.load(name)
filled = model.fill_mask("Paris is the [MASK] of France.")
print(filled.text)
for candidate in filled.masks[0]:
    print(f"{candidate.probability:.3f}  {candidate.text}")
