"""Recorded debates in the original program's folder layout, read in one go with a report of everything unusual.

    responses/<system>/<scenario>.jsonl
    results/<pair>/<criterion>/multiagent_score/<scenario>.jsonl    debates: arrays, whatever the name says
    results/<pair>/<criterion>/<judge>_score/<scenario>.jsonl       each judge's own independent statements
    criteria/*.yaml

at any depth of the bundle. Orders of responses and agents are not in the files; `recorded_orders` recovers them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from debate.protocol.recorded.recorded_files import ResponseLine, read_criteria, read_responses, read_rows
from debate.protocol.recorded.recorded_items import RecordedRow, read_debate_rows, read_single_rows
from debate.protocol.recorded.recorded_orders import recover_agents, recover_response_order
from debate.protocol.records import RecordedCell, RecordedItem, RecordedTurn, SingleScore
from debate.protocol.verdicts import read_recorded, read_strict
from judging.specs.files.bundles import Bundle
from judging.specs.files.problems import Parsed, Problem, Severity

_LAST_DIGITS = re.compile(r"([0-9]+)(?=[^0-9]*\Z)")


def check_cell(cell: RecordedCell, *, file: str) -> Iterator[Problem]:
    """Yield what is unusual about the scores and texts of a cell, item by item."""
    for item in cell.items:
        for number, stage in enumerate(item.stages):
            for turn in stage:
                yield from _check_turn(turn, file=file, location=place_of(item.id, number, turn.agent_number))
        yield from _check_against_singles(cell, item, file=file)


def place_of(item_id: int, stage: int, agent_number: int) -> str:
    """Return the place of a statement in words."""
    return f"item {item_id}, {'independent round' if stage == 0 else f'round {stage}'}, agent {agent_number}"


def warning(file: str, location: str, message: str, code: str, *, offending: object = "") -> Problem:
    """Return a finding about a recorded file that does not keep the rest from being read."""
    return Problem(Severity.WARNING, file, location, message, offending=str(offending)[:200], code=code)


def _check_turn(turn: RecordedTurn, *, file: str, location: str) -> Iterator[Problem]:
    recorded, strict = read_recorded(turn.score), read_strict(turn.text)
    ending = (turn.text or "").strip()[-80:]
    if recorded is None:
        message = f'The score is {turn.score!r} of {turn.judge}, not one of "0", "1" and "2": no verdict as recorded.'
        yield warning(file, location, message, "odd-score", offending=ending)
    if not (turn.text or "").strip():
        yield warning(file, location, f"The statement of {turn.judge} is empty.", "no-text")
        return
    if recorded != strict.verdict:
        message = f"Recorded as {_named(recorded)}, but the text of {turn.judge} says {_named(strict.verdict)}."
        yield warning(file, location, message, "reading-differs", offending=ending)
    digits = _LAST_DIGITS.search(turn.text or "")
    if recorded is not None and (digits is None or digits[1] != turn.score):
        message = f"The score {turn.score!r} is not the last number of its text."
        yield warning(file, location, message, "score-edited", offending=ending)


def _check_against_singles(cell: RecordedCell, item: RecordedItem, *, file: str) -> Iterator[Problem]:
    for turn in item.stages[0]:
        single = next((row for row in cell.singles.get(turn.judge, ()) if row.id == item.id), None)
        if single is None:
            continue
        location = place_of(item.id, 0, turn.agent_number)
        if single.score != turn.score or type(single.score) is not type(turn.score):
            message = (
                f"The single-judge file of {turn.judge} has the score {single.score!r}, the debate has {turn.score!r}."
            )
            yield warning(file, location, message, "single-score-differs")
        if single.text != turn.text:
            message = (
                f"The single-judge file of {turn.judge} has another text; its number follows from the other agents."
            )
            yield warning(file, location, message, "single-text-differs")


def _named(verdict: int | None) -> str:
    return "no verdict" if verdict is None else str(verdict)


# The configured order of the agents of ScaleEval; the order in a debate is a rotation of it.
ORIGINAL_JUDGES = ("gpt4_turbo", "claude2", "gpt35_turbo")
_RESULT = re.compile(r"(?:^|/)results/([^/]+)/([^/]+)/([^/]+)_score/([^/]+)\.jsonl?$")
_RESPONSES = re.compile(r"(?:^|/)responses/([^/]+)/([^/]+)\.jsonl?$")
_CRITERIA = re.compile(r"(?:^|/)criteria/[^/]+\.ya?ml$")
_CRITERION_KEYS = {  # (criterion, scenario) -> name in the criteria files; an empty scenario stands for any
    ("helpfulness", ""): "helpfulness-1",
    ("interpretability", ""): "code_interpretability",
    ("reasoning", "math"): "math_reasoning",
    ("reasoning", "judgement"): "logical_reasoning",
    ("reasoning", "code"): "code_reasoning",
}
CellKey = tuple[str, str, str]  # pair, criterion, scenario
Singles = dict[str, tuple[SingleScore, ...]]  # judge -> rows


@dataclass(slots=True)
class _Folder:
    """The files of a bundle by their role, and what was found out about them so far."""

    debates: dict[CellKey, str] = field(default_factory=dict)
    single_paths: dict[CellKey, dict[str, str]] = field(default_factory=dict)
    responses: dict[str, dict[str, tuple[ResponseLine, ...]]] = field(default_factory=dict)  # scenario -> system
    criteria: dict[str, dict[str, str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def read_recorded_debates(
    bundle: Bundle, *, judges: Sequence[str] = ORIGINAL_JUDGES
) -> Parsed[tuple[RecordedCell, ...]]:
    """Return all cells of recorded debates in a bundle, sorted by key, with everything unusual by file and item.

    `judges` is the configured order of the agents; judges that are not in it follow by name. An item whose orders
    cannot be recovered is left out and reported. The value is None where no cell could be read at all.
    """
    folder = _sort_files(bundle)
    rows = {key: _read_debates(bundle, path, folder.problems) for key, path in sorted(folder.debates.items())}
    singles = _read_singles(bundle, folder, rows)
    cells = [
        cell
        for key, debate_rows in rows.items()
        if debate_rows
        and (cell := _build_cell(key, debate_rows, singles=_ordered(singles.get(key, {}), judges), folder=folder))
    ]
    if not cells:
        message = (
            "No recorded debates were found: expected results/<pair>/<criterion>/multiagent_score/<scenario>.jsonl."
        )
        folder.problems.append(Problem(Severity.ERROR, "", "", message, code="no-debates"))
    return Parsed(tuple(cells) or None, tuple(folder.problems))


def _sort_files(bundle: Bundle) -> _Folder:
    folder = _Folder()
    for path in bundle:
        if result := _RESULT.search(path):
            pair, criterion, kind, scenario = result.groups()
            if kind == "multiagent":
                folder.debates[pair, criterion, scenario] = path
            else:
                folder.single_paths.setdefault((pair, criterion, scenario), {})[kind] = path
        elif responses := _RESPONSES.search(path):
            parsed = read_responses(path, bundle.read(path))
            folder.problems += parsed.problems
            folder.responses.setdefault(responses[2], {})[responses[1]] = parsed.value or ()
        elif _CRITERIA.search(path):
            criteria = read_criteria(path, bundle.read(path))
            folder.problems += criteria.problems
            folder.criteria.update(criteria.value or {})
        else:
            message = "This file is not part of the layout of recorded debates and was not read."
            folder.problems.append(warning(path, "", message, "not-read"))
    return folder


def _read_debates(bundle: Bundle, path: str, problems: list[Problem]) -> tuple[RecordedRow, ...]:
    parsed = read_rows(path, bundle.read(path))
    problems += parsed.problems
    items = read_debate_rows(path, parsed.value or ())
    problems += items.problems
    return items.value or ()


def _read_singles(
    bundle: Bundle, folder: _Folder, rows: Mapping[CellKey, Sequence[RecordedRow]]
) -> dict[CellKey, Singles]:
    """Return each cell's single-judge files; a file whose texts belong to another criterion's cell is moved there."""
    singles: dict[CellKey, Singles] = {}
    strays: list[tuple[CellKey, str, str, tuple[SingleScore, ...]]] = []
    for key, paths in sorted(folder.single_paths.items()):
        for judge, path in sorted(paths.items()):
            parsed = read_rows(path, bundle.read(path))
            folder.problems += parsed.problems
            single = read_single_rows(path, parsed.value or ())
            folder.problems += single.problems
            scores = single.value or ()
            if _belongs(scores, rows.get(key, ())):
                singles.setdefault(key, {})[judge] = scores
            else:
                strays.append((key, judge, path, scores))
    for key, judge, path, scores in strays:
        home = _home_of(key, judge, scores, rows=rows, taken=singles)
        if home is None:
            message = "The texts of this file occur in no debate of the same pair and scenario; it was not used."
            folder.problems.append(warning(path, "", message, "single-unmatched"))
            continue
        singles.setdefault(home, {})[judge] = scores
        message = f"Misplaced: its texts are those of the debates in {'/'.join(home)}; it was read as part of them."
        folder.problems.append(warning(path, "", message, "misfiled"))
    return singles


def _belongs(scores: Sequence[SingleScore], debates: Sequence[RecordedRow]) -> bool:
    """Return whether at least half of the debates open with the file's text of the same id."""
    texts = {row.id: row.text for row in scores}
    matching = sum(
        texts.get(debate.id) is not None and texts[debate.id] in [turn.text for turn in debate.stages[0]]
        for debate in debates
    )
    return bool(debates) and 2 * matching >= len(debates)


