"""Final human labels as reports read them: found by content, with how each subject came to people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from debate.models import Debate
from evalsite.base.formats import ScoreScale
from evalsite.base.types import JsonDict, JsonObject
from evalsite.review.models import FinalLabel, Provenance, Queue, Referral, Subject
from evalsite.review.questions.answer_forms import LEVELS, RELEVANCE, form_of, share_of
from evalsite.review.questions.scales import PREFERENCE, Label, labels_from_json, nearest_label, score_scale_of_labels
from evalsite.review.routing import ItemArm
from evalsite.review.selectors.subjects import (
    CHUNK,
    NO_LABEL,
    Content,
    ContentLabels,
    KnownLabel,
    RubricPart,
    RubricParts,
    chunks,
    first_cases,
    frame_of,
    labels_by,
    others_of,
    own_parts_of,
    own_scale_of,
    pair_facts,
    part_for,
    turned_round,
    with_pairs,
)
from judging.grading.rubric_tree import Value
from judging.judges.registry import KINDS
from judging.judges.subjects import JudgeSubject
from judging.models import Case, Prompt, Response, RunEvaluator, Score
from judging.selectors.runs import tasks_of
from judging.stored_content import KeyFrame, is_turned, tree_from_json

SCORING = {  # options of judges that make other scores of the same parts
    LEVELS: ("level_25_value", "level_100", "clip"),
    RELEVANCE: ("enforce_rules", "without_context"),
}


@dataclass(frozen=True, slots=True)
class SubjectLabel:
    """One response, or the two of a debate, under a criterion, that was referred to people or has a label."""

    item_id: int | None  # to link to; None: the label was imported
    prompt_id: int
    case_key: str
    scenario: str
    language: str
    criterion: str
    response_ids: tuple[int, ...]  # one; of a debate A and B
    attempt: int  # of the first response
    label: str | None  # final and blind, a pair in the debate's own order; None: undecided, or informed only
    share: float | None  # the same from 0 to 1; None: no label, or one without a number
    provenance: str  # empty without a blind label
    labels: tuple[Label, ...]  # the scale
    parts: Mapping[str, Value]  # of the criterion's form, where people agreed on each
    is_routed: bool  # a rule of this run or set sent it
    is_drawn: bool  # the audit of this run or set drew its case, or a file of labels has it
    inclusion_probability: float | None  # of the draw; 1 of a file
    is_of_file: bool = False  # a file of labels has it, whoever judged it

    @property
    def score_scale(self) -> ScoreScale:
        """The scale that `share` is shown on."""
        return score_scale_of_labels(self.labels)


@dataclass(slots=True)
class _Referred:
    """What the referrals of one run or set say of one response or debate."""

    item_id: int | None = None
    subject_ids: tuple[int, ...] = ()
    is_routed: bool = False
    chance: float | None = None

    def add(self, item_id: int | None, subject_id: int, arm: str, chance: float | None) -> None:
        """Take one referral in; the newest item counts."""
        self.item_id = item_id or self.item_id
        self.subject_ids = (*self.subject_ids, subject_id)
        self.is_routed |= arm == ItemArm.ROUTED
        self.chance = chance if arm == ItemArm.AUDIT else self.chance


NOT_REFERRED = _Referred()


def labels_of_evaluators(
    evaluators: Sequence[RunEvaluator], *, drawn_only: bool = False
) -> dict[int, list[SubjectLabel]]:
    """Return the labels of what evaluators judged, by evaluator, ordered by response; or of the drawn responses alone.

    A label is found by content, whoever was asked for which run; arm and chance are those of the evaluator's own run.
    """
    reader = LabelReader()
    read = reader.drawn_of if drawn_only else reader.labels_of
    return {evaluator.pk: read(evaluator) for evaluator in evaluators}


def labels_on_case(evaluators: Sequence[RunEvaluator], case: Case, response_ids: Sequence[int]) -> list[SubjectLabel]:
    """Return the labels of responses to one case under the one criterion of some evaluators, newest run first.

    Other cases are not read.
    """
    reader = LabelReader({evaluators[0].run.suite_id: {case.prompt_id: case}})
    return reader.labels_on(evaluators, response_ids)


@dataclass(frozen=True, slots=True)
class _Question:
    """A question under a criterion, with the scale that it is answered on."""

    frame: KeyFrame
    scenario: str
    language: str
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class _Content:
    """A response under a criterion: the key of its subject, and where it belongs. No run is in it."""

    key: str
    is_turned: bool  # what it is compared with comes first in the subject
    prompt_id: int
    case_key: str
    attempt: int
    question: _Question
    file_keys: tuple[str, ...]  # under which labels of files may stand, the nearest first


_Criterion = tuple[int | None, str, str]  # rubric, criterion, and whose own parts or scale it is
_CacheKey = tuple[int, _Criterion, int]  # a run or suite, the criterion, and an evaluator that compares, else 0


class LabelReader:
    """Reads the labels of evaluators; what several of them share, which is nearly all of it, is read once."""

    def __init__(self, cases: Mapping[int, dict[int, Case]] | None = None) -> None:
        self._parts = RubricParts()
        self._of_files = ContentLabels()
        self._cases = dict(cases or {})  # by suite and prompt
        self._prompts: dict[int, tuple[str, str, int]] = {}  # key, hash and benchmark
        self._questions: dict[tuple[int, _Criterion, int], _Question] = {}
        self._contents: dict[_CacheKey, dict[int, _Content]] = defaultdict(dict)  # by suite, then by response
        self._labels: dict[str, KnownLabel | None] = {}  # by the subject's key
        self._referred: dict[tuple[int, str], dict[int, _Referred] | None] = {}  # by run; None: not routed yet
        self._rows: dict[_CacheKey, dict[int, SubjectLabel | None]] = defaultdict(dict)  # by run, then by response

    def labels_of(self, evaluator: RunEvaluator) -> list[SubjectLabel]:
        """Return the labels of what one evaluator judged, ordered by response. `evaluator.run` is loaded.

        Before its run has been routed only labels of files count.
        """
        referred = self._referred_of(evaluator)
        if referred is None:
            return self._of_file(evaluator)
        return self._rows_of(evaluator, responses_of(evaluator, referred), referred)

    def labels_on(self, evaluators: Sequence[RunEvaluator], response_ids: Sequence[int]) -> list[SubjectLabel]:
        """Return the labels of these responses under the one criterion of some evaluators, newest run first."""
        runs, newest = [evaluator.run_id for evaluator in evaluators], evaluators[0]
        rows = Referral.objects.filter(run__in=runs, subject__criterion=newest.criterion, response__in=response_ids)
        return self._rows_of(newest, response_ids, _referred(rows, "response_id"))

    def asked_of(self, evaluator: RunEvaluator) -> list[SubjectLabel]:
        """Return the labels of what the evaluator's run asked people about, by a rule or its audit, and of files."""
        return self._asked(evaluator, self._referred_of(evaluator) or {})

    def drawn_of(self, evaluator: RunEvaluator) -> list[SubjectLabel]:
        """Return the labels of what the audit of the evaluator's run drew, and of files."""
        referred = self._referred_of(evaluator) or {}
        return self._asked(evaluator, {pk: row for pk, row in referred.items() if row.chance is not None})

    def _asked(self, evaluator: RunEvaluator, chosen: Mapping[int, _Referred]) -> list[SubjectLabel]:
        rows = self._rows_of(evaluator, sorted(chosen), self._referred_of(evaluator) or {})
        further = [row for row in self._of_file(evaluator) if row.response_ids[0] not in chosen]
        return sorted([*rows, *further], key=lambda row: row.response_ids[0]) if further else rows

    def _of_file(self, evaluator: RunEvaluator) -> list[SubjectLabel]:
        """Return the labels of files for what an evaluator judged; nothing is read where no file has its criterion."""
        if not self._of_files.are_there(is_pair=bool(evaluator.compared_with)):
            return []
        rows = self._rows_of(evaluator, responses_of(evaluator), self._referred_of(evaluator) or {})
        return [row for row in rows if row.is_of_file]

    def _rows_of(
        self, evaluator: RunEvaluator, response_ids: Sequence[int], referred: Mapping[int, _Referred]
    ) -> list[SubjectLabel]:
        cached = self._rows[_cache_key(evaluator.run_id, evaluator)]
        for ids in chunks([pk for pk in response_ids if pk not in cached]):
            cached |= dict.fromkeys(ids) | self._read(evaluator, ids, referred)
        rows = [row for row in map(cached.__getitem__, response_ids) if row is not None]
        options = scoring_options(evaluator)
        return self._as_judged(evaluator, rows, options) if options else rows

    def _referred_of(self, evaluator: RunEvaluator) -> dict[int, _Referred] | None:
        """Return what the run referred under the criterion, by response; None where it has not been routed yet."""
        key = evaluator.run_id, evaluator.criterion
        if key not in self._referred:
            rows = Referral.objects.filter(run=evaluator.run_id, subject__criterion=evaluator.criterion)
            is_routed = Queue.objects.filter(run=evaluator.run_id).exists()
            self._referred[key] = _referred(rows, "response_id") if is_routed else None
        return self._referred[key]

    def _read(
        self, evaluator: RunEvaluator, ids: Sequence[int], referred: Mapping[int, _Referred]
    ) -> dict[int, SubjectLabel | None]:
        contents = self._contents_of(evaluator, ids)
        labels = self._labels_for(contents, {pk: referred[pk] for pk in contents if pk in referred})
        return {
            pk: _of_response(
                pk,
                contents[pk],
                evaluator.criterion,
                turned_round(label, turned=contents[pk].is_turned),
                referred.get(pk, NOT_REFERRED),
            )
            for pk, label in labels.items()
        }

    def _contents_of(self, evaluator: RunEvaluator, ids: Sequence[int]) -> dict[int, _Content]:
        """Return the contents of these responses; columns alone, since 100,000 objects take longer than all else."""
        cached = self._contents[_cache_key(evaluator.run.suite_id, evaluator)]
        missing = Response.objects.filter(pk__in=[pk for pk in ids if pk not in cached]).order_by()
        rows = list(missing.values_list("pk", "text_hash", "prompt_id", "attempt"))
        self._read_prompts({prompt_id for _, _, prompt_id, _ in rows})
        others = others_of(evaluator, [row[0] for row in rows]) if evaluator.compared_with else None
        for pk, text_hash, prompt_id, attempt in rows:
            if others is not None and pk not in others:
                continue  # nothing to compare it with
            texts = [text_hash] if others is None else [text_hash, others[pk].text_hash]
            question = self._question_of(evaluator, prompt_id)
            _, prompt_hash, benchmark_id = self._prompts[prompt_id]
            content = Content(prompt_hash, tuple(texts), benchmark_id)
            cached[pk] = _Content(
                key=question.frame.key(*texts),
                is_turned=is_turned(texts),
                prompt_id=prompt_id,
                case_key=self._prompts[prompt_id][0],
                attempt=attempt,
                question=question,
                file_keys=self._of_files.keys_of(content, evaluator.criterion),
            )
        return {pk: cached[pk] for pk in ids if pk in cached}

    def _read_prompts(self, prompt_ids: set[int]) -> None:
        """Read prompts that are not known yet: each has many responses, so they are not joined to them."""
        for ids in chunks(sorted(prompt_ids - self._prompts.keys())):
            rows = Prompt.objects.filter(pk__in=ids).values_list("pk", "key", "content_hash", "benchmark_id")
            self._prompts |= {pk: (key, content_hash, benchmark_id) for pk, key, content_hash, benchmark_id in rows}

    def _question_of(self, evaluator: RunEvaluator, prompt_id: int) -> _Question:
        suite_id = evaluator.run.suite_id
        key = suite_id, criterion_of(evaluator), prompt_id
        if key not in self._questions:
            if suite_id not in self._cases:
                self._cases[suite_id] = first_cases(suite_id)
            case = self._cases[suite_id].get(prompt_id)
            case_key, prompt_hash, _ = self._prompts[prompt_id]
            part = part_for(evaluator, self._parts, case_key=case_key)
            reference, scenario, lang = (case.reference, case.scenario, case.lang) if case is not None else ("", "", "")
            frame = frame_of(prompt_hash=prompt_hash, reference=reference, part=part, criterion=evaluator.criterion)
            self._questions[key] = _Question(frame, scenario, lang, part.labels)
        return self._questions[key]

    def _labels_for(self, contents: Mapping[int, _Content], referred: Mapping[int, _Referred]) -> dict[int, KnownLabel]:
        """Return the labels of what was referred or has one; those found by content are kept for the next evaluator."""
        fresh = {content.key for content in contents.values()} - self._labels.keys()
        labels = labels_by(FinalLabel.objects.filter(subject__key__in=fresh), "subject__key") if fresh else {}
        self._labels |= dict.fromkeys(fresh) | labels
        by_key = {pk: label for pk, question in contents.items() if (label := self._labels[question.key]) is not None}
        with_keys = {pk: content.file_keys for pk, content in contents.items() if content.file_keys}
        by_key |= {
            pk: label for pk, label in self._of_files.first_of(with_keys).items() if _is_undecided(by_key.get(pk))
        }
        return _with_referred(by_key, referred, order=contents)

    def _as_judged(
        self, evaluator: RunEvaluator, rows: Sequence[SubjectLabel], options: JsonObject
    ) -> list[SubjectLabel]:
        """Return labels with the score that their parts come to under a judge's own options."""
        contexts = dict[int, str]()
        for ids in chunks([row.response_ids[0] for row in rows if row.parts]):
            contexts |= dict(Response.objects.filter(pk__in=ids).values_list("pk", "prompt__context"))
        return [
            _scored(row, evaluator, part_for(evaluator, self._parts, case_key=row.case_key), context, options)
            if (context := contexts.get(row.response_ids[0])) is not None
            else row
            for row in rows
        ]


