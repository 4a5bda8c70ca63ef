"""From a learner's function and an exercise to a verdict.

The order: can it be called at all; is every answer the definition's, under one convention or another; else which number in it is
wrong; else which known mistake; else which two; else the first element that differs.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy

from headway.practice.diagnosis.calling import Call, bind, libraries_for
from headway.practice.diagnosis.compare import PRECISION, Raised, decimals_of, first_difference, is_arithmetic, is_same, precision
from headway.practice.diagnosis.drawing import DrawnCall, LikeliestCall
from headway.practice.diagnosis.failure import explain
from headway.practice.diagnosis.gradients import gradient_cause
from headway.practice.diagnosis.half_precision import on_half_precision
from headway.practice.diagnosis.instances import InstanceCall, instance_calls
from headway.practice.diagnosis.naming import names_of
from headway.practice.diagnosis.patience import TookTooLongError
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Recovery
from headway.practice.verdict import Cause, Verdict
from headway.practice.words import Words

PROVED = Words(
    "on all {count} probes your answers are exactly those of the definition with this done your way; put right, they match",
    "在全部 {count} 个探针上，你的输出与“只把这一处换成你的写法”的定义完全一致；改正后即与定义相同",
)
ROUNDS = Words(
    "it rounds its answer to {decimals} decimals, as some exercises ask: inside a model, do not",
    "它把结果四舍五入到 {decimals} 位小数：有些练习这样要求，但放进模型里不要这样做",
)
NOT_JUDGED = Words("it does not take {beyond}, which it need not", "它不接受{beyond}，这并非必须")
CALLS: dict[str | None, type[Call]] = {None: Call, "read": DrawnCall, "likeliest": LikeliestCall}

CHANGES_INPUTS = Mistake(
    "changes_inputs",
    {},
    Words("it changes the arrays it is given", "它修改了传入的数组"),
    Words("work on a copy, or write x = x - … instead of x -= …", "先复制一份，或用 x = x - … 代替 x -= …"),
    pattern=r"[-+*/@]=|\[.*\]\s*=",
)
NOT_REPEATABLE = Mistake(
    "not_repeatable",
    {},
    Words(
        "two calls with the same arguments give different answers",
        "同样的参数调用两次，结果不同",
    ),
    Words(
        "make no random weights inside the call, keep no state between calls, and switch dropout off (module.eval())",
        "不要在调用中随机初始化权重，不要在两次调用间保留状态，并关闭 dropout（module.eval()）",
    ),
    pattern=r"rand|dropout|Dropout",
)
DROPOUT_IN_EVAL = Mistake(
    "dropout_in_eval",
    {},
    Words("dropout stays active in eval mode: two calls give different answers", "在 eval 模式下 dropout 仍在起作用：两次调用结果不同"),
    Words(
        "use a torch.nn.Dropout layer, or F.dropout(x, p, training=self.training)",
        "使用 torch.nn.Dropout 层，或 F.dropout(x, p, training=self.training)",
    ),
    Words("in training nothing shows it", "训练时看不出来"),
    pattern=r"dropout\(",
)


@dataclass(frozen=True)
class Trial:
    """A learner's answers to all probes under one convention.

    decimals   what they are all rounded to, where they are and the definition's are not
    """

    exercise: Exercise
    call: Call
    conventions: tuple[Convention, ...]
    probes: tuple[Probe, ...]
    answers: tuple[Any, ...]
    refused: tuple[Probe, ...] = ()
    known: dict[Any, Any] = field(default_factory=dict)
    decimals: int | None = None

    def as_rounded(self) -> Trial:
        """The trial, with what its answers are rounded to."""
        decimals = decimals_of(self.answers)
        is_plain = decimals is None or decimals_of([self.expected(probe) for probe in self.probes]) is not None
        return self if is_plain else replace(self, decimals=decimals)

    def without_refused(self) -> Trial:
        """The trial without the kinds of probes that a right function may refuse, and one of which this one did refuse."""
        return self.without({probe.beyond for probe, answer in zip(self.probes, self.answers, strict=True) if _is_refusal(probe, answer)})

    def without_misshapen(self) -> Trial:
        """The trial without the kinds of probes that a right function may refuse, and that this one never answers in the right shape."""
        asked = zip(self.probes, self.answers, strict=True)
        shaped = {probe.beyond for probe, answer in asked if getattr(answer, "shape", None) == getattr(self.expected(probe), "shape", None)}
        return self.without({probe.beyond for probe in self.probes} - shaped)

    def without_caution(self) -> Trial:
        """The trial without the probes where a right function may go wrong, and is told so; nothing is said of those as refused."""
        return replace(self.without({probe.beyond for probe in self.probes if probe.caution is not None}), refused=self.refused)

    def without(self, beyond: Collection[Words | None]) -> Trial:
        """The trial without the probes of these kinds, all of which a right function may refuse."""
        if not beyond:
            return self
        is_refused = [probe.beyond is not None and probe.beyond in beyond for probe in self.probes]
        kept = [pair for pair, is_out in zip(zip(self.probes, self.answers, strict=True), is_refused, strict=True) if not is_out]
        probes, answers = (tuple(column) for column in zip(*kept, strict=True)) if kept else ((), ())
        refused = tuple(probe for probe, is_out in zip(self.probes, is_refused, strict=True) if is_out)
        return replace(self, probes=probes, answers=answers, refused=(*self.refused, *refused))

    @property
    def has_answers(self) -> bool:
        """Whether the function answered at all."""
        return any(not isinstance(answer, Raised) for answer in self.answers)

    def matches(self, mistakes: tuple[Mistake, ...] = ()) -> bool:
        """Whether every answer is that of the definition with these mistakes."""
        return self.has_answers and all(
            self.is_same(probe, answer, mistakes) for probe, answer in zip(self.probes, self.answers, strict=True)
        )

    def is_right(self) -> bool:
        """Whether every answer is the definition's, and no operand was refused altogether, such as a mask."""
        answered = {role for probe in self.probes for role in probe.inputs}
        taken = {role.name for role in self.call.binding.role_of.values()}
        return self.matches() and all(set(probe.inputs) & taken <= answered for probe in self.refused)

    def is_first_same(self, mistakes: tuple[Mistake, ...]) -> bool:
        """Whether the first answer is that of the definition with these mistakes."""
        return self.is_same(self.probes[0], self.answers[0], mistakes)

    def is_first_changed(self, mistake: Mistake) -> bool:
        """Whether a mistake shows on the first probe."""
        return self.expected(self.probes[0], (mistake,)) is not self.expected(self.probes[0])

    def is_undone_by(self, mistake: Mistake) -> bool:
        """Whether a mistake replaces all that a convention is about: it is then the same under the usual convention."""
        return any(convention.steps and set(convention.steps) <= set(mistake.steps) for convention in self.conventions)

    def num_matching(self) -> int:
        """How many answers are the definition's."""
        return sum(self.is_same(probe, answer, ()) for probe, answer in zip(self.probes, self.answers, strict=True))

    def num_raised(self) -> int:
        """How often it raised instead of answering."""
        return sum(isinstance(answer, Raised) for answer in self.answers)

    def expected(self, probe: Probe, mistakes: tuple[Mistake, ...] = ()) -> Any:
        """The definition's answer, with these mistakes in it, to the inputs as the learner's function saw them."""
        asked = (self._asked_as, probe.name, tuple(map(id, mistakes)))
        if asked not in self.known:
            try:
                with numpy.errstate(all="ignore"):
                    answer = self.exercise.answer(self._precise(probe), mistakes, self.conventions)
            except Exception as error:  # a mistake may well make the shapes not fit, as it does for the learner
                answer = Raised(error)
            self.known[asked] = (mistakes, _once(answer, self.known))  # held, so that no other object gets its id
        return self.known[asked][1]

    @cached_property
    def _asked_as(self) -> tuple[Any, ...]:
        """What the definition's answers depend on beside the probe and the mistakes."""
        return (self.call.library, *(id(convention) for convention in self.conventions if convention.steps))

    def _precise(self, probe: Probe) -> Inputs:
        """A probe's inputs as the function saw them, rounded once for all."""
        asked = (self.call.library, probe.name)
        if asked not in self.known:
            self.known[asked] = self.call.precise(probe.inputs)
        return self.known[asked]

    def is_same(self, probe: Probe, answer: Any, mistakes: tuple[Mistake, ...] = ()) -> bool:
        """Whether one answer is the definition's, with these mistakes in it."""
        expected = self.expected(probe, mistakes)
        compared = (id(answer), id(expected), self.decimals)
        if compared not in self.known:
            rounding = 0.0 if self.decimals is None else 10.0**-self.decimals
            self.known[compared] = (answer, is_same(answer, expected, max(precision(answer), precision(expected)), rounding))
        return self.known[compared][1]


