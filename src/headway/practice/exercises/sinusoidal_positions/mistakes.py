"""What people get wrong in sinusoidal positions."""

from __future__ import annotations

import math

import numpy

from headway.practice.exercise import Mistake
from headway.practice.exercises.sinusoidal_positions.steps import by_turns, columns, halves, pairs
from headway.practice.message import Message

SOLE_ROW = Message("position 0 is right, so a look at the first row does not show it", "位置 0 是对的，只看第一行看不出来")
FIRST_PAIR = Message("the first two columns are right", "前两列是对的")
EXPONENT = r"\*\*|pow|exp|/"

MISTAKES = (
    Mistake(
        "sines_then_cosines",
        {"arrange": lambda table, interleaved: halves(table)},
        Message(
            "all sines stand in the first half and all cosines in the second: row 0 is 0 … 0 1 … 1, not 0 1 0 1 … "
            "(some models, such as Marian's, are made so; the paper's take turns)",
            "所有正弦在前一半，所有余弦在后一半：第 0 行是 0 … 0 1 … 1，而不是 0 1 0 1 …（Marian 等模型确实如此，但论文中是交替排列）",
        ),
        Message(
            "put sines into columns 0::2 and cosines into 1::2; or take interleaved=False as an argument if halves are meant",
            "正弦写入 0::2 列，余弦写入 1::2 列；若本意是分半，请提供参数 interleaved=False",
        ),
        hides=Message(
            "a model trained with it works; only weights made for the other order do not",
            "自己训练的模型照样能用，只有为另一种排列训练的权重才会出错",
        ),
        pattern=r"cat|stack",
    ),
    Mistake(
        "cosine_first",
        {"waves": lambda angles: by_turns(numpy.cos(angles), numpy.sin(angles))},
        Message("even columns hold the cosine and odd ones the sine", "偶数列是余弦，奇数列是正弦，写反了"),
        Message("sine into columns 0::2, cosine into 1::2", "正弦写入 0::2 列，余弦写入 1::2 列"),
        pattern=r"cos\(",
    ),
    Mistake(
        "sine_everywhere",
        {"waves": numpy.sin},
        Message("there is no cosine: every column is a sine", "没有余弦：每一列都是正弦"),
        Message("take the cosine in odd columns", "奇数列取余弦"),
        pattern=r"sin\(",
    ),
    Mistake(
        "cosine_everywhere",
        {"waves": numpy.cos},
        Message("there is no sine: every column is a cosine", "没有正弦：每一列都是余弦"),
        Message("take the sine in even columns", "偶数列取正弦"),
        pattern=r"cos\(",
    ),
    Mistake(
        "turns_by_position",
        {"waves": lambda angles: numpy.where(numpy.arange(len(angles))[:, None] % 2 == 0, numpy.sin(angles), numpy.cos(angles))},
        Message("sine and cosine take turns by position (rows), not by column", "正弦与余弦按位置（行）交替，而不是按列交替"),
        Message("even columns take the sine, odd columns the cosine, in every row", "每一行中，偶数列取正弦，奇数列取余弦"),
        pattern=r"% *2|0::2|\[::2",
    ),
    Mistake(
        "exponent_by_column_doubled",
        {"exponents": lambda width: 2 * columns(width) / width},
        Message(
            "the exponent is 2j/d for column j, so every column has its own frequency and they fall twice as fast; a pair shares one",
            "第 j 列的指数是 2j/d：每列频率各不相同，且下降快了一倍；一对正弦与余弦应共用一个频率",
        ),
        Message(
            "for columns 2i and 2i+1 the exponent is 2i/d: with j = 2i the exponent is j/d for both",
            "第 2i 与 2i+1 列的指数都是 2i/d：令 j = 2i，则两列都用 j/d",
        ),
        hides=SOLE_ROW,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_by_column",
        {"exponents": lambda width: columns(width) / width},
        Message(
            "column j has exponent j/d: sines are right, but each cosine has another frequency than its sine",
            "第 j 列的指数是 j/d：正弦是对的，但余弦与同一对的正弦频率不同",
        ),
        Message("use 2·(j // 2)/d, so that columns 2i and 2i+1 share 2i/d", "使用 2·(j // 2)/d，使 2i 与 2i+1 列共用 2i/d"),
        hides=SOLE_ROW,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_not_doubled",
        {"exponents": lambda width: pairs(width) / width},
        Message(
            "pair i has exponent i/d, half of what it must be: the slowest wave is 100 times shorter",
            "第 i 对的指数是 i/d，只有应有的一半：最慢的波短了约 100 倍",
        ),
        Message("use 2i/d for pair i", "第 i 对使用 2i/d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_doubled_twice",
        {"exponents": lambda width: 4 * pairs(width) / width},
        Message(
            "the exponent is doubled twice: with i = 0, 2, 4, … it is 2i/d where i/d is meant",
            "指数多乘了一次 2：i 取 0, 2, 4, … 时用了 2i/d，应为 i/d",
        ),
        Message("either count pairs and use 2i/d, or step by 2 and use i/d", "要么按对计数用 2i/d，要么步长为 2 用 i/d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_of_next_pair",
        {"exponents": lambda width: 2 * (pairs(width) + columns(width) % 2) / width},
        Message("the cosine of pair i has the frequency of pair i + 1", "第 i 对的余弦用了第 i + 1 对的频率"),
        Message(
            "the cosine in column 2i+1 has the exponent 2i/d, the same as the sine in column 2i",
            "第 2i+1 列余弦的指数是 2i/d，与第 2i 列正弦相同",
        ),
        hides=SOLE_ROW,
        pattern=r"\+ *1",
    ),
    Mistake(
        "last_exponent_is_one",
        {"exponents": lambda width: pairs(width) / max(width // 2 - 1, 1)},
        Message(
            "the exponents run from 0 to 1 inclusive, i/(d/2 - 1), as in fairseq; the paper's are 2i/d",
            "指数从 0 到 1（含 1），即 i/(d/2 - 1)，这是 fairseq 的做法；论文中是 2i/d",
        ),
        Message("use 2i/d: the last exponent is (d - 2)/d", "使用 2i/d：最后一个指数是 (d - 2)/d"),
        hides=FIRST_PAIR,
        pattern=r"- *1|linspace",
    ),
    Mistake(
        "exponent_is_zero",
        {"exponents": lambda width: numpy.zeros(width)},
        Message(
            "all columns have the same frequency, 1: the exponent was rounded to 0 (// where / is meant), or is missing",
            "所有列的频率都是 1：指数被取整为 0（该用 / 却用了 //），或漏掉了指数",
        ),
        Message("divide with /, and bracket (2 * i) / d", "用 / 做除法，并写成 (2 * i) / d"),
        hides=FIRST_PAIR,
        pattern=r"//",
    ),
    Mistake(
        "logarithm_rounded",
        {
            "angles": lambda positions, exponents, base: (
                positions[:, None] * numpy.exp(-exponents * len(exponents) * (math.log(base) // len(exponents)))
            )
        },
        Message(
            "log(base) / d is rounded down (//): the frequencies are whole powers of e",
            "log(base) / d 被向下取整（//）：频率成了 e 的整数次幂",
        ),
        Message("divide with /", "用 / 做除法"),
        hides=FIRST_PAIR,
        pattern=r"//",
    ),
    Mistake(
        "power_divided_by_width",
        {"angles": lambda positions, exponents, base: positions[:, None] / float(base) ** (exponents * len(exponents)) / len(exponents)},
        Message(
            "base^(2i) / d is computed, not base^(2i / d): ** binds before /",
            "计算的是 base^(2i) / d，而不是 base^(2i / d)：** 的优先级高于 /",
        ),
        Message("bracket the exponent: base ** (2 * i / d)", "给指数加括号：base ** (2 * i / d)"),
        hides=SOLE_ROW,
        pattern=r"\*\*|pow",
    ),
    Mistake(
        "power_of_two_first",
        {"angles": lambda positions, exponents, base: positions[:, None] / (base**2 * exponents / 2)},
        Message(
            "base ** 2 * i / d squares the base and multiplies by i / d: ** binds before *",
            "base ** 2 * i / d 先对 base 平方再乘 i / d：** 的优先级高于 *",
        ),
        Message("bracket the exponent: base ** (2 * i / d)", "给指数加括号：base ** (2 * i / d)"),
        pattern=r"\*\*|pow",
    ),
    Mistake(
        "power_of_two_first_divides",
        {"angles": lambda positions, exponents, base: positions[:, None] / base**2 * exponents / 2},
        Message(
            "position / base ** 2 * i / d: ** binds first, then / and * from left to right",
            "position / base ** 2 * i / d：先算 **，再从左到右算 / 与 *",
        ),
        Message("bracket the exponent: position / base ** (2 * i / d)", "给指数加括号：position / base ** (2 * i / d)"),
        pattern=r"\*\*|pow",
    ),
    Mistake(
        "multiplied_by_power",
        {"angles": lambda positions, exponents, base: positions[:, None] * base**exponents},
        Message(
            "positions are multiplied by base^(2i/d), not divided: the minus in the exponent is missing",
            "位置乘以了 base^(2i/d) 而不是除以它：指数少了负号",
        ),
        Message(
            "divide by base ** (2i / d), or multiply by exp(-2i · log(base) / d)", "除以 base ** (2i / d)，或乘以 exp(-2i · log(base) / d)"
        ),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "base_ignored",
        {"angles": lambda positions, exponents, base: positions[:, None] / 10000.0**exponents},
        Message("the argument for the base is not used: it is always 10000", "参数 base 没有用上：始终是 10000"),
        Message("use the argument in place of 10000", "用参数代替 10000"),
        pattern=r"10000|1e4|10_000",
    ),
    Mistake(
        "offset_ignored",
        {"positions": lambda length, offset: numpy.arange(length)},
        Message(
            "the argument for the first position is not used: rows always start at position 0", "起始位置参数没有用上：总是从位置 0 开始"
        ),
        Message("count from the offset: arange(offset, offset + seq_len)", "从 offset 开始计数：arange(offset, offset + seq_len)"),
        pattern=r"arange|range",
    ),
    Mistake(
        "positions_divided_by_length",
        {"positions": lambda length, offset: (numpy.arange(length) + offset) / length},
        Message(
            "positions are divided by the length, so the same position has another vector in another sequence",
            "位置除以了序列长度：同一位置在不同长度的序列中向量不同",
        ),
        Message("use the position itself: 0, 1, 2, …", "直接使用位置本身：0, 1, 2, …"),
        hides=SOLE_ROW,
        pattern=r"linspace|/",
    ),
    Mistake(
        "only_first_row_written",
        {"finish": lambda table: table * (numpy.arange(len(table)) == 0)[:, None]},
        Message("only row 0 is written: the others stay 0", "只写了第 0 行：其余行仍为 0"),
        Message("write whole columns: table[:, 0::2] = …", "整列写入：table[:, 0::2] = …"),
        hides=SOLE_ROW,
        pattern=r"\[.*\] *=|return",
    ),
    Mistake(
        "rows_all_alike",
        {"finish": lambda table: numpy.repeat(table[-1:], len(table), axis=0)},
        Message(
            "every row is that of the last position: the rows before are written over", "每一行都是最后一个位置的向量：前面的行被覆盖了"
        ),
        Message("write row p with position p only", "第 p 行只写位置 p 的值"),
        pattern=r"\[.*\] *=",
    ),
    Mistake(
        "rows_all_position_zero",
        {"positions": lambda length, offset: numpy.zeros(length)},
        Message("every row is that of position 0: the position is not used", "每一行都是位置 0 的向量：没有用到位置"),
        Message("row p takes position p", "第 p 行使用位置 p"),
        hides=SOLE_ROW,
        pattern=r"arange|range|zeros",
    ),
    Mistake(
        "transposed",
        {"finish": lambda table: table.T},
        Message("rows and columns have changed places: there must be one row per position", "行列互换了：应当每个位置一行"),
        Message("return (seq_len, hidden_size)", "返回 (seq_len, hidden_size)"),
        pattern=r"\.T\b|transpose|outer|return",
    ),
    Mistake(
        "last_column_missing",
        {"finish": lambda table: numpy.where(numpy.arange(table.shape[1]) < table.shape[1] - 1, table, 0)},
        Message("the last column stays 0", "最后一列仍为 0"),
        Message(
            "an even width has as many cosines as sines; an odd one ends in a sine", "偶数宽度时正弦与余弦一样多；奇数宽度时最后一列是正弦"
        ),
        pattern=r"range|- *1",
    ),
    Mistake(
        "concatenated_with_x",
        {"add": lambda x, table: numpy.concatenate([x, numpy.broadcast_to(table(x.shape[-2]), x.shape)], axis=-1)},
        Message("positions are put beside x: the answer is twice as wide", "位置向量拼接在 x 旁边：输出宽了一倍"),
        Message("add them: x + table", "应相加：x + table"),
        pattern=r"cat|stack",
    ),
    Mistake(
        "multiplied_with_x",
        {"add": lambda x, table: x * table(x.shape[-2])},
        Message("x is multiplied by the positions", "x 乘以了位置向量"),
        Message("add them: x + table", "应相加：x + table"),
        pattern=r"\*",
    ),
    Mistake(
        "position_along_batch",
        {"add": lambda x, table: x + table(x.shape[0])[:, None] if x.ndim == 3 else x + table(x.shape[0])},
        Message(
            "positions run along the batch: all tokens of a sequence get the same vector, and each sequence another",
            "位置沿批的方向递增：同一序列的所有词向量相同，不同序列却不同",
        ),
        Message(
            "x is (batch, seq_len, hidden_size): take table[: x.shape[1]] and add it to every sequence; if yours is (seq_len, batch, hidden_size), say so in the docstring",
            "x 为 (batch, seq_len, hidden_size)：取 table[: x.shape[1]] 加到每个序列上；若你的 x 是 (seq_len, batch, hidden_size)，请在文档字符串中写明",
        ),
        hides=Message(
            "with as many sequences as tokens no shape shows it; with a single sequence (seq_len, 1, hidden_size) it would be right",
            "当批大小等于序列长度时形状看不出来",
        ),
        pattern=r"size\(0\)|shape\[0\]|len\(x\)",
    ),
    Mistake(
        "nothing_added",
        {"add": lambda x, table: x},
        Message("x comes back as it was: positions are not added", "x 原样返回：没有加上位置"),
        Message("return x + table", "返回 x + table"),
        pattern=r"return",
    ),
)
