"""Functions of llama.cpp's server tests that do not pass here, by file, with the reason.

Files that are not in FILES test what is not built at all: a router of several processes, sleeping, MCP servers, tools that the server runs,
proxies, images, adapters and cross-encoders in GGUF, Google's wire, and the log lines of slots.
"""

from __future__ import annotations

FILES = (
    "basic",
    "chat_completion",
    "compat_anthropic",
    "compat_oai_responses",
    "completion",
    "ctx_shift",
    "embedding",
    "ignore_eos",
    "infill",
    "metrics",
    "security",
    "slot_save",
    "speculative",
    "template",
    "tokenize",
    "tool_call",
)
"""The files in scope."""

TEMPLATE = "wants a template file of llama.cpp's repository, which its source distribution on PyPI does not have"
PROGRESS = "return_progress is not built: it is a 400"
POST_SAMPLING = "post_sampling_probs is not built: it is a 400"
SHIFT = "a full context ends the text with the finish reason length; tokens are never dropped from its start"
IMAGE = "an image is a 400; llama-server answers 500 for a model without an encoder of images"
VISION = "wants an encoder of images"
METRICS = "metrics have vLLM's names under headway:, not llama.cpp's"
CORS = "origins are refused unless they are named in full, and a refused preflight request is a 400"
SLOTS = "there are no slots whose state could be saved: prefixes are shared between all requests"
INFILL = "no model here fills in the middle"
DRAFT = "drafts come from the text itself; a second model, its timings and made-up acceptance rates are not built"
POOLING = "the pooling is that of the model's files; there is no flag for it"

MISSING = {
    "basic": {
        "server_multiple_addresses": "one address per server",
        "server_props": "model_path is the model's name: paths of the machine are not shown",
        "server_model_aliases_and_tags": "a model has one name",
    },
    "chat_completion": {
        "chat_template_assistant_prefill": TEMPLATE,
        "chat_template_continue_final_message_vllm_compat": TEMPLATE,
        "return_progress": PROGRESS,
    },
    "compat_anthropic": {
        "anthropic_tool_result_with_image": IMAGE,
        "anthropic_vision_format_accepted": IMAGE,
        "anthropic_vision_base64_with_multimodal_model": VISION,
        "anthropic_empty_messages": "a request without messages is a 400, as at Anthropic",
        "anthropic_thinking_history_in_count_tokens": TEMPLATE,
        "anthropic_thinking_history_in_template": TEMPLATE,
    },
    "compat_oai_responses": {"responses_stream_with_llama_telemetry": PROGRESS},
    "completion": {"n_probs_post_sampling": POST_SAMPLING, "n_probs_post_backend_sampling": POST_SAMPLING},
    "ctx_shift": {"ctx_shift_enabled": SHIFT},
    "embedding": {"embedding_pooling_none": POOLING, "embedding_pooling_none_oai": POOLING},
    "infill": {"infill_without_input_extra": INFILL, "infill_with_input_extra": INFILL, "invalid_input_extra_req": INFILL},
    "metrics": {
        "metrics_prometheus_format": METRICS,
        "metrics_prompt_processed_and_cached": METRICS,
        "metrics_predicted_total_matches_requests": METRICS,
        "metrics_embedding_prompt_is_counted": METRICS,
        "metrics_timings_on_prompt_progress": PROGRESS,
    },
    "security": {
        "access_static_assets_without_api_key": "the page has files of its own",
        "cors_options": CORS,
        "cors_origins_localhost_reflects": CORS,
        "cors_origins_localhost_rejects": CORS,
        "cors_origins_defaults_to_localhost_with_tools_enabled": CORS,
        "cors_proxy_only_forwards_explicit_proxy_headers": "the server opens no address that a request names",
        "local_media_file": "the server opens no file that a request names",
    },
    "slot_save": dict.fromkeys(
        (
            "slot_save_restore",
            "slot_restore_legacy_token_list",
            "slot_erase",
            "slot_save_restore_text_only_on_multimodal",
            "slot_save_restore_with_image",
            "slot_save_restore_with_two_images",
            "slot_save_restore_with_image_across_restart",
            "slot_save_restore_image_payload_larger_than_context",
            "slot_restore_media_file_without_mmproj",
        ),
        SLOTS,
    ),
    "speculative": {
        "with_and_without_draft": DRAFT,
        "synth_is_deterministic": DRAFT,
        "synth_ignores_target_tokens": DRAFT,
        "slot_ctx_not_exceeded": "its prompt has more tokens than the context with the tokenizer of stories260K",
        "with_ctx_shift": SHIFT,
    },
    "template": {"reasoning": TEMPLATE, "date_inside_prompt": TEMPLATE, "add_generation_prompt": TEMPLATE},
    "tool_call": {"completion_without_tool_call_fast": TEMPLATE},
}
"""The reason by file and function."""