def _is_undecided(known: KnownLabel | None) -> bool:
    """Return whether people of this site have not decided blind under the rubric itself, so that a file counts."""
    return known is None or known.label is None or known.provenance == Provenance.IMPORTED


def criterion_of(evaluator: RunEvaluator) -> _Criterion:
    """Return what decides, beside the question, what people are asked about an evaluator's responses."""
    scale = "; ".join(f"{label.value} {label.share}" for label in own_scale_of(evaluator))
    return evaluator.rubric_id, evaluator.criterion, own_parts_of(evaluator) or scale


def _cache_key(owner_id: int, evaluator: RunEvaluator) -> _CacheKey:
    """Return where what was read of a run's or suite's responses is kept: what was compared is an evaluator's own."""
    return owner_id, criterion_of(evaluator), evaluator.pk if evaluator.compared_with else 0


def _of_response(pk: int, content: _Content, criterion: str, label: KnownLabel, referred: _Referred) -> SubjectLabel:
    return SubjectLabel(
        item_id=referred.item_id or label.item_id,
        prompt_id=content.prompt_id,
        case_key=content.case_key,
        scenario=content.question.scenario,
        language=content.question.language,
        criterion=criterion,
        response_ids=(pk,),
        attempt=content.attempt,
        label=label.label,
        share=label.share,
        provenance=label.provenance,
        labels=label.labels or content.question.labels,
        parts=label.parts,
        is_routed=referred.is_routed,
        is_drawn=referred.chance is not None or label.is_of_file,
        inclusion_probability=1.0 if label.is_of_file else referred.chance,
        is_of_file=label.is_of_file,
    )


