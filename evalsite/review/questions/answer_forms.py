"""How people answer a criterion of a judge: the questions that it comes to, and the score of their answers. Pure.

A level rubric asks of each item whether it is met, checks with points the same, dimensions for one value each on their
own scale. The score is computed by the judge that rates the same parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from math import lcm

from evalsite.base.formats import ScaleKind, ScoreScale
from evalsite.base.types import JsonObject
from evalsite.review.questions.forms import (
    BOOLEAN,
    LABEL,
    MOST_PARTS,
    SWAPPED,
    Answer,
    AnswerForm,
    FormQuestion,
    Kind,
    PartsMissing,
    letters_seen,
    scale_values,
    value_text,
)
from evalsite.review.questions.scales import (
    JUDGEMENT,
    MOST_LABELS,
    VALUE_LIMIT,
    Label,
    find_node,
    is_number_scale,
    is_points_scale,
    is_preference,
    level_scale,
    meaning_of,
    nearest_label,
    points_scale,
    short_of,
    shown_label,
)
from judging.grading.rubric_tree import (
    BadRubric,
    Value,
    criteria_counts,
    exact,
    feasible_scores,
    full_score,
    is_rated,
    is_scored_leaf,
    scale_of_tree,
    score_tree,
    walk,
)
from judging.judges.judge_kinds import BadJudgeOption, kind_asked, options_asked
from judging.judges.registry import KINDS, imported_grader, judge_kind
from judging.judges.subjects import JudgeScore, JudgeSubject
from judging.specs.types import NodeSpec, ScaleSpec

FEWEST_STEPS = 2  # of a scale of whole numbers; 0 to 1 is in tenths
FINEST = 100  # steps of a scale of scores: finer ones are not told apart
LEVELS, RELEVANCE, GENERIC, OWN_PROMPT = "level_cascade", "relevance", "generic", "custom"  # kinds of judges
NUMBERED = ("integrity",)  # kinds of judges without a rubric whose verdict is a number
PRECISION = "context_precision"
BOTH_TURNED = letters_seen(SWAPPED)


@dataclass(frozen=True, slots=True)
class ScoredForm(AnswerForm):
    """The parts of a criterion's form, and the judge whose code makes a score of them; `labels` are its scale."""

    judge: str  # kind of judge
    about: JudgeSubject
    fixed_values: Mapping[str, Value | None] = field(default_factory=dict)  # values that nobody is asked for

    def score(self, values: Mapping[str, Answer], options: JsonObject | None = None) -> JudgeScore:
        """Return the score of the parts' values, computed by the judge with these options, else as documented."""
        return judge_kind(self.judge).build(options).score({"nodes": {**self.fixed_values, **values}}, self.about)

    def limits(self, values: Mapping[str, Answer]) -> tuple[str, ...]:
        """Return the parts that a rule of the rubric counts otherwise than as they were given."""
        names = {part.key: part.text for part in self.parts}
        flagged = (flag.partition(":")[2] for flag in self.score(values).flags)
        return tuple(names[key] for key in flagged if key in names)

    def label(self, values: Mapping[str, Answer]) -> str:
        """Return the score as a label of the scale. Raises: PartsMissing: it comes to none."""
        share = share_of(self.score(values))
        if share is None:
            raise PartsMissing("No score can be computed from these values.")
        return nearest_label(share, self.labels)

    def words(self, values: Mapping[str, Answer]) -> str:
        """Return what was said of each part, checks by what was met and what not."""
        return words_of_parts(values)


def share_of(score: JudgeScore) -> float | None:
    """Return a score as the part of the best one, as it is stored of a judge."""
    return float(score.value / score.full) if score.value is not None and score.full else None


def form_of(about: JudgeSubject, labels: Sequence[Label], *, judge: str = "") -> ScoredForm | None:
    """Return the form of a criterion; None where people choose one label.

    `judge` is the kind that rates without a rubric. Subjects of earlier versions have other scales than their rubric's
    form comes to: people answer those with a label, as they were asked.
    """
    tree, scale = about.rubric, tuple(labels)
    if judge == OWN_PROMPT:
        return None  # its verdict is one label or number, whatever rubric it reads
    rated = rated_by(judge)
    if rated is not None and is_points_scale(scale) and len(scale) == _grid(rated) + 1:
        nodes = tuple(node for node in rated.children if about.has_context or node.key != PRECISION)
        fixed_values = {} if about.has_context else {PRECISION: None}
        return ScoredForm(tuple(_part(node) for node in nodes), scale, judge, about, fixed_values)
    if tree is None or not scale or any(label.share is None for label in scale):
        return None
    if _is_cascade(tree):
        levels = [level for level in tree.children if level.kind == "level"]
        parts = tuple(_part(item, head=f"Level {level.key}") for level in levels for item in level.children)
        has_scores = {"0", "100"} <= {label.value for label in scale}
        return ScoredForm(parts, scale, LEVELS, about) if has_scores else None
    if not is_points_scale(scale):
        return None
    return ScoredForm(tuple(_rated(tree, about.criterion_key)), scale, GENERIC, about)


