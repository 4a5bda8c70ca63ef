"""embed: one row of the table per token id."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.message import Message


def recipe(steps: Any, token_ids: Any, table: Any) -> Any:
    """The definition as named steps: ids, look_up, scale, finish."""
    rows = steps.look_up(table, steps.ids(token_ids, table))
    return steps.finish(steps.scale({"token_ids": token_ids, "table": table}) * rows, token_ids)


STEPS = {
    "ids": lambda token_ids, table: token_ids,
    "look_up": lambda table, token_ids: table[token_ids],
    "scale": lambda inputs: 1.0,
    "finish": lambda rows, token_ids: rows,
}

ROW = Message("return table[token_ids]: row i of the table for token i", "返回 table[token_ids]：词元 i 取表的第 i 行")


def _too_narrow(table: Any, token_ids: Any) -> Any:
    return numpy.eye(int(numpy.max(token_ids)) + 1)[token_ids] @ table


def _without_first(table: Any) -> Any:
    return numpy.concatenate([numpy.zeros_like(table[:1]), table[1:]])


MISTAKES = (
    Mistake(
        "axes_exchanged",
        {"finish": lambda rows, token_ids: numpy.swapaxes(rows, 0, 1) if numpy.ndim(token_ids) > 1 else rows},
        Message("the batch and position axes are swapped: returns [position, batch]", "批轴与位置轴互换了：返回的是 [位置, 批]"),
        Message("keep the axes of token_ids and append the vector as the last axis", "保持 token_ids 的轴不变，把向量放在最后一轴"),
        hides=Message("the shape is the same when the batch size equals the sequence length", "批大小等于序列长度时形状相同"),
        pattern=r"transpose|permute|swapaxes|\.T",
    ),
    Mistake(
        "columns_taken",
        {"look_up": lambda table, token_ids: table.T[token_ids]},
        Message("takes columns of the table instead of rows", "取的是表的列，而应取行"),
        ROW,
        hides=Message("no error is raised when the table is square", "表是方阵时不会报错"),
        pattern=r"\[:, *|\.T|axis *= *1",
    ),
    Mistake(
        "columns_taken_as_they_lie",
        {"look_up": lambda table, token_ids: table[:, token_ids]},
        Message(
            "returns table[:, token_ids]: columns instead of rows, with the vector axis first",
            "返回的是 table[:, token_ids]：取的是列而不是行，向量的轴还跑到了最前面",
        ),
        ROW,
        pattern=r"\[:, *|axis *= *1",
    ),
    Mistake(
        "ids_counted_from_one",
        {"ids": lambda token_ids, table: token_ids - 1},
        Message(
            "takes row id - 1: ids start at 0, so id 0 gets the last row", "取的是第 id - 1 行：id 从 0 开始，所以 id 0 会取到最后一行"
        ),
        ROW,
        pattern=r"- *1",
    ),
    Mistake(
        "one_row_too_far",
        {"ids": lambda token_ids, table: (token_ids + 1) % table.shape[0]},
        Message("takes row id + 1, and the first row for the last id", "取的是第 id + 1 行，最后一个 id 取到第一行"),
        ROW,
        pattern=r"\+ *1",
    ),
    Mistake(
        "next_row",
        {"ids": lambda token_ids, table: token_ids + 1},
        Message("takes row id + 1: the last id is out of range", "取的是第 id + 1 行：最后一个 id 会越界"),
        ROW,
        hides=Message("no error is raised until the last id occurs", "遇到最后一个 id 之前不会报错"),
        pattern=r"\+ *1",
    ),
    Mistake(
        "positions_for_ids",
        {"ids": lambda token_ids, table: numpy.broadcast_to(numpy.arange(token_ids.shape[-1]) if token_ids.ndim else 0, token_ids.shape)},
        Message(
            "takes rows 0, 1, 2, … regardless of the ids: these are positions, not token ids",
            "无论 id 是什么，取的都是第 0、1、2……行：那是位置，而不是词元 id",
        ),
        ROW,
        hides=Message("the mistake is not visible if the ids happen to be 0, 1, 2, …", "id 恰好是 0、1、2……时看不出来"),
        pattern=r"arange|range|enumerate|\[:",
    ),
    Mistake(
        "flattened",
        {"finish": lambda rows, token_ids: rows.reshape(-1, rows.shape[-1])},
        Message("flattens batch and position into one axis", "把批与位置展平成了一个轴"),
        Message("return the shape (*token_ids.shape, hidden_size)", "返回的形状应为 (*token_ids.shape, hidden_size)"),
        hides=Message("the output is the same for a single sequence", "只有一条序列时两者相同"),
        pattern=r"reshape|flatten|ravel|view",
    ),
    Mistake(
        "one_hot_too_narrow",
        {"look_up": _too_narrow},
        Message(
            "the one-hot vectors are as wide as the largest id in the input instead of vocab_size",
            "one-hot 的宽度取自输入中最大的 id，而应取词表大小",
        ),
        Message("make the one-hot vectors table.shape[0] wide", "one-hot 的宽度应为 table.shape[0]"),
        hides=Message(
            "the width is correct by chance if the input has the last id of the vocabulary",
            "输入中恰好有词表的最后一个 id 时，宽度碰巧正确",
        ),
        pattern=r"eye|one_hot|bincount|max",
    ),
    Mistake(
        "one_hot_returned",
        {"look_up": lambda table, token_ids: numpy.eye(table.shape[0])[token_ids]},
        Message("returns one-hot vectors: the product with the table is missing", "返回的是 one-hot 向量：没有与表相乘"),
        ROW,
        hides=Message("the output is the same only if the table is the identity", "只有表是单位矩阵时两者才相同"),
        pattern=r"eye|one_hot",
    ),
    Mistake(
        "averaged",
        {"finish": lambda rows, token_ids: rows.mean(-2) if numpy.ndim(token_ids) else rows},
        Message(
            "averages the vectors over the sequence: returns one instead of one per token",
            "沿序列对向量取了平均：只返回一个，而应每个词元一个",
        ),
        ROW,
        pattern=r"mean",
    ),
    Mistake(
        "summed",
        {"finish": lambda rows, token_ids: rows.sum(-2) if numpy.ndim(token_ids) else rows},
        Message(
            "sums the vectors over the sequence: returns one instead of one per token",
            "沿序列对向量求了和：只返回一个，而应每个词元一个",
        ),
        ROW,
        pattern=r"sum|@|bincount",
    ),
    Mistake(
        "row_zero_is_zeros",
        {"look_up": lambda table, token_ids: _without_first(table)[token_ids]},
        Message("returns zeros for token 0, as if it were padding", "词元 0 得到零向量，被当成了填充"),
        Message("look up token 0 like any other", "词元 0 也要像其他词元一样查表"),
        hides=Message("the mistake is not visible in sequences without token 0", "序列中没有词元 0 时看不出来"),
        pattern=r"pad|!= *0|== *0|> *0",
    ),
    Mistake(
        "normalised",
        {"finish": lambda rows, token_ids: rows / numpy.linalg.norm(rows, axis=-1, keepdims=True)},
        Message("normalizes every vector to length 1", "把每个向量归一化成了长度 1"),
        ROW,
        pattern=r"norm",
    ),
    Mistake(
        "repeats_left_out",
        {
            "finish": lambda rows, token_ids: (
                rows[numpy.sort(numpy.unique(token_ids, return_index=True)[1])] if numpy.ndim(token_ids) == 1 else rows
            )
        },
        Message("returns a repeated token only once", "重复出现的词元只返回了一次"),
        Message("return one vector per position of the sequence", "序列的每个位置都要返回一个向量"),
        hides=Message("the mistake is not visible in sequences without repeats", "没有重复词元时看不出来"),
        pattern=r"unique|set\(|dict",
    ),
)


def _scale(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on the rows of the table."""
    random, measured = numpy.random.default_rng(2), []
    for vocab_size, hidden_size in ((7, 5), (11, 6)):
        inputs = {"token_ids": numpy.array([vocab_size - 1, 0, 2]), "table": random.standard_normal((vocab_size, hidden_size))}
        answer, right = ask(inputs), inputs["table"][inputs["token_ids"]]
        if isinstance(answer, Raised):  # it may need a batch axis
            again = ask(inputs | {"token_ids": inputs["token_ids"][None]})
            answer = again if isinstance(again, Raised) or numpy.ndim(again) != 3 else again[0]
        if isinstance(answer, Raised) or numpy.shape(answer) != right.shape:
            return []
        factor = float((answer * right).sum() / (right * right).sum())
        if numpy.abs(answer - factor * right).max() > 1e-5 * max(abs(factor), 1.0):
            return []
        measured.append((inputs, factor))
    return measured