def _once(answer: Any, known: dict[Any, Any]) -> Any:
    """The first of all answers that are the same number for number, so that no two of them are compared twice."""
    if isinstance(answer, tuple):
        parts = tuple(_once(part, known) for part in answer)
        return known.setdefault(("tuple", *map(id, parts)), parts)
    if not isinstance(answer, numpy.ndarray):
        return answer
    return known.setdefault((answer.dtype, answer.shape, answer.tobytes()), answer)


def _is_refusal(probe: Probe, answer: Any) -> bool:
    """Whether a function said no to what it may; an overflow is no such word unless the probe is about large numbers, and says so."""
    if probe.beyond is None or not isinstance(answer, Raised):
        return False
    return bool(probe.beyond.en) or not is_arithmetic(answer.error)


def diagnose(subject: Subject, exercise: Exercise) -> Verdict:
    """The verdict on a function, as one exercise, or as a related one where that explains it and this one does not."""
    from headway.practice.exercises import exercise as by_name

    verdict = _as_one(subject, exercise)
    if verdict.status in ("correct", "wrong"):
        return verdict
    others = (_as_one(subject, by_name(name)) for name in exercise.related)
    return next((other for other in others if other.status in ("correct", "wrong")), verdict)


def _as_one(subject: Subject, exercise: Exercise) -> Verdict:
    """The verdict on a function, as one exercise."""
    trials = _trials(subject, exercise)
    if not trials:
        return _without_operands(subject, exercise)
    if not _is_repeatable(trials):
        return _verdict(subject, exercise, "wrong", trials[0], causes=(_plain_cause(subject, _what_varies(trials)),))
    trials.sort(key=lambda trial: (-trial.num_matching(), trial.num_raised()))  # stable: the plainest convention stays before its equals
    most, longest = trials[0].num_matching(), max(len(trial.probes) for trial in trials)
    trials = [trial for trial in trials if trial.num_matching() == most or len(trial.probes) == longest]  # leaving out must not make right
    trials = [trial for trial in trials if trial.without_refused().without_caution().is_right()] or trials
    narrower = [trial.without_refused() for trial in trials]
    alone, together = (_measured, _single), (_pairs,)
    stages = ((trials, alone), (narrower, alone), (trials, together), (narrower, together))
    is_narrower = any(fewer is not trial for fewer, trial in zip(narrower, trials, strict=True))
    for considered, ways in stages if is_narrower else stages[::2]:
        right = next((trial for trial in considered if trial.is_right()), None)
        if right is not None:
            return _correct(subject, exercise, right)
        for causes_of in ways:
            asked = [] if any(trial.matches() for trial in _fullest(considered)) else considered
            asked = [trial for trial in asked if trial.has_answers and not trial.matches()]
            if causes_of is _pairs:  # what is nearer than others is what its writer meant
                asked = [trial for trial in asked if trial.num_matching() == max(each.num_matching() for each in asked)]
            causes = [(trial, cause) for trial in _least_raised(asked) for cause in causes_of(subject, trial)]
            if causes_of is not _pairs:  # two mistakes that raise would explain all that is asked in a wrong way
                causes = causes or [(trial, cause) for trial in asked for cause in causes_of(subject, trial)]
            if causes:
                return _verdict(subject, exercise, "wrong", _plainest(causes), causes=_without_repetition([cause for _, cause in causes]))
    right = next((trial for trial in (each.without_misshapen() for each in narrower) if trial.is_right()), None)
    if right is not None:  # what it was not made for it answers in a shape that nobody takes for an answer
        return _correct(subject, exercise, right)
    right = next((trial for trial in (each.without_caution() for each in narrower) if trial.is_right()), None)
    if right is not None:
        return _correct(subject, exercise, right)
    for considered in itertools.chain(
        _fewer(trials), _fewer(narrower)
    ):  # a mistake may do anything at all with what even a right function may refuse
        for causes_of in (_measured, _single):
            causes = [(trial, cause) for trial in considered for cause in causes_of(subject, trial)]
            if causes:
                return _verdict(subject, exercise, "wrong", _plainest(causes), causes=_without_repetition([cause for _, cause in causes]))
    return _unexplained(subject, exercise, narrower[0] if narrower[0].probes and not narrower[0].matches() else trials[0])


