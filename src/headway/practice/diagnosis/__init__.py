"""Diagnosis of a learner's function or class: call it, compare its outputs with the definition, explain the difference.

A subject passes through the packages in this order, and each imports earlier ones only: `reading`, `calls` (of functions), `classes`,
`adapters` (of caches, masks, optimizers, tokenizers, layers and models), `checks`, `explain`, `repair`.
"""
