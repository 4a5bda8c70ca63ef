"""Names of functions and classes, and the exercises that they may mean.

This table is all that is needed to find the exercise of a name, so that only the exercises of a file are imported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Pattern:
    """Regular expressions for the names of an exercise.

    called  names that learners use for it
    also    names that may mean this exercise or another one
    """

    called: str
    also: str | None = None


ATTENTION = r"^(?!dot_?att)(?!.*(mask$|causal|masked|decoder|rope|rotary|sliding|window|linear_?att|flash|block|layer)).*(att(entio)?n|mha)"

NO_PART = r"(?i:^init_|^demo_|^demonstrate|_demo$|data_?(set|loader)|config|(?<!re)set_?args$|schedule|rout(er|ing)|lora|fp8|quanti[sz]e|convert|replace_|(^|_)lr(_|$))|For[A-Z]\w+$|\w(Params|Settings|Options)$"
"""Pattern of the names of what surrounds a part: its settings, its data, an adapter."""

OWNER = r"^(?:[Mm]y|[Cc]ustom)(?:_(?=[A-Za-z])|(?=[A-Z]))"
"""Pattern of the start of a name that only says that the code is one's own: MyBlock."""

PATTERNS = {
    "softmax": Pattern(r"^(?!.*mask).*(?<!log_)(?<!log)soft_?max(?!.*(attention|cross|loss|temp))"),
    "log_softmax": Pattern(r"log_?soft_?max(?!.*(cross|loss|nll|back|grad))|^log_?probs?$"),
    "linear": Pattern(
        r"^(?!.*(relu|gelu|silu|swi|glu|gated|regression|unit|attn|attention|back|grad|bilinear|nonlin|schedule"
        r"|norm)).*(linear|dense|affine|fully_?connected|fc_(layer|forward))",
    ),
    "embed": Pattern(
        r"^(?!.*(pos|rotary|rope|sinus|patch|time_?step|sentence|vision|image|aggregat|_?nd$|unembed|de_?embed|time_|output|layer_?norm|attn|attention)).*(embed|look_?up|^wte$)",
    ),
    "relu": Pattern(
        r"(?<!^p)(?<!_p)(?<!leaky)(?<!leaky_)(?<!sq)(?<![a-z]e)(?<!ge)relu(?!6|_?2|_?sq|_?backward|_?grad|_?deriv|_?prime)",
    ),
    "gelu": Pattern(r"(?<!r)gelu(?!_?back|_?grad|_?deriv|_?prime)"),
    "silu": Pattern(r"(?<!hard)(?<!hard_)(?<!h_)(?:silu|swish)(?!_?glu|_?and_?mul|_?back|_?grad|_?deriv|_?prime)"),
    "layer_norm": Pattern(
        r"^(?!.*(back|grad|rms|t5|block|linear|attn|attention|add_?norm|sublayer|residual|init)).*(layer_?norm|^ln(_|$|1|2"
        r"|_f)|^layer_?normali[sz])",
        r"^(?!.*(mask|batch|group|instance|spectral|weight|l1|l2|add|residual)_?).*norm(ali[sz](e|ation|er))?$|^ln",
    ),
    "rms_norm": Pattern(
        r"^(?!.*(back|grad|block|linear|attn|attention|add_?norm|residual|init|optim|prop|error"
        r"|loss)).*(rms_?(layer)?_?norm|t5_?(layer_?)?norm|^rms$|root_mean_square)",
        r"^(?!.*(mask|batch|group|instance|spectral|weight|l1|l2|add|residual)_?).*norm(ali[sz](e|ation|er))?$",
    ),
    "scaled_dot_product_attention": Pattern(
        r"(scaled?_?dot|^(naive_?|simple_?|batched_?|masked_?)?dot_?prod(uct)?_?att|sdpa|^_?(masked_?|causal_?|naive_?"
        r"|simple_?|my_?)?(dot_product_?)?(attention|attn)(_?(forward|fn|score|np|torch|func))?$)",
    ),
    "causal_mask": Pattern(
        r"^(?!.*(apply|attention|sliding|window)).*(causal_?mask|look_ahead|lookahead_?mask|subsequent|no_?peek|future_?mask"
        r"|triangular_?mask|tril_?mask|autoregressive_?mask|make_std_mask|(trg|tgt|target|decoder)_?mask)",
        r"^(?!.*(apply|attention_|sliding|window|loss|softmax|lm)).*mask$|^mask_?future",
    ),
    "sliding_window_mask": Pattern(
        r"^(?!.*(apply|attention)).*(sliding|window(ed)?|band(ed)?|local)_?(size_?)?(window_?)?(causal_?|attn_?)?mask"
    ),
    "padding_mask": Pattern(
        r"^(?!.*(apply|attention|loss)).*(pad(ding)?_?mask|(src|source|encoder|enc)_?mask|len(gth)?s?_?to_?(attn_"
        r"|pad(ding)?_)?mask|sequence_?mask|mask_?from_?len|len(gth)?s?_?mask|valid_?mask)",
        r"^(?!.*(apply|attention_|sliding|window|loss|softmax|causal|lm)).*mask$",
    ),
    "qkv_projection": Pattern(
        r"^(?!transpose|merge|join|concat|combine)\w*qkv|(compute|project|get|make|create).*(query|q)_?(and_?)?(key|k)|q_?k_?v_?proj"
    ),
    "self_attention": Pattern(
        r"pattern_?weav|^(?!.*(causal|masked|multi|cross|group|decoder|gqa)).*(self_?att(entio)?n|single_?head|att(entio)?n_?head$)",
        ATTENTION,
    ),
    "causal_self_attention": Pattern(
        r"(causal|masked|decoder)_?(multi_?head_?)?(self_?)?att|^head$|^causal",
        r"^(?!dot_?att)(?!.*(mask$|rope|rotary|sliding|window|linear_?att|flash|block|layer)).*(att(entio)?n|mha)",
    ),
    "cross_attention": Pattern(
        r"cross_?(multi_?head_?)?att|enc(oder)?_?dec(oder)?_?att",
        ATTENTION,
    ),
    "stacked_heads_attention": Pattern(
        r"(wrapper|stacked|parallel|list).*(head|att)|(head|att).*(wrapper|stack(ed)?|list)$|^multi_?heads?$",
        ATTENTION,
    ),
    "multi_head_attention": Pattern(
        r"multi_?head(ed)?_?(self_?|cross_?)?(attention|attn)|^_?mha$|mhsa|self_?attention_?multi",
        ATTENTION,
    ),
    "grouped_query_attention": Pattern(
        r"group(ed)?_?(multi_?)?query|gqa|mqa|multi_?query|att(entio)?n_?grouped|grouped",
        ATTENTION,
    ),
    "sinusoidal_positions": Pattern(
        r"^(?!.*(rotary|rope)).*(sinusoid|pos(ition(al)?)?_?enc|get_?pos(ition)?al_?enc|position_?encod"
        r"|(?<!relative_)(?<!learned_)(?<!rotary_)pos(ition(al)?)?_?embed(?!.*(learn|table|lookup|rotary))|^(get_)?pe$)",
    ),
    "learned_positions": Pattern(
        r"learn(ed|able|t)_?pos|pos(ition)?(al)?_?(lookup|table|add)|add_?(learned_?)?pos|(tok|token)s?_?(and|plus)_?pos"
        r"|embed_?(tokens|input|ids|and)|input_?embed|gpt2?_?embed|^wpe$",
    ),
    "positioned_embedding": Pattern(r"(embed|emb)\w*(with|and)_?pos|transformer_?embed"),
    "rotary_tables": Pattern(
        r"^(?!.*(pair|word|char|byte|token|vocab|apply|scal|2d|3d|yarn|ntk|mrope|loss|update|interleave|block|attention|mha)).*(freqs?_?cis|inv_?freq"
        r"|freq.*cos|cos_?sin|(rope|rotary).*(param|freq|cos|sin(?!u)|angle|table|cache|theta|init|matri)|(precompute"
        r"|compute|build|get|create|init|make|generate).*(rope|rotary|freqs?$|frequenc|theta_?pos))",
        r"^(?!.*(apply|attention|mha|block)).*(rotary|rope)",
    ),
    "rotary": Pattern(
        r"^(?!.*(precompute|backward|block|gpt|llama|model|layer)).*((?<![a-z])rope(?!_?(param|freq|cache|cos|angle|table|theta|init))|apply_?rope"
        r"|rotary(?!.*(param|freq|cos|angle|table|cache))|apply_?rot)",
    ),
    "feed_forward": Pattern(
        r"^(?!.*(gated|glu|swi|llama|qwen|gemma|mistral|moe|expert|back|grad|(?<!forward_)(?<!forward)(?<!ffn)(?<!ffn_)(?<!mlp)(?<!mlp_)block"
        r"|layer_?norm|sublayer|mixer)).*(feed_?for?w?ard|ffn|mlp|pos(ition)?_?wise|^ff$)",
    ),
    "gated_feed_forward": Pattern(
        r"^(?!.*(back|grad|block|layer_?norm|sublayer|gpt|model)).*(swi_?glu|ge_?glu|re_?glu|(^|_)glu(_|$)|gated_?(linear|feed|mlp"
        r"|ff)|(llama|qwen2?|gemma|mistral)_?(mlp|ffn|feed))",
    ),
    "transformer_block": Pattern(
        r"(?<!encoder)(transformer|gpt2?|llama\d?|qwen\d?|mistral|gemma\d?)_?(block|layer)|^residual_?attention_?block$|^(pre|post)_?(norm|ln)_?block|^block$|transformer_?(pre|post)",
    ),
    "encoder_layer": Pattern(r"encoder_?(layer|block)|bert_?(block|layer)"),
    "decoder_layer": Pattern(r"decoder_?layer|decoder_?block"),
    "gpt2": Pattern(r"^gpt_?2?(_?(model|forward|lm|logits))?$|^(transformer|decoder)_?forward$"),
    "temperature": Pattern(r"temperature|(?<![a-z])temp_?(scale|softmax|sampl)|scale_logits"),
    "top_k": Pattern(r"(?<!s)top_?k(?!.*(top_?p|accuracy|gat(e|ing)$|pool|att(entio)?n|expert|retriev|search|recall))"),
    "top_p": Pattern(r"(?<!top_k_)(?<!topk_)(?<!s)top_?p|nucleus"),
    "min_p": Pattern(r"min_?p(_|$)(?!.*(top_?k|top_?p))"),
    "sample": Pattern(
        r"^(?!.*(normal|uniform|gauss|noise|action|image|matri|latent|diffus|dd[pi]m|quality|loop|(^|_)[pq]_sample)).*"
        r"(?<![a-z])sampl(e|er|ing)(?!s)(?!.*(data|batch|rate|positions|mask))|next_?token(?!.*(loss|accuracy))"
        r"|pick_?token|choose_?token|top_?k_?top_?p",
    ),
    "generate": Pattern(
        r"^(text|token|greedy|cached|gpt|llm)_?generator$|generat(e|ion)(?!.*(mask|data|positions|batch|square"
        r"|key(?!_?val)))|greedy_?(decod|search|gen)|complete(_text)?$|^decode_?loop|autoregress",
    ),
    "kv_cache": Pattern(
        r"^(?!.*(att(entio)?n|size|memory|bytes|compare|generat|estimate)).*(kv_?(full_?)?cache|key_?value_?cache)|(update|append)(_to)?_?(kv|cache)|cache_?(update|append)|^Cache$",
    ),
    "pair_counts": Pattern(
        r"get_stats|get_pairs?_?(stats|count|freq)|count_?(pair|bigram)|pair_?(count|freq|stat)|compute_pair", r"(pair|bigram)s$"
    ),
    "merge_pair": Pattern(
        r"^merge(_(pairs?|ids|tokens?|sequence|bigram))?$|replace_pair|apply_merge$", r"^(?!.*(train|att|kv|lora|head|weight)).*merge"
    ),
    "bpe_train": Pattern(
        r"train_?(bpe|tokenizer|byte)|bpe_?train|learn_?bpe|(byte_?)?pair_?encoding(?!.*(decode|encode))"
        r"|^(run_)?train_?bpe$|get_merges",
    ),
    "bpe_encode": Pattern(
        r"bpe_?enc|encode_?bpe|(?<!positional_)(?<!pos_)(?<!one_hot_)^(bpe_)?(encode|tokenize|bpe)(_text|_ids|_bytes"
        r"|_chunk|_word|_ordinary)?$|apply_?(bpe|merges)",
    ),
    "bpe_decode": Pattern(r"bpe_?dec|decode_?bpe|^(bpe_)?(decode|detokenize)(_ids|_tokens|_text|_bytes)?$"),
    "bpe_tokenizer": Pattern(
        r"(bpe|byte_?pair)_?tokeni|byte_?pair_?encoder|bpe_?encoder$",
        r"^(?!.*(char|word|simple|white|base|abstract|interface|train_|load|get|pre_?token)).*(tokeni[sz]er$|^bpe|byte_?pair)",
    ),
    "cross_entropy": Pattern(
        r"^(?!.*(binary|bce|back|grad|deriv|regression)).*(cross_?entropy|nll|softmax_loss|(^|_)ce(_loss)?$"
        r"|neg(ative)?_?log)(?!.*shift)",
        r"^(compute|calculate|calc|get)_?loss$|^loss_?(fn|func|function)?$|(causal|lm)_?loss",
    ),
    "next_token_loss": Pattern(
        r"next_?tok(en)?_?(prediction_?)?loss|shift(ed)?_?(lm_|logits_?)?(loss|cross_?entropy)|(causal|autoregressive|language_?model(ing)?|(?<!m)lm)_?(lm_?)?loss",
        r"^(compute|calculate|calc|get)_?loss$|^loss_?(fn|func|function)?$",
    ),
    "gradient_descent": Pattern(
        r"^(?!.*(stochastic|mini_?batch|sgd|momentum|regression|linear|logistic|adam|back)).*(grad(ient)?_?desc(ent)?"
        r"|minimi[sz]er?|steepest)|^gd$",
    ),
    "linear_regression": Pattern(
        r"^(?!.*(logistic|normal_eq|closed|ridge|lasso|predict|loss|cost)).*(linear_?regression|lin_?reg|least_?squares"
        r"|fit_?line|mse_?(gd|descent))",
    ),
    "adam_step": Pattern(r"^(?!.*(adamw|adamax|nadam|radam|amsgrad|adagrad|hadam|demo|plot|compare)).*adam"),
    "adam": Pattern(r"adam_?(descent|minimi[sz]e|loop)"),
    "adam_optimizer": Pattern(
        r"adam_?optim|optimi[sz]er_?adam",
        r"^(?!.*(adamw|adamax|nadam|radam|hadam|amsgrad|adagrad|demo|plot|compare)).*adam",
    ),
    "adamw": Pattern(r"adam_?w(?!arm)"),
}
"""The exercises by name, in the order in which they build on each other."""


