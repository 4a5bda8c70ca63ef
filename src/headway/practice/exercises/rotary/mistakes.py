"""Common mistakes in rotary positions."""

from __future__ import annotations

import numpy

from headway.practice.exercise import Mistake
from headway.practice.exercises.rotary.steps import along_first_axis, counted, even_and_odd, exponents, halves, interleave, powers
from headway.practice.message import Message

POSITION_ZERO = Message("position 0 is not rotated, so the first row is correct", "位置 0 不旋转，所以第一行是对的")
FIRST_PAIR = Message("the first pair is correct", "第一对坐标是对的")
SELF_MADE = Message(
    "a model trained this way learns; weights trained with the correct rotation do not work",
    "这样训练的模型照样能学；但用正确旋转训练的权重不能用",
)
EXPONENT = r"\*\*|pow|exp|arange"
TURN = r"cat|stack|cos.*sin|sin.*cos|-"

MISTAKES = (
    Mistake(
        "exponent_not_doubled",
        {"frequencies": powers(lambda width: numpy.arange(width // 2) / width)},
        Message(
            "pair i rotates by theta^(-i/d) per position; expected theta^(-2i/d): low-frequency pairs rotate too fast",
            "第 i 对每个位置转 theta^(-i/d)，应为 theta^(-2i/d)：低频的几对转得太快",
        ),
        Message("use arange(0, d, 2) / d", "使用 arange(0, d, 2) / d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_doubled_twice",
        {"frequencies": powers(lambda width: 2 * exponents(width))},
        Message(
            "the exponent is doubled once too often: arange(0, d, 2) is 2i already, or it is divided by d/2",
            "指数多乘了一次 2：arange(0, d, 2) 已经是 2i，或者除以了 d/2",
        ),
        Message("use arange(0, d, 2) / d", "使用 arange(0, d, 2) / d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_counts_from_one",
        {"frequencies": powers(lambda width: exponents(width) + 2 / width)},
        Message(
            "pairs are counted from 1; the first pair must rotate by 1 radian per position",
            "对的编号从 1 开始；第一对每个位置应转 1 弧度",
        ),
        Message(
            "use arange(0, d, 2) / d: the paper's 2(i - 1)/d has i starting at 1",
            "使用 arange(0, d, 2) / d：论文的 2(i - 1)/d 中 i 从 1 开始",
        ),
        hides=POSITION_ZERO,
        pattern=r"\+ *1|arange\(1",
    ),
    Mistake(
        "last_exponent_is_one",
        {"frequencies": powers(lambda width: numpy.arange(width // 2) / max(width // 2 - 1, 1))},
        Message("the exponents run from 0 to 1 inclusive, i/(d/2 - 1); expected 2i/d", "指数从 0 到 1（含 1），即 i/(d/2 - 1)；应为 2i/d"),
        Message("use arange(0, d, 2) / d: the last exponent is (d - 2)/d", "使用 arange(0, d, 2) / d：最后一个指数是 (d - 2)/d"),
        hides=FIRST_PAIR,
        pattern=r"linspace|- *1",
    ),
    Mistake(
        "exponent_is_zero",
        {"frequencies": powers(lambda width: 0 * exponents(width))},
        Message(
            "all pairs rotate by 1 radian per position: the exponent is 0 (// instead of /), or missing",
            "每一对每个位置都转 1 弧度：指数为 0（该用 / 却用了 //），或漏掉了",
        ),
        Message("use arange(0, d, 2) / d", "使用 arange(0, d, 2) / d"),
        hides=FIRST_PAIR,
        pattern=r"//",
    ),
    Mistake(
        "multiplied_by_power",
        {"frequencies": powers(lambda width: -exponents(width))},
        Message(
            "multiplies positions by theta^(2i/d): the minus in the exponent, or the 1/, is missing",
            "位置乘以了 theta^(2i/d)：指数少了负号，或漏了 1/",
        ),
        Message("use 1 / theta ** (arange(0, d, 2) / d)", "使用 1 / theta ** (arange(0, d, 2) / d)"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "theta_ignored",
        {"frequencies": lambda width, theta: 10000.0 ** -exponents(width)},
        Message("the argument for the base is not used: the base is always 10000", "没有使用底数参数：始终是 10000"),
        Message("use the argument instead of 10000", "用参数代替 10000"),
        pattern=r"10000|1e4|10_000",
    ),
    Mistake(
        "offset_ignored",
        {"positions": lambda x, positions, offset: counted(x, positions, 0)},
        Message(
            "the offset is not used: with a cache each new token is rotated as position 0",
            "没有用到 offset：使用缓存时，每个新词元都按位置 0 旋转",
        ),
        Message("use the positions arange(offset, offset + seq_len)", "位置用 arange(offset, offset + seq_len)"),
        hides=Message("the offset is 0 without a cache", "不用缓存时 offset 为 0"),
        pattern=r"arange|offset|start",
    ),
    Mistake(
        "positions_ignored",
        {"positions": lambda x, positions, offset: counted(x, None, offset)},
        Message("the given positions are not used: rows are counted from 0", "没有使用给定的位置：总是从 0 开始计数"),
        Message("use the angles at the given positions: cos[positions]", "取给定位置的角度：cos[positions]"),
        hides=Message("the mistake is not visible when the positions are 0, 1, 2, …", "位置恰为 0、1、2……时看不出来"),
        pattern=r"arange|\[:",
    ),
    Mistake(
        "position_along_first_axis",
        {"positions": along_first_axis},
        Message(
            "positions run along the first axis (the batch): all tokens of a sequence are rotated by the same angle",
            "位置沿第一轴（批）递增：同一序列内所有词元的旋转角度相同",
        ),
        Message("count positions along axis -2 of (…, seq_len, head_dim)", "在 (…, seq_len, head_dim) 中，沿第 -2 轴计位置"),
        hides=Message(
            "the output is correct for a matrix (seq_len, head_dim), whose first axis is the positions",
            "对矩阵 (seq_len, head_dim) 是对的，它的第一轴就是位置",
        ),
        pattern=r"shape\[0\]|size\(0\)|len\(",
    ),
    Mistake(
        "positions_all_zero",
        {"positions": lambda x, positions, offset: 0 * counted(x, positions, offset)},
        Message("nothing is rotated: returns x", "没有旋转：返回的就是 x"),
        Message("rotate row p by p · frequency", "第 p 行旋转 p · 频率"),
        hides=POSITION_ZERO,
        pattern=r"return",
    ),
    Mistake(
        "frequencies_by_turns",
        {"widen": lambda numbers: halves(numpy.repeat(numbers, 2, axis=-1))},
        Message(
            "the angles are repeated in place (0, 0, 1, 1, …) but the coordinates are paired in halves (i with i + d/2): the two of a pair rotate by different angles, and lengths change",
            "角度按相邻排列（0, 0, 1, 1, …），坐标却按两半配对（i 与 i + d/2）：一对中的两个坐标转角不同，长度会改变",
        ),
        Message("with rotate_half, repeat the angles as cat([angles, angles])", "使用 rotate_half 时，角度应为 cat([angles, angles])"),
        hides=POSITION_ZERO,
        pattern=r"repeat|stack",
    ),
    Mistake(
        "frequencies_in_halves",
        {"widen": lambda numbers: even_and_odd(numpy.concatenate([numbers, numbers], axis=-1))},
        Message(
            "the angles are repeated in halves (cat([angles, angles])) but the coordinates are paired as 2i with 2i + 1: the two of a pair rotate by different angles, and lengths change",
            "角度按两半排列（cat([angles, angles])），坐标却按相邻配对（2i 与 2i + 1）：一对中的两个坐标转角不同，长度会改变",
        ),
        Message(
            "with interleaved pairs, repeat each angle: repeat_interleave(angles, 2)",
            "按相邻配对时，每个角度重复两次：repeat_interleave(angles, 2)",
        ),
        hides=POSITION_ZERO,
        pattern=r"cat|tile|repeat",
    ),
    Mistake(
        "by_turns_in_halves_out",
        {"split": even_and_odd},
        Message(
            "reads interleaved pairs (2i with 2i + 1) but writes halves: the order of the coordinates changes",
            "按相邻取对（2i 与 2i + 1），却按两半写回：坐标的顺序被打乱",
        ),
        Message(
            "write the pairs back in the order they were read: stack([a, b], -1) and flatten", "按取出的方式写回：stack([a, b], -1) 再展平"
        ),
        hides=Message(
            "query and key are reordered in the same way, so their scores are correct; other weights or code expect the original order",
            "query 与 key 以同样方式重排，所以分数是对的；但别的权重或代码要求原来的顺序",
        ),
        pattern=r"cat",
    ),
    Mistake(
        "halves_in_by_turns_out",
        {"join": interleave},
        Message(
            "reads pairs in halves (i with i + d/2) but writes them interleaved: the order of the coordinates changes",
            "按两半取对（i 与 i + d/2），却按相邻写回：坐标的顺序被打乱",
        ),
        Message("write the pairs back in the order they were read: cat([a, b], -1)", "按取出的方式写回：cat([a, b], -1)"),
        hides=Message(
            "query and key are reordered in the same way, so their scores are correct", "query 与 key 以同样方式重排，所以分数是对的"
        ),
        pattern=r"stack",
    ),
    Mistake(
        "turned_backwards",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b - a * sin_b)},
        Message(
            "pairs rotate in the opposite direction: the minus belongs to the first coordinate of a pair",
            "旋转方向反了：负号应在一对中的第一个坐标上",
        ),
        Message(
            "use (a, b) → (a·cos - b·sin, b·cos + a·sin); rotate_half is cat([-b, a])",
            "使用 (a, b) → (a·cos - b·sin, b·cos + a·sin)；rotate_half 为 cat([-b, a])",
        ),
        hides=SELF_MADE,
        pattern=TURN,
    ),
    Mistake(
        "minus_missing",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b + a * sin_b)},
        Message(
            "the minus is missing: a·cos + b·sin is not a rotation, and lengths change", "少了负号：a·cos + b·sin 不是旋转，长度会改变"
        ),
        Message(
            "use (a, b) → (a·cos - b·sin, b·cos + a·sin); rotate_half is cat([-b, a])",
            "使用 (a, b) → (a·cos - b·sin, b·cos + a·sin)；rotate_half 为 cat([-b, a])",
        ),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "two_minuses",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b * cos_b - a * sin_b)},
        Message("both lines have a minus: this is not a rotation, and lengths change", "两行都有负号：这不是旋转，长度会改变"),
        Message("use (a, b) → (a·cos - b·sin, b·cos + a·sin)", "使用 (a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "sine_and_cosine_exchanged",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * sin_a - b * cos_a, b * sin_b + a * cos_b)},
        Message("sine and cosine are swapped: at position 0 x must not change", "正弦与余弦互换了：在位置 0，x 应保持不变"),
        Message("use (a, b) → (a·cos - b·sin, b·cos + a·sin)", "使用 (a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        hides=SELF_MADE,
        pattern=TURN,
    ),
    Mistake(
        "half_not_exchanged",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - a * sin_a, b * cos_b + b * sin_b)},
        Message(
            "combines each coordinate with itself instead of with the other one of its pair",
            "每个坐标与自己组合，而不是与同对的另一个组合",
        ),
        Message("swap the halves in rotate_half: cat([-b, a])", "rotate_half 要交换两半：cat([-b, a])"),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "not_exchanged",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + a * sin_a, b * cos_b + b * sin_b)},
        Message("computes x·cos + x·sin: the two coordinates of a pair are never mixed", "计算的是 x·cos + x·sin：一对坐标没有混合"),
        Message(
            "use x·cos + rotate_half(x)·sin, with rotate_half(x) = cat([-b, a])",
            "使用 x·cos + rotate_half(x)·sin，其中 rotate_half(x) = cat([-b, a])",
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
        Message(
            "overwrites the first coordinate of a pair before the second is computed from it",
            "一对中的第一个坐标先被改写，再用来计算第二个",
        ),
        Message("compute both from the old values, then write: a and b are views of x", "先用旧值算出两个，再写回：a 与 b 是 x 的视图"),
        hides=POSITION_ZERO,
        pattern=r"\] *=|-=|\*=",
    ),
    Mistake(
        "only_cosine",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a, b * cos_b)},
        Message("multiplies x by the cosine only", "x 只乘了余弦"),
        Message("add rotate_half(x) · sin", "再加上 rotate_half(x) · sin"),
        hides=POSITION_ZERO,
        pattern=r"cos",
    ),
    Mistake(
        "second_half_not_turned",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b)},
        Message("rotates only the first coordinate of each pair; the second is unchanged", "只计算了每一对的第一个坐标，第二个保持原样"),
        Message("use (a, b) → (a·cos - b·sin, b·cos + a·sin)", "使用 (a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "sine_and_cosine_added",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + sin_a, b + cos_b)},
        Message(
            "adds sine and cosine to x, as absolute positions do; rotary positions rotate x",
            "把正弦与余弦加到了 x 上，那是绝对位置编码；旋转位置编码要旋转 x",
        ),
        Message("use (a, b) → (a·cos - b·sin, b·cos + a·sin)", "使用 (a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        pattern=r"\+",
    ),
    Mistake(
        "cosine_and_sine_added",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + cos_a, b + sin_b)},
        Message("adds cosine and sine to x; rotary positions rotate x", "把余弦与正弦加到了 x 上；旋转位置编码要旋转 x"),
        Message("use (a, b) → (a·cos - b·sin, b·cos + a·sin)", "使用 (a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        pattern=r"\+",
    ),
    Mistake(
        "key_not_turned",
        {"both": lambda rotated, query, key: (rotated(query), key)},
        Message("rotates only the query: the key is returned unchanged", "只旋转了 query：key 原样返回"),
        Message("rotate both in the same way", "两者用同样的方式旋转"),
        pattern=r"return",
    ),
    Mistake(
        "query_not_turned",
        {"both": lambda rotated, query, key: (query, rotated(key))},
        Message("rotates only the key: the query is returned unchanged", "只旋转了 key：query 原样返回"),
        Message("rotate both in the same way", "两者用同样的方式旋转"),
        pattern=r"return",
    ),
    Mistake(
        "key_from_query",
        {"both": lambda rotated, query, key: (rotated(query), rotated(query))},
        Message("computes the rotated key from the query", "旋转后的 key 是由 query 算出来的"),
        Message("compute the rotated key from the key", "旋转后的 key 应由 key 计算"),
        pattern=r"k\w* *=",
    ),
    Mistake(
        "query_and_key_exchanged",
        {"both": lambda rotated, query, key: (rotated(key), rotated(query))},
        Message("returns (key, query) instead of (query, key)", "返回的是 (key, query)，应为 (query, key)"),
        Message("return (query, key)", "返回 (query, key)"),
        pattern=r"return",
    ),
)