def rated_by(judge: str) -> NodeSpec | None:
    """Return what a kind of judge rates without a rubric; None where it has one, or no parts."""
    return KINDS[judge].rates if judge in KINDS else None


def needs_material(tree: NodeSpec | None, *, judge: str = "") -> bool:
    """Return whether a score rests on the response's text or on whether there is a context."""
    if rated_by(judge) is not None:
        return True
    nodes = walk(tree) if tree is not None else ()
    return any(node.source == "computed" or any("fact" in rule["if"] for rule in node.rules) for node in nodes)


def scale_of(tree: NodeSpec | None, *, criterion: str = "", judge: str = "") -> tuple[Label, ...]:
    """Return the scale of what people are asked by a rubric's tree, one criterion in it, or a judge without one.

    Levels: the scores that they allow. One short scale: its values. Several parts: the scores that they come to, as the
    judge's own code computes them. Right, partly, wrong where there is nothing to rate.
    """
    rated = rated_by(judge)
    if rated is not None:
        return points_scale(_grid(rated), judge_kind(judge).score_scale({}))
    if tree is None:
        return JUDGEMENT
    if _is_cascade(tree):
        return level_scale(feasible_scores(criteria_counts(tree)))
    parts = list(_rated(tree, criterion))
    is_asked = 0 < len(parts) <= MOST_PARTS and all(part.choices or part.scale.maximum for part in parts)
    if not is_asked:
        return JUDGEMENT
    try:
        if len(parts) == 1 and parts[0].choices and _is_alone(tree, criterion):
            return _own_scale(_scored(tree, criterion), parts[0])
        scored = _scored(tree, criterion)
        return points_scale(_grid(scored), scale_of_tree(scored))
    except BadRubric:
        return JUDGEMENT


def scale_of_imported(options: JsonObject) -> tuple[Label, ...]:
    """Return the scale of what people are asked beside a judge of another tool: its letters, or numbers of its scale;
    right, partly, wrong where nobody knows it, and beside rules that come to a share."""
    grader = imported_grader(options)
    if grader is not None and len(grader.letters) > 1:
        return tuple(Label(letter, letter, grader.share(letter)) for letter in reversed(grader.letters))
    low, high = grader.ends if grader is not None else (None, None)
    if grader is None or low is None or high is None:
        return JUDGEMENT
    if high - low < FEWEST_STEPS and "judge_kind" not in options:
        return JUDGEMENT
    return number_scale(grader.score_scale)


def scale_of_evaluator(frozen: JsonObject) -> tuple[Label, ...]:
    """Return the scale of what people are asked beside a judge that rates by no rubric, from what its run froze.

    Judges of other tools and of own prompts have their own numbers or labels, others the words or numbers of their
    kind; nothing for rules, and for judges whose parts or rubric people are asked about.
    """
    if imported_grader(frozen) is not None:
        return scale_of_imported(frozen)
    kind = kind_asked(frozen)
    if kind == OWN_PROMPT:
        return scale_of_own_prompt(options_asked(frozen))
    if kind in NUMBERED:
        return number_scale(judge_kind(kind).score_scale(options_asked(frozen)))
    answers = KINDS[kind].answers if kind in KINDS else {}
    return tuple(Label(value, text, share) for value, (text, share) in answers.items())


def scale_of_own_prompt(options: JsonObject) -> tuple[Label, ...]:
    """Return what the verdict of a judge of an own prompt may be: its labels in the order of their worth, or numbers.

    Right, partly, wrong where its labels cannot be read.
    """
    defaults = {option.name: option.default for option in judge_kind(OWN_PROMPT).options}
    chosen = {**defaults, **options}
    try:
        scores = judge_kind(OWN_PROMPT).worth_by(chosen)
    except BadJudgeOption:
        return JUDGEMENT  # stored before such labels were refused
    if not scores:
        return number_scale(ScoreScale(ScaleKind.RATING, chosen["lowest"], chosen["highest"]))
    best, in_order = max(scores.values()), sorted(scores, key=scores.__getitem__)
    if len(scores) == 1:
        return JUDGEMENT
    labels = tuple(Label(_stored_name(name), name, float(scores[name] / best)) for name in in_order)
    if not is_preference(labels):
        return labels
    return tuple(replace(label, value=f"{float(label.value)}") for label in labels)  # "1" alone says that A is better