RECOVERIES = (
    Recovery(
        "scale",
        "scale",
        measure=_scale,
        wrong=lambda number_of: number_of,
        sizes=lambda inputs: {"hidden_size": float(inputs["table"].shape[1]), "vocab_size": float(inputs["table"].shape[0])},
        right=lambda inputs: 1.0,
        right_name="1",
        says=Message("every vector is multiplied by {value}{names}", "每个向量都乘了 {value}{names}"),
        fix=ROW,
        pattern=r"sqrt|\*|/",
    ),
)

TIMES_ROOT = Convention(
    Message(
        "multiplies by √hidden_size, as Vaswani et al. do before adding positions",
        "乘了 √hidden_size，与 Vaswani 等人的论文相同（在加位置编码之前）",
    ),
    steps={"scale": lambda inputs: inputs["table"].shape[1] ** 0.5},
)


def _as_in_the_paper(ask: Any) -> Convention | None:
    """Return the convention with the factor √hidden_size if that is the measured factor."""
    measured = _scale(ask)
    is_root = measured and all(abs(number - inputs["table"].shape[1] ** 0.5) < 1e-3 for inputs, number in measured)
    return TIMES_ROOT if is_root else None


BATCH = Message("more than one sequence", "多于一条序列")
MORE = Message("ids with more than two axes", "多于两个轴的 id")
ONE = Message("a sequence of ids without a batch axis", "没有批轴的 id 序列")
SINGLE = Message("", "")