def _fullest(trials: Sequence[Trial]) -> list[Trial]:
    """The trials of which most probes are left."""
    most = max((len(trial.probes) for trial in trials), default=0)
    return [trial for trial in trials if len(trial.probes) == most]


def _plainest(causes: Sequence[tuple[Trial, Cause]]) -> Trial:
    """Of the trials under which the first cause explains everything, that with the fewest conventions to be said."""
    return min(
        (trial for trial, cause in causes if cause.name == causes[0][1].name),
        key=lambda trial: sum(each.name is not None for each in trial.conventions),
    )


def _least_raised(trials: Sequence[Trial]) -> list[Trial]:
    """The trials under which it answered most."""
    shares = [trial.num_raised() / len(trial.probes) for trial in trials]
    return [trial for trial, share in zip(trials, shares, strict=True) if share == min(shares)]


def _fewer(trials: Sequence[Trial]) -> Iterator[list[Trial]]:
    """The trials without one kind of probe that may be refused, then without all of them, where what is left is still wrong."""
    kinds = list(dict.fromkeys(probe.beyond for trial in trials for probe in trial.probes if probe.beyond is not None))
    for left_out in [*([kind] for kind in kinds), kinds] if len(kinds) > 1 else [kinds] * len(kinds):
        fewer = [replace(trial.without(left_out), refused=trial.refused) for trial in trials]
        yield [trial for trial in fewer if len(trial.probes) > 2 and trial.has_answers and not trial.matches()]


