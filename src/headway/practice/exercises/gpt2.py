"""GPT-2: token and position embeddings, a stack of blocks, a final layer norm, and a head tied to the token table."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.arrays import asarray_like
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Role, Step
from headway.practice.exercises.transformer_block import EXERCISE as BLOCK
from headway.practice.message import Message
from headway.practice.recipes import blocks as of_blocks
from headway.practice.recipes.block_mistakes import MISTAKES as BLOCK_MISTAKES
from headway.practice.recipes.model_calls import model_calls


def recipe(steps: Any, token_ids: Any, wte: Any, wpe: Any, blocks: Any, ln_f: Any, num_heads: int, **rest: Any) -> Any:
    """The definition as named steps: embed, stack, last_norm, head, finish; those of recipes.blocks in each block."""
    x = steps.embed(token_ids, wte, wpe)
    x = steps.stack(x, blocks, lambda x, weights: of_blocks.block(steps, x, **weights, num_heads=num_heads))
    return steps.finish(steps.head(steps.last_norm(x, ln_f), wte))


def definition(token_ids: Any, wte: Any, wpe: Any, blocks: Any, ln_f: Any, num_heads: int, **rest: Any) -> Any:
    """Return the logits computed by headway.functions."""
    positions = asarray_like(range(token_ids.shape[-1]), token_ids)
    x = functions.embed(token_ids, wte) + functions.learned_positions(positions, wpe)
    for weights in blocks:
        x = BLOCK.definition(x, **weights, num_heads=num_heads)
    return functions.unembed(functions.layer_norm(x, ln_f["g"], ln_f["b"]), wte)


def _one_after_another(x: Any, blocks: Any, block: Any) -> Any:
    for weights in blocks:
        x = block(x, weights)
    return x


def _all_from_the_embedding(x: Any, blocks: Any, block: Any) -> Any:
    return [block(x, weights) for weights in blocks][-1]


STEPS: dict[str, Step] = {
    **of_blocks.STEPS,
    "embed": lambda token_ids, wte, wpe: wte[token_ids] + wpe[: token_ids.shape[-1]],
    "stack": _one_after_another,
    "last_norm": of_blocks.layer_norm,
    "head": lambda x, wte: x @ wte.T,
    "finish": lambda logits: logits,
}


def softmax(logits: Any) -> Any:
    """Return the softmax over the last axis, in NumPy."""
    powers = numpy.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


MISTAKES = (
    Mistake(
        "positions_missing",
        {"embed": lambda token_ids, wte, wpe: wte[token_ids]},
        Message(
            "positions are not added: token order has an effect only through the causal mask",
            "没有加上位置编码：词元的顺序只通过因果掩码起作用",
        ),
        Message("compute x = wte[inputs] + wpe[range(len(inputs))]", "计算 x = wte[inputs] + wpe[range(len(inputs))]"),
        pattern=r"wte",
    ),
    Mistake(
        "positions_by_token_id",
        {"embed": lambda token_ids, wte, wpe: wte[token_ids] + wpe[token_ids % len(wpe)]},
        Message("looks up the position table by token ids", "用词元 id 去查位置表"),
        Message("look it up by 0, 1, 2, …: wpe[range(len(inputs))]", "按 0、1、2……查表：wpe[range(len(inputs))]"),
        hides=Message("no error is raised as long as all ids are below the context size", "id 小于上下文长度时不会报错"),
        pattern=r"wpe",
    ),
    Mistake(
        "positions_from_one",
        {"embed": lambda token_ids, wte, wpe: wte[token_ids] + wpe[1 : token_ids.shape[-1] + 1]},
        Message("positions start at 1", "位置从 1 开始计数"),
        Message("start at position 0", "位置从 0 开始计数"),
        pattern=r"wpe",
    ),
    Mistake(
        "embedding_scaled",
        {"embed": lambda token_ids, wte, wpe: wte[token_ids] * wte.shape[1] ** 0.5 + wpe[: token_ids.shape[-1]]},
        Message(
            "multiplies the token vectors by √n_embd, as in Vaswani et al. 2017; GPT-2 does not",
            "词向量乘以了 √n_embd（Vaswani 等 2017 的做法）；GPT-2 不这样做",
        ),
        Message("add wte[inputs] without scaling", "直接加 wte[inputs]，不要缩放"),
        pattern=r"sqrt|\*\*",
    ),
    Mistake(
        "only_last_block",
        {"stack": _all_from_the_embedding},
        Message(
            "every block gets the embedding instead of the output of the previous block: only the last block has an effect",
            "每个模块的输入都是嵌入，而不是前一个模块的输出：只有最后一个起作用",
        ),
        Message("use x = transformer_block(x, **block) in the loop", "循环中写 x = transformer_block(x, **block)"),
        hides=Message("the mistake is not visible with a single block", "只有一个模块时看不出来"),
        pattern=r"for ",
    ),
    Mistake(
        "only_first_block",
        {"stack": lambda x, blocks, block: block(x, blocks[0])},
        Message("applies only the first block, or only its weights", "只用了第一个模块，或只用了它的权重"),
        Message("apply all blocks, one after another", "依次使用所有模块"),
        hides=Message("the mistake is not visible with a single block", "只有一个模块时看不出来"),
        pattern=r"for |return",
    ),
    Mistake(
        "blocks_backwards",
        {"stack": lambda x, blocks, block: _one_after_another(x, blocks[::-1], block)},
        Message("applies the blocks from last to first", "从后往前依次使用模块"),
        Message("apply the blocks in order", "按顺序使用模块"),
        pattern=r"for |revers",
    ),
    Mistake(
        "last_norm_missing",
        {"last_norm": lambda x, ln_f: x},
        Message("the final layer norm (ln_f) is missing", "缺少最后的层归一化（ln_f）"),
        Message("return layer_norm(x, **ln_f) @ wte.T", "返回 layer_norm(x, **ln_f) @ wte.T"),
        pattern=r"ln_f|return",
    ),
    Mistake(
        "hidden_states_returned",
        {"head": lambda x, wte: x},
        Message("returns hidden states: the output head is missing", "返回的是隐藏状态：缺少输出层"),
        Message("multiply by the token table: x @ wte.T", "乘以词嵌入表：x @ wte.T"),
        pattern=r"return",
    ),
    Mistake(
        "probabilities_returned",
        {"finish": softmax},
        Message(
            "applies softmax to the logits: a loss or temperature that applies it again is then wrong",
            "对 logits 做了 softmax：之后再做 softmax 的损失函数与温度都会出错",
        ),
        Message("return the logits", "返回 logits"),
        hides=Message("the most likely token is the same", "最可能的词元不变"),
        pattern=r"softmax",
    ),
    Mistake(
        "only_last_position_returned",
        {"finish": lambda logits: logits[..., -1, :]},
        Message(
            "returns only the logits of the last position: correct for generation, not for training",
            "只返回了最后一个位置的 logits：用于生成可以，用于训练不行",
        ),
        Message(
            "return the logits of all positions; take [-1] where the next token is chosen", "返回所有位置的 logits；选下一个词元时再取 [-1]"
        ),
        pattern=r"-1",
    ),
    *BLOCK_MISTAKES,
)


def _listed(inputs: Inputs) -> Inputs:
    return inputs | {"token_ids": inputs["token_ids"].tolist()}


TAKES = (Convention(), Convention(encode=_listed))


def _first_of_two(answer: Any, inputs: Inputs) -> Any:
    return answer[0] if isinstance(answer, tuple) and len(answer) == 2 else answer


RETURNS = (
    Convention(),
    Convention(
        Message("returns (logits, loss)", "返回 (logits, loss)"),
        decode=_first_of_two,
    ),
    Convention(
        Message(
            "without targets, returns only the logits of the last position: correct for generation; training passes targets",
            "没有 targets 时只返回最后一个位置的 logits：用于生成是对的，训练时会传入 targets",
        ),
        decode=_first_of_two,
        steps={"finish": lambda logits: logits[..., -1:, :]},
        source=r"targets",
    ),
)
BATCH = Message("a batch of texts", "一批文本")
ONE = Message("a single text without a batch axis", "没有批轴的单个文本")


def probes() -> tuple[Probe, ...]:
    """Models of one and two blocks, with a single text and with a batch."""
    random = numpy.random.default_rng(43)

    def model(vocab_size: int, max_seq_len: int, width: int, num_blocks: int, num_heads: int, inner: int | None = None) -> Inputs:
        return {
            "wte": random.standard_normal((vocab_size, width)),
            "wpe": random.standard_normal((max_seq_len, width)),
            "blocks": [of_blocks.weights(random, width, inner or 2 * width + 1) for _ in range(num_blocks)],
            "ln_f": {"g": 1 + 0.4 * random.standard_normal(width), "b": 0.4 * random.standard_normal(width)},
            "num_heads": num_heads,
        }

    small, single, usual = model(11, 9, 6, 2, 3), model(5, 8, 4, 1, 2), model(11, 9, 6, 2, 3, inner=24)
    return (
        Probe("text", {"token_ids": numpy.array([3, 10, 3, 0, 8]), **small}, ONE),
        Probe("one block", {"token_ids": numpy.array([4, 1, 2]), **single}, ONE),
        Probe("batch", {"token_ids": numpy.array([[3, 10, 3, 0, 8], [7, 7, 1, 2, 9]]), **small}, BATCH),
        Probe(
            "batch, inner width four times the hidden size", {"token_ids": numpy.array([[3, 10, 3, 0, 8], [7, 7, 1, 2, 9]]), **usual}, BATCH
        ),
    )


EXERCISE = Exercise(
    name="gpt2",
    title=Message("GPT-2", "GPT-2"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("token_ids", ("inputs", "idx", "ids", "tokens", "input_ids", "x", "in_idx")),
        Role("wte", ("token_embedding", "tok_emb", "token_table", "embedding")),
        Role("wpe", ("position_embedding", "pos_emb", "position_table")),
        Role("blocks", ("layers", "h", "transformer_blocks", "block_weights")),
        Role("ln_f", ("final_norm", "norm", "lnf", "ln_final", "norm_f")),
        Role("num_heads", ("n_head", "n_heads", "heads")),
    ),
    called=r"^gpt_?2?(_?(model|forward|lm|logits))?$|^(transformer|decoder)_?forward$",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(TAKES, RETURNS, of_blocks.GELUS, of_blocks.EPSILONS),
    equation="norm(blocks(wte[token_ids] + wpe[positions])) @ wteᵀ",
    hints=(
        Message(
            "Token and position vectors are added; each block takes the output of the previous one.",
            "词向量与位置向量相加；每个模块以前一个的输出为输入。",
        ),
        Message(
            "The last block is followed by a final layer norm; the head is the token table.",
            "最后一个模块之后还有一次层归一化；输出层就是词嵌入表本身。",
        ),
        Message(
            "x = wte[ids] + wpe[:len(ids)]; for b in blocks: x = block(x, **b); return layer_norm(x, **ln_f) @ wte.T",
            "x = wte[ids] + wpe[:len(ids)]; for b in blocks: x = block(x, **b); return layer_norm(x, **ln_f) @ wte.T",
        ),
    ),
    is_trained_through=False,
    calls=model_calls,
)
