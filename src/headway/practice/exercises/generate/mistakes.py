"""What people get wrong when they generate."""

from __future__ import annotations

import numpy

from headway.practice.exercise import Mistake
from headway.practice.message import Message

LONG = Message("while the text is shorter than the context nothing shows", "文本短于上下文长度时看不出来")
LAST = r"-1|\[0\]|logits\["
CROP = r"\[.*:|context|block|crop|ctx"

MISTAKES = (
    Mistake(
        "logits_of_first_position",
        {"at": lambda logits: logits[0]},
        Message(
            "the logits of the first position are taken, not of the last: the next token depends on the first token alone",
            "取的是第一个位置的 logits，而不是最后一个：下一个词只取决于第一个词",
        ),
        Message(
            "take the last position: logits[-1], or logits[:, -1, :] in a batch", "取最后一个位置：logits[-1]，带批时为 logits[:, -1, :]"
        ),
        hides=Message("where the model is given one token the two are the same", "只输入一个词时两者相同"),
        pattern=LAST,
    ),
    Mistake(
        "logits_of_last_but_one",
        {"at": lambda logits: logits[-2] if len(logits) > 1 else logits[-1]},
        Message(
            "the logits of the last position but one are taken: they predict the token that is there already",
            "取的是倒数第二个位置的 logits：它预测的是已有的最后一个词",
        ),
        Message("take the last position: logits[-1]; the shift belongs to training", "取最后一个位置：logits[-1]；错开一位只用于训练"),
        pattern=LAST,
    ),
    Mistake(
        "mean_of_all_positions",
        {"at": lambda logits: logits.mean(0)},
        Message("the logits of all positions are averaged or summed", "把所有位置的 logits 求了平均或求和"),
        Message("take the last position: logits[-1]", "取最后一个位置：logits[-1]"),
        pattern=r"mean|sum",
    ),
    Mistake(
        "argmax_over_all_positions",
        {"choose": lambda logits, scores: logits.argmax()},
        Message(
            "argmax runs over all positions and tokens at once: the answer is a place in the flattened array, no token id",
            "argmax 同时在所有位置与所有词上进行：结果是展平数组中的位置，而不是词的 id",
        ),
        Message("take the last position first: logits[-1].argmax()", "先取最后一个位置：logits[-1].argmax()"),
        pattern=r"argmax|max\(",
    ),
    Mistake(
        "argmax_over_positions",
        {"choose": lambda logits, scores: logits.argmax(0)[-1]},
        Message(
            "argmax runs along the positions, not along the vocabulary: the answer is a position",
            "argmax 沿位置方向，而不是沿词表方向：结果是一个位置",
        ),
        Message("use axis=-1", "使用 axis=-1"),
        pattern=r"argmax|max\(",
    ),
    Mistake(
        "least_likely_taken",
        {"choose": lambda logits, scores: scores.argmin()},
        Message("the least likely token is taken", "取了最不可能的词"),
        Message("use argmax; of an ascending order the last", "使用 argmax；若按升序排列则取最后一个"),
        pattern=r"argmin|sort|\[0\]",
    ),
    Mistake(
        "context_not_cropped",
        {"window": lambda ids, context_size, prompt: ids},
        Message(
            "the text is not cropped to the context, or to one token too many: the model is given more tokens than it has positions",
            "没有按上下文长度裁剪，或裁剪得多留了一个：输入模型的词数超过了它的位置数",
        ),
        Message("give the model ids[-context_size:]", "传给模型 ids[-context_size:]"),
        hides=LONG,
        pattern=r"model\(|forward\(",
    ),
    Mistake(
        "first_tokens_kept",
        {"window": lambda ids, context_size, prompt: ids[:context_size]},
        Message(
            "the first context_size tokens are given to the model, not the last: what is newer is never seen",
            "传给模型的是最前面的 context_size 个词，而不是最后面的：新的词永远看不到",
        ),
        Message("use ids[-context_size:]", "使用 ids[-context_size:]"),
        hides=LONG,
        pattern=CROP,
    ),
    Mistake(
        "window_one_too_short",
        {"window": lambda ids, context_size, prompt: ids[-(context_size - 1) :]},
        Message("the model is given one token less than it has positions", "传给模型的词比它的位置数少一个"),
        Message("use ids[-context_size:]", "使用 ids[-context_size:]"),
        hides=LONG,
        pattern=CROP,
    ),
    Mistake(
        "cropped_tokens_lost",
        {"append": lambda ids, token, context_size: [*ids[-context_size:], token]},
        Message(
            "the cropped window replaces the text: what was cropped is missing from the answer",
            "裁剪后的窗口覆盖了全文：被裁掉的词从结果中消失",
        ),
        Message("keep the text and the window apart: window = ids[-context_size:]", "全文与窗口要分开：window = ids[-context_size:]"),
        hides=LONG,
        pattern=CROP,
    ),
    Mistake(
        "only_last_token_given",
        {"window": lambda ids, context_size, prompt: ids[-1:]},
        Message(
            "the model is given the last token only: without a cache it knows nothing of the text before",
            "只把最后一个词传给模型：没有缓存时它不知道前文",
        ),
        Message("give it the whole text, ids[-context_size:]", "应传入全文 ids[-context_size:]"),
        pattern=r"-1",
    ),
    Mistake(
        "cache_not_passed",
        {"window": lambda ids, context_size, prompt: ids[-context_size:] if len(ids) == len(prompt) else ids[-1:]},
        Message(
            "behind the prompt the model is given the newest token alone, and no cache: it knows nothing of the text before",
            "处理完提示之后，每次只传入最新的一个词，却没有传入缓存：模型不知道前文",
        ),
        Message(
            "pass on what the model returned: logits, cache = model(token, cache)",
            "把模型返回的缓存传回去：logits, cache = model(token, cache)",
        ),
        hides=Message("the first new token is right", "第一个新词是对的"),
        pattern=r"cache|past|kv|model\(",
    ),
    Mistake(
        "whole_text_beside_cache",
        {"window": lambda ids, context_size, prompt: [token for end in range(len(prompt), len(ids) + 1) for token in ids[:end]]},
        Message(
            "the model is given the whole text and its cache: every token comes to stand in the cache again and again",
            "既传入缓存又传入全文：每个词都在缓存里出现了多次",
        ),
        Message("with a cache, give it the new token alone: model(ids[-1:], cache)", "使用缓存时只传入新的词：model(ids[-1:], cache)"),
        hides=Message("the first new token is right", "第一个新词是对的"),
        pattern=r"model\(|forward\(",
    ),
    Mistake(
        "end_of_prompt_given_twice",
        {"window": lambda ids, context_size, prompt: [*prompt, *ids[len(prompt) - 1 :]]},
        Message(
            "the last token of the prompt is given twice: with the prompt, and again as the first token behind it",
            "提示的最后一个词传入了两次：先随提示传入，又作为其后的第一个词传入",
        ),
        Message(
            "take the first new token from the logits of the prompt, or fill the cache with prompt[:-1]",
            "第一个新词应取自提示的 logits，或只用 prompt[:-1] 填充缓存",
        ),
        pattern=r"\[-1|model\(",
    ),
    Mistake(
        "only_prompt_given",
        {"window": lambda ids, context_size, prompt: prompt[-context_size:]},
        Message("the model is given the prompt every time: all new tokens are the same", "每次传给模型的都是提示：新的词全都一样"),
        Message("append each new token to what the model is given", "把每个新词追加到模型的输入中"),
        hides=Message("the first new token is right", "第一个新词是对的"),
        pattern=r"model\(|forward\(",
    ),
    Mistake(
        "token_not_appended",
        {"append": lambda ids, token, context_size: ids},
        Message("the new tokens are not appended: the answer is the prompt", "新的词没有追加：结果就是提示本身"),
        Message(
            "append each: ids.append(token), idx = cat([idx, token], dim=1)", "逐个追加：ids.append(token)，idx = cat([idx, token], dim=1)"
        ),
        pattern=r"append|cat",
    ),
    Mistake(
        "token_put_in_front",
        {"append": lambda ids, token, context_size: [token, *ids]},
        Message("the new token is put in front of the text", "新词放到了文本的最前面"),
        Message("append it behind: cat([idx, token])", "追加在后面：cat([idx, token])"),
        pattern=r"append|cat|insert",
    ),
    Mistake(
        "last_token_overwritten",
        {"append": lambda ids, token, context_size: [*ids[:-1], token]},
        Message("the new token replaces the last one", "新词覆盖了最后一个词"),
        Message("append it", "应追加"),
        pattern=r"\[-1\] *=",
    ),
    Mistake(
        "one_too_many",
        {"count": lambda max_new_tokens, prompt_len: max_new_tokens + 1},
        Message("one token too many is made", "多生成了一个词"),
        Message("range(max_new_tokens)", "range(max_new_tokens)"),
        pattern=r"range|while",
    ),
    Mistake(
        "one_too_few",
        {"count": lambda max_new_tokens, prompt_len: max_new_tokens - 1},
        Message("one token too few is made", "少生成了一个词"),
        Message("range(max_new_tokens)", "range(max_new_tokens)"),
        pattern=r"range|while",
    ),
    Mistake(
        "prompt_counted",
        {"count": lambda max_new_tokens, prompt_len: max(max_new_tokens - prompt_len, 0)},
        Message(
            "the tokens of the prompt are counted: the whole text has max_new_tokens tokens",
            "把提示的词也计入了：全文共 max_new_tokens 个词",
        ),
        Message("count the new tokens only; or call the argument max_length", "只计新生成的词；或把参数命名为 max_length"),
        pattern=r"range|while|len\(",
    ),
    Mistake(
        "stop_token_ignored",
        {"is_end": lambda token, eos, ids: False},
        Message("it goes on behind the stop token", "遇到停止词后仍继续生成"),
        Message("break where the new token is the stop token", "新词是停止词时应 break"),
        pattern=r"eos|stop|end",
    ),
    Mistake(
        "stop_token_of_prompt_counts",
        {"is_end": lambda token, eos, ids: eos is not None and (token == eos or eos in ids)},
        Message("a stop token in the prompt ends the text: only a new one may", "提示中的停止词也会结束生成：只有新生成的才应该"),
        Message("look at the new token only", "只看新生成的词"),
        hides=Message("prompts without the stop token do not show it", "提示中没有停止词时看不出来"),
        pattern=r"eos|stop|end| in ",
    ),
    Mistake(
        "first_row_for_all",
        {"batch": lambda rows: numpy.stack([numpy.concatenate([row[: len(row) - len(rows[0])], rows[0]]) for row in rows])},
        Message("all sequences of the batch come back as the first", "批中所有序列都返回了第一个序列"),
        Message("keep the batch axis: logits[:, -1, :].argmax(-1)", "保留批轴：logits[:, -1, :].argmax(-1)"),
        hides=Message("with a batch of one nothing shows", "批大小为 1 时看不出来"),
        pattern=r"\[0",
    ),
    Mistake(
        "prompt_twice",
        {"give": lambda ids, prompt: [*prompt, *ids]},
        Message("the prompt comes back twice", "提示返回了两次"),
        Message("ids begins with the prompt already", "ids 本来就以提示开头"),
        pattern=r"return",
    ),
    Mistake(
        "last_token_only",
        {"give": lambda ids, prompt: ids[-1:]},
        Message("only the last token comes back", "只返回了最后一个词"),
        Message("collect all of them", "应收集所有的词"),
        pattern=r"return",
    ),
)