def responses_of(evaluator: RunEvaluator, referred: Iterable[int] = ()) -> list[int]:
    """Return the responses that an evaluator scored or is to score, and those that its run referred."""
    tasks = tasks_of(evaluator).filter(response__isnull=False).order_by()
    response_ids = {pk for pk in tasks.values_list("response_id", flat=True) if pk is not None}
    scores = Score.objects.filter(evaluator=evaluator).order_by()
    return sorted({*referred, *response_ids, *scores.values_list("response_id", flat=True)})


def labels_of_debates(debate_set_ids: Iterable[int]) -> dict[int, SubjectLabel]:
    """Return the labels of debates that were referred to people or that equal content has a label for, by debate."""
    set_ids = list(debate_set_ids)
    referred = _referred(Referral.objects.filter(debate_set__in=set_ids, debate__isnull=False), "debate_id")
    parts, of_files, labels = RubricParts(), ContentLabels(), dict[int, SubjectLabel]()
    debates = Debate.objects.filter(debate_set__in=set_ids).order_by("pk")
    for ids in chunks(list(debates.values_list("pk", flat=True))):
        rows = list(with_pairs(Debate.objects.filter(pk__in=ids)).order_by("pk"))
        pairs = {debate.pk: pair_facts(debate, parts) for debate in rows}
        stored = FinalLabel.objects.filter(subject__key__in={pair.key for pair in pairs.values()})
        by_key = labels_by(stored, "subject__key")
        by_content = {pk: by_key[pair.key] for pk, pair in pairs.items() if pair.key in by_key}
        keys = {pk: of_files.keys_of(pair.content, pair.criterion) for pk, pair in pairs.items()}
        by_content |= {pk: row for pk, row in of_files.first_of(keys).items() if _is_undecided(by_content.get(pk))}
        by_debate = _with_referred(by_content, referred, order=pairs)
        for debate in rows:
            if debate.pk in by_debate:
                label = turned_round(by_debate[debate.pk], turned=pairs[debate.pk].is_turned)
                labels[debate.pk] = _of_debate(debate, referred.get(debate.pk, NOT_REFERRED), label)
    return labels