def _trials(subject: Subject, exercise: Exercise) -> list[Trial]:
    """The answers under every combination of conventions, in the first array library in which any probe ran."""
    right: dict[Any, Any] = {}
    trials: list[Trial] = []
    for library in libraries_for(subject):
        ways: list[list[Trial]] = []
        for call in _calls(subject, exercise, library):
            ways.append(_until_right(_trials_of(call, exercise, right)))
            if any(trial.without_refused().matches() for trial in ways[-1]):
                break
        found = _likeliest(ways)
        if any(trial.has_answers for trial in found):
            return _without_evasions(found)
        trials = trials or found
    return trials


def _until_right(trials: Iterator[Trial]) -> list[Trial]:
    """The trials up to the first under which every answer is right, where no other could say more of the probes."""
    found: list[Trial] = []
    for trial in trials:
        found.append(trial)
        if trial.matches() and all(len(trial.probes) >= len(other.probes) for other in found):
            break
    return found


def _without_evasions(trials: Sequence[Trial]) -> list[Trial]:
    """The trials without those whose conventions cannot say what others can, such as any mask at all."""
    weights = {role.name for trial in trials[:1] for role in trial.exercise.roles if role.is_weight}
    asked = [{role for probe in trial.probes for role in probe.inputs} - weights for trial in trials]
    return [trial for trial, roles in zip(trials, asked, strict=True) if roles == set().union(*asked)] or list(trials)


def _calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """The ways to call it: one for a function; for a class, one for each way to say which of its arrays is which weight."""
    if exercise.calls is not None:
        return exercise.calls(subject, exercise, library)
    if inspect.isclass(subject.value):
        return instance_calls(subject, exercise, library)
    binding = bind(subject, exercise.roles)
    return [] if binding is None else [CALLS[exercise.drawing](subject, binding, library)]


def _likeliest(ways: Sequence[Sequence[Trial]]) -> list[Trial]:
    """Of several ways to call it, those under which most answers are right; where none is, those that one mistake brings near."""
    ways = [trials for trials in ways if trials]
    most = max((trial.num_matching() for trials in ways for trial in trials), default=0)
    if most:
        return [trial for trials in ways if max(trial.num_matching() for trial in trials) == most for trial in trials]
    near = [trials for trials in ways[1:] if any(trials[0].is_first_same((mistake,)) for mistake in trials[0].exercise.mistakes)]
    return [trial for trials in [*ways[:1], *near] for trial in trials]


def _trials_of(call: Call, exercise: Exercise, right: dict[Any, Any]) -> Iterator[Trial]:
    """One trial for every combination of conventions under which a probe can be said."""
    probes = [probe for probe in exercise.probes() if probe.caution is None or probe.beyond is not None]
    said = [(probe, probe.inputs | call.sizes(probe.inputs), ()) for probe in probes]
    groups = [_alternatives(group, call) for group in exercise.conventions]
    asked: dict[Any, tuple[Any, bool] | None] = {}
    answered: dict[int, tuple[Sequence[Said], tuple[Probe, ...], list[Any], bool]] = {}
    seen = set()
    for conventions, all_said in _combinations(groups, said):
        if id(all_said) not in answered:  # other conventions may say all probes in the same way
            answered[id(all_said)] = (all_said, *_answers(call, all_said, asked, right))
        _, kept, raw, has_changed_inputs = answered[id(all_said)]
        decoding = [convention for convention in conventions if convention.decode is not PLAIN.decode]
        answers = (
            [_once(_decoded(answer, decoding, probe.inputs), right) for probe, answer in zip(kept, raw, strict=True)] if decoding else raw
        )
        steps = tuple(id(convention) for convention in conventions if convention.steps)
        known_as = (
            steps,
            *((probe.name, answer.kind if isinstance(answer, Raised) else id(answer)) for probe, answer in zip(kept, answers, strict=True)),
        )
        if kept and known_as not in seen:  # a convention that changes no answer says nothing
            seen.add(known_as)
            changed = replace(call, has_changed_inputs=has_changed_inputs)
            yield Trial(exercise, changed, conventions, kept, tuple(answers), known=right).as_rounded()