def _stored_name(name: str) -> str:
    """Return a label as annotations hold it: itself, or of a long one its beginning and a hash."""
    return name if len(name) <= VALUE_LIMIT else f"{name[: VALUE_LIMIT - 9]}#{sha256(name.encode()).hexdigest()[:8]}"


def number_scale(scale: ScoreScale) -> tuple[Label, ...]:
    """Return the numbers of a scale to choose from: each whole one, or as many equal steps as can be told apart."""
    width = exact(scale.highest) - exact(scale.lowest)
    most = MOST_LABELS - 1
    is_preference_scale = (scale.lowest, scale.highest) == (-1, 1)  # its whole numbers say which of two is better
    is_short = width.denominator == 1 and FEWEST_STEPS <= width <= most and not is_preference_scale
    whole = (n for n in range(most, FEWEST_STEPS, -1) if (width / n).denominator == 1)
    steps = int(width) if is_short else next(whole, most)
    values = [float(exact(scale.lowest) + width * step / steps) for step in range(steps + 1)]
    return tuple(Label(f"{value:g}", f"{value:g}", scale.share(value)) for value in values)


def words_of_parts(parts: Mapping[str, Answer]) -> str:
    """Return what was said of each part, checks by what was met and what not, "" for an answer without parts."""
    in_order = sorted(parts, key=lambda key: [(len(part), part) for part in key.split(".")])
    checks = ((word, [key for key in in_order if parts[key] is is_met]) for word, is_met in WORDS)
    rated = [f"{key}: {value_text(parts[key])}" for key in in_order if not isinstance(parts[key], bool)]
    return "; ".join([*(f"{word}: {', '.join(keys)}" for word, keys in checks if keys), *rated])


WORDS = (("Met", True), ("Not met", False))


def majority_parts(answers: Sequence[Mapping[str, Answer]]) -> dict[str, Answer]:
    """Return the value that more than half of the answers give each part; empty where a part has none."""
    majority: dict[str, Answer] = {}
    for key in answers[0] if answers else ():
        values = [answer.get(key) for answer in answers]
        value = max(values, key=values.count)
        if value is None or 2 * values.count(value) <= len(answers):
            return {}
        majority[key] = value
    return majority


def _is_cascade(tree: NodeSpec) -> bool:
    return tree.aggregator.get("type") == "cascade"


def _rated(tree: NodeSpec, criterion: str) -> Iterator[FormQuestion]:
    """Yield what a judge of any rubric has to rate, with what stands above it."""
    for group in walk(tree):
        head = "" if group is tree else group.text or group.key
        for node in group.children:
            if is_rated(node) and criterion in ("", node.key):
                yield _part(node, head=head)
    if not tree.children and is_rated(tree):
        yield _part(tree)


def _part(node: NodeSpec, *, head: str = "") -> FormQuestion:
    anchors = tuple((anchor.range_words, anchor.text) for anchor in node.anchors)
    scale = node.scale or BOOLEAN
    return FormQuestion(node.key, node.text or node.key, _kind_on(scale), head, scale, (), anchors, node.points)


def _kind_on(scale: ScaleSpec) -> Kind:
    """Return how values of a rubric's scale are asked for."""
    if scale.kind == "boolean":
        return Kind.CHECK
    if scale.kind == "nominal":
        return Kind.CHOICE
    return Kind.SCALE if scale_values(scale) else Kind.NUMBER


def _is_alone(tree: NodeSpec, criterion: str) -> bool:
    """Return whether one criterion makes the score by itself."""
    return bool(criterion) or sum(is_scored_leaf(node) for node in walk(tree)) == 1


def _scored(tree: NodeSpec, criterion: str) -> NodeSpec:
    """Return the tree that a score is computed by: the whole, or one criterion alone."""
    node = find_node(tree, criterion) if criterion else None
    return tree if node is None else NodeSpec("root", "group", aggregator={"type": "mean"}, children=(node,))


