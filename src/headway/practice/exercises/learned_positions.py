"""Learned positions: one trained row of a table per position, added to the token vector."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.arrays import asarray_like
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Role, Step
from headway.practice.message import Message


def recipe(
    steps: Any,
    table: Any,
    x: Any = None,
    positions: Any = None,
    token_ids: Any = None,
    token_table: Any = None,
    offset: int = 0,
    **sizes: Any,
) -> Any:
    """The definition as named steps: tokens, given, counted, rows, scale, add; only the rows if there is nothing to add them to."""
    if token_ids is not None:
        x = steps.tokens(token_table, token_ids, table)
    if x is None:
        return steps.rows(table, steps.given(positions), None)
    at = steps.counted(x.shape[-2], offset) if positions is None else steps.given(positions)
    return steps.add(steps.scale(x), steps.rows(table, at, token_ids), table)


def definition(
    table: Any, x: Any = None, positions: Any = None, token_ids: Any = None, token_table: Any = None, offset: int = 0, **sizes: Any
) -> Any:
    """Return headway.functions' learned_positions, added to x or to the embedded token ids if given."""
    if token_ids is not None:
        x = functions.embed(token_ids, token_table)
    if x is None:
        return functions.learned_positions(positions, table)
    at = asarray_like(range(offset, offset + x.shape[-2]), table) if positions is None else positions
    return x + functions.learned_positions(at, table)


def along_batch(x: Any, rows: Any, table: Any) -> Any:
    """Add the rows along the first axis."""
    return x + (table[: x.shape[0]][:, None] if x.ndim == 3 else table[: x.shape[0]])


STEPS: dict[str, Step] = {
    "tokens": lambda token_table, token_ids, table: token_table[token_ids],
    "given": lambda positions: positions,
    "counted": lambda length, offset: numpy.arange(length) + offset,
    "rows": lambda table, at, token_ids: table[at],
    "scale": lambda x: x,
    "add": lambda x, rows, table: x + rows,
}

ZERO = Message("the output is correct at position 0", "位置 0 是对的")