def _answers(
    call: Call, all_said: Sequence[Said], asked: dict[Any, tuple[Any, bool] | None], right: dict[Any, Any]
) -> tuple[tuple[Probe, ...], list[Any], bool]:
    """The probes that a function can be given, its answers to them, and whether it changed what it was given."""
    kept: list[Probe] = []
    answers: list[Any] = []
    has_changed_inputs = False
    for probe, encoded, ways in all_said:
        if (probe.name, ways) not in asked:  # other conventions may say this probe in the same way
            asked[probe.name, ways] = None
            if call.fits(encoded):
                asked[probe.name, ways] = _asked(call, encoded, answers, right)
        found = asked[probe.name, ways]
        if found is not None:
            kept.append(probe)
            answers.append(found[0])
            has_changed_inputs |= found[1]
    return tuple(kept), answers, has_changed_inputs


def _asked(call: Call, encoded: Inputs, before: Sequence[Any], right: dict[Any, Any]) -> tuple[Any, bool]:
    """One answer, and whether the inputs were changed; what did not come back for the probe before is not asked for this."""
    if is_endless(before):
        return before[-1], False
    once = replace(call, has_changed_inputs=False)
    with numpy.errstate(all="ignore"):
        return _once(once(encoded), right), once.has_changed_inputs


def is_endless(answers: Sequence[Any]) -> bool:
    """Whether the last call did not come back."""
    return bool(answers) and isinstance(answers[-1], Raised) and isinstance(answers[-1].error, TookTooLongError)


Said = tuple[Probe, Inputs, tuple[Any, ...]]
"""A probe, its inputs as some conventions say them, and what of these said them otherwise."""


def _combinations(
    groups: Sequence[Sequence[Convention]], said: Sequence[Said], chosen: tuple[Convention, ...] = ()
) -> Iterator[tuple[tuple[Convention, ...], Sequence[Said]]]:
    """Every choice of one convention of each group, with the probes as it says them; without those that change nothing."""
    if not groups:
        yield chosen, said
        return
    for convention in groups[0]:
        again = [(probe, _once_encoded(convention, inputs), ways) for probe, inputs, ways in said]
        now: list[Said] = [
            (probe, encoded, ways if encoded is inputs else (*ways, convention.encode))
            for (probe, encoded, ways), (_, inputs, _) in zip(again, said, strict=True)
            if encoded is not None
        ]
        is_idle = len(now) == len(said) and all(one[1] is other[1] for one, other in zip(now, said, strict=True))
        if now and (convention is groups[0][0] or not is_idle or convention.steps or convention.decode is not PLAIN.decode):
            yield from _combinations(groups[1:], said if is_idle else now, (*chosen, convention))


PLAIN = Convention()


def _once_encoded(convention: Convention, inputs: Inputs) -> Inputs | None:
    try:
        return convention.encode(inputs)
    except KeyError:  # it is about a role that this probe does not have
        return None


def _alternatives(group: Sequence[Convention], call: Call) -> list[Convention]:
    """The first of a group, and what else may hold by the function's parameters and names, and by what is read off it."""
    possible = [group[0], *(each for each in group[1:] if _may_hold(each, call))]
    return [read for each in possible for read in _read(each, call)]


def _read(convention: Convention, call: Call) -> Sequence[Convention]:
    """A convention that says what it is, or what is read off the function: which may answer anything at all, and then says nothing."""
    if convention.reads is None:
        return [convention]
    try:
        read = convention.reads(lambda inputs: _ask(call, (), inputs))
    except (ValueError, TypeError, ArithmeticError, AttributeError, IndexError):
        return []
    return [] if read is None else [read] if isinstance(read, Convention) else read


def _may_hold(convention: Convention, call: Call) -> bool:
    """Whether the function has the operand that a convention is about, and is called so that it can hold."""
    if convention.without is not None and call.binding.takes(convention.without):
        return False
    taken_as = next((name for name, role in call.binding.role_of.items() if role.name == convention.role), None)
    if convention.role is not None and (taken_as is None or not re.search(convention.named or "", taken_as, re.IGNORECASE)):
        return False
    is_said = re.search(convention.said or "", "\n".join(call.subject.source), re.IGNORECASE)
    return bool(is_said and re.search(convention.called or "", call.subject.name, re.IGNORECASE))