def _home_of(
    key: CellKey,
    judge: str,
    scores: Sequence[SingleScore],
    *,
    rows: Mapping[CellKey, Sequence[RecordedRow]],
    taken: Mapping[CellKey, Singles],
) -> CellKey | None:
    homes = [
        other
        for other, debates in rows.items()
        if other[0] == key[0] and other[2] == key[2] and judge not in taken.get(other, {}) and _belongs(scores, debates)
    ]
    return homes[0] if len(homes) == 1 else None


def _ordered(singles: Singles, judges: Sequence[str]) -> Singles:
    configured = [judge for judge in judges if judge in singles]
    return {judge: singles[judge] for judge in (*configured, *sorted(set(singles) - set(configured)))}


def _build_cell(key: CellKey, rows: Sequence[RecordedRow], *, singles: Singles, folder: _Folder) -> RecordedCell | None:
    pair, criterion, scenario = key
    path = folder.debates[key]
    systems = _systems(pair, folder.responses.get(scenario, {}))
    if systems is None:
        message = f"The responses of both systems of {pair} to {scenario} are needed to tell which was shown first."
        folder.problems.append(Problem(Severity.ERROR, path, "", message, code="responses-missing"))
        return None
    if not singles:
        message = "These debates have no single-judge file, so their judges are unknown; agents are named by number."
        folder.problems.append(warning(path, "", message, "judges-unknown"))
    responses = (folder.responses[scenario][systems[0]], folder.responses[scenario][systems[1]])
    items = [
        item
        for row in rows
        if (item := _build_item(row, path=path, responses=responses, singles=singles, folder=folder))
    ]
    criterion_key = _criterion_key(criterion, scenario, folder.criteria)
    cell = RecordedCell(
        pair=pair,
        criterion=criterion,
        scenario=scenario,
        system_a=systems[0],
        system_b=systems[1],
        judges=tuple(singles) or (items[0].agents if items else ()),
        items=tuple(sorted(items, key=lambda item: item.id)),
        singles=singles,
        criterion_key=criterion_key,
        criterion_levels=folder.criteria.get(criterion_key, {}),
    )
    _report_extent(cell, path=path, lines=len(responses[0]), problems=folder.problems)
    folder.problems += check_cell(cell, file=path)
    return cell if items else None


