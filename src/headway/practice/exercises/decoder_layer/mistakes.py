"""Common mistakes in the decoder layer."""

from __future__ import annotations

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.attention_mistakes import without
from headway.practice.recipes.layer_mistakes import ATTENDING, MASKING, THINKING, moved, wiring

CROSS = r"cross|enc|memory|src"
QUERY = Message(
    "use attention(query=x, key=encoder_output, value=encoder_output)", "使用 attention(query=x, key=encoder_output, value=encoder_output)"
)
LENGTHS = Message("no error is raised when source and target have the same length", "源与目标等长时不会报错")

OWN = (
    Mistake(
        "later_positions_visible",
        {"is_decoder": lambda: False, "masks": lambda mask, encoder_mask: (None, encoder_mask)},
        Message(
            "self-attention is not causal: positions attend to the later ones they must predict (the target mask is not used)",
            "自注意力不是因果的：每个位置能关注它要预测的后续位置（没有用到目标掩码）",
        ),
        Message("pass the causal target mask to self-attention", "把因果的目标掩码传给自注意力"),
        hides=Message("the training loss is suspiciously low, because the target is visible", "训练损失低得反常，因为能看到要预测的词元"),
        pattern=r"self_att|attn|mask",
    ),
    Mistake(
        "masks_exchanged",
        {"is_decoder": lambda: False, "masks": lambda mask, encoder_mask: (encoder_mask, mask)},
        Message(
            "source mask and target mask are swapped: self-attention gets the source mask, cross-attention the target mask",
            "源掩码与目标掩码互换了：自注意力用了源掩码，交叉注意力用了目标掩码",
        ),
        Message("use the target mask in self-attention, the source mask in cross-attention", "自注意力用目标掩码，交叉注意力用源掩码"),
        hides=LENGTHS,
        pattern=r"mask",
    ),
    Mistake(
        "target_mask_for_both",
        {"masks": lambda mask, encoder_mask: (mask, mask)},
        Message("cross-attention gets the target mask; expected the source mask", "交叉注意力用了目标掩码；应使用源掩码"),
        Message("pass the source padding mask to cross-attention", "把源序列的填充掩码传给交叉注意力"),
        hides=LENGTHS,
        pattern=r"mask",
    ),
    Mistake(
        "source_mask_for_both",
        {"is_decoder": lambda: False, "masks": lambda mask, encoder_mask: (encoder_mask, encoder_mask)},
        Message("self-attention gets the source mask; expected the causal target mask", "自注意力用了源掩码；应使用因果的目标掩码"),
        Message("pass the target mask to self-attention", "把目标掩码传给自注意力"),
        hides=LENGTHS,
        pattern=r"mask",
    ),
    Mistake(
        "source_mask_ignored",
        {"masks": lambda mask, encoder_mask: (mask, None)},
        Message("cross-attention gets no mask: it attends to source padding", "交叉注意力没有用掩码：会关注源序列的填充"),
        Message("pass the source mask to cross-attention", "把源掩码传给交叉注意力"),
        hides=Message("the mistake is not visible when all sources have the same length", "源序列等长时看不出来"),
        pattern=CROSS,
    ),
    Mistake(
        "query_from_the_encoder",
        {"context": lambda x, encoder_output: (encoder_output, x, x)},
        Message(
            "in cross-attention the queries come from the encoder, keys and values from the decoder; expected the opposite",
            "交叉注意力中 query 来自编码器，key 与 value 来自解码器；应当相反",
        ),
        QUERY,
        hides=LENGTHS,
        pattern=CROSS,
    ),
    Mistake(
        "encoder_not_used",
        {"context": lambda x, encoder_output: (x, x, x)},
        Message("the encoder output is never used: cross-attention attends to x", "没有用到编码器的输出：交叉注意力关注的是 x 自己"),
        QUERY,
        pattern=CROSS,
    ),
    Mistake(
        "encoder_not_used_unmasked",
        {"context": lambda x, encoder_output: (x, x, x), "masks": lambda mask, encoder_mask: (mask, None)},
        Message("the encoder output is never used: cross-attention attends to x", "没有用到编码器的输出：交叉注意力关注的是 x 自己"),
        QUERY,
        pattern=CROSS,
        said_as="encoder_not_used",
    ),
    Mistake(
        "values_from_the_decoder",
        {"context": lambda x, encoder_output: (x, encoder_output, x)},
        Message(
            "cross-attention takes keys from the encoder but values from the decoder", "交叉注意力的 key 来自编码器，value 却来自解码器"
        ),
        QUERY,
        hides=LENGTHS,
        pattern=CROSS,
    ),
    Mistake(
        "keys_from_the_decoder",
        {"context": lambda x, encoder_output: (x, x, encoder_output)},
        Message(
            "cross-attention takes values from the encoder but keys from the decoder", "交叉注意力的 value 来自编码器，key 却来自解码器"
        ),
        QUERY,
        hides=LENGTHS,
        pattern=CROSS,
    ),
    Mistake(
        "query_and_keys_from_the_encoder",
        {"context": lambda x, encoder_output: (encoder_output, encoder_output, x)},
        Message(
            "cross-attention takes queries and keys from the encoder, and values from the decoder",
            "交叉注意力的 query 与 key 来自编码器，value 来自解码器",
        ),
        QUERY,
        hides=LENGTHS,
        pattern=CROSS,
    ),
    Mistake(
        "everything_from_the_encoder",
        {"context": lambda x, encoder_output: (encoder_output, encoder_output, encoder_output)},
        Message(
            "cross-attention takes queries, keys and values from the encoder: x is not used for the queries",
            "交叉注意力的 query、key、value 全部来自编码器：query 没有用 x 计算",
        ),
        QUERY,
        hides=LENGTHS,
        pattern=CROSS,
    ),
    Mistake(
        "self_attention_for_both",
        {"whose": lambda own, other: (own, own)},
        Message(
            "self-attention and cross-attention share one set of weights: the other set is never used",
            "自注意力与交叉注意力用了同一组权重：另一组没有用上",
        ),
        Message("use separate weights for self-attention and cross-attention", "自注意力与交叉注意力应各用各的权重"),
        pattern=r"att",
        said_as="attention_shared",
    ),
    Mistake(
        "cross_attention_for_both",
        {"whose": lambda own, other: (other, other)},
        Message(
            "self-attention and cross-attention share one set of weights: the other set is never used",
            "自注意力与交叉注意力用了同一组权重：另一组没有用上",
        ),
        Message("use separate weights for self-attention and cross-attention", "自注意力与交叉注意力应各用各的权重"),
        pattern=r"att",
        said_as="attention_shared",
    ),
)

MISTAKES = (
    *wiring((Message("self-attention", "自注意力"), Message("cross-attention", "交叉注意力"), Message("the feed-forward", "前馈网络"))),
    *moved(
        "cross_attention_first",
        (1, 0, 2),
        Message("cross-attention comes before self-attention", "交叉注意力放在了自注意力之前"),
        Message("apply self-attention, then cross-attention, then the feed-forward", "先自注意力，再交叉注意力，最后前馈网络"),
        CROSS,
    ),
    *moved(
        "feed_forward_before_cross_attention",
        (0, 2, 1),
        Message("the feed-forward comes before cross-attention", "前馈网络放在了交叉注意力之前"),
        Message("apply self-attention, then cross-attention, then the feed-forward", "先自注意力，再交叉注意力，最后前馈网络"),
        r"ff|mlp|feed",
    ),
    *OWN,
    *THINKING,
    *without(ATTENDING, "attends_over_heads"),  # raises an error if the sequences have different lengths
    *MASKING,
)
