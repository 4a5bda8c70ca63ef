"""What people get wrong in rotary positions."""

from __future__ import annotations

import numpy

from headway.practice.exercise import Mistake
from headway.practice.exercises.rotary.steps import along_first_axis, by_turns, counted, exponents, halves, interleave, powers
from headway.practice.message import Message

POSITION_ZERO = Message("at position 0 nothing turns, so the first row is right", "位置 0 不旋转，所以第一行是对的")
FIRST_PAIR = Message("the first pair is right", "第一对坐标是对的")
SELF_MADE = Message(
    "a model trained with it learns all the same; weights that were trained otherwise do not work",
    "自己训练的模型照样能学；但别处训练好的权重不能用",
)
EXPONENT = r"\*\*|pow|exp|arange"
TURN = r"cat|stack|cos.*sin|sin.*cos|-"

MISTAKES = (
    Mistake(
        "exponent_not_doubled",
        {"frequencies": powers(lambda width: numpy.arange(width // 2) / width)},
        Message(
            "pair i turns by theta^(-i/d) per position; it must be theta^(-2i/d): slow pairs turn too fast",
            "第 i 对每个位置转 theta^(-i/d)，应为 theta^(-2i/d)：慢的几对转得太快",
        ),
        Message("use arange(0, d, 2) / d", "使用 arange(0, d, 2) / d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_doubled_twice",
        {"frequencies": powers(lambda width: 2 * exponents(width))},
        Message(
            "the exponent is doubled twice: with arange(0, d, 2) it is 2i already, or it is divided by half of d",
            "指数多乘了一次 2：arange(0, d, 2) 已经是 2i，或者除以了 d 的一半",
        ),
        Message("use arange(0, d, 2) / d", "使用 arange(0, d, 2) / d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_counts_from_one",
        {"frequencies": powers(lambda width: exponents(width) + 2 / width)},
        Message(
            "pairs are counted from 1: the fastest pair must turn by 1 radian per position",
            "对的编号从 1 开始：最快的一对每个位置应转 1 弧度",
        ),
        Message(
            "the paper's exponent is 2(i - 1)/d with i from 1: that is arange(0, d, 2) / d",
            "论文的指数是 2(i - 1)/d（i 从 1 开始），即 arange(0, d, 2) / d",
        ),
        hides=POSITION_ZERO,
        pattern=r"\+ *1|arange\(1",
    ),
    Mistake(
        "last_exponent_is_one",
        {"frequencies": powers(lambda width: numpy.arange(width // 2) / max(width // 2 - 1, 1))},
        Message("the exponents run from 0 to 1 inclusive: i/(d/2 - 1)", "指数从 0 到 1（含 1）：i/(d/2 - 1)"),
        Message("use arange(0, d, 2) / d: the last exponent is (d - 2)/d", "使用 arange(0, d, 2) / d：最后一个指数是 (d - 2)/d"),
        hides=FIRST_PAIR,
        pattern=r"linspace|- *1",
    ),
    Mistake(
        "exponent_is_zero",
        {"frequencies": powers(lambda width: 0 * exponents(width))},
        Message(
            "all pairs turn alike, by 1 radian per position: the exponent is 0 (// where / is meant), or missing",
            "每一对都转得一样快（每个位置 1 弧度）：指数为 0（该用 / 却用了 //），或漏掉了",
        ),
        Message("use arange(0, d, 2) / d", "使用 arange(0, d, 2) / d"),
        hides=FIRST_PAIR,
        pattern=r"//",
    ),
    Mistake(
        "multiplied_by_power",
        {"frequencies": powers(lambda width: -exponents(width))},
        Message(
            "positions are multiplied by theta^(2i/d): the minus in the exponent, or the 1/, is missing",
            "位置乘以了 theta^(2i/d)：指数少了负号，或漏了 1/",
        ),
        Message("use 1 / theta ** (arange(0, d, 2) / d)", "使用 1 / theta ** (arange(0, d, 2) / d)"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "theta_ignored",
        {"frequencies": lambda width, theta: 10000.0 ** -exponents(width)},
        Message("the argument for the base is not used: it is always 10000", "底数参数没有用上：始终是 10000"),
        Message("use the argument in place of 10000", "用参数代替 10000"),
        pattern=r"10000|1e4|10_000",
    ),
    Mistake(
        "offset_ignored",
        {"positions": lambda x, positions, offset: counted(x, positions, 0)},
        Message(
            "the offset is not used: with a cache every new token is turned as if it stood first",
            "没有用到 offset：使用缓存时，每个新词都按第一个位置旋转",
        ),
        Message("positions are arange(offset, offset + seq_len)", "位置应为 arange(offset, offset + seq_len)"),
        hides=Message("without a cache the offset is 0", "不用缓存时 offset 为 0"),
        pattern=r"arange|offset|start",
    ),
    Mistake(
        "positions_ignored",
        {"positions": lambda x, positions, offset: counted(x, None, offset)},
        Message("the positions that are given are not used: rows are counted from 0", "没有用到给定的位置：总是从 0 开始计数"),
        Message("take the angles at the given positions: cos[positions]", "取给定位置的角度：cos[positions]"),
        hides=Message("where the positions are 0, 1, 2, … nothing shows", "当位置恰为 0, 1, 2, … 时看不出来"),
        pattern=r"arange|\[:",
    ),
    Mistake(
        "position_along_first_axis",
        {"positions": along_first_axis},
        Message(
            "positions run along the first axis (the batch): within a sequence all tokens are turned alike, and nothing tells them apart",
            "位置沿第一轴（批）递增：同一序列内所有词旋转相同，无法区分先后",
        ),
        Message("positions run along axis -2 of (…, seq_len, head_dim)", "在 (…, seq_len, head_dim) 中，位置沿第 -2 轴递增"),
        hides=Message("on a matrix (seq_len, head_dim) the first axis is the right one", "对矩阵 (seq_len, head_dim) 来说第一轴是对的"),
        pattern=r"shape\[0\]|size\(0\)|len\(",
    ),
    Mistake(
        "positions_all_zero",
        {"positions": lambda x, positions, offset: 0 * counted(x, positions, offset)},
        Message("nothing turns: the answer is x", "没有旋转：输出就是 x"),
        Message("row p turns by p · frequency", "第 p 行旋转 p · 频率"),
        hides=POSITION_ZERO,
        pattern=r"return",
    ),
    Mistake(
        "frequencies_by_turns",
        {"widen": lambda numbers: halves(numpy.repeat(numbers, 2, axis=-1))},
        Message(
            "the angles are laid out by turns (0, 0, 1, 1, …) but the coordinates are paired in halves (i with i + d/2): "
            "the two of a pair turn by different angles, and lengths change",
            "角度按相邻排列（0, 0, 1, 1, …），坐标却按两半配对（i 与 i + d/2）：一对中的两个坐标转角不同，长度会改变",
        ),
        Message("with rotate_half lay the angles out as cat([angles, angles])", "使用 rotate_half 时，角度应为 cat([angles, angles])"),
        hides=POSITION_ZERO,
        pattern=r"repeat|stack",
    ),
    Mistake(
        "frequencies_in_halves",
        {"widen": lambda numbers: by_turns(numpy.concatenate([numbers, numbers], axis=-1))},
        Message(
            "the angles are laid out in halves (cat([angles, angles])) but the coordinates are paired by turns (2i with 2i + 1): "
            "the two of a pair turn by different angles, and lengths change",
            "角度按两半排列（cat([angles, angles])），坐标却按相邻配对（2i 与 2i + 1）：一对中的两个坐标转角不同，长度会改变",
        ),
        Message(
            "with pairs by turns repeat each angle: repeat_interleave(angles, 2)",
            "按相邻配对时，每个角度应重复两次：repeat_interleave(angles, 2)",
        ),
        hides=POSITION_ZERO,
        pattern=r"cat|tile|repeat",
    ),
    Mistake(
        "by_turns_in_halves_out",
        {"split": by_turns},
        Message(
            "pairs are taken by turns (2i with 2i + 1) but written back in halves: the coordinates come out in another order",
            "按相邻取对（2i 与 2i + 1），却按两半写回：坐标的顺序被打乱",
        ),
        Message("write them back as they were taken: stack([a, b], -1) and flatten", "按取出的方式写回：stack([a, b], -1) 再展平"),
        hides=Message(
            "query and key are reordered alike, so their scores are right; with weights or code of others they are not",
            "query 与 key 的顺序一同打乱，所以分数是对的；与别人的权重或代码一起用就不对",
        ),
        pattern=r"cat",
    ),
    Mistake(
        "halves_in_by_turns_out",
        {"join": interleave},
        Message(
            "pairs are taken in halves (i with i + d/2) but written back by turns: the coordinates come out in another order",
            "按两半取对（i 与 i + d/2），却按相邻写回：坐标的顺序被打乱",
        ),
        Message("write them back as they were taken: cat([a, b], -1)", "按取出的方式写回：cat([a, b], -1)"),
        hides=Message("query and key are reordered alike, so their scores are right", "query 与 key 的顺序一同打乱，所以分数是对的"),
        pattern=r"stack",
    ),
    Mistake(
        "turned_backwards",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b - a * sin_b)},
        Message("pairs turn the other way: the minus belongs to the first of a pair", "旋转方向反了：负号应在一对中的第一个上"),
        Message(
            "(a, b) → (a·cos - b·sin, b·cos + a·sin); rotate_half is cat([-b, a])",
            "(a, b) → (a·cos - b·sin, b·cos + a·sin)；rotate_half 为 cat([-b, a])",
        ),
        hides=SELF_MADE,
        pattern=TURN,
    ),
    Mistake(
        "minus_missing",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b + a * sin_b)},
        Message("the minus is missing: a·cos + b·sin is no rotation, and lengths change", "少了负号：a·cos + b·sin 不是旋转，长度会改变"),
        Message(
            "(a, b) → (a·cos - b·sin, b·cos + a·sin); rotate_half is cat([-b, a])",
            "(a, b) → (a·cos - b·sin, b·cos + a·sin)；rotate_half 为 cat([-b, a])",
        ),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "two_minuses",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b * cos_b - a * sin_b)},
        Message("there is a minus in both lines: no rotation, and lengths change", "两行都有负号：不是旋转，长度会改变"),
        Message("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "sine_and_cosine_exchanged",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * sin_a - b * cos_a, b * sin_b + a * cos_b)},
        Message("sine and cosine have changed places: at position 0 x must stay as it is", "正弦与余弦互换了：在位置 0，x 应保持不变"),
        Message("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        hides=SELF_MADE,
        pattern=TURN,
    ),
    Mistake(
        "half_not_exchanged",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - a * sin_a, b * cos_b + b * sin_b)},
        Message(
            "each coordinate is combined with itself, not with its partner: the two of a pair never mix",
            "每个坐标与自己组合，而不是与同对的另一个：一对坐标没有混合",
        ),
        Message("rotate_half exchanges the halves: cat([-b, a])", "rotate_half 要交换两半：cat([-b, a])"),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "not_exchanged",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + a * sin_a, b * cos_b + b * sin_b)},
        Message("it is x·cos + x·sin: the two of a pair never mix", "计算的是 x·cos + x·sin：一对坐标没有混合"),
        Message(
            "x·cos + rotate_half(x)·sin, with rotate_half(x) = cat([-b, a])",
            "应为 x·cos + rotate_half(x)·sin，其中 rotate_half(x) = cat([-b, a])",
        ),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "first_is_overwritten",
        {
            "turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (
                a * cos_a - b * sin_a,
                b * cos_b + (a * cos_a - b * sin_a) * sin_b,
            )
        },
        Message("the first of a pair is overwritten before the second is computed from it", "一对中的第一个先被改写，再用来计算第二个"),
        Message("compute both from the old ones, then write: a and b are views of x", "先用旧值算出两个，再写回：a 与 b 是 x 的视图"),
        hides=POSITION_ZERO,
        pattern=r"\] *=|-=|\*=",
    ),
    Mistake(
        "only_cosine",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a, b * cos_b)},
        Message("x is multiplied by the cosine only", "x 只乘了余弦"),
        Message("add rotate_half(x) · sin", "还要加上 rotate_half(x) · sin"),
        hides=POSITION_ZERO,
        pattern=r"cos",
    ),
    Mistake(
        "second_half_not_turned",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b)},
        Message("only the first of each pair is computed; the second stays as it was", "只计算了每一对的第一个，第二个保持原样"),
        Message("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "sine_and_cosine_added",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + sin_a, b + cos_b)},
        Message(
            "sine and cosine are added to x, as absolute positions are; rotary positions turn x",
            "把正弦与余弦加到了 x 上，那是绝对位置编码；旋转位置编码要旋转 x",
        ),
        Message("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        pattern=r"\+",
    ),
    Mistake(
        "cosine_and_sine_added",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + cos_a, b + sin_b)},
        Message("cosine and sine are added to x; rotary positions turn x", "把余弦与正弦加到了 x 上；旋转位置编码要旋转 x"),
        Message("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        pattern=r"\+",
    ),
    Mistake(
        "key_not_turned",
        {"both": lambda turned, query, key: (turned(query), key)},
        Message("the key comes back as it was: only the query is turned", "key 原样返回：只旋转了 query"),
        Message("turn both by the same rule", "两者用同样的方式旋转"),
        pattern=r"return",
    ),
    Mistake(
        "query_not_turned",
        {"both": lambda turned, query, key: (query, turned(key))},
        Message("the query comes back as it was: only the key is turned", "query 原样返回：只旋转了 key"),
        Message("turn both by the same rule", "两者用同样的方式旋转"),
        pattern=r"return",
    ),
    Mistake(
        "key_from_query",
        {"both": lambda turned, query, key: (turned(query), turned(query))},
        Message("the turned key is made from the query", "旋转后的 key 是由 query 算出来的"),
        Message("turn the key itself", "应旋转 key 本身"),
        pattern=r"k\w* *=",
    ),
    Mistake(
        "query_and_key_exchanged",
        {"both": lambda turned, query, key: (turned(key), turned(query))},
        Message("key and query come back in the wrong order", "返回的 query 与 key 顺序颠倒"),
        Message("return (query, key)", "返回 (query, key)"),
        pattern=r"return",
    ),
)