MISTAKES = (
    Mistake(
        "counted_from_one",
        {"counted": lambda length, offset: numpy.arange(length) + offset + 1},
        Message(
            "positions start at 1: the first token gets row 1, and row 0 is never used",
            "位置从 1 开始计数：第一个词元取了第 1 行，第 0 行从未用到",
        ),
        Message("start at 0: arange(seq_len)", "从 0 开始：arange(seq_len)"),
        hides=Message(
            "a model trained this way works; a table trained with positions from 0 does not",
            "这样训练的模型照样能用；从 0 计位置训练的表则不行",
        ),
        pattern=r"\+ *1|arange\(1|range\(1",
    ),
    Mistake(
        "counted_backwards",
        {"counted": lambda length, offset: numpy.arange(length)[::-1] + offset},
        Message("positions are counted from the end", "位置从末尾开始倒数"),
        Message("count from the start: the first token has position 0", "从开头计数：第一个词元是位置 0"),
        pattern=r"::-1|flip|reverse",
    ),
    Mistake(
        "last_rows_taken",
        {"rows": lambda table, at, token_ids: table[len(table) - len(at) :] if numpy.ndim(at) else table[at]},
        Message("takes the last rows of the table instead of the first", "取了表的最后几行，而应取前几行"),
        Message("use table[:seq_len]", "使用 table[:seq_len]"),
        hides=Message("the output is the same when the sequence is as long as the table", "序列与表同长时两者相同"),
        pattern=r"\[-",
    ),
    Mistake(
        "row_zero_for_all",
        {"rows": lambda table, at, token_ids: table[numpy.zeros_like(at)]},
        Message("every token gets row 0: the position is not used", "每个词元都取第 0 行：没有用到位置"),
        Message("use row p for token p", "第 p 个词元取第 p 行"),
        hides=ZERO,
        pattern=r"\[0\]|zeros",
    ),
    Mistake(
        "last_row_for_all",
        {"rows": lambda table, at, token_ids: table[numpy.full_like(at, numpy.asarray(at).ravel()[-1])]},
        Message("every token gets the row of the last position", "每个词元都取最后一个位置的行"),
        Message(
            "use row p for token p: a slice, table[:seq_len], not a single row, table[seq_len - 1]",
            "第 p 个词元取第 p 行：用切片 table[:seq_len]，而不是单独一行 table[seq_len - 1]",
        ),
        pattern=r"\[",
    ),
    Mistake(
        "positions_from_zero_always",
        {"given": lambda positions: numpy.arange(positions.shape[-1])},
        Message("the given positions are not used: rows are counted from 0", "没有使用给定的位置：总是从 0 开始计数"),
        Message("use table[positions]", "使用 table[positions]"),
        hides=Message("the mistake is not visible when the positions are 0, 1, 2, …", "位置恰为 0、1、2……时看不出来"),
        pattern=r"arange|\[:",
    ),
    Mistake(
        "offset_ignored",
        {"counted": lambda length, offset: numpy.arange(length)},
        Message("the offset is not used: with a cache each new token gets row 0", "没有用到 offset：使用缓存时，每个新词元都取第 0 行"),
        Message("use table[offset : offset + seq_len]", "使用 table[offset : offset + seq_len]"),
        hides=Message("the offset is 0 without a cache", "不用缓存时 offset 为 0"),
        pattern=r"arange|\[:",
    ),
    Mistake(
        "token_ids_as_positions",
        {"rows": lambda table, at, token_ids: table[at if token_ids is None else token_ids]},
        Message(
            "looks up the position table by token ids: the order of the tokens has no effect", "用词元 id 去查位置表：词元的顺序不起作用"
        ),
        Message("look it up by 0, 1, 2, …: table[arange(seq_len)]", "按 0、1、2……查表：table[arange(seq_len)]"),
        hides=Message("no error is raised as long as all ids are below max_seq_len", "id 小于 max_seq_len 时不会报错"),
        pattern=r"wpe|pos",
    ),
    Mistake(
        "position_along_batch",
        {"add": along_batch},
        Message(
            "positions run along the batch axis: all tokens of a sequence get the same row, different for each sequence",
            "位置沿批轴递增：同一序列的所有词元取同一行，不同序列却不同",
        ),
        Message("count positions along axis -2: table[: x.shape[-2]]", "沿第 -2 轴计位置：table[: x.shape[-2]]"),
        hides=Message("no error is raised when the batch size equals the sequence length", "批大小等于序列长度时不会报错"),
        pattern=r"shape\[0\]|size\(0\)|len\(",
    ),
    Mistake(
        "table_not_cropped",
        {"add": lambda x, rows, table: x + table},
        Message("adds the whole table: sequences shorter than the table raise an error", "加上了整个表：比表短的序列会报错"),
        Message("add table[:seq_len]", "加上 table[:seq_len]"),
        hides=Message("no error is raised when the sequence is as long as the table", "序列与表同长时不会报错"),
        pattern=r"\+",
    ),
    Mistake(
        "positions_not_added",
        {"add": lambda x, rows, table: x},
        Message(
            "positions are not added: permuting the tokens only permutes the output",
            "没有加上位置：交换词元的顺序，输出只是跟着交换",
        ),
        Message("return x + table[:seq_len]", "返回 x + table[:seq_len]"),
        pattern=r"return",
    ),
    Mistake(
        "x_not_added",
        {"add": lambda x, rows, table: numpy.broadcast_to(rows, x.shape)},
        Message("returns only the rows of the table: the tokens are lost", "只返回了表中的行：丢掉了词向量"),
        Message("return x + table[:seq_len]", "返回 x + table[:seq_len]"),
        pattern=r"return",
    ),
    Mistake(
        "multiplied",
        {"add": lambda x, rows, table: x * rows},
        Message("multiplies x by the rows instead of adding them", "x 乘以了表中的行，而应相加"),
        Message("add them: x + table[:seq_len]", "把它们相加：x + table[:seq_len]"),
        pattern=r"\*",
    ),
    Mistake(
        "concatenated",
        {"add": lambda x, rows, table: numpy.concatenate([x, numpy.broadcast_to(rows, x.shape)], axis=-1)},
        Message(
            "concatenates the positions with x instead of adding them: the output is twice as wide",
            "把位置向量与 x 拼接，而不是相加：输出宽了一倍",
        ),
        Message("add them: x + table[:seq_len]", "把它们相加：x + table[:seq_len]"),
        pattern=r"cat|stack",
    ),
    Mistake(
        "tables_exchanged",
        {
            "tokens": lambda token_table, token_ids, table: table[token_ids],
            "rows": lambda table, at, token_ids: table[at],
            "add": lambda x, rows, table: x,
        },
        Message("looks up tokens in the position table", "用位置表去查词元"),
        Message(
            "look up tokens in the token table (vocab_size rows), positions in the position table (max_seq_len rows)",
            "词元查词嵌入表（vocab_size 行），位置查位置表（max_seq_len 行）",
        ),
        hides=Message("no error is raised as long as all ids are below max_seq_len", "id 小于 max_seq_len 时不会报错"),
        pattern=r"wpe|pos",
    ),
)


