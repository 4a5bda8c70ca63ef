"""Common mistakes in generation."""

from __future__ import annotations

import numpy

from headway.practice.exercise import Mistake
from headway.practice.message import Message

LONG = Message("the mistake is not visible while the text is shorter than the context", "文本短于上下文长度时看不出来")
LAST = r"-1|\[0\]|logits\["
CROP = r"\[.*:|context|block|crop|ctx"

MISTAKES = (
    Mistake(
        "logits_of_first_position",
        {"at": lambda logits: logits[0]},
        Message(
            "uses the logits of the first position instead of the last: the next token depends only on the first token",
            "用的是第一个位置的 logits，而不是最后一个：下一个词元只取决于第一个词元",
        ),
        Message(
            "use the last position: logits[-1], or logits[:, -1, :] in a batch", "使用最后一个位置：logits[-1]，带批时为 logits[:, -1, :]"
        ),
        hides=Message("the output is the same when the model gets a single token", "只输入一个词元时两者相同"),
        pattern=LAST,
    ),
    Mistake(
        "logits_of_last_but_one",
        {"at": lambda logits: logits[-2] if len(logits) > 1 else logits[-1]},
        Message(
            "uses the logits of the second-to-last position, which predict the token already there",
            "用的是倒数第二个位置的 logits：它预测的是已有的最后一个词元",
        ),
        Message(
            "use the last position, logits[-1]; the shift by one is only for training", "使用最后一个位置 logits[-1]；错开一位只用于训练"
        ),
        pattern=LAST,
    ),
    Mistake(
        "mean_of_all_positions",
        {"at": lambda logits: logits.mean(0)},
        Message("averages or sums the logits of all positions", "对所有位置的 logits 求了平均或求和"),
        Message("use the last position: logits[-1]", "使用最后一个位置：logits[-1]"),
        pattern=r"mean|sum",
    ),
    Mistake(
        "argmax_over_all_positions",
        {"choose": lambda logits, scores: logits.argmax()},
        Message(
            "takes the argmax over all positions and tokens: the result is an index of the flattened array, not a token id",
            "argmax 同时在所有位置与所有词元上进行：结果是展平数组的下标，而不是词元 id",
        ),
        Message("select the last position first: logits[-1].argmax()", "先取最后一个位置：logits[-1].argmax()"),
        pattern=r"argmax|max\(",
    ),
    Mistake(
        "argmax_over_positions",
        {"choose": lambda logits, scores: logits.argmax(0)[-1]},
        Message(
            "takes the argmax over the positions instead of the vocabulary: the result is a position",
            "argmax 沿位置方向，而不是沿词表方向：结果是一个位置",
        ),
        Message("use axis=-1", "使用 axis=-1"),
        pattern=r"argmax|max\(",
    ),
    Mistake(
        "least_likely_taken",
        {"choose": lambda logits, scores: scores.argmin()},
        Message("takes the least likely token", "取了最不可能的词元"),
        Message("use argmax, or the last of an ascending order", "使用 argmax；若按升序排列则取最后一个"),
        pattern=r"argmin|sort|\[0\]",
    ),
    Mistake(
        "context_not_cropped",
        {"window": lambda ids, context_size, prompt: ids},
        Message(
            "the input is not cropped to the context size, or is one token too long: the model gets more tokens than it has positions",
            "没有按上下文长度裁剪，或裁剪后多了一个：输入模型的词元数超过了它的位置数",
        ),
        Message("pass ids[-context_size:] to the model", "传给模型 ids[-context_size:]"),
        hides=LONG,
        pattern=r"model\(|forward\(",
    ),
    Mistake(
        "first_tokens_kept",
        {"window": lambda ids, context_size, prompt: ids[:context_size]},
        Message(
            "passes the first context_size tokens to the model instead of the last: later tokens are never used",
            "传给模型的是最前面的 context_size 个词元，而不是最后面的：后来的词元从未用到",
        ),
        Message("use ids[-context_size:]", "使用 ids[-context_size:]"),
        hides=LONG,
        pattern=CROP,
    ),
    Mistake(
        "window_one_too_short",
        {"window": lambda ids, context_size, prompt: ids[-(context_size - 1) :]},
        Message("passes one token less to the model than it has positions", "传给模型的词元比它的位置数少一个"),
        Message("use ids[-context_size:]", "使用 ids[-context_size:]"),
        hides=LONG,
        pattern=CROP,
    ),
    Mistake(
        "cropped_tokens_lost",
        {"append": lambda ids, token, context_size: [*ids[-context_size:], token]},
        Message(
            "the cropped input replaces the text: cropped tokens are missing from the output",
            "裁剪后的输入覆盖了全文：被裁掉的词元从结果中消失",
        ),
        Message("keep the text and the input separate: window = ids[-context_size:]", "全文与输入要分开：window = ids[-context_size:]"),
        hides=LONG,
        pattern=CROP,
    ),
    Mistake(
        "only_last_token_given",
        {"window": lambda ids, context_size, prompt: ids[-1:]},
        Message(
            "passes only the last token to the model: without a cache it has no access to the text before",
            "只把最后一个词元传给模型：没有缓存时模型看不到前文",
        ),
        Message("pass the whole text, ids[-context_size:]", "传入全文 ids[-context_size:]"),
        pattern=r"-1",
    ),
    Mistake(
        "cache_not_passed",
        {"window": lambda ids, context_size, prompt: ids[-context_size:] if len(ids) == len(prompt) else ids[-1:]},
        Message(
            "after the prompt, passes only the newest token to the model and no cache: it has no access to the text before",
            "处理完提示之后，每次只传入最新的词元，却没有传入缓存：模型看不到前文",
        ),
        Message(
            "pass the cache that the model returned: logits, cache = model(token, cache)",
            "把模型返回的缓存传回去：logits, cache = model(token, cache)",
        ),
        hides=Message("the first new token is correct", "第一个新词元是对的"),
        pattern=r"cache|past|kv|model\(",
    ),
    Mistake(
        "whole_text_beside_cache",
        {"window": lambda ids, context_size, prompt: [token for end in range(len(prompt), len(ids) + 1) for token in ids[:end]]},
        Message(
            "passes the whole text together with the cache: every token is stored in the cache several times",
            "既传入缓存又传入全文：每个词元都在缓存里存了多次",
        ),
        Message("with a cache, pass only the new token: model(ids[-1:], cache)", "使用缓存时只传入新词元：model(ids[-1:], cache)"),
        hides=Message("the first new token is correct", "第一个新词元是对的"),
        pattern=r"model\(|forward\(",
    ),
    Mistake(
        "end_of_prompt_given_twice",
        {"window": lambda ids, context_size, prompt: [*prompt, *ids[len(prompt) - 1 :]]},
        Message(
            "passes the last prompt token twice: with the prompt, and again as the first token after it",
            "提示的最后一个词元传入了两次：先随提示传入，又作为其后的第一个词元传入",
        ),
        Message(
            "take the first new token from the logits of the prompt, or fill the cache with prompt[:-1]",
            "第一个新词元取自提示的 logits，或只用 prompt[:-1] 填充缓存",
        ),
        pattern=r"\[-1|model\(",
    ),
    Mistake(
        "only_prompt_given",
        {"window": lambda ids, context_size, prompt: prompt[-context_size:]},
        Message("always passes the prompt to the model: all new tokens are the same", "每次传给模型的都是提示：新词元全都一样"),
        Message("append each new token to the model's input", "把每个新词元追加到模型的输入中"),
        hides=Message("the first new token is correct", "第一个新词元是对的"),
        pattern=r"model\(|forward\(",
    ),
    Mistake(
        "token_not_appended",
        {"append": lambda ids, token, context_size: ids},
        Message("new tokens are not appended: returns the prompt", "没有追加新词元：返回的就是提示"),
        Message(
            "append each token: ids.append(token), or idx = cat([idx, token], dim=1)",
            "逐个追加：ids.append(token)，或 idx = cat([idx, token], dim=1)",
        ),
        pattern=r"append|cat",
    ),
    Mistake(
        "token_put_in_front",
        {"append": lambda ids, token, context_size: [token, *ids]},
        Message("inserts the new token at the start of the text", "新词元放到了文本的最前面"),
        Message("append it at the end: cat([idx, token])", "追加在末尾：cat([idx, token])"),
        pattern=r"append|cat|insert",
    ),
    Mistake(
        "last_token_overwritten",
        {"append": lambda ids, token, context_size: [*ids[:-1], token]},
        Message("replaces the last token with the new one", "新词元覆盖了最后一个词元"),
        Message("append the new token at the end", "把新词元追加在末尾"),
        pattern=r"\[-1\] *=",
    ),
    Mistake(
        "one_too_many",
        {"count": lambda max_new_tokens, prompt_len: max_new_tokens + 1},
        Message("generates one token too many", "多生成了一个词元"),
        Message("use range(max_new_tokens)", "使用 range(max_new_tokens)"),
        pattern=r"range|while",
    ),
    Mistake(
        "one_too_few",
        {"count": lambda max_new_tokens, prompt_len: max_new_tokens - 1},
        Message("generates one token too few", "少生成了一个词元"),
        Message("use range(max_new_tokens)", "使用 range(max_new_tokens)"),
        pattern=r"range|while",
    ),
    Mistake(
        "prompt_counted",
        {"count": lambda max_new_tokens, prompt_len: max(max_new_tokens - prompt_len, 0)},
        Message(
            "counts the prompt: the whole text has max_new_tokens tokens",
            "把提示也计入了：全文共 max_new_tokens 个词元",
        ),
        Message("count only new tokens, or name the argument max_length", "只计新生成的词元；或把参数命名为 max_length"),
        pattern=r"range|while|len\(",
    ),
    Mistake(
        "stop_token_ignored",
        {"is_end": lambda token, eos, ids: False},
        Message("continues after the stop token", "遇到停止词元后仍继续生成"),
        Message("break when the new token is the stop token", "新词元是停止词元时用 break 结束"),
        pattern=r"eos|stop|end",
    ),
    Mistake(
        "stop_token_of_prompt_counts",
        {"is_end": lambda token, eos, ids: eos is not None and (token == eos or eos in ids)},
        Message(
            "a stop token in the prompt ends the text; only a generated one must", "提示中的停止词元也会结束生成；只有新生成的才应结束"
        ),
        Message("compare only the new token", "只比较新生成的词元"),
        hides=Message("the mistake is not visible for prompts without the stop token", "提示中没有停止词元时看不出来"),
        pattern=r"eos|stop|end| in ",
    ),
    Mistake(
        "first_row_for_all",
        {"batch": lambda rows: numpy.stack([numpy.concatenate([row[: len(row) - len(rows[0])], rows[0]]) for row in rows])},
        Message("returns the first sequence of the batch for all sequences", "批中所有序列返回的都是第一个序列"),
        Message("keep the batch axis: logits[:, -1, :].argmax(-1)", "保留批轴：logits[:, -1, :].argmax(-1)"),
        hides=Message("the mistake is not visible with a batch of one", "批大小为 1 时看不出来"),
        pattern=r"\[0",
    ),
    Mistake(
        "prompt_twice",
        {"give": lambda ids, prompt: [*prompt, *ids]},
        Message("returns the prompt twice", "提示返回了两次"),
        Message("return ids, which starts with the prompt", "返回 ids，它本来就以提示开头"),
        pattern=r"return",
    ),
    Mistake(
        "last_token_only",
        {"give": lambda ids, prompt: ids[-1:]},
        Message("returns only the last token", "只返回了最后一个词元"),
        Message("return all new tokens", "返回所有新词元"),
        pattern=r"return",
    ),
)
