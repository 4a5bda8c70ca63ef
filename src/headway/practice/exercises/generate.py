"""Greedy generation: ask the model for the next token, append it, and ask again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Role, Step
from headway.practice.recipes.toy_model import ToyModel
from headway.practice.words import Words


def recipe(steps: Any, model: Any, prompt: Any, max_new_tokens: int, eos: Any = None, **rest: Any) -> Any:
    """The definition in steps, per row: count, window, at, choose, append, stop, give."""
    rows = [_completed(steps, steps.model(model), row.tolist(), max_new_tokens, eos) for row in numpy.atleast_2d(prompt)]
    answer = steps.batch(rows)
    return answer[0] if numpy.ndim(prompt) == 1 else answer


def _completed(steps: Any, model: Any, prompt: list[int], max_new_tokens: int, eos: int | None) -> numpy.ndarray:
    ids = list(prompt)
    for _ in range(steps.count(max_new_tokens, len(prompt))):
        logits = model.logits(numpy.array(steps.window(ids, model.context_size, prompt)))
        token = int(steps.choose(logits, steps.at(logits)))
        is_end = steps.is_end(token, eos, ids)
        if is_end and not steps.end_is_kept:
            break
        ids = steps.append(ids, token, model.context_size)
        if is_end:
            break
    return numpy.array(steps.give(ids, prompt))


def definition(model: Any, prompt: Any, max_new_tokens: int, eos: Any = None, **rest: Any) -> Any:
    """The loop written out, over arrays."""
    if prompt.ndim == 2:
        return numpy.stack([definition(model, row, max_new_tokens, eos) for row in prompt])
    ids = prompt
    for _ in range(max_new_tokens):
        token = model.logits(ids[-model.context_size :])[-1].argmax()
        if token == eos:
            break
        ids = numpy.append(ids, token)
    return ids


STEPS: dict[str, Step] = {
    "model": lambda model: model,
    "count": lambda max_new_tokens, prompt_len: max_new_tokens,
    "window": lambda ids, context_size, prompt: ids[-context_size:],
    "at": lambda logits: logits[-1],
    "choose": lambda logits, scores: scores.argmax(),
    "is_end": lambda token, eos, ids: eos is not None and token == eos,
    "end_is_kept": False,  # type: ignore[dict-item]
    "append": lambda ids, token, context_size: [*ids, token],
    "give": lambda ids, prompt: ids,
    "batch": lambda rows: numpy.stack(rows) if len({len(row) for row in rows}) == 1 else rows,
}

LONG = Words("while the text is shorter than the context nothing shows", "文本短于上下文长度时看不出来")
LAST = r"-1|\[0\]|logits\["
CROP = r"\[.*:|context|block|crop|ctx"

MISTAKES = (
    Mistake(
        "logits_of_first_position",
        {"at": lambda logits: logits[0]},
        Words(
            "the logits of the first position are taken, not of the last: the next token depends on the first token alone",
            "取的是第一个位置的 logits，而不是最后一个：下一个词只取决于第一个词",
        ),
        Words(
            "take the last position: logits[-1], or logits[:, -1, :] in a batch", "取最后一个位置：logits[-1]，带批时为 logits[:, -1, :]"
        ),
        hides=Words("where the model is given one token the two are the same", "只输入一个词时两者相同"),
        pattern=LAST,
    ),
    Mistake(
        "logits_of_last_but_one",
        {"at": lambda logits: logits[-2] if len(logits) > 1 else logits[-1]},
        Words(
            "the logits of the last position but one are taken: they predict the token that is there already",
            "取的是倒数第二个位置的 logits：它预测的是已有的最后一个词",
        ),
        Words("take the last position: logits[-1]; the shift belongs to training", "取最后一个位置：logits[-1]；错开一位只用于训练"),
        pattern=LAST,
    ),
    Mistake(
        "mean_of_all_positions",
        {"at": lambda logits: logits.mean(0)},
        Words("the logits of all positions are averaged or summed", "把所有位置的 logits 求了平均或求和"),
        Words("take the last position: logits[-1]", "取最后一个位置：logits[-1]"),
        pattern=r"mean|sum",
    ),
    Mistake(
        "argmax_over_all_positions",
        {"choose": lambda logits, scores: logits.argmax()},
        Words(
            "argmax runs over all positions and tokens at once: the answer is a place in the flattened array, no token id",
            "argmax 同时在所有位置与所有词上进行：结果是展平数组中的位置，而不是词的 id",
        ),
        Words("take the last position first: logits[-1].argmax()", "先取最后一个位置：logits[-1].argmax()"),
        pattern=r"argmax|max\(",
    ),
    Mistake(
        "argmax_over_positions",
        {"choose": lambda logits, scores: logits.argmax(0)[-1]},
        Words(
            "argmax runs along the positions, not along the vocabulary: the answer is a position",
            "argmax 沿位置方向，而不是沿词表方向：结果是一个位置",
        ),
        Words("use axis=-1", "使用 axis=-1"),
        pattern=r"argmax|max\(",
    ),
    Mistake(
        "least_likely_taken",
        {"choose": lambda logits, scores: scores.argmin()},
        Words("the least likely token is taken", "取了最不可能的词"),
        Words("use argmax; of an ascending order the last", "使用 argmax；若按升序排列则取最后一个"),
        pattern=r"argmin|sort|\[0\]",
    ),
    Mistake(
        "context_not_cropped",
        {"window": lambda ids, context_size, prompt: ids},
        Words(
            "the text is not cropped to the context, or to one token too many: the model is given more tokens than it has positions",
            "没有按上下文长度裁剪，或裁剪得多留了一个：输入模型的词数超过了它的位置数",
        ),
        Words("give the model ids[-context_size:]", "传给模型 ids[-context_size:]"),
        hides=LONG,
        pattern=r"model\(|forward\(",
    ),
    Mistake(
        "first_tokens_kept",
        {"window": lambda ids, context_size, prompt: ids[:context_size]},
        Words(
            "the first context_size tokens are given to the model, not the last: what is newer is never seen",
            "传给模型的是最前面的 context_size 个词，而不是最后面的：新的词永远看不到",
        ),
        Words("use ids[-context_size:]", "使用 ids[-context_size:]"),
        hides=LONG,
        pattern=CROP,
    ),
    Mistake(
        "window_one_too_short",
        {"window": lambda ids, context_size, prompt: ids[-(context_size - 1) :]},
        Words("the model is given one token less than it has positions", "传给模型的词比它的位置数少一个"),
        Words("use ids[-context_size:]", "使用 ids[-context_size:]"),
        hides=LONG,
        pattern=CROP,
    ),
    Mistake(
        "cropped_tokens_lost",
        {"append": lambda ids, token, context_size: [*ids[-context_size:], token]},
        Words(
            "the cropped window replaces the text: what was cropped is missing from the answer",
            "裁剪后的窗口覆盖了全文：被裁掉的词从结果中消失",
        ),
        Words("keep the text and the window apart: window = ids[-context_size:]", "全文与窗口要分开：window = ids[-context_size:]"),
        hides=LONG,
        pattern=CROP,
    ),
    Mistake(
        "only_last_token_given",
        {"window": lambda ids, context_size, prompt: ids[-1:]},
        Words(
            "the model is given the last token only: without a cache it knows nothing of the text before",
            "只把最后一个词传给模型：没有缓存时它不知道前文",
        ),
        Words("give it the whole text, ids[-context_size:]", "应传入全文 ids[-context_size:]"),
        pattern=r"-1",
    ),
    Mistake(
        "only_prompt_given",
        {"window": lambda ids, context_size, prompt: prompt[-context_size:]},
        Words("the model is given the prompt every time: all new tokens are the same", "每次传给模型的都是提示：新的词全都一样"),
        Words("append each new token to what the model is given", "把每个新词追加到模型的输入中"),
        hides=Words("the first new token is right", "第一个新词是对的"),
        pattern=r"model\(|forward\(",
    ),
    Mistake(
        "token_not_appended",
        {"append": lambda ids, token, context_size: ids},
        Words("the new tokens are not appended: the answer is the prompt", "新的词没有追加：结果就是提示本身"),
        Words(
            "append each: ids.append(token), idx = cat([idx, token], dim=1)", "逐个追加：ids.append(token)，idx = cat([idx, token], dim=1)"
        ),
        pattern=r"append|cat",
    ),
    Mistake(
        "token_put_in_front",
        {"append": lambda ids, token, context_size: [token, *ids]},
        Words("the new token is put in front of the text", "新词放到了文本的最前面"),
        Words("append it behind: cat([idx, token])", "追加在后面：cat([idx, token])"),
        pattern=r"append|cat|insert",
    ),
    Mistake(
        "last_token_overwritten",
        {"append": lambda ids, token, context_size: [*ids[:-1], token]},
        Words("the new token replaces the last one", "新词覆盖了最后一个词"),
        Words("append it", "应追加"),
        pattern=r"\[-1\] *=",
    ),
    Mistake(
        "one_too_many",
        {"count": lambda max_new_tokens, prompt_len: max_new_tokens + 1},
        Words("one token too many is made", "多生成了一个词"),
        Words("range(max_new_tokens)", "range(max_new_tokens)"),
        pattern=r"range|while",
    ),
    Mistake(
        "one_too_few",
        {"count": lambda max_new_tokens, prompt_len: max_new_tokens - 1},
        Words("one token too few is made", "少生成了一个词"),
        Words("range(max_new_tokens)", "range(max_new_tokens)"),
        pattern=r"range|while",
    ),
    Mistake(
        "prompt_counted",
        {"count": lambda max_new_tokens, prompt_len: max(max_new_tokens - prompt_len, 0)},
        Words(
            "the tokens of the prompt are counted: the whole text has max_new_tokens tokens",
            "把提示的词也计入了：全文共 max_new_tokens 个词",
        ),
        Words("count the new tokens only; or call the argument max_length", "只计新生成的词；或把参数命名为 max_length"),
        pattern=r"range|while|len\(",
    ),
    Mistake(
        "stop_token_ignored",
        {"is_end": lambda token, eos, ids: False},
        Words("it goes on behind the stop token", "遇到停止词后仍继续生成"),
        Words("break where the new token is the stop token", "新词是停止词时应 break"),
        pattern=r"eos|stop|end",
    ),
    Mistake(
        "stop_token_of_prompt_counts",
        {"is_end": lambda token, eos, ids: eos is not None and (token == eos or eos in ids)},
        Words("a stop token in the prompt ends the text: only a new one may", "提示中的停止词也会结束生成：只有新生成的才应该"),
        Words("look at the new token only", "只看新生成的词"),
        hides=Words("prompts without the stop token do not show it", "提示中没有停止词时看不出来"),
        pattern=r"eos|stop|end| in ",
    ),
    Mistake(
        "first_row_for_all",
        {"batch": lambda rows: numpy.stack([numpy.concatenate([row[: len(row) - len(rows[0])], rows[0]]) for row in rows])},
        Words("all sequences of the batch come back as the first", "批中所有序列都返回了第一个序列"),
        Words("keep the batch axis: logits[:, -1, :].argmax(-1)", "保留批轴：logits[:, -1, :].argmax(-1)"),
        hides=Words("with a batch of one nothing shows", "批大小为 1 时看不出来"),
        pattern=r"\[0",
    ),
    Mistake(
        "prompt_twice",
        {"give": lambda ids, prompt: [*prompt, *ids]},
        Words("the prompt comes back twice", "提示返回了两次"),
        Words("ids begins with the prompt already", "ids 本来就以提示开头"),
        pattern=r"return",
    ),
    Mistake(
        "last_token_only",
        {"give": lambda ids, prompt: ids[-1:]},
        Words("only the last token comes back", "只返回了最后一个词"),
        Words("collect all of them", "应收集所有的词"),
        pattern=r"return",
    ),
)


class TinyGPT:
    """A GPT-2 of two layers with weights as picoGPT names them, for functions that take params and not a model."""

    context_size, num_heads = 16, 2

    def __init__(self) -> None:
        random = numpy.random.default_rng(41)
        width = 8

        def linear(inner: int, outer: int) -> dict[str, Any]:
            return {"w": random.standard_normal((inner, outer)) * 0.7, "b": random.standard_normal(outer) * 0.3}

        def norm() -> dict[str, Any]:
            return {"g": 1 + 0.3 * random.standard_normal(width), "b": 0.3 * random.standard_normal(width)}

        def block() -> dict[str, Any]:
            return {
                "attn": {"c_attn": linear(width, 3 * width), "c_proj": linear(width, width)},
                "mlp": {"c_fc": linear(width, 4 * width), "c_proj": linear(4 * width, width)},
                "ln_1": norm(),
                "ln_2": norm(),
            }

        self.params = {
            "wte": random.standard_normal((11, width)),
            "wpe": random.standard_normal((self.context_size, width)),
            "blocks": [block(), block()],
            "ln_f": norm(),
        }

    def logits(self, token_ids: numpy.ndarray) -> numpy.ndarray:
        """As the exercise gpt2 defines it."""
        from headway.practice.exercises.gpt2 import EXERCISE as GPT2

        if len(token_ids) > self.context_size:
            raise IndexError(f"index {len(token_ids) - 1} is out of bounds for the {self.context_size} positions of the model")
        return GPT2.answer({"token_ids": token_ids, "num_heads": self.num_heads, **self.params})


def _listed(inputs: Inputs) -> Inputs:
    return inputs | {"prompt": inputs["prompt"].tolist()}


def _as_row(inputs: Inputs) -> Inputs:
    return inputs | {"prompt": inputs["prompt"][None]} if inputs["prompt"].ndim == 1 else inputs


def _of_row(answer: Any, inputs: Inputs) -> Any:
    is_row = inputs["prompt"].ndim == 1 and isinstance(answer, numpy.ndarray) and answer.ndim == 2 and len(answer) == 1
    return answer[0] if is_row else answer


def _model_returning(form: str) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {"model": inputs["model"].returning(form)}


def _with_prompt(answer: Any, inputs: Inputs) -> Any:
    prompt = inputs["prompt"]
    if answer is None or not isinstance(answer, numpy.ndarray) or answer.ndim != prompt.ndim:
        return answer
    return numpy.concatenate([prompt, answer.astype(prompt.dtype)], axis=-1)


def _counting_prompt(inputs: Inputs) -> Inputs:
    return inputs | {"max_new_tokens": inputs["max_new_tokens"] + inputs["prompt"].shape[-1]}


TINY_GPT = TinyGPT()


def _as_params(inputs: Inputs) -> Inputs | None:
    is_short = inputs["prompt"].ndim == 1 and inputs["prompt"].size + inputs["max_new_tokens"] <= TINY_GPT.context_size
    if not is_short or "context_size" in inputs:
        return None
    rest = {name: value for name, value in inputs.items() if name != "model"}
    return rest | {"params": TINY_GPT.params, "num_heads": TINY_GPT.num_heads}


PROMPTS = (
    Convention(decode=_of_row),
    Convention(encode=_listed),
    Convention(encode=_as_row, decode=_of_row),
)
MODELS = (
    Convention(),
    Convention(encode=_as_params, steps={"model": lambda model: TINY_GPT}, role="params"),
    Convention(Words("its model returns (logits, loss)", "它的模型返回 (logits, loss)"), _model_returning("pair"), role="model"),
    Convention(
        Words("its model returns an object with .logits", "它的模型返回带 .logits 的对象"), _model_returning("attribute"), role="model"
    ),
    Convention(
        Words("its model returns the logits of the last position only", "它的模型只返回最后一个位置的 logits"),
        _model_returning("last"),
        role="model",
        named=r"next|last|scores",
    ),
    Convention(encode=_model_returning("lists"), role="model"),
)
RETURNED = (
    Convention(),
    Convention(Words("it returns the new tokens without the prompt", "它只返回新生成的词，不含提示"), decode=_with_prompt),
)
ENDS = (
    Convention(),
    Convention(Words("its answer ends with the stop token", "它的结果包含停止词"), steps={"end_is_kept": True}, role="eos"),  # type: ignore[dict-item]
)
COUNTS = (
    Convention(),
    Convention(
        Words("its length counts the prompt", "它的长度包含提示"),
        _counting_prompt,
        role="max_new_tokens",
        named=r"max_?len|total|^length|max_tokens_total|seq_?len",
    ),
)

BATCH = Words("a batch of prompts", "一批提示")
END = Words("", "")


def probes() -> tuple[Probe, ...]:
    """A short text, one that outgrows the context, a prompt longer than it; stop tokens in the completion and in the prompt; a batch."""
    model, other = ToyModel(3), ToyModel(8, context_size=4)
    short: Inputs = {"model": model, "prompt": numpy.array([1, 7, 3]), "max_new_tokens": 3}
    growing: Inputs = {"model": other, "prompt": numpy.array([2, 9]), "max_new_tokens": 7}
    long = {"model": other, "prompt": numpy.array([5, 0, 8, 8, 1, 6]), "max_new_tokens": 5}
    batch = {"model": model, "prompt": numpy.array([[4, 1, 10], [9, 2, 6]]), "max_new_tokens": 3}
    completed = definition(**growing)
    end = int(completed[4])
    return (
        Probe("short", short),
        Probe("one token", short | {"max_new_tokens": 1, "prompt": numpy.array([6])}),
        Probe("growing past the context", growing | {"context_size": 4}),
        Probe("prompt longer than the context", long | {"context_size": 4}),
        Probe("batch", batch, BATCH),
        Probe("stop token", growing | {"context_size": 4, "eos": end}),
        Probe("stop token, short", short | {"eos": int(definition(**short)[4])}),
        Probe("stop token in the prompt", short | {"eos": 7}),
    )


EXERCISE = Exercise(
    name="generate",
    title=Words("greedy generation", "贪心生成"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role(
            "model",
            ("net", "gpt", "lm", "model_fn", "f", "fn", "forward", "predict", "logits_fn", "next_token_logits", "transformer", "llm", "m"),
        ),
        Role("params", ("weights", "parameters")),
        Role("num_heads", ("n_head", "n_heads", "heads"), neutral=2),
        Role(
            "prompt",
            (
                "idx",
                "inputs",
                "ids",
                "tokens",
                "prompt_ids",
                "input_ids",
                "token_ids",
                "context",
                "x",
                "start",
                "start_ids",
                "prompt_tokens",
                "prompt_token_ids",
                "input_tokens",
                "seq",
                "sequence",
            ),
        ),
        Role(
            "max_new_tokens",
            (
                "n_tokens_to_generate",
                "num_tokens",
                "n_tokens",
                "n",
                "max_tokens",
                "n_new_tokens",
                "num_new_tokens",
                "steps",
                "num_steps",
                "length",
                "max_length",
                "max_len",
                "k",
                "new_tokens",
                "num_tokens_to_generate",
                "max_gen_len",
                "n_new",
                "total_len",
            ),
        ),
        Role(
            "context_size",
            (
                "context_length",
                "block_size",
                "max_seq_len",
                "ctx",
                "n_ctx",
                "ctx_len",
                "max_context",
                "window",
                "ctx_size",
                "max_context_length",
                "context_len",
            ),
            is_size=True,
            size_of=lambda inputs: inputs["model"].context_size if "model" in inputs else None,
        ),
        Role(
            "eos", ("eos_id", "eos_token_id", "stop_token", "stop_id", "end_token", "stop", "stop_token_id", "end_id", "eos_token", "eot")
        ),
        Role("temperature", ("t", "temp"), neutral=1.0),
        Role("rng", ("generator", "key", "seed"), neutral=None),
    ),
    called=r"generat(e|ion)(?!.*(mask|data|positions|batch|square|key))|greedy_?(decod|search|gen)|complete(_text)?$|^decode_?loop|autoregress",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(COUNTS, MODELS, PROMPTS, RETURNED, ENDS),
    equation="ids ← ids + [argmax model(ids[-context_size:])[-1]], max_new_tokens times",
    hints=(
        Words(
            "The model says for every position what comes next; only what it says at the last is new.",
            "模型为每个位置预测下一个词；只有最后一个位置的预测是新的。",
        ),
        Words(
            "Crop what the model is given to its context, take the likeliest at the last position, append it.",
            "把输入裁剪到上下文长度，取最后位置最可能的词，追加到末尾。",
        ),
        Words(
            "for _ in range(max_new_tokens): ids.append(argmax(model(ids[-context_size:])[-1]))",
            "for _ in range(max_new_tokens): ids.append(argmax(model(ids[-context_size:])[-1]))",
        ),
    ),
    drawing="likeliest",
    is_trained_through=False,
)
