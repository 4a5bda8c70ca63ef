"""Functions and small classes in conventions of public code, judged as `headway check` does, and mistakes in them."""

from __future__ import annotations

import re

import pytest

from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.doubt import settled
from headway.practice.diagnosis.files import load_module, read_source, with_exercises
from headway.practice.diagnosis.nested import verdicts
from headway.practice.diagnosis.sandbox import check_file
from tests.practice.public import (
    added_counts,
    attentions,
    axes_and_states,
    bases_and_options,
    batches_and_lengths,
    callers,
    caps_and_offsets,
    casts_and_indices,
    constructed,
    copies_and_flags,
    courses,
    depths_and_words,
    descents_and_smoothing,
    devices_and_refusals,
    embeddings,
    feed_forwards,
    fixed_heads,
    flags_and_rates,
    gates_and_bases,
    given_places,
    given_sides,
    given_sizes,
    gradients_and_rates,
    guards_and_slices,
    held_and_optional,
    jax_modules,
    joined,
    keys_and_lengths,
    keys_of_weights,
    layers,
    lengths_and_structures,
    limits_and_wrappers,
    loops_and_caches,
    makers_and_guards,
    masks_and_positions,
    modes_and_axes,
    named_blocks,
    named_otherwise,
    named_values,
    newer_syntax,
    noise_and_padding,
    norms,
    norms_and_kinds,
    not_read,
    numbered_axes,
    operands,
    orders_and_places,
    own_arrays,
    own_attention,
    own_settings,
    own_training,
    pieces,
    places_and_segments,
    ranges_and_repeats,
    records_and_experts,
    records_and_orders,
    regressors,
    returned_changes,
    rows_and_single_texts,
    schedules,
    settings,
    short_names,
    shown_and_counted,
    sides_and_layers,
    single_sequences,
    sizes_and_durations,
    stacks,
    static_methods,
    switched_on,
    switches,
    tables_and_layers,
    texts,
    tiles_and_columns,
    tokenizers,
    tokens_and_words,
    training,
    translation,
    unused_settings,
    updates,
    vocabularies_and_probabilities,
    widths_and_tables,
    wrappers,
)
from tests.practice.public.program import Program

EXPLAINED_BY_CALLERS = (
    callers,
    casts_and_indices,
    modes_and_axes,
    makers_and_guards,
    returned_changes,
    norms_and_kinds,
    schedules,
    newer_syntax,
    not_read,
    widths_and_tables,
    bases_and_options,
    limits_and_wrappers,
    descents_and_smoothing,
    added_counts,
    sizes_and_durations,
    places_and_segments,
    tables_and_layers,
    devices_and_refusals,
    batches_and_lengths,
    switched_on,
    ranges_and_repeats,
    held_and_optional,
    rows_and_single_texts,
)
"""Modules whose programs the rest of the file explains."""