def _ask(call: Call, conventions: Sequence[Convention], inputs: Inputs) -> Any:
    """The answer to some inputs, as headway.functions would give it; Raised where the function cannot be asked so."""
    encoded = _encoded(call, conventions, inputs)
    if encoded is None:
        return Raised(ValueError("it cannot be asked so"))
    with numpy.errstate(all="ignore"):
        return _decoded(call(encoded), conventions, inputs)


def _encoded(call: Call, conventions: Sequence[Convention], inputs: Inputs) -> Inputs | None:
    """The inputs as the conventions say them; None where one cannot."""
    encoded: Inputs | None = inputs | call.sizes(inputs)
    for convention in conventions:
        encoded = None if encoded is None else _once_encoded(convention, encoded)
    return encoded


def _decoded(answer: Any, conventions: Sequence[Convention], inputs: Inputs) -> Any:
    for convention in reversed(conventions):
        answer = answer if isinstance(answer, Raised) or answer is None else convention.decode(answer, inputs)
    return answer


def _measured(subject: Subject, trial: Trial) -> Iterator[Cause]:
    for recovery in trial.exercise.recoveries:
        found = _recovered(recovery, trial)
        if found is None:
            continue
        mistake, says = found
        if trial.matches((mistake,)):
            yield _cause(subject, trial, (mistake,), says)


def _recovered(recovery: Recovery, trial: Trial) -> tuple[Mistake, Words] | None:
    """The number that the function uses as a mistake in its step, with what it equals; None where it is right or cannot be read."""
    said = tuple(id(each) for each in trial.conventions if each.encode is not PLAIN.encode or each.decode is not PLAIN.decode)
    asked = (id(recovery), id(trial.call.binding), said)
    if asked not in trial.known:
        trial.known[asked] = (
            trial.call.binding,
            trial.conventions,
            _read_off(recovery, trial),
        )  # held, so that no other object gets its id
    return trial.known[asked][2]


def _read_off(recovery: Recovery, trial: Trial) -> tuple[Mistake, Words] | None:
    try:
        measured = recovery.measure(lambda inputs: _ask(trial.call, trial.conventions, inputs))
    except (ValueError, TypeError, ArithmeticError, AttributeError, IndexError):  # it may answer anything at all
        return None
    if not measured or not all(numpy.isfinite(number) for _, number in measured):
        return None
    if all(abs(number - recovery.right(inputs)) <= 1e-3 * max(abs(recovery.right(inputs)), 1e-12) for inputs, number in measured):
        return None
    names = names_of([(recovery.sizes(inputs), number) for inputs, number in measured], tolerance=1e-3)
    inputs, number = max(measured, key=lambda each: abs(each[1] - recovery.right(each[0])) / max(abs(recovery.right(each[0])), 1e-12))
    numbers = [each for _, each in measured]
    if not names and max(numbers) - min(numbers) > 1e-3 * max(map(abs, numbers)):
        return None

    def number_of(other: Inputs) -> float:
        sizes = recovery.sizes(other)
        if not names:
            return number
        return next(value for name, value in _named(sizes).items() if name == names[0])

    says = recovery.says.filled(
        value=f"{number:.4g}",
        names=" = " + " = ".join(names[:2]) if names else "",
        right=f"{recovery.right(inputs):.4g}",
        right_name=recovery.right_name,
    )
    steps = {recovery.step: recovery.wrong(number_of)}
    return Mistake(recovery.name, steps, says, recovery.fix, recovery.hides, recovery.pattern), says


def _named(sizes: Any) -> dict[str, float]:
    from headway.practice.diagnosis.naming import candidates

    return candidates(sizes)


def _single(subject: Subject, trial: Trial) -> Iterator[Cause]:
    for mistake in trial.exercise.mistakes:
        if not trial.is_undone_by(mistake) and trial.matches((mistake,)):
            yield _cause(subject, trial, (mistake,))


def _pairs(subject: Subject, trial: Trial) -> Iterator[Cause]:
    asked = sorted(zip(trial.probes, trial.answers, strict=True), key=lambda pair: _size(pair[0].inputs))  # on small ones least shows
    recovered = [found[0] for recovery in trial.exercise.recoveries if (found := _recovered(recovery, trial))]
    for pair in itertools.combinations([*recovered, *trial.exercise.mistakes], 2):
        if _may_explain(trial, asked, pair) and not set(pair[0].steps) & set(pair[1].steps) and trial.matches(pair):
            yield _cause(subject, trial, pair)