def by_name(name: str) -> str | None:
    """Return the likeliest exercise that a name fits, or None."""
    likely, possible = fitting(name)
    return next(iter([*likely, *possible]), None)


def means(name: str, exercise: str) -> bool:
    """Return True if a name means this exercise."""
    return re.search(PATTERNS[exercise].called, name, re.IGNORECASE) is not None


PARTS_OF_CLASSES = {
    "adam_step": ("adam_optimizer",),
    "scaled_dot_product_attention": (
        "grouped_query_attention", "self_attention", "causal_self_attention", "multi_head_attention", "cross_attention",
    ),
    "self_attention": ("causal_self_attention",),
    "causal_self_attention": ("self_attention", "multi_head_attention", "scaled_dot_product_attention"),
    "decoder_layer": ("transformer_block", "encoder_layer"),
    "next_token_loss": ("cross_entropy",),
    "embed": ("positioned_embedding", "learned_positions"),
    "sinusoidal_positions": ("positioned_embedding", "learned_positions"),
    "positioned_embedding": ("learned_positions",),
}  # fmt: skip
"""Exercises that a class may also be, by the one that its name means: what it holds and takes decides."""


PARTS_OF_FUNCTIONS = {"cross_entropy": ("next_token_loss",), "bpe_decode": ("generate",)}
"""Exercises that a function may also be, by the one that its name means: its source decides."""


def fitting(name: str) -> tuple[list[str], list[str]]:
    """Return the exercises that a name means, and those that it may also mean, likeliest first."""
    plain = re.sub(OWNER, "", name.lstrip("_"))
    if re.search(NO_PART, plain):
        return [], []
    likely = [each for each, pattern in PATTERNS.items() if re.search(pattern.called, plain, re.IGNORECASE)]
    possible = [each for each, pattern in PATTERNS.items() if pattern.also and re.search(pattern.also, plain, re.IGNORECASE)]
    return likely, [each for each in possible if each not in likely]
