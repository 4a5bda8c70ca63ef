"""Common mistakes in sinusoidal positions."""

from __future__ import annotations

import math

import numpy

from headway.practice.exercise import Mistake
from headway.practice.exercises.sinusoidal_positions.steps import alternate, columns, halves, pairs
from headway.practice.message import Message

SOLE_ROW = Message("position 0 is correct, so the first row does not show it", "位置 0 是对的，只看第一行看不出来")
FIRST_PAIR = Message("the first two columns are correct", "前两列是对的")
EXPONENT = r"\*\*|pow|exp|/"

MISTAKES = (
    Mistake(
        "sines_then_cosines",
        {"arrange": lambda table, interleaved: halves(table)},
        Message(
            "all sines are in the first half of the columns and all cosines in the second: row 0 is 0 … 0 1 … 1 instead of 0 1 0 1 … (Marian's models use halves; Vaswani et al. alternate)",
            "所有正弦在前一半，所有余弦在后一半：第 0 行是 0 … 0 1 … 1，而不是 0 1 0 1 …（Marian 等模型用两半排列；Vaswani 等的论文是交替排列）",
        ),
        Message(
            "write sines to columns 0::2 and cosines to 1::2; if halves are intended, add an argument interleaved=False",
            "正弦写入 0::2 列，余弦写入 1::2 列；若本意是两半排列，请提供参数 interleaved=False",
        ),
        hides=Message(
            "a model trained with this order works; weights trained with the other order do not",
            "用这种排列训练的模型照样能用；为另一种排列训练的权重则会出错",
        ),
        pattern=r"cat|stack",
    ),
    Mistake(
        "cosine_first",
        {"waves": lambda angles: alternate(numpy.cos(angles), numpy.sin(angles))},
        Message(
            "sine and cosine are swapped: even columns hold the cosine, odd ones the sine", "正弦与余弦互换了：偶数列是余弦，奇数列是正弦"
        ),
        Message("write the sine to columns 0::2, the cosine to 1::2", "正弦写入 0::2 列，余弦写入 1::2 列"),
        pattern=r"cos\(",
    ),
    Mistake(
        "sine_everywhere",
        {"waves": numpy.sin},
        Message("there is no cosine: every column is a sine", "没有余弦：每一列都是正弦"),
        Message("use the cosine in odd columns", "奇数列取余弦"),
        pattern=r"sin\(",
    ),
    Mistake(
        "cosine_everywhere",
        {"waves": numpy.cos},
        Message("there is no sine: every column is a cosine", "没有正弦：每一列都是余弦"),
        Message("use the sine in even columns", "偶数列取正弦"),
        pattern=r"cos\(",
    ),
    Mistake(
        "turns_by_position",
        {"waves": lambda angles: numpy.where(numpy.arange(len(angles))[:, None] % 2 == 0, numpy.sin(angles), numpy.cos(angles))},
        Message("sine and cosine alternate by position (row) instead of by column", "正弦与余弦按位置（行）交替，而不是按列交替"),
        Message("in every row, use the sine in even columns and the cosine in odd columns", "每一行中，偶数列取正弦，奇数列取余弦"),
        pattern=r"% *2|0::2|\[::2",
    ),
    Mistake(
        "exponent_by_column_doubled",
        {"exponents": lambda width: 2 * columns(width) / width},
        Message(
            "the exponent of column j is 2j/d: every column has its own frequency, and frequencies fall twice as fast; the two columns of a pair must share one",
            "第 j 列的指数是 2j/d：每列频率各不相同，且下降快了一倍；同一对的两列应共用一个频率",
        ),
        Message(
            "use the exponent 2i/d for columns 2i and 2i+1: with j = 2i that is j/d for both",
            "第 2i 与 2i+1 列的指数都用 2i/d：令 j = 2i，则两列都是 j/d",
        ),
        hides=SOLE_ROW,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_by_column",
        {"exponents": lambda width: columns(width) / width},
        Message(
            "the exponent of column j is j/d: the sines are correct, but each cosine has a different frequency than its sine",
            "第 j 列的指数是 j/d：正弦是对的，但每个余弦与同一对的正弦频率不同",
        ),
        Message("use 2·(j // 2)/d, so that columns 2i and 2i+1 share 2i/d", "使用 2·(j // 2)/d，使 2i 与 2i+1 列共用 2i/d"),
        hides=SOLE_ROW,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_not_doubled",
        {"exponents": lambda width: pairs(width) / width},
        Message(
            "the exponent of pair i is i/d; expected 2i/d: the longest wavelength is about 100 times too short",
            "第 i 对的指数是 i/d，应为 2i/d：最长的波长短了约 100 倍",
        ),
        Message("use 2i/d for pair i", "第 i 对使用 2i/d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_doubled_twice",
        {"exponents": lambda width: 4 * pairs(width) / width},
        Message(
            "the exponent is doubled once too often: for i = 0, 2, 4, … it is 2i/d; expected i/d",
            "指数多乘了一次 2：i 取 0、2、4……时用了 2i/d，应为 i/d",
        ),
        Message("count pairs and use 2i/d, or step by 2 and use i/d", "要么按对计数用 2i/d，要么步长为 2 用 i/d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_of_next_pair",
        {"exponents": lambda width: 2 * (pairs(width) + columns(width) % 2) / width},
        Message(
            "the cosine of pair i has the frequency of pair i + 1 instead of pair i", "第 i 对的余弦用了第 i + 1 对的频率，而应用第 i 对的"
        ),
        Message(
            "use the exponent 2i/d for the cosine in column 2i+1, the same as for the sine in column 2i",
            "第 2i+1 列余弦的指数用 2i/d，与第 2i 列正弦相同",
        ),
        hides=SOLE_ROW,
        pattern=r"\+ *1",
    ),
    Mistake(
        "last_exponent_is_one",
        {"exponents": lambda width: pairs(width) / max(width // 2 - 1, 1)},
        Message(
            "the exponents run from 0 to 1 inclusive, i/(d/2 - 1), as in fairseq; Vaswani et al. use 2i/d",
            "指数从 0 到 1（含 1），即 i/(d/2 - 1)，这是 fairseq 的做法；Vaswani 等用 2i/d",
        ),
        Message("use 2i/d: the last exponent is (d - 2)/d", "使用 2i/d：最后一个指数是 (d - 2)/d"),
        hides=FIRST_PAIR,
        pattern=r"- *1|linspace",
    ),
    Mistake(
        "exponent_is_zero",
        {"exponents": lambda width: numpy.zeros(width)},
        Message(
            "all columns have frequency 1: the exponent is rounded to 0 (// instead of /), or missing",
            "所有列的频率都是 1：指数被取整为 0（该用 / 却用了 //），或漏掉了指数",
        ),
        Message("divide with /, and write (2 * i) / d", "用 / 做除法，并写成 (2 * i) / d"),
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
            "log(base) / d is rounded down (//): the frequencies are integer powers of e",
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
            "computes base^(2i) / d instead of base^(2i / d): ** has higher precedence than /",
            "计算的是 base^(2i) / d，而不是 base^(2i / d)：** 的优先级高于 /",
        ),
        Message("put the exponent in parentheses: base ** (2 * i / d)", "给指数加括号：base ** (2 * i / d)"),
        hides=SOLE_ROW,
        pattern=r"\*\*|pow",
    ),
    Mistake(
        "power_of_two_first",
        {"angles": lambda positions, exponents, base: positions[:, None] / (base**2 * exponents / 2)},
        Message(
            "base ** 2 * i / d squares the base and multiplies by i / d: ** has higher precedence than *",
            "base ** 2 * i / d 先对 base 平方再乘 i / d：** 的优先级高于 *",
        ),
        Message("put the exponent in parentheses: base ** (2 * i / d)", "给指数加括号：base ** (2 * i / d)"),
        pattern=r"\*\*|pow",
    ),
    Mistake(
        "power_of_two_first_divides",
        {"angles": lambda positions, exponents, base: positions[:, None] / base**2 * exponents / 2},
        Message(
            "position / base ** 2 * i / d evaluates ** first, then / and * from left to right",
            "position / base ** 2 * i / d：先算 **，再从左到右算 / 与 *",
        ),
        Message("put the exponent in parentheses: position / base ** (2 * i / d)", "给指数加括号：position / base ** (2 * i / d)"),
        pattern=r"\*\*|pow",
    ),
    Mistake(
        "multiplied_by_power",
        {"angles": lambda positions, exponents, base: positions[:, None] * base**exponents},
        Message(
            "multiplies positions by base^(2i/d) instead of dividing: the minus in the exponent is missing",
            "位置乘以了 base^(2i/d)，而应除以它：指数少了负号",
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
        Message("the argument for the base is not used: the base is always 10000", "没有使用底数参数：始终是 10000"),
        Message("use the argument instead of 10000", "用参数代替 10000"),
        pattern=r"10000|1e4|10_000",
    ),
    Mistake(
        "offset_ignored",
        {"positions": lambda length, offset: numpy.arange(length)},
        Message(
            "the argument for the first position is not used: rows always start at position 0", "没有使用起始位置参数：总是从位置 0 开始"
        ),
        Message("start at the offset: arange(offset, offset + seq_len)", "从 offset 开始计数：arange(offset, offset + seq_len)"),
        pattern=r"arange|range",
    ),
    Mistake(
        "positions_divided_by_length",
        {"positions": lambda length, offset: (numpy.arange(length) + offset) / length},
        Message(
            "divides positions by the length: the same position gets a different vector in a sequence of another length",
            "位置除以了序列长度：同一位置在不同长度的序列中向量不同",
        ),
        Message("use the positions 0, 1, 2, … without scaling", "直接使用位置 0、1、2……，不要缩放"),
        hides=SOLE_ROW,
        pattern=r"linspace|/",
    ),
    Mistake(
        "only_first_row_written",
        {"finish": lambda table: table * (numpy.arange(len(table)) == 0)[:, None]},
        Message("only row 0 is written: all other rows stay 0", "只写了第 0 行：其余行仍为 0"),
        Message("write entire columns: table[:, 0::2] = …", "整列写入：table[:, 0::2] = …"),
        hides=SOLE_ROW,
        pattern=r"\[.*\] *=|return",
    ),
    Mistake(
        "rows_all_alike",
        {"finish": lambda table: numpy.repeat(table[-1:], len(table), axis=0)},
        Message(
            "every row has the vector of the last position: earlier rows are overwritten", "每一行都是最后一个位置的向量：前面的行被覆盖了"
        ),
        Message("write only position p to row p", "第 p 行只写位置 p 的值"),
        pattern=r"\[.*\] *=",
    ),
    Mistake(
        "rows_all_position_zero",
        {"positions": lambda length, offset: numpy.zeros(length)},
        Message("every row has the vector of position 0: the position is not used", "每一行都是位置 0 的向量：没有用到位置"),
        Message("use position p in row p", "第 p 行使用位置 p"),
        hides=SOLE_ROW,
        pattern=r"arange|range|zeros",
    ),
    Mistake(
        "transposed",
        {"finish": lambda table: table.T},
        Message("rows and columns are swapped; expected one row per position", "行列互换了；应当每个位置一行"),
        Message("return (seq_len, hidden_size)", "返回 (seq_len, hidden_size)"),
        pattern=r"\.T\b|transpose|outer|return",
    ),
    Mistake(
        "last_column_missing",
        {"finish": lambda table: numpy.where(numpy.arange(table.shape[1]) < table.shape[1] - 1, table, 0)},
        Message("the last column is never filled: it stays 0", "最后一列没有填入：仍为 0"),
        Message(
            "fill the last column: an even width has as many cosines as sines, an odd width ends with a sine",
            "填上最后一列：偶数宽度时正弦与余弦一样多，奇数宽度时最后一列是正弦",
        ),
        pattern=r"range|- *1",
    ),
    Mistake(
        "concatenated_with_x",
        {"add": lambda x, table: numpy.concatenate([x, numpy.broadcast_to(table(x.shape[-2]), x.shape)], axis=-1)},
        Message(
            "concatenates the positions with x instead of adding them: the output is twice as wide",
            "把位置向量与 x 拼接，而不是相加：输出宽了一倍",
        ),
        Message("add them: x + table", "把它们相加：x + table"),
        pattern=r"cat|stack",
    ),
    Mistake(
        "multiplied_with_x",
        {"add": lambda x, table: x * table(x.shape[-2])},
        Message("multiplies x by the positions instead of adding them", "x 乘以了位置向量，而应相加"),
        Message("add them: x + table", "把它们相加：x + table"),
        pattern=r"\*",
    ),
    Mistake(
        "position_along_batch",
        {"add": lambda x, table: x + table(x.shape[0])[:, None] if x.ndim == 3 else x + table(x.shape[0])},
        Message(
            "positions run along the batch axis: all tokens of a sequence get the same vector, different for each sequence",
            "位置沿批轴递增：同一序列的所有词元得到同一向量，不同序列却不同",
        ),
        Message(
            "for x of shape (batch, seq_len, hidden_size) add table[: x.shape[1]] to every sequence; if x is (seq_len, batch, hidden_size), write that in the docstring",
            "x 为 (batch, seq_len, hidden_size) 时，把 table[: x.shape[1]] 加到每个序列上；若 x 是 (seq_len, batch, hidden_size)，请在文档字符串中写明",
        ),
        hides=Message(
            "no error is raised when the batch size equals the sequence length; for (seq_len, 1, hidden_size) the output is correct",
            "批大小等于序列长度时不会报错；对 (seq_len, 1, hidden_size) 是对的",
        ),
        pattern=r"size\(0\)|shape\[0\]|len\(x\)",
    ),
    Mistake(
        "nothing_added",
        {"add": lambda x, table: x},
        Message("returns x unchanged: positions are not added", "原样返回了 x：没有加上位置"),
        Message("return x + table", "返回 x + table"),
        pattern=r"return",
    ),
)
