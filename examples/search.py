"""Embed texts and find the ones nearest to a question."""

import sys

import numpy as np

import headway

name = sys.argv[1] if len(sys.argv) > 1 else "sentence-transformers/all-MiniLM-L6-v2"
texts = [
    "The cat is asleep on the sofa.",
    "Shares fell sharply on Monday.",
    "A dog barked at the postman all morning.",
    "The central bank raised interest rates.",
]

model = headway.load(name)
vectors = model.embed(texts)  # (4, hidden_size), each of length 1
scores = vectors @ model.embed(["Which animal is resting?"])[0]  # cosine similarities

for index in np.argsort(-scores):
    print(f"{scores[index]:.3f}  {texts[index]}")