def _without(inputs: Inputs, *names: str) -> Inputs:
    return {name: value for name, value in inputs.items() if name not in names}


def _ids_as_x(inputs: Inputs) -> Inputs:
    return _without(inputs, "token_ids") | {"x": inputs["token_ids"]} if inputs.get("token_ids") is not None else inputs


def _positions_as_ids(inputs: Inputs) -> Inputs:
    is_alone = inputs.get("positions") is not None and inputs.get("x") is None
    return _without(inputs, "positions") | {"token_ids": inputs["positions"]} if is_alone else inputs


def _length_only(inputs: Inputs) -> Inputs | None:
    positions = inputs.get("positions")
    if positions is None or inputs.get("x") is not None:
        return inputs
    if not numpy.array_equal(positions, numpy.arange(len(positions))):
        return None
    return _without(inputs, "positions") | {"seq_len": len(positions)}


def _listed(inputs: Inputs) -> Inputs:
    return inputs | {name: inputs[name].tolist() for name in ("token_ids", "positions") if inputs.get(name) is not None}


def _without_leading(answer: Any, inputs: Inputs) -> Any:
    is_rows = inputs.get("x") is None and inputs.get("token_ids") is None
    return answer[0] if is_rows and numpy.ndim(answer) == 3 and len(answer) == 1 else answer


def _sum_of(answer: Any, inputs: Inputs) -> Any:
    x = inputs.get("x")
    is_rows = isinstance(answer, numpy.ndarray) and x is not None and answer.shape[-2:] == x.shape[-2:]
    return x + answer if is_rows else answer


TAKES = (
    Convention(decode=_without_leading),
    Convention(encode=_ids_as_x, decode=_without_leading, role="token_table"),
    Convention(encode=_positions_as_ids, decode=_without_leading, role="token_ids"),
    Convention(
        Message("takes the number of positions", "接收的是位置的个数"), encode=_length_only, decode=_without_leading, role="seq_len"
    ),
)
LISTS = (Convention(), Convention(encode=_listed, role="token_ids"))
ADDS = (
    Convention(),
    Convention(Message("returns only the rows; the caller adds them", "只返回表中的行，由调用者相加"), decode=_sum_of, role="x"),
    Convention(
        Message(
            "multiplies the token vectors by √hidden_size before adding; GPT-2 does not", "相加之前词向量乘以 √hidden_size；GPT-2 不这样做"
        ),
        steps={"scale": lambda x: x * x.shape[-1] ** 0.5},
        called=r".",
    ),
)

BATCH = Message("a batch axis", "批轴")
ONE = Message("a sequence without a batch axis", "没有批轴的序列")


def probes() -> tuple[Probe, ...]:
    """Rows alone, rows added to vectors, rows added to embedded tokens; shorter than the table, as long, with an offset."""
    random = numpy.random.default_rng(17)
    table, token_table = random.standard_normal((11, 6)), random.standard_normal((13, 6))
    ids, batch_ids = numpy.array([9, 2, 2, 10, 0]), numpy.array([[3, 1, 4, 1, 10], [5, 9, 2, 6, 5], [0, 3, 8, 7, 1]])
    tokens = {"table": table, "token_table": token_table}
    return (
        Probe("rows", {"positions": numpy.arange(5), "table": table}),
        Probe("rows in another order", {"positions": numpy.array([4, 0, 7, 7, 2]), "table": table}),
        Probe("added", {"x": random.standard_normal((3, 5, 6)), "table": table}, BATCH),
        Probe("added, square", {"x": random.standard_normal((6, 6, 6)), "table": table}, BATCH),
        Probe("added to one sequence", {"x": random.standard_normal((5, 6)), "table": table}, ONE),
        Probe("added, as long as the table", {"x": random.standard_normal((2, 11, 6)), "table": table}, BATCH),
        Probe("added, at positions", {"x": random.standard_normal((5, 6)), "table": table, "positions": numpy.array([4, 0, 7, 7, 2])}, ONE),
        Probe("added with an offset", {"x": random.standard_normal((3, 5, 6)), "table": table, "offset": 3}, BATCH),
        Probe("tokens", {"token_ids": ids, **tokens}, ONE),
        Probe("tokens in a batch", {"token_ids": batch_ids, **tokens}, BATCH),
        Probe("tokens with an offset", {"token_ids": batch_ids, **tokens, "offset": 4}, BATCH),
    )