def _of_debate(debate: Debate, referred: _Referred, label: KnownLabel) -> SubjectLabel:
    return SubjectLabel(
        item_id=referred.item_id or label.item_id,
        prompt_id=debate.response_a.prompt_id,
        case_key=debate.case.key,
        scenario=debate.scenario,
        language=debate.case.lang,
        criterion=debate.debate_set.criterion,
        response_ids=(debate.response_a_id, debate.response_b_id),
        attempt=debate.response_a.attempt,
        label=label.label,
        share=label.share,
        provenance=label.provenance,
        labels=PREFERENCE,
        parts={},
        is_routed=referred.is_routed,
        is_drawn=referred.chance is not None or label.is_of_file,
        inclusion_probability=1.0 if label.is_of_file else referred.chance,
        is_of_file=label.is_of_file,
    )


def scoring_options(evaluator: RunEvaluator) -> JsonDict:
    """Return the options by which a judge makes a score of parts otherwise than as documented; none where it does not.

    People's label is the documented score of what they said; beside a judge's own it is made as the judge's is.
    """
    kind, options = str(evaluator.options.get("judge_kind", "")), evaluator.options.get("judge_options") or {}
    defaults = {option.name: option.default for option in KINDS[kind].options} if kind in KINDS else {}
    names = SCORING.get(kind, ())
    return {name: options[name] for name in names if name in options and options[name] != defaults[name]}