MODULES = (
    operands,
    own_arrays,
    own_training,
    norms,
    feed_forwards,
    attentions,
    layers,
    given_sizes,
    training,
    texts,
    jax_modules,
    settings,
    single_sequences,
    embeddings,
    courses,
    stacks,
    switches,
    tokenizers,
    translation,
    axes_and_states,
    constructed,
    joined,
    noise_and_padding,
    numbered_axes,
    wrappers,
    updates,
    masks_and_positions,
    own_settings,
    keys_and_lengths,
    named_values,
    given_places,
    own_attention,
    pieces,
    records_and_experts,
    records_and_orders,
    vocabularies_and_probabilities,
    named_otherwise,
    unused_settings,
    static_methods,
    tokens_and_words,
    keys_of_weights,
    gradients_and_rates,
    named_blocks,
    loops_and_caches,
    depths_and_words,
    flags_and_rates,
    gates_and_bases,
    guards_and_slices,
    regressors,
    *EXPLAINED_BY_CALLERS,
    given_sides,
    shown_and_counted,
    short_names,
    sides_and_layers,
    fixed_heads,
    orders_and_places,
    copies_and_flags,
    tiles_and_columns,
    lengths_and_structures,
    caps_and_offsets,
)
PROGRAMS = tuple(program for module in MODULES for program in module.PROGRAMS)
MISTAKES = [
    (program, number // 6 % len(program.mistakes))
    for number, (module, program) in enumerate((module, program) for module in MODULES for program in module.PROGRAMS)
    if program.mistakes and number % (2 if module in EXPLAINED_BY_CALLERS else 6) == 0
]
"""One mistake of every sixth program, as each takes seconds, and of every second one of the modules whose programs the rest of the file explains."""


def verdict_on(tmp_path, program, text):
    for library in re.findall(r"(?m)^(?:from|import) (torch|flax|equinox)", text):
        pytest.importorskip(library)
    path = tmp_path / "learner.py"
    path.write_text(text)
    text = read_source(path)
    with jax_on_numpy():
        module = load_module(path, text)
        chosen = [pair for pair in with_exercises(module, text) if pair[0].name == program.name]
        found = settled(verdicts(chosen))
    return found[0] if found else None


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_right_programs_are_correct(tmp_path, program: Program):
    verdict = verdict_on(tmp_path, program, program.text)
    assert verdict is not None
    assert verdict.is_correct, verdict
    assert verdict.exercise == program.part


def test_tables_of_few_rows_are_not_accused(tmp_path):
    program = Program("SegmentEmbedding", "embed", named_otherwise.TABLES)
    verdict = verdict_on(tmp_path, program, program.text)
    assert verdict is not None
    assert verdict.status == "could not run"


def test_tables_of_an_unknown_length_are_not_accused(tmp_path):
    program = Program("rope_tables", "rotary_tables", modes_and_axes.UNKNOWN_LENGTH)
    verdict = verdict_on(tmp_path, program, program.text)
    assert verdict is None or verdict.status == "could not run"


def test_functions_that_only_show_a_part_need_no_verdict(tmp_path):
    program = Program("exercise_1_causal_attention", "causal_self_attention", makers_and_guards.SHOWS)
    assert verdict_on(tmp_path, program, program.text) is None


def test_caches_that_others_write_need_no_verdict(tmp_path):
    program = Program("KVCache", "kv_cache", newer_syntax.ALLOCATED)
    assert verdict_on(tmp_path, program, program.text) is None


@pytest.mark.parametrize("text", [widths_and_tables.CHOOSES, widths_and_tables.INHERITS])
def test_classes_that_only_choose_or_inherit_a_layer_need_no_verdict(tmp_path, text):
    path = tmp_path / "learner.py"
    path.write_text(text + "\n\ndef relu(x):\n    return x.clamp(min=0)\n")
    assert [each.subject for each in check_file(path) if each.status != "not judged"] == ["relu"]


def test_patches_of_images_need_no_verdict(tmp_path):
    program = Program("ViTEmbeddings", "learned_positions", places_and_segments.PATCHES)
    assert verdict_on(tmp_path, program, program.text) is None


def test_squared_errors_and_random_starts_are_not_accused(tmp_path):
    program = Program("compute_loss", "cross_entropy", places_and_segments.DESCENT)
    assert verdict_on(tmp_path, program, program.text) is None
    verdict = verdict_on(tmp_path, Program("linear_regression", "linear_regression", ""), places_and_segments.DESCENT)
    assert verdict is not None
    assert verdict.status == "could not run"


def test_descents_that_shuffle_their_rows_are_not_accused(tmp_path):
    program = Program("StochasticLinearRegression", "linear_regression", records_and_orders.SHUFFLED)
    verdict = verdict_on(tmp_path, program, program.text)
    assert verdict is None or verdict.status == "could not run"


def test_bases_that_subclasses_complete_need_no_verdict(tmp_path):
    program = Program("AttentionBase", "multi_head_attention", bases_and_options.COMPLETED)
    assert verdict_on(tmp_path, program, program.text) is None
    path = tmp_path / "learner.py"
    assert {each.subject: each.status for each in check_file(path)} == {"CausalAttention": "correct"}


def test_functions_that_learn_merges_need_no_verdict_under_the_name_of_a_merge(tmp_path):
    path = tmp_path / "learner.py"
    path.write_text(bases_and_options.LEARNS)
    assert not [each for each in check_file(path) if each.exercise == "merge_pair"]


def test_encodings_by_character_need_no_verdict_next_to_merges(tmp_path):
    program = Program("encode", "bpe_encode", tables_and_layers.BY_CHARACTER)
    assert verdict_on(tmp_path, program, program.text) is None


def test_functions_that_make_layers_need_no_verdict(tmp_path):
    pytest.importorskip("flax")
    path = tmp_path / "learner.py"
    path.write_text(tables_and_layers.MAKES_LAYERS)
    assert [each.subject for each in check_file(path) if each.status != "not judged"] == ["relu"]


def test_parts_that_leave_out_a_step_by_their_name_and_classifiers_of_texts_need_no_verdict(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "learner.py"
    path.write_text(batches_and_lengths.WITHOUT_A_STEP)
    assert [each.subject for each in check_file(path) if each.status != "not judged"] == ["relu"]


def test_functions_that_let_a_model_generate_need_no_verdict(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "learner.py"
    path.write_text(given_sides.LETS_GENERATE)
    assert [each.subject for each in check_file(path) if each.status != "not judged"] == ["relu"]


USES = ("second_loop_empty", "prompt_not_cached", "first_pass_unmasked")


@pytest.mark.parametrize(("program", "cause"), [*zip(loops_and_caches.PROGRAMS, USES, strict=False)], ids=USES)
def test_mistakes_with_iterators_and_caches_are_named(tmp_path, program: Program, cause: str):
    verdict = verdict_on(tmp_path, program, program.text.replace(*program.mistakes[0]))
    assert verdict is not None
    assert [each.name for each in verdict.causes] == [cause]


NAMED = {"generate": "sampling_differs", "BertEncoder": "mask_turned"}


@pytest.mark.parametrize(("name", "cause"), NAMED.items(), ids=NAMED.values())
def test_mistakes_that_one_kind_of_call_shows_are_named(tmp_path, name: str, cause: str):
    program = next(each for each in devices_and_refusals.PROGRAMS if each.name == name)
    verdict = verdict_on(tmp_path, program, program.text.replace(*program.mistakes[0]))
    assert verdict is not None
    assert [each.name for each in verdict.causes] == [cause]


@pytest.mark.slow
@pytest.mark.usefixtures("without_pairs", "with_few_repairs")
@pytest.mark.parametrize(("program", "place"), MISTAKES, ids=lambda value: value if isinstance(value, int) else value.id)
def test_programs_with_a_mistake_are_not_correct(tmp_path, program: Program, place: int):
    right, wrong = program.mistakes[place]
    assert program.text.count(right) == 1, right
    verdict = verdict_on(tmp_path, program, program.text.replace(right, wrong))
    assert verdict is None or not verdict.is_correct  # a name that says little is recognised only if the program is right


def test_the_judge_measures_the_eps_that_the_diagnosis_found_by_trying(tmp_path):
    path = tmp_path / "learner.py"
    path.write_text(records_and_experts.AROUND_ZERO)
    (verdict,) = [each for each in check_file(path) if each.subject == "RMSNorm"]
    assert verdict.is_correct, verdict


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS[::40], ids=lambda program: program.id)
def test_the_judge_confirms_them(tmp_path, program: Program):
    path = tmp_path / "learner.py"
    path.write_text(program.text)
    (verdict,) = [each for each in check_file(path) if each.subject == program.name]
    assert verdict.is_correct, verdict