def _rows_of(inputs: Inputs, name: str, axis: int) -> Any:
    return inputs[name].shape[axis] if inputs.get(name) is not None else None


def _length(inputs: Inputs) -> Any:
    x, ids = inputs.get("x"), inputs.get("token_ids")
    return len(ids[0]) if ids is not None and numpy.ndim(ids) == 2 else x.shape[-2] if x is not None and x.ndim > 1 else None


EXERCISE = Exercise(
    name="learned_positions",
    title=Message("learned positions", "可学习的位置编码"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("x", ("embeddings", "embedding", "tok_emb", "token_embeddings", "inputs_embeds", "h", "hidden_states", "input")),
        Role("positions", ("pos", "position", "position_ids", "p", "pos_ids", "indices")),
        Role("token_ids", ("idx", "ids", "tokens", "input_ids", "inputs", "in_idx", "token_indices")),
        Role(
            "token_table",
            (
                "wte",
                "token_embedding",
                "tok_embedding",
                "token_embeddings_table",
                "embedding_table",
                "token_embedding_table",
                "embed",
                "tok_table",
            ),
            is_weight=True,
            is_optional=True,
            held_as=("tok", "token", "tokens", "wte", "embed", "word"),
        ),
        Role(
            "table",
            (
                "wpe",
                "pos_embedding",
                "position_embedding",
                "pos_table",
                "position_table",
                "pos_embed",
                "weight",
                "weights",
                "pe",
                "position_embedding_table",
            ),
            is_weight=True,
            held_as=("pos", "position", "positions", "positional", "wpe", "pe"),
        ),
        Role("offset", ("start_pos", "start", "past_len", "cache_len"), neutral=0),
        Role(
            "vocab_size",
            ("vocab", "n_vocab", "num_embeddings", "v"),
            is_size=True,
            size_of=lambda inputs: _rows_of(inputs, "token_table", 0),
        ),
        Role(
            "max_seq_len",
            (
                "max_len",
                "max_length",
                "block_size",
                "context_length",
                "context_size",
                "n_positions",
                "n_ctx",
                "max_position_embeddings",
                "maxlen",
            ),
            is_size=True,
            size_of=lambda inputs: _rows_of(inputs, "table", 0),
        ),
        Role(
            "hidden_size",
            ("d_model", "n_embd", "emb_dim", "embed_dim", "embedding_dim", "dim", "d", "n_embed"),
            is_size=True,
            size_of=lambda inputs: _rows_of(inputs, "table", 1),
        ),
        Role("seq_len", ("length", "t", "n", "l", "num_positions"), is_size=True, size_of=_length),
    ),
    called=r"learn(ed|able|t)_?pos|pos(ition)?(al)?_?(lookup|table|add)|add_?(learned_?)?pos|(tok|token)s?_?(and|plus)_?pos|embed_?(tokens|input|ids|and)|input_?embed|gpt2?_?embed|^wpe$",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(TAKES, LISTS, ADDS),
    equation="x[…, p, :] + table[p]",
    hints=(
        Message(
            "There is one trained vector per position; token p gets the vector of position p.",
            "每个位置有一个训练好的向量；第 p 个词元取位置 p 的向量。",
        ),
        Message("Take the first seq_len rows of the table.", "取表的前 seq_len 行。"),
        Message("x + table[: x.shape[-2]]", "x + table[: x.shape[-2]]"),
    ),
)