def _scored(
    row: SubjectLabel, evaluator: RunEvaluator, part: RubricPart, context: str, options: JsonObject
) -> SubjectLabel:
    """Return a label with the score that its parts come to under a judge's own options."""
    kind = str(evaluator.options["judge_kind"])
    tree = tree_from_json(part.tree) if part.tree is not None and not part.judge else None
    about = JudgeSubject("", "", context=context, rubric=tree, criterion_key=evaluator.criterion)
    form = form_of(about, row.labels, judge=part.judge)
    if form is None or form.judge != kind or not form.holds(row.parts):
        return row
    share = share_of(form.score(row.parts, options))
    return row if share is None else replace(row, share=share, label=nearest_label(share, row.labels))


def _referred(referrals: QuerySet[Referral], by: str) -> dict[int, _Referred]:
    """Return what referrals say, by response or debate."""
    referred: dict[int, _Referred] = defaultdict(_Referred)
    fields = (by, "item_id", "subject_id", "arm", "inclusion_probability")
    for pk, item_id, subject_id, arm, chance in referrals.order_by("pk").values_list(*fields).iterator(CHUNK):
        referred[pk].add(item_id, subject_id, arm, chance)
    return dict(referred)


def _with_referred(
    by_content: Mapping[int, KnownLabel], referred: Mapping[int, _Referred], *, order: Iterable[int]
) -> dict[int, KnownLabel]:
    """Return labels found by content, and of what was referred without one those of the subject it was referred as."""
    moved = {pk: referred[pk].subject_ids for pk in order if pk in referred and pk not in by_content}
    ids = {subject_id for subject_ids in moved.values() for subject_id in subject_ids}
    by_subject = labels_by(FinalLabel.objects.filter(subject__in=ids), "subject_id") if ids else {}
    for pk, scale in Subject.objects.filter(pk__in=list(by_subject)).values_list("pk", "labels"):
        by_subject[pk] = replace(by_subject[pk], labels=labels_from_json(scale))
    return {
        pk: by_content.get(pk)
        or next((by_subject[moved_id] for moved_id in moved.get(pk, ()) if moved_id in by_subject), NO_LABEL)
        for pk in order
        if pk in by_content or pk in referred
    }