def _build_item(
    row: RecordedRow,
    *,
    path: str,
    responses: tuple[Sequence[ResponseLine], Sequence[ResponseLine]],
    singles: Singles,
    folder: _Folder,
) -> RecordedItem | None:
    order = recover_response_order(
        item_id=row.id, question=row.question, shown=row.shown, responses_a=responses[0], responses_b=responses[1]
    )
    location = f"item {row.id}"
    if order is None:
        message = "Its submissions are not exactly the responses of the two systems to its question; it was left out."
        folder.problems.append(warning(path, location, message, "order-unknown", offending=row.question))
        return None
    if order.line != row.id:
        message = f"Its submissions are the responses in line {order.line}, not in line {row.id}."
        folder.problems.append(warning(path, location, message, "other-line"))
    agents = _agents(row, singles)
    if agents is None:
        message = "Its first statements do not tell which judge was which agent; it was left out."
        folder.problems.append(warning(path, location, message, "agents-unknown"))
        return None
    return RecordedItem(
        id=row.id,
        question=row.question,
        response_a=order.text_a,
        response_b=order.text_b,
        response_order=order.response_order,
        stages=tuple(
            tuple(
                RecordedTurn(number, judge, turn.text, turn.score)
                for number, (judge, turn) in enumerate(zip(agents, stage, strict=True), start=1)
            )
            for stage in row.stages
        ),
    )


def _agents(row: RecordedRow, singles: Singles) -> tuple[str, ...] | None:
    texts = [turn.text for turn in row.stages[0]]
    if not singles:
        # These names take part in the hash of a cell, by which it is known again.
        return tuple(f"seat-{number}" for number in range(1, len(texts) + 1))
    own_texts = {
        judge: next((score.text for score in scores if score.id == row.id), None) for judge, scores in singles.items()
    }
    recovered = recover_agents(texts, own_texts)
    return None if recovered is None else recovered.agents


def _systems(pair: str, responses: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the folders of a pair's two systems: by name, or the only one that begins with it (claude-instant)."""
    systems = []
    for name in pair.split("_vs_"):
        begins = [system for system in sorted(responses) if system.startswith(name)]
        if name not in responses and len(begins) != 1:
            return None
        systems.append(name if name in responses else begins[0])
    return (systems[0], systems[1]) if len(systems) == 2 else None


def _criterion_key(criterion: str, scenario: str, criteria: Mapping[str, object]) -> str:
    guesses = (_CRITERION_KEYS.get((criterion, scenario)), _CRITERION_KEYS.get((criterion, "")), criterion)
    return next((key for key in guesses if key is not None and key in criteria), "")


def _report_extent(cell: RecordedCell, *, path: str, lines: int, problems: list[Problem]) -> None:
    ids = [item.id for item in cell.items]
    if ids and len(ids) < lines:
        message = f"Contains {len(ids)} of {lines} items, ids {ids[0]} to {ids[-1]}; the others were not debated."
        problems.append(warning(path, "", message, "partial"))
    for judge, scores in cell.singles.items():
        missing = sorted(set(ids) - {row.id for row in scores})
        if missing:
            message = f"The single-judge file of {judge} lacks the items {', '.join(map(str, missing))}."
            problems.append(warning(path, "", message, "single-missing"))
