"""Rotary positions: each pair of coordinates turns by position · theta^(-2i / head_dim)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Recovery, Role, Step
from headway.practice.words import Words


def recipe(
    steps: Any,
    x: Any,
    key: Any = None,
    positions: Any = None,
    offset: int = 0,
    theta: float = 10000.0,
    cos: Any = None,
    sin: Any = None,
    **sizes: Any,
) -> Any:
    """The definition in steps: positions, frequencies, widen, split, turn, join; both for query and key."""

    def turned(x: Any) -> Any:
        if cos is None:
            angles = steps.positions(x, positions, offset)[..., None] * steps.frequencies(x.shape[-1], theta)
            both = numpy.cos(angles), numpy.sin(angles)
        else:
            both = cos, sin
        a, b = steps.split(x)
        return steps.join(*steps.turn(a, b, *steps.widen(both[0]), *steps.widen(both[1])))

    return turned(x) if key is None else steps.both(turned, x, key)


def definition(
    x: Any,
    key: Any = None,
    positions: Any = None,
    offset: int = 0,
    theta: float = 10000.0,
    cos: Any = None,
    sin: Any = None,
    **sizes: Any,
) -> Any:
    """headway.functions' rotary at the positions, or with the cosines and sines that are given."""
    if x.ndim == 1:
        return definition(x[None], positions=numpy.array([positions]), theta=theta)[0]
    if cos is None:
        at = numpy.arange(offset, offset + x.shape[-2]) if positions is None else positions
        cos, sin = functions.rotary_cos_sin(at, functions.rotary_frequencies(x.shape[-1], theta=theta))
    turned = functions.rotary(x, cos, sin).astype(numpy.float32)
    return turned if key is None else (turned, functions.rotary(key, cos, sin).astype(numpy.float32))


def halves(x: Any) -> tuple[Any, Any]:
    """The first and the second half of the coordinates."""
    return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]


def by_turns(x: Any) -> tuple[Any, Any]:
    """The even and the odd coordinates."""
    return x[..., 0::2], x[..., 1::2]


def interleave(a: Any, b: Any) -> Any:
    """The inverse of by_turns."""
    return numpy.stack([a, b], axis=-1).reshape(*a.shape[:-1], -1)


def concatenate(a: Any, b: Any) -> Any:
    """The inverse of halves."""
    return numpy.concatenate([a, b], axis=-1)


def exponents(width: int) -> Any:
    """2i / head_dim, one per pair."""
    return numpy.arange(0, width, 2) / width


def powers(share: Callable[[int], Any]) -> Step:
    """Frequencies with other exponents."""
    return lambda width, theta: float(theta) ** -share(width)


def counted(x: Any, positions: Any, offset: int) -> Any:
    """The positions that are given, or one per row from the offset on."""
    return numpy.arange(x.shape[-2]) + offset if positions is None else numpy.asarray(positions)


def along_first_axis(x: Any, positions: Any, offset: int) -> Any:
    """Positions that run along the first axis, whatever that is."""
    if positions is not None or x.ndim < 3:
        return counted(x, positions, offset)
    return (numpy.arange(x.shape[0]) + offset).reshape(-1, *[1] * (x.ndim - 2))


STEPS: dict[str, Step] = {
    "positions": counted,
    "frequencies": powers(exponents),
    "split": halves,
    "widen": lambda numbers: (numbers, numbers),
    "turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b * cos_b + a * sin_b),
    "join": concatenate,
    "both": lambda turned, query, key: (turned(query), turned(key)),
}

POSITION_ZERO = Words("at position 0 nothing turns, so the first row is right", "位置 0 不旋转，所以第一行是对的")
FIRST_PAIR = Words("the first pair is right", "第一对坐标是对的")
SELF_MADE = Words(
    "a model trained with it learns all the same; weights that were trained otherwise do not work",
    "自己训练的模型照样能学；但别处训练好的权重不能用",
)
EXPONENT = r"\*\*|pow|exp|arange"
TURN = r"cat|stack|cos.*sin|sin.*cos|-"

