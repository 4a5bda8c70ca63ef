"""Difficult texts for tokenizers: spaces, composed and decomposed accents, Chinese, emoji, unknown characters, empty text."""

SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "  Two  spaces,\ta tab\nand a line; then the end ",
    "naïve café, Élan — “quotes” … ﬁne",
    "我爱北京天安门, she said.",
    "smile 😀👍🏽 end",
    "ça\u0327 e\u0301 İstanbul Straße",
    "don't, can't; it's 3.14 % of <unk> things",
    "ʻokina zzz ﷽ \u200b\ufeff\x00 control",
    "",
    " ",
    "…",
]