def probes() -> tuple[Probe, ...]:
    """A sequence with repeats, a batch, as many sequences as tokens, a square table, ids without the last one, a single id."""
    random = numpy.random.default_rng(8)

    def table(vocab_size: int, hidden_size: int) -> Any:
        return random.standard_normal((vocab_size, hidden_size))

    return (
        Probe("sequence", {"token_ids": numpy.array([6, 2, 0, 2]), "table": table(7, 5)}, ONE),
        Probe("short of the last id", {"token_ids": numpy.array([3, 1, 4, 0]), "table": table(7, 5)}, ONE),
        Probe("square table", {"token_ids": numpy.array([3, 1, 4, 0]), "table": table(5, 5)}, ONE),
        Probe("without token 0", {"token_ids": numpy.array([5, 6, 1]), "table": table(7, 4)}, ONE),
        Probe("batch", {"token_ids": numpy.array([[6, 2, 0], [1, 4, 4]]), "table": table(7, 5)}, BATCH),
        Probe("as many sequences as tokens", {"token_ids": numpy.array([[6, 2, 0], [1, 4, 3], [2, 0, 5]]), "table": table(7, 5)}, BATCH),
        Probe("three axes", {"token_ids": random.integers(0, 7, (2, 3, 4)), "table": table(7, 5)}, MORE),
        Probe("one id", {"token_ids": numpy.array(4), "table": table(7, 5)}, SINGLE),
    )


EXERCISE = Exercise(
    name="embed",
    title=Message("token embedding", "词嵌入"),
    definition=functions.embed,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role(
            "token_ids",
            (
                "ids",
                "tokens",
                "token_id",
                "x",
                "idx",
                "idxs",
                "index",
                "indices",
                "input_ids",
                "input",
                "inputs",
                "seq",
                "sequence",
                "token_indices",
                "in_idx",
            ),
        ),
        Role(
            "table",
            (
                "weight",
                "weights",
                "w",
                "wte",
                "embedding",
                "embeddings",
                "embedding_matrix",
                "embedding_table",
                "emb",
                "e",
                "matrix",
                "lut",
                "w_e",
                "we",
            ),
            is_weight=True,
            held_as=("embedding", "embed", "embeddings", "emb", "tok", "token", "lut", "wte", "lookup", "table"),
        ),
        Role(
            "vocab_size",
            ("num_embeddings", "n_vocab", "vocab", "v", "num_tokens", "vocabulary_size", "n_tokens"),
            is_size=True,
            size_of=lambda inputs: inputs["table"].shape[0] if "table" in inputs else None,
        ),
        Role(
            "hidden_size",
            ("embedding_dim", "d_model", "dim", "emb_dim", "n_embd", "d", "embed_dim", "embed_size", "emb_size", "embedding_size", "d_emb"),
            is_size=True,
            size_of=lambda inputs: inputs["table"].shape[1] if "table" in inputs else None,
        ),
    ),
    called=r"^(?!.*(pos|rotary|rope|sinus|patch|unembed|de_?embed|time_|output|layer_?norm|attn|attention)).*(embed|look_?up|^wte$)",
    probes=probes,
    mistakes=MISTAKES,
    conventions=((Convention(), Convention(reads=_as_in_the_paper)),),
    recoveries=RECOVERIES,
    equation="embed(token_ids) = table[token_ids]",
    hints=(
        Message("A token id is a row number of the table.", "词元 id 就是表的行号。"),
        Message(
            "A one-hot vector times the table gives that row; indexing gives the same result and costs less.",
            "one-hot 向量乘以表就得到那一行；直接索引结果相同，开销更小。",
        ),
        Message("table[token_ids]", "table[token_ids]"),
    ),
)