MISTAKES = (
    Mistake(
        "exponent_not_doubled",
        {"frequencies": powers(lambda width: numpy.arange(width // 2) / width)},
        Words(
            "pair i turns by theta^(-i/d) per position; it must be theta^(-2i/d): slow pairs turn too fast",
            "第 i 对每个位置转 theta^(-i/d)，应为 theta^(-2i/d)：慢的几对转得太快",
        ),
        Words("use arange(0, d, 2) / d", "使用 arange(0, d, 2) / d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_doubled_twice",
        {"frequencies": powers(lambda width: 2 * exponents(width))},
        Words(
            "the exponent is doubled twice: with arange(0, d, 2) it is 2i already, or it is divided by half of d",
            "指数多乘了一次 2：arange(0, d, 2) 已经是 2i，或者除以了 d 的一半",
        ),
        Words("use arange(0, d, 2) / d", "使用 arange(0, d, 2) / d"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "exponent_counts_from_one",
        {"frequencies": powers(lambda width: exponents(width) + 2 / width)},
        Words(
            "pairs are counted from 1: the fastest pair must turn by 1 radian per position",
            "对的编号从 1 开始：最快的一对每个位置应转 1 弧度",
        ),
        Words(
            "the paper's exponent is 2(i - 1)/d with i from 1: that is arange(0, d, 2) / d",
            "论文的指数是 2(i - 1)/d（i 从 1 开始），即 arange(0, d, 2) / d",
        ),
        hides=POSITION_ZERO,
        pattern=r"\+ *1|arange\(1",
    ),
    Mistake(
        "last_exponent_is_one",
        {"frequencies": powers(lambda width: numpy.arange(width // 2) / max(width // 2 - 1, 1))},
        Words("the exponents run from 0 to 1 inclusive: i/(d/2 - 1)", "指数从 0 到 1（含 1）：i/(d/2 - 1)"),
        Words("use arange(0, d, 2) / d: the last exponent is (d - 2)/d", "使用 arange(0, d, 2) / d：最后一个指数是 (d - 2)/d"),
        hides=FIRST_PAIR,
        pattern=r"linspace|- *1",
    ),
    Mistake(
        "exponent_is_zero",
        {"frequencies": powers(lambda width: 0 * exponents(width))},
        Words(
            "all pairs turn alike, by 1 radian per position: the exponent is 0 (// where / is meant), or missing",
            "每一对都转得一样快（每个位置 1 弧度）：指数为 0（该用 / 却用了 //），或漏掉了",
        ),
        Words("use arange(0, d, 2) / d", "使用 arange(0, d, 2) / d"),
        hides=FIRST_PAIR,
        pattern=r"//",
    ),
    Mistake(
        "multiplied_by_power",
        {"frequencies": powers(lambda width: -exponents(width))},
        Words(
            "positions are multiplied by theta^(2i/d): the minus in the exponent, or the 1/, is missing",
            "位置乘以了 theta^(2i/d)：指数少了负号，或漏了 1/",
        ),
        Words("use 1 / theta ** (arange(0, d, 2) / d)", "使用 1 / theta ** (arange(0, d, 2) / d)"),
        hides=FIRST_PAIR,
        pattern=EXPONENT,
    ),
    Mistake(
        "theta_ignored",
        {"frequencies": lambda width, theta: 10000.0 ** -exponents(width)},
        Words("the argument for the base is not used: it is always 10000", "底数参数没有用上：始终是 10000"),
        Words("use the argument in place of 10000", "用参数代替 10000"),
        pattern=r"10000|1e4|10_000",
    ),
    Mistake(
        "offset_ignored",
        {"positions": lambda x, positions, offset: counted(x, positions, 0)},
        Words(
            "the offset is not used: with a cache every new token is turned as if it stood first",
            "没有用到 offset：使用缓存时，每个新词都按第一个位置旋转",
        ),
        Words("positions are arange(offset, offset + seq_len)", "位置应为 arange(offset, offset + seq_len)"),
        hides=Words("without a cache the offset is 0", "不用缓存时 offset 为 0"),
        pattern=r"arange|offset|start",
    ),
    Mistake(
        "positions_ignored",
        {"positions": lambda x, positions, offset: counted(x, None, offset)},
        Words("the positions that are given are not used: rows are counted from 0", "没有用到给定的位置：总是从 0 开始计数"),
        Words("take the angles at the given positions: cos[positions]", "取给定位置的角度：cos[positions]"),
        hides=Words("where the positions are 0, 1, 2, … nothing shows", "当位置恰为 0, 1, 2, … 时看不出来"),
        pattern=r"arange|\[:",
    ),
    Mistake(
        "position_along_first_axis",
        {"positions": along_first_axis},
        Words(
            "positions run along the first axis (the batch): within a sequence all tokens are turned alike, and nothing tells them apart",
            "位置沿第一轴（批）递增：同一序列内所有词旋转相同，无法区分先后",
        ),
        Words("positions run along axis -2 of (…, seq_len, head_dim)", "在 (…, seq_len, head_dim) 中，位置沿第 -2 轴递增"),
        hides=Words("on a matrix (seq_len, head_dim) the first axis is the right one", "对矩阵 (seq_len, head_dim) 来说第一轴是对的"),
        pattern=r"shape\[0\]|size\(0\)|len\(",
    ),
    Mistake(
        "positions_all_zero",
        {"positions": lambda x, positions, offset: 0 * counted(x, positions, offset)},
        Words("nothing turns: the answer is x", "没有旋转：输出就是 x"),
        Words("row p turns by p · frequency", "第 p 行旋转 p · 频率"),
        hides=POSITION_ZERO,
        pattern=r"return",
    ),
    Mistake(
        "frequencies_by_turns",
        {"widen": lambda numbers: halves(numpy.repeat(numbers, 2, axis=-1))},
        Words(
            "the angles are laid out by turns (0, 0, 1, 1, …) but the coordinates are paired in halves (i with i + d/2): "
            "the two of a pair turn by different angles, and lengths change",
            "角度按相邻排列（0, 0, 1, 1, …），坐标却按两半配对（i 与 i + d/2）：一对中的两个坐标转角不同，长度会改变",
        ),
        Words("with rotate_half lay the angles out as cat([angles, angles])", "使用 rotate_half 时，角度应为 cat([angles, angles])"),
        hides=POSITION_ZERO,
        pattern=r"repeat|stack",
    ),
    Mistake(
        "frequencies_in_halves",
        {"widen": lambda numbers: by_turns(numpy.concatenate([numbers, numbers], axis=-1))},
        Words(
            "the angles are laid out in halves (cat([angles, angles])) but the coordinates are paired by turns (2i with 2i + 1): "
            "the two of a pair turn by different angles, and lengths change",
            "角度按两半排列（cat([angles, angles])），坐标却按相邻配对（2i 与 2i + 1）：一对中的两个坐标转角不同，长度会改变",
        ),
        Words(
            "with pairs by turns repeat each angle: repeat_interleave(angles, 2)",
            "按相邻配对时，每个角度应重复两次：repeat_interleave(angles, 2)",
        ),
        hides=POSITION_ZERO,
        pattern=r"cat|tile|repeat",
    ),
    Mistake(
        "by_turns_in_halves_out",
        {"split": by_turns},
        Words(
            "pairs are taken by turns (2i with 2i + 1) but written back in halves: the coordinates come out in another order",
            "按相邻取对（2i 与 2i + 1），却按两半写回：坐标的顺序被打乱",
        ),
        Words("write them back as they were taken: stack([a, b], -1) and flatten", "按取出的方式写回：stack([a, b], -1) 再展平"),
        hides=Words(
            "query and key are reordered alike, so their scores are right; with weights or code of others they are not",
            "query 与 key 的顺序一同打乱，所以分数是对的；与别人的权重或代码一起用就不对",
        ),
        pattern=r"cat",
    ),
    Mistake(
        "halves_in_by_turns_out",
        {"join": interleave},
        Words(
            "pairs are taken in halves (i with i + d/2) but written back by turns: the coordinates come out in another order",
            "按两半取对（i 与 i + d/2），却按相邻写回：坐标的顺序被打乱",
        ),
        Words("write them back as they were taken: cat([a, b], -1)", "按取出的方式写回：cat([a, b], -1)"),
        hides=Words("query and key are reordered alike, so their scores are right", "query 与 key 的顺序一同打乱，所以分数是对的"),
        pattern=r"stack",
    ),
    Mistake(
        "turned_backwards",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b - a * sin_b)},
        Words("pairs turn the other way: the minus belongs to the first of a pair", "旋转方向反了：负号应在一对中的第一个上"),
        Words(
            "(a, b) → (a·cos - b·sin, b·cos + a·sin); rotate_half is cat([-b, a])",
            "(a, b) → (a·cos - b·sin, b·cos + a·sin)；rotate_half 为 cat([-b, a])",
        ),
        hides=SELF_MADE,
        pattern=TURN,
    ),
    Mistake(
        "minus_missing",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b + a * sin_b)},
        Words("the minus is missing: a·cos + b·sin is no rotation, and lengths change", "少了负号：a·cos + b·sin 不是旋转，长度会改变"),
        Words(
            "(a, b) → (a·cos - b·sin, b·cos + a·sin); rotate_half is cat([-b, a])",
            "(a, b) → (a·cos - b·sin, b·cos + a·sin)；rotate_half 为 cat([-b, a])",
        ),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "two_minuses",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b * cos_b - a * sin_b)},
        Words("there is a minus in both lines: no rotation, and lengths change", "两行都有负号：不是旋转，长度会改变"),
        Words("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "sine_and_cosine_exchanged",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * sin_a - b * cos_a, b * sin_b + a * cos_b)},
        Words("sine and cosine have changed places: at position 0 x must stay as it is", "正弦与余弦互换了：在位置 0，x 应保持不变"),
        Words("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        hides=SELF_MADE,
        pattern=TURN,
    ),
    Mistake(
        "half_not_exchanged",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - a * sin_a, b * cos_b + b * sin_b)},
        Words(
            "each coordinate is combined with itself, not with its partner: the two of a pair never mix",
            "每个坐标与自己组合，而不是与同对的另一个：一对坐标没有混合",
        ),
        Words("rotate_half exchanges the halves: cat([-b, a])", "rotate_half 要交换两半：cat([-b, a])"),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "not_exchanged",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + a * sin_a, b * cos_b + b * sin_b)},
        Words("it is x·cos + x·sin: the two of a pair never mix", "计算的是 x·cos + x·sin：一对坐标没有混合"),
        Words(
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
        Words("the first of a pair is overwritten before the second is computed from it", "一对中的第一个先被改写，再用来计算第二个"),
        Words("compute both from the old ones, then write: a and b are views of x", "先用旧值算出两个，再写回：a 与 b 是 x 的视图"),
        hides=POSITION_ZERO,
        pattern=r"\] *=|-=|\*=",
    ),
    Mistake(
        "only_cosine",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a, b * cos_b)},
        Words("x is multiplied by the cosine only", "x 只乘了余弦"),
        Words("add rotate_half(x) · sin", "还要加上 rotate_half(x) · sin"),
        hides=POSITION_ZERO,
        pattern=r"cos",
    ),
    Mistake(
        "second_half_not_turned",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b)},
        Words("only the first of each pair is computed; the second stays as it was", "只计算了每一对的第一个，第二个保持原样"),
        Words("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        hides=POSITION_ZERO,
        pattern=TURN,
    ),
    Mistake(
        "sine_and_cosine_added",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + sin_a, b + cos_b)},
        Words(
            "sine and cosine are added to x, as absolute positions are; rotary positions turn x",
            "把正弦与余弦加到了 x 上，那是绝对位置编码；旋转位置编码要旋转 x",
        ),
        Words("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        pattern=r"\+",
    ),
    Mistake(
        "cosine_and_sine_added",
        {"turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + cos_a, b + sin_b)},
        Words("cosine and sine are added to x; rotary positions turn x", "把余弦与正弦加到了 x 上；旋转位置编码要旋转 x"),
        Words("(a, b) → (a·cos - b·sin, b·cos + a·sin)", "(a, b) → (a·cos - b·sin, b·cos + a·sin)"),
        pattern=r"\+",
    ),
    Mistake(
        "key_not_turned",
        {"both": lambda turned, query, key: (turned(query), key)},
        Words("the key comes back as it was: only the query is turned", "key 原样返回：只旋转了 query"),
        Words("turn both by the same rule", "两者用同样的方式旋转"),
        pattern=r"return",
    ),
    Mistake(
        "query_not_turned",
        {"both": lambda turned, query, key: (query, turned(key))},
        Words("the query comes back as it was: only the key is turned", "query 原样返回：只旋转了 key"),
        Words("turn both by the same rule", "两者用同样的方式旋转"),
        pattern=r"return",
    ),
    Mistake(
        "key_from_query",
        {"both": lambda turned, query, key: (turned(query), turned(query))},
        Words("the turned key is made from the query", "旋转后的 key 是由 query 算出来的"),
        Words("turn the key itself", "应旋转 key 本身"),
        pattern=r"k\w* *=",
    ),
    Mistake(
        "query_and_key_exchanged",
        {"both": lambda turned, query, key: (turned(key), turned(query))},
        Words("key and query come back in the wrong order", "返回的 query 与 key 顺序颠倒"),
        Words("return (query, key)", "返回 (query, key)"),
        pattern=r"return",
    ),
)


