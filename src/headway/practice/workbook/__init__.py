"""The workbook of `headway practice`: exercises from softmax to a GPT-2 that generates text."""