def _own_scale(tree: NodeSpec, part: FormQuestion) -> tuple[Label, ...]:
    """Return the values of a criterion that stands alone, each worth what the judge's code makes of it."""
    node = find_node(tree, part.key)
    if node is None:
        return JUDGEMENT
    has_worth = part.scale.kind != "nominal" or bool(node.value_map)
    full = full_score(tree) if has_worth else Fraction(1)
    labels = []
    for choice in part.choices:
        value = part.read(choice.value)
        if value is None or isinstance(value, list):
            continue
        score = score_tree(tree, {part.key: value}).score if has_worth else None
        text = choice.text if part.is_check else _meaning(node, choice)
        labels.append(Label(_stored_name(choice.value), text, None if score is None else float(score / full)))
    return tuple(labels) or JUDGEMENT


def _meaning(node: NodeSpec, choice: Label) -> str:
    """Return a value with the first sentence of what it means."""
    try:
        value = float(choice.value)
    except ValueError:
        return choice.text
    text = next((anchor.text for anchor in node.anchors if anchor.low <= value <= anchor.high), "")
    first = " ".join(text.split()).split(". ")[0]
    return f"{choice.text}: {first[:80]}" if first else choice.text


def _grid(tree: NodeSpec) -> int:
    """Return in how many equal steps the scores of a tree go from none to the best, at most FINEST.

    From the worst of everything each part is raised by itself: what several come to is a sum of these where the tree
    adds up. Where it does not, the label nearest to a score stands for it, of people and judges alike.
    """
    leaves = [node for node in walk(tree) if is_scored_leaf(node)]
    full, worst = full_score(tree), {node.key: _values_of(node)[0] for node in leaves}
    raised = [worst, *({**worst, node.key: value} for node in leaves for value in _values_of(node)[1:])]
    steps = 1
    for values in raised:
        score = score_tree(tree, values).score
        if score is None:
            raise BadRubric("No score can be computed from the parts of the rubric.")
        steps = lcm(steps, (score / full).denominator)
        if steps > FINEST:
            return FINEST
    return steps


def _values_of(node: NodeSpec) -> list[Value]:
    part = _part(node)
    if part.is_check:
        return [False, True]
    if part.choices:
        read = (part.read(choice.value) for choice in part.choices)
        return [value for value in read if value is not None and not isinstance(value, list)]
    return [part.scale.minimum or 0, (part.scale.minimum or 0) + (part.scale.step or 1)]


class LabelForm(AnswerForm):
    """One question whose answer is the label, so that nothing is stored beside it."""

    def read(self, texts: Mapping[str, str]) -> dict[str, Answer]:
        """Return the label that a person chose, by the question's key. Raises: PartsMissing: none of the scale."""
        said = texts.get(LABEL, "")
        if said and said not in self.parts[0].scale.labels:
            raise PartsMissing(f"“{said}” is not on this item's scale: {', '.join(self.parts[0].scale.labels)}.")
        return super().read(texts)

    def _missing(self, parts: Sequence[FormQuestion]) -> str:
        return "Choose a label first."

    def label(self, values: Mapping[str, Answer]) -> str:
        """Return the answer."""
        return value_text(values[LABEL])

    def stored(self, values: Mapping[str, Answer]) -> dict[str, Answer]:
        """Return nothing: the label says it all."""
        return {}

    def answers(self, label: str, parts: Mapping[str, Answer]) -> dict[str, Answer]:
        """Return the label as the answer to the question."""
        return {LABEL: label} if label else {}

    def words(self, values: Mapping[str, Answer]) -> str:
        """Return what was said of the parts of a form that the item had before."""
        return words_of_parts({key: value for key, value in values.items() if key != LABEL})

    def turned(self, values: Mapping[str, Answer], letters: Mapping[str, str]) -> dict[str, Answer]:
        """Return the answer of somebody who sees the sides of a pair the other way round."""
        turned = dict(values)
        if LABEL in values:
            turned[LABEL] = shown_label(value_text(values[LABEL]), self.labels, swapped=letters == BOTH_TURNED)
        return turned

    def asked(self, text: str, *, hint: str) -> LabelForm:
        """Return the form with its question in words."""
        return replace(self, parts=(replace(self.parts[0], text=text, help=hint),))


def label_form(labels: Sequence[Label]) -> LabelForm:
    """Return the form of a scale; what its numbers mean stands beside them."""
    scale = ScaleSpec("nominal", labels=tuple(label.value for label in labels))
    question = FormQuestion(LABEL, "", Kind.CHOICE, scale=scale, options=tuple(labels))
    if is_number_scale(labels):
        options = tuple(replace(label, text=short_of(label)) for label in labels)
        anchors = tuple((short_of(label), meaning_of(label)) for label in labels if meaning_of(label))
        question = replace(question, options=options, anchors=anchors)
    return LabelForm((question,), tuple(labels))
