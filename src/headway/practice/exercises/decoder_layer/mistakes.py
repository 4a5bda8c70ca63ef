"""Common mistakes in the decoder layer."""

from __future__ import annotations

from headway.practice.recipes.attention_mistakes import without
from headway.practice.recipes.layer_mistakes import ATTENDING, MASKING, THINKING, moved, wiring
from headway.practice.texts import Texts

TEXTS = Texts("decoder_layer")

CROSS = r"cross|enc|memory|src"
QUERY = TEXTS["query"]

OWN = (
    TEXTS.mistake("later_positions_visible", {"is_decoder": lambda: False, "masks": lambda mask, encoder_mask: (None, encoder_mask)}),
    TEXTS.mistake("masks_exchanged", {"is_decoder": lambda: False, "masks": lambda mask, encoder_mask: (encoder_mask, mask)}),
    TEXTS.mistake("target_mask_for_both", {"masks": lambda mask, encoder_mask: (mask, mask)}),
    TEXTS.mistake("source_mask_for_both", {"is_decoder": lambda: False, "masks": lambda mask, encoder_mask: (encoder_mask, encoder_mask)}),
    TEXTS.mistake("source_mask_ignored", {"masks": lambda mask, encoder_mask: (mask, None)}),
    TEXTS.mistake("query_from_the_encoder", {"context": lambda x, encoder_output: (encoder_output, x, x)}),
    TEXTS.mistake("encoder_not_used", {"context": lambda x, encoder_output: (x, x, x)}),
    TEXTS.mistake(
        "encoder_not_used_unmasked",
        {"context": lambda x, encoder_output: (x, x, x), "masks": lambda mask, encoder_mask: (mask, None)},
        pattern=CROSS,
        said_as="encoder_not_used",
    ),
    TEXTS.mistake("values_from_the_decoder", {"context": lambda x, encoder_output: (x, encoder_output, x)}),
    TEXTS.mistake("keys_from_the_decoder", {"context": lambda x, encoder_output: (x, x, encoder_output)}),
    TEXTS.mistake("query_and_keys_from_the_encoder", {"context": lambda x, encoder_output: (encoder_output, encoder_output, x)}),
    TEXTS.mistake("everything_from_the_encoder", {"context": lambda x, encoder_output: (encoder_output, encoder_output, encoder_output)}),
    TEXTS.mistake("self_attention_for_both", {"whose": lambda own, other: (own, own)}, said_as="attention_shared"),
    TEXTS.mistake("cross_attention_for_both", {"whose": lambda own, other: (other, other)}, said_as="attention_shared"),
)

MISTAKES = (
    *wiring((TEXTS["self_attention"], TEXTS["cross_attention"], TEXTS["feed_forward"])),
    *moved(TEXTS, "cross_attention_first", (1, 0, 2), CROSS),
    *moved(TEXTS, "feed_forward_before_cross_attention", (0, 2, 1), r"ff|mlp|feed"),
    *OWN,
    *THINKING,
    *without(ATTENDING, "attends_over_heads"),  # raises an error if the sequences have different lengths
    *MASKING,
)