def _size(inputs: Inputs) -> int:
    parts = [part for value in inputs.values() for part in (value if isinstance(value, list) else [value])]
    return sum(numpy.size(part) for part in parts if isinstance(part, numpy.ndarray))


def _may_explain(trial: Trial, asked: Sequence[tuple[Probe, Any]], pair: tuple[Mistake, ...]) -> bool:
    """Whether two mistakes may give all answers: where one of them shows nothing alone, it shows nothing beside the other."""
    for probe, answer in asked:
        right = trial.expected(probe)
        seen = tuple([mistake for mistake in pair if trial.expected(probe, (mistake,)) is not right])
        if len(seen) < 2 and not trial.is_same(probe, answer, seen):
            return False
    return True


def _cause(subject: Subject, trial: Trial, mistakes: tuple[Mistake, ...], says: Words | None = None) -> Cause:
    first = mistakes[0]
    words = says or _together([mistake.says for mistake in mistakes])
    return Cause(
        name=" + ".join(mistake.said_as or mistake.name for mistake in mistakes),
        says=words,
        fix=_together([mistake.fix for mistake in mistakes]),
        proof=PROVED.filled(count=len(trial.probes)),
        hides=first.hides if len(mistakes) == 1 else None,
        line=subject.line_of(first.pattern),
    )


def _together(words: Sequence[Words]) -> Words:
    return Words("; and ".join(each.en for each in words), "；并且".join(each.zh for each in words))


def _without_repetition(causes: Sequence[Cause]) -> tuple[Cause, ...]:
    return tuple({cause.name: cause for cause in reversed(causes)}.values())[::-1]


def _is_repeatable(trials: Sequence[Trial]) -> bool:
    """Whether the largest answer comes out the same once more."""
    answered = [
        (trial, probe, answer)
        for trial in trials
        for probe, answer in zip(trial.probes, trial.answers, strict=True)
        if not isinstance(answer, Raised) and answer is not None
    ]
    if not answered:
        return True
    trial, probe, answer = max(answered, key=lambda each: numpy.size(each[2]) if isinstance(each[2], numpy.ndarray) else 0)
    return is_same(_ask(trial.call, trial.conventions, probe.inputs), answer, precision(answer))


def _what_varies(trials: Sequence[Trial]) -> Mistake:
    """Why two calls differ: dropout, where they do not without it."""
    without = [replace(trial, call=trial.call.without_dropout()) for trial in trials if isinstance(trial.call, InstanceCall)]
    for trial in without:
        first, again = (_ask(trial.call, trial.conventions, trial.probes[0].inputs) for _ in range(2))
        if not isinstance(first, Raised) and first is not None and is_same(first, again, precision(first)):
            return DROPOUT_IN_EVAL
    return NOT_REPEATABLE


def _correct(subject: Subject, exercise: Exercise, trial: Trial) -> Verdict:
    """Right answers may still come with changed inputs."""
    if trial.call.has_changed_inputs:
        return _verdict(subject, exercise, "wrong", trial, causes=(_plain_cause(subject, CHANGES_INPUTS),))
    richest = max(trial.probes, key=lambda probe: (len(probe.inputs), _size(probe.inputs)))
    encoded = _encoded(trial.call, trial.conventions, richest.inputs) if exercise.is_trained_through else None
    on_gradients = None if encoded is None else gradient_cause(trial.call, encoded)
    if isinstance(on_gradients, Cause):
        return _verdict(subject, exercise, "wrong", trial, causes=(on_gradients,))
    verdict = _verdict(subject, exercise, "correct", trial)
    on_half = None if encoded is None else on_half_precision(trial.call, encoded)
    said = [*_cautions(subject, trial), *(each for each in (on_gradients, on_half) if each is not None)]
    return replace(verdict, notes=(*verdict.notes, *dict.fromkeys(said)))


def _cautions(subject: Subject, trial: Trial) -> Iterator[Words]:
    """What is to be said of a right function that fails where it need not succeed."""
    for probe in trial.exercise.probes():
        encoded = _encoded(trial.call, trial.conventions, probe.inputs)
        if probe.caution is None or encoded is None or not trial.call.fits(encoded) or (_is_half(probe) and trial.call.is_wide):
            continue
        answer = _ask(trial.call, trial.conventions, probe.inputs)
        tolerance = max(precision(answer), PRECISION["float16"] if _is_half(probe) else 0.0)
        if not isinstance(answer, Raised) and not is_same(answer, trial.expected(probe), tolerance):
            yield probe.caution


def _is_half(probe: Probe) -> bool:
    return any(isinstance(value, numpy.ndarray) and value.dtype == numpy.float16 for value in probe.inputs.values())