def _read(ask: Any, seq_len: int, width: int) -> tuple[Any, Any] | None:
    """Each pair's first angle and its step per position, from vectors that point along the first of every pair."""
    row = numpy.concatenate([numpy.ones(width // 2), numpy.zeros(width // 2)])
    positions = {"positions": numpy.arange(seq_len)}
    for leading in ((), (2,), (2, 3)):
        x = numpy.broadcast_to(row, (*leading, seq_len, width)).copy()
        for inputs in ({"x": x}, {"x": x} | positions, {"x": x, "offset": 0}, {"x": x, "key": x}, {"x": x, "key": x} | positions):
            answer = ask(inputs)
            answer = answer[0] if isinstance(answer, tuple) and answer else answer
            if isinstance(answer, numpy.ndarray) and answer.shape == x.shape and numpy.isfinite(answer).all():
                return _angles(answer.reshape(-1, seq_len, width)[0].astype(numpy.float64))
    return None


def _angles(turned: Any) -> tuple[Any, Any] | None:
    a, b = halves(turned)
    if numpy.abs(a**2 + b**2 - 1).max() > 1e-2:
        return None
    angles = numpy.unwrap(numpy.arctan2(b, a), axis=0)
    step = (angles[-1] - angles[0]) / (len(angles) - 1)
    even = angles[0] + numpy.arange(len(angles))[:, None] * step
    return (angles[0], step) if numpy.abs(angles - even).max() < 1e-2 else None


def _theta(ask: Any) -> list[tuple[Inputs, float]]:
    """The base that the steps per position are powers of."""
    measured = []
    for seq_len, width in ((7, 8), (9, 12)):
        read = _read(ask, seq_len, width)
        if read is None or not (read[1] > 0).all() or abs(read[1][0] - 1) > 1e-3:
            return []
        bases = read[1][1:] ** (-width / (2 * numpy.arange(1, width // 2)))
        if numpy.ptp(bases) > 1e-2 * bases.max() or any(abs(bases[0] / other - 1) < 1e-2 for other in (1.0, 100.0, 1e8)):
            return []  # what the named mistakes do to the exponent reads as 1, 100 or 10⁸
        measured.append(({"x": numpy.zeros((seq_len, width))}, float(numpy.median(bases))))
    return measured


def _offset(ask: Any) -> list[tuple[Inputs, float]]:
    """The position that row 0 stands for, read from the pair that turns slowest."""
    measured = []
    for seq_len, width in ((7, 8), (9, 12)):
        read = _read(ask, seq_len, width)
        if read is None or not read[1][-1] > 0:
            return []
        measured.append(({"x": numpy.zeros((seq_len, width))}, float(round(read[0][-1] / read[1][-1], 2))))
    return measured


def _given_or(number_of: Callable[[Inputs], float]) -> Step:
    return lambda width, theta: (number_of({}) if theta == 10000.0 else float(theta)) ** -exponents(width)


RECOVERIES = (
    Recovery(
        "theta",
        "frequencies",
        measure=_theta,
        wrong=_given_or,
        sizes=lambda inputs: {},
        right=lambda inputs: 10000.0,
        right_name="10000",
        says=Words(
            "your base is {value}; the paper's is {right_name} (a model has its own: rope_theta in its config)",
            "你的底数是 {value}；论文中为 {right_name}（各模型以其配置中的 rope_theta 为准）",
        ),
        fix=Words("take the base as an argument, 10000 by default", "把底数作为参数，默认 10000"),
        hides=FIRST_PAIR,
        pattern=r"\d{3,}|1e\d|\d_000|log",
    ),
    Recovery(
        "offset",
        "positions",
        measure=_offset,
        wrong=lambda number_of: lambda x, positions, offset: counted(x, positions, offset) + number_of({}),
        sizes=lambda inputs: {},
        right=lambda inputs: 0.0,
        right_name="0",
        says=Words(
            "your first row is turned as position {value}; it must be {right_name}: at position 0 x stays as it is",
            "你的第一行按位置 {value} 旋转；应为 {right_name}：在位置 0，x 保持不变",
        ),
        fix=Words("count positions from 0", "位置从 0 开始计数"),
        hides=Words(
            "scores depend on distances only, so they are right; a cache of keys that were turned otherwise is not",
            "分数只取决于距离，所以是对的；但与按其他位置旋转的缓存不一致",
        ),
        pattern=r"arange|range",
    ),
)


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The change of an array, or of each of a tuple's."""
    return lambda answer: tuple(map(change, answer)) if isinstance(answer, tuple) else change(answer)


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.ndim > 0


def _operands(change: Callable[[Any], Any]) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {name: change(inputs[name]) for name in ("x", "key") if inputs.get(name) is not None}


def _single_precision(answer: Any, inputs: Inputs) -> Any:
    """Angles in float32 are as right as in float64."""
    return _each(lambda each: each.astype(numpy.float32) if _is_array(each) and each.dtype == numpy.float64 else each)(answer)


def _in_halves(answer: Any, inputs: Inputs) -> Any:
    return _each(lambda each: concatenate(*by_turns(each)) if _is_array(each) else each)(answer)


def _heads_last(x: Any) -> Any:
    return x.swapaxes(1, 2) if _is_array(x) and x.ndim == 4 else x


def _with_angles(change: Callable[[Any], Any]) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {name: change(inputs[name]) for name in ("cos", "sin") if inputs.get(name) is not None}


def _as_complex(inputs: Inputs) -> Inputs | None:
    if inputs.get("cos") is None:
        return None
    rest = {name: value for name, value in inputs.items() if name not in ("cos", "sin")}
    return rest | {"freqs_cis": inputs["cos"] + 1j * inputs["sin"]}


def _as_angles(inputs: Inputs) -> Inputs | None:
    if inputs.get("cos") is None:
        return None
    rest = {name: value for name, value in inputs.items() if name not in ("cos", "sin")}
    return rest | {"angles": numpy.arctan2(inputs["sin"], inputs["cos"])}


def _as_slice(inputs: Inputs) -> Inputs:
    return (
        inputs if inputs.get("offset") is None else inputs | {"offset": slice(inputs["offset"], inputs["offset"] + inputs["x"].shape[-2])}
    )


def _per_sequence(inputs: Inputs) -> Inputs:
    positions = inputs.get("positions")
    return inputs if positions is None else inputs | {"positions": numpy.asarray(positions)[None]}


PRECISION = (Convention(decode=_single_precision),)
LAYOUT = (
    Convention(
        Words(
            "it pairs coordinate i with i + head_dim/2 (halves, as Hugging Face's Llama)",
            "它把坐标 i 与 i + head_dim/2 配对（两半，与 Hugging Face 的 Llama 相同）",
        )
    ),
    Convention(
        Words("it pairs coordinate 2i with 2i + 1 (interleaved, as the paper)", "它把坐标 2i 与 2i + 1 配对（相邻，与论文相同）"),
        encode=_operands(lambda x: interleave(*halves(x))),
        decode=_in_halves,
    ),
)
AXES = (
    Convention(),
    Convention(
        Words(
            "its x is (batch, seq_len, heads, head_dim): positions run along axis 1; if yours is (batch, heads, seq_len, head_dim), "
            "it turns heads and not positions",
            "它的 x 为 (batch, seq_len, heads, head_dim)：位置沿第 1 轴；若你的是 (batch, heads, seq_len, head_dim)，它旋转的就是头而不是位置",
        ),
        encode=_operands(_heads_last),
        decode=lambda answer, inputs: _each(_heads_last)(answer),
        role="x",
    ),
)
ANGLES = (
    Convention(),
    Convention(
        Words("its cos and sin are as wide as x, in two equal halves", "它的 cos 与 sin 与 x 同宽，由相同的两半组成"),
        encode=_with_angles(lambda each: concatenate(each, each)),
        role="cos",
    ),
    Convention(
        Words("its cos and sin are as wide as x, each number twice", "它的 cos 与 sin 与 x 同宽，每个数重复两次"),
        encode=_with_angles(lambda each: numpy.repeat(each, 2, axis=-1)),
        role="cos",
    ),
    Convention(
        Words(
            "its cos and sin are (batch, seq_len, head_dim), in two equal halves",
            "它的 cos 与 sin 为 (batch, seq_len, head_dim)，由相同的两半组成",
        ),
        encode=_with_angles(lambda each: concatenate(each, each)[None]),
        role="cos",
    ),
    Convention(Words("its angles are complex numbers cos + i·sin", "它的角度是复数 cos + i·sin"), encode=_as_complex, role="freqs_cis"),
    Convention(Words("it takes angles in radians", "它接收弧度制的角度"), encode=_as_angles, role="angles"),
)
POSITIONS = (
    Convention(),
    Convention(Words("its offset is a slice of positions", "它的 offset 是位置的切片"), encode=_as_slice, role="offset"),
    Convention(Words("its positions are (batch, seq_len)", "它的 positions 为 (batch, seq_len)"), encode=_per_sequence, role="positions"),
)
BASES = (
    Convention(),
    Convention(
        Words("it was told the base 10000, which is not its default", "检查时传入的底数是 10000，与它的默认值不同"),
        encode=lambda inputs: {"theta": 10000.0} | inputs,
        role="theta",
    ),
)

VECTOR = Words("a single vector", "单个向量")
ROWS = Words("several positions at once", "一次多个位置")
MATRIX = Words("x without leading axes", "没有前导轴的 x")
BATCH = Words("x with three axes", "三个轴的 x")
HEADS = Words("x with batch and heads", "带批与头的 x")


def probes() -> tuple[Probe, ...]:
    """One vector; sequences of distinct sizes with one, no and both leading axes; another base, offset, positions; angles that are given."""
    random = numpy.random.default_rng(13)

    def given(seq_len: int, width: int) -> Inputs:
        angles = (numpy.arange(seq_len) + 2)[:, None] * 0.7 ** numpy.arange(width // 2)
        return {"cos": numpy.cos(angles), "sin": numpy.sin(angles)}

    matrix, batch, heads = (random.standard_normal((*leading, 5, 8)) for leading in ((), (3,), (2, 3)))
    square, vector = random.standard_normal((6, 6, 6, 6)), random.standard_normal(6)
    keys = random.standard_normal((2, 3, 5, 8))
    shuffled = numpy.array([4, 0, 7, 7, 2])
    return (
        Probe("heads", {"x": heads}, HEADS),
        Probe("heads, square", {"x": square}, HEADS),
        Probe("batch", {"x": batch}, BATCH),
        Probe("matrix", {"x": matrix}, MATRIX),
        Probe("another base", {"x": heads, "theta": 300.0}, HEADS),
        Probe("another base, matrix", {"x": matrix, "theta": 300.0}, MATRIX),
        Probe("offset", {"x": heads, "offset": 3}, HEADS),
        Probe("offset, matrix", {"x": matrix, "offset": 3}, MATRIX),
        Probe("positions", {"x": heads, "positions": shuffled}, HEADS),
        Probe("positions, batch", {"x": batch, "positions": shuffled}, BATCH),
        Probe("positions, matrix", {"x": matrix, "positions": shuffled}, MATRIX),
        Probe("one vector", {"x": vector, "positions": 3}, VECTOR),
        Probe("angles given", {"x": heads, **given(5, 8)}, HEADS),
        Probe("angles given, matrix", {"x": matrix, **given(5, 8)}, MATRIX),
        Probe("query and key", {"x": heads, "key": keys}, HEADS),
        Probe("query and key, positions", {"x": heads, "key": keys, "positions": shuffled}, HEADS),
        Probe("query and key, angles given", {"x": heads, "key": keys, **given(5, 8)}, HEADS),
    )


def _length(inputs: Inputs) -> Any:
    """As many positions as a table must hold: those of x, behind the offset, or up to the last that is given."""
    x, offset = inputs.get("x"), inputs.get("offset") or 0
    if x is None or x.ndim < 2:
        return None
    last = 0 if inputs.get("positions") is None else int(numpy.max(inputs["positions"])) + 1
    rows = max(x.shape[1:-1]) if x.ndim == 4 else x.shape[-2]  # heads may stand before or behind the positions, and are fewer
    return max(rows + (offset.start if isinstance(offset, slice) else offset), last)


EXERCISE = Exercise(
    name="rotary",
    title=Words("rotary positions", "旋转位置编码"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role(
            "x",
            (
                "q",
                "query",
                "queries",
                "xq",
                "in_query_or_key",
                "t",
                "tensor",
                "hidden_states",
                "input",
                "inputs",
                "vec",
                "vector",
                "h",
                "qk",
            ),
        ),
        Role("positions", ("position_ids", "token_positions", "pos", "position", "input_pos", "pos_ids", "m", "idx", "p")),
        Role("key", ("k", "xk", "keys")),
        Role("theta", ("base", "rope_theta", "rope_base", "theta_base", "freq_base", "max_period", "n"), neutral=10000.0),
        Role(
            "offset",
            ("start_pos", "start", "cache_len", "past_len", "position_offset", "seq_offset", "start_index", "pos_offset"),
            neutral=0,
        ),
        Role("cos", ("cos_cached", "cosine", "cosines", "c", "cos_table")),
        Role("sin", ("sin_cached", "sine", "sines", "s", "sin_table")),
        Role("freqs_cis", ("freqs_complex", "cis", "freqs_ci", "rotations", "freq_cis")),
        Role("angles", ("freqs", "angle", "thetas", "pos_emb", "rotary_emb")),
        Role(
            "head_dim",
            ("d_k", "dim", "dims", "d", "d_head", "head_size", "d_model", "hidden_size", "rotary_dim", "dh"),
            is_size=True,
            size_of=lambda inputs: inputs["x"].shape[-1] if inputs.get("x") is not None else None,
        ),
        Role("seq_len", ("length", "l", "seq_length", "seqlen"), is_size=True, size_of=_length),
        Role(
            "max_seq_len",
            (
                "max_len",
                "max_length",
                "max_position_embeddings",
                "context_length",
                "context_size",
                "end",
                "max_seq_length",
                "block_size",
                "max_position",
            ),
            is_size=True,
            size_of=lambda inputs: 16,
        ),
    ),
    called=r"(?<![a-z])rope(?!_?(param|freq|cache|cos|angle|table|theta|init))|apply_?rope|rotary(?!.*(param|freq|cos|angle|table|cache))|apply_?rot",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(PRECISION, LAYOUT, POSITIONS, ANGLES, BASES, AXES),
    recoveries=RECOVERIES,
    equation="(a, b) → (a · cos φ - b · sin φ, b · cos φ + a · sin φ),   φ = position · 10000^(-2i / head_dim)",
    hints=(
        Words(
            "Coordinates turn in pairs, each pair at its own speed; at position 0 nothing turns, and lengths never change.",
            "坐标两两旋转，每一对速度不同；位置 0 不旋转，长度始终不变。",
        ),
        Words("The angle of pair i at position p is p · 10000^(-2i / head_dim).", "位置 p 处第 i 对的角度是 p · 10000^(-2i / head_dim)。"),
        Words("With a, b = halves of x: cat([a·cos - b·sin, b·cos + a·sin])", "设 a, b 为 x 的两半：cat([a·cos - b·sin, b·cos + a·sin])"),
    ),
)