def _plain_cause(subject: Subject, mistake: Mistake) -> Cause:
    """A cause that lies in how the function behaves, not in what it computes."""
    return Cause(mistake.name, mistake.says, mistake.fix, Words("", ""), line=subject.line_of(mistake.pattern))


def _unexplained(subject: Subject, exercise: Exercise, trial: Trial) -> Verdict:
    """No known mistake: an error is explained where it was raised, a difference is shown."""
    for probe, answer in zip(trial.probes, trial.answers, strict=True):
        expected = trial.expected(probe)
        if isinstance(answer, Raised):
            return _verdict(subject, exercise, "could not run", trial, causes=(explain(answer.error, subject, probe),))
        if trial.is_same(probe, answer):
            continue
        if answer is None:
            says = Words("it returns nothing", "它没有返回值")
            fix = Words("return the result", "用 return 返回结果")
            return _verdict(subject, exercise, "wrong", trial, causes=(Cause("returns_nothing", says, fix, Words("", "")),))
        if isinstance(answer, numpy.ndarray) and isinstance(expected, numpy.ndarray) and answer.shape != expected.shape:
            shapes = Words(
                f"its answer has shape {numpy.shape(answer)}, expected {numpy.shape(expected)}, for {_shapes(probe)}",
                f"输入为 {_shapes(probe)} 时，输出的形状是 {numpy.shape(answer)}，应为 {numpy.shape(expected)}",
            )
            return _verdict(subject, exercise, "unknown", trial, difference=shapes)
        return _verdict(subject, exercise, "unknown", trial, difference=first_difference(answer, expected, precision(answer)))
    raise AssertionError("a trial that does not match has a probe that does not")


def _without_operands(subject: Subject, exercise: Exercise) -> Verdict:
    """It takes no weights, say: it makes its own, differently each time, or its parameters are another part's."""
    for library in libraries_for(subject):
        for call in _calls(subject, exercise, library):
            for probe in exercise.probes():
                first, again = (_ask(call, (), probe.inputs) for _ in range(2))
                if isinstance(first, numpy.ndarray | tuple) and not is_same(first, again, precision(first)):
                    cause = _plain_cause(subject, NOT_REPEATABLE)
                    return Verdict(subject.name, exercise.name, subject.line, "wrong", (cause,), title=exercise.title)
    return _cannot_be_called(subject, exercise)


def _cannot_be_called(subject: Subject, exercise: Exercise) -> Verdict:
    taken = ", ".join(parameter.name for parameter in subject.parameters) or "nothing"
    known = ", ".join(role.name for role in exercise.roles)
    says = Words(f"its parameters ({taken}) do not fit this part ({known})", f"它的参数（{taken}）与这一部分（{known}）对不上")
    fix = Words("name them as here, or say with --as which part it is", "按这里的名字命名参数，或用 --as 指明它是哪一部分")
    cause = Cause("parameters", says, fix, Words("", ""), line=subject.line)
    return Verdict(subject.name, exercise.name, subject.line, "could not run", (cause,), title=exercise.title)


def _shapes(probe: Probe) -> str:
    return ", ".join(f"{name} {numpy.shape(value)}" for name, value in probe.inputs.items() if isinstance(value, numpy.ndarray))


def _is_in_effect(convention: Convention, trial: Trial, usual: Collection[Convention]) -> bool:
    """Whether a convention changes how any of the probes is said or answered, and is not what everybody does."""
    if convention in usual:
        return False
    is_said = any(_once_encoded(convention, probe.inputs) is not probe.inputs for probe in trial.probes)
    return is_said or bool(convention.steps) or convention.decode is not PLAIN.decode or convention.reads is not None


def _verdict(subject: Subject, exercise: Exercise, status: Any, trial: Trial, **found: Any) -> Verdict:
    refused = {probe.beyond.en: probe.beyond for probe in trial.refused if probe.beyond}
    usual = () if status == "correct" else tuple(group[0] for group in exercise.conventions)  # said of what is right alone
    notes = (
        ()
        if status == "could not run"
        else (
            *(
                convention.name
                for convention in trial.conventions
                if convention.name is not None and _is_in_effect(convention, trial, usual)
            ),
            *trial.call.notes,
            *(() if trial.decimals is None else (ROUNDS.filled(decimals=trial.decimals),)),
            *(NOT_JUDGED.filled(beyond=beyond) for beyond in refused.values() if beyond.en),
        )
    )
    return Verdict(
        subject.name, exercise.name, subject.line, status, notes=notes, title=exercise.title, conventions=trial.conventions, **found
    )
