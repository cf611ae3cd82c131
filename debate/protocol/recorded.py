"""Reads debates that other programs recorded. Nothing here is run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import yaml

from debate.protocol.transcripts import RecordedCell, RecordedItem, RecordedTurn, SingleScore
from debate.protocol.verdicts import read_recorded, read_strict
from evalsite.base.types import JsonObject
from judging.specs.files.bundles import Bundle
from judging.specs.files.findings import Parsed, Problem, Severity
from judging.stored_content import storable

Row = JsonObject
_BETWEEN_ROWS = re.compile(r"[\s,\[\]]*")
ResponseLine = tuple[str, str]  # prompt and response
AgentTurn = tuple[str | None, str | int | float | None]  # text and score of a statement as filed, by agent


def read_rows(path: str, content: bytes) -> Parsed[tuple[Row, ...]]:
    """Return the JSON objects in a file, in order: one array, objects one after another, or one per line.

    An end that was cut off loses its last object and is reported; the objects before it stand.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Parsed(
            None, (Problem(Severity.ERROR, path, "", f"This file is not UTF-8 text: {error}.", code="not-utf8"),)
        )
    rows, end = _scan(text)
    if text.lstrip().startswith("[") and not text.rstrip().endswith("]"):
        end = min(end, len(text.rstrip()) - 1)
    problems: list[Problem] = []
    if end < len(text):
        line = text.count("\n", 0, end) + 1
        message = f"From here on the file is cut off or is not valid JSON; the {len(rows)} objects before were read."
        problems.append(warning(path, f"line {line}", message, "cut-off", offending=text[end : end + 60]))
    elif not text.lstrip().startswith("[") and text.lstrip()[:1] and _is_pretty_printed(text):
        message = (
            "Objects one after another instead of an array: the run that wrote this file did not finish its discussion."
        )
        problems.append(warning(path, "", message, "concatenated"))
    if not rows:
        problems.append(Problem(Severity.ERROR, path, "", "This file contains no records.", code="no-records"))
        return Parsed(None, tuple(problems))
    return Parsed(tuple(rows), tuple(problems))


def read_responses(path: str, content: bytes) -> Parsed[tuple[ResponseLine, ...]]:
    """Return a responses file's lines in order; a line without prompt and response keeps its place, empty."""
    parsed = read_rows(path, content)
    if parsed.value is None:
        return Parsed(None, parsed.problems)
    problems = list(parsed.problems)
    lines: list[ResponseLine] = []
    first_seen: dict[str, int] = {}
    for number, row in enumerate(parsed.value, start=1):
        prompt, response = row.get("prompt"), row.get("response")
        if not isinstance(prompt, str) or not isinstance(response, str) or not response:
            problems.append(
                warning(path, f"line {number}", "This line has no prompt or no response.", "response-missing")
            )
        asked = _text(prompt)
        lines.append((asked, _text(response)))
        earlier = first_seen.setdefault(asked, number)
        if earlier != number:
            message = f"The same prompt as in line {earlier}; items are distinguished by line number."
            problems.append(warning(path, f"line {number}", message, "duplicate-prompt", offending=asked[:80]))
    return Parsed(tuple(lines), tuple(problems))


def _criterion_names(path: str, content: bytes) -> Parsed[set[str]]:
    """Return the names of the criteria in a file; other top-level keys are ignored."""
    try:
        data = yaml.safe_load(content)
    except yaml.YAMLError as error:
        message = f"This file is not valid YAML: {str(error).splitlines()[0]}."
        return Parsed(None, (Problem(Severity.ERROR, path, "", message, code="not-yaml"),))
    criteria = data.get("criteria") if isinstance(data, dict) else None
    if not isinstance(criteria, dict):
        return Parsed(None, (warning(path, "", "This file has no `criteria:` mapping.", "no-criteria"),))
    return Parsed({storable(str(name)) for name, levels in criteria.items() if isinstance(levels, dict)})


def _scan(text: str) -> tuple[list[Row], int]:
    """Return the objects that can be read and the offset where reading ended (the text's length when all could)."""
    decoder, rows, position = json.JSONDecoder(), list[Row](), 0
    while True:
        between = _BETWEEN_ROWS.match(text, position)
        position = between.end() if between else position
        if position >= len(text):
            return rows, len(text)
        try:
            value, position_after = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            return rows, position
        if not isinstance(value, dict):
            return rows, position
        rows.append(storable(value))
        position = position_after


def _is_pretty_printed(text: str) -> bool:
    """Return whether an object spreads over lines, unlike one object per line."""
    first_line = text.lstrip().splitlines()[0].rstrip()
    return first_line == "{"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_STATEMENT = re.compile(r"Speaker (\d{1,3}) - (?:Initial Evaluation|Discussion Round (\d{1,3}))")


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """One debate as filed."""

    id: int
    question: str
    shown: tuple[str, str]
    stages: tuple[tuple[AgentTurn, ...], ...]  # independent round first; each in agent order


def read_debate_rows(path: str, rows: Sequence[Row]) -> Parsed[tuple[RecordedRow, ...]]:
    """Return the debates in a file's rows, in order. Of rows with one id the first counts."""
    by_idx: dict[int, RecordedRow] = {}
    problems: list[Problem] = []
    for number, row in enumerate(rows, start=1):
        location = f"record {number}"
        item_id, texts = row.get("id"), [row.get(key) for key in ("Question", "Submission 1", "Submission 2")]
        if type(item_id) is not int or not all(isinstance(text, str) for text in texts):
            problems.append(_left_out(path, location, "It has no whole-number id, question or two submissions."))
            continue
        if item_id in by_idx:
            problems.append(_left_out(path, location, f"Item {item_id} occurs twice in this file."))
            continue
        stages = _stages(row)
        if not stages:
            problems.append(
                _left_out(path, f"item {item_id}", "The statements of its independent round are incomplete.")
            )
            continue
        if len(stages) < max((stage for stage, _ in _turns(row)), default=-1) + 1:
            message = f"Round {len(stages)} is incomplete; the debate was read up to the previous round."
            problems.append(Problem(Severity.WARNING, path, f"item {item_id}", message, code="round-incomplete"))
        by_idx[item_id] = RecordedRow(item_id, str(texts[0]), (str(texts[1]), str(texts[2])), stages)
    return Parsed(tuple(by_idx.values()), tuple(problems))


def read_single_rows(path: str, rows: Sequence[Row]) -> Parsed[tuple[SingleScore, ...]]:
    """Return the rows of a single-judge file, in order."""
    scores: list[SingleScore] = []
    problems: list[Problem] = []
    for number, row in enumerate(rows, start=1):
        item_id = row.get("ID")
        if type(item_id) is int:
            scores.append(SingleScore(item_id, _score(row.get("Score")), _item_text(row.get("Reasoning"))))
        else:
            problems.append(_left_out(path, f"record {number}", "It has no whole-number ID."))
    return Parsed(tuple(scores), tuple(problems))


def _stages(row: Row) -> tuple[tuple[AgentTurn, ...], ...]:
    """Return the leading rounds in which every agent of the independent round spoke."""
    turns = _turns(row)
    agents = sorted(agent_number for stage, agent_number in turns if stage == 0)
    if len(agents) < 2 or agents != list(range(1, len(agents) + 1)):
        return ()
    stages: list[tuple[AgentTurn, ...]] = []
    while all((len(stages), agent_number) in turns for agent_number in agents):
        stages.append(tuple(turns[len(stages), agent_number] for agent_number in agents))
    return tuple(stages)


def _turns(row: Row) -> dict[tuple[int, int], AgentTurn]:
    turns: dict[tuple[int, int], AgentTurn] = {}
    for key, value in row.items():
        match = _STATEMENT.fullmatch(key)
        if match and isinstance(value, dict):
            turn = (_item_text(value.get("reasoning")), _score(value.get("score")))
            turns[int(match[2] or 0), int(match[1])] = turn
    return turns


def _item_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _score(value: object) -> str | int | float | None:
    return value if isinstance(value, str | int | float) else None


def _left_out(path: str, location: str, message: str) -> Problem:
    return warning(path, location, f"{message} It was left out.", "record-left-out")


MAX_AGENTS = 6  # 720 orders to try


def recover_response_order(
    *,
    item_id: int,
    question: str,
    shown: tuple[str, str],
    responses_a: Sequence[ResponseLine],
    responses_b: Sequence[ResponseLine],
) -> tuple[int, int] | None:
    """Return the order in which `shown` repeats two responses verbatim (0: A first) and their line, from 1, or None.

    The line with the item's own number is tried first; only then another line with the same prompt (prompts repeat).
    Nothing is stripped: some responses differ in leading spaces alone.
    """
    last = min(len(responses_a), len(responses_b))
    candidates = [item_id, *(number for number in range(1, last + 1) if number != item_id)]
    for number in candidates:
        if not 1 <= number <= last:
            continue
        (prompt_a, a), (prompt_b, b) = responses_a[number - 1], responses_b[number - 1]
        if question not in (prompt_a, prompt_b) or a == b:
            continue
        if shown in ((a, b), (b, a)):
            return int(shown == (b, a)), number
    return None


def recover_agents(texts: Sequence[str | None], own_texts: Mapping[str, str | None]) -> tuple[str, ...] | None:
    """Return the one order of the agents in which most independent texts stand in the judges' own files, or None.

    `own_texts` has the judges in the configured order. All agents, or all but one, must match by a text that is there;
    the last one follows. Where several orders match equally well, a rotation of the configured order is taken if it
    is the only one among them, as ScaleEval orders its agents by rotation.
    """
    judges = tuple(own_texts)
    if not 2 <= len(judges) == len(texts) <= MAX_AGENTS:
        return None
    matches = {
        agents: sum(text is not None and text == own_texts[judge] for text, judge in zip(texts, agents, strict=True))
        for agents in permutations(judges)
    }
    best = max(matches.values())
    if best < len(judges) - 1:
        return None
    best_orders = [agents for agents, count in matches.items() if count == best]
    if len(best_orders) > 1:
        rotations = {(*judges[start:], *judges[:start]) for start in range(len(judges))}
        best_orders = [agents for agents in best_orders if agents in rotations]
    return best_orders[0] if len(best_orders) == 1 else None


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
    criteria: set[str] = field(default_factory=set)  # names
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
            criteria = _criterion_names(path, bundle.read(path))
            folder.problems += criteria.problems
            folder.criteria |= criteria.value or set()
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
        texts.get(debate.id) is not None and texts[debate.id] in [text for text, _ in debate.stages[0]]
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
    cell = RecordedCell(
        pair=pair,
        criterion=criterion,
        scenario=scenario,
        system_a=systems[0],
        system_b=systems[1],
        judges=tuple(singles) or (items[0].agents if items else ()),
        items=tuple(sorted(items, key=lambda item: item.id)),
        singles=singles,
        criterion_key=_criterion_key(criterion, scenario, folder.criteria),
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
    found = recover_response_order(
        item_id=row.id, question=row.question, shown=row.shown, responses_a=responses[0], responses_b=responses[1]
    )
    location = f"item {row.id}"
    if found is None:
        message = "Its submissions are not exactly the responses of the two systems to its question; it was left out."
        folder.problems.append(warning(path, location, message, "order-unknown", offending=row.question))
        return None
    order, line = found
    if line != row.id:
        message = f"Its submissions are the responses in line {line}, not in line {row.id}."
        folder.problems.append(warning(path, location, message, "other-line"))
    agents = _agents(row, singles)
    if agents is None:
        message = "Its first statements do not tell which judge was which agent; it was left out."
        folder.problems.append(warning(path, location, message, "agents-unknown"))
        return None
    return RecordedItem(
        id=row.id,
        question=row.question,
        response_a=responses[0][line - 1][1],
        response_b=responses[1][line - 1][1],
        response_order=order,
        stages=tuple(
            tuple(
                RecordedTurn(number, judge, text, score)
                for number, (judge, (text, score)) in enumerate(zip(agents, stage, strict=True), start=1)
            )
            for stage in row.stages
        ),
    )


def _agents(row: RecordedRow, singles: Singles) -> tuple[str, ...] | None:
    texts = [text for text, _ in row.stages[0]]
    if not singles:
        # These names take part in the hash of a cell, by which it is known again.
        return tuple(f"seat-{number}" for number in range(1, len(texts) + 1))
    own_texts = {
        judge: next((score.text for score in scores if score.id == row.id), None) for judge, scores in singles.items()
    }
    return recover_agents(texts, own_texts)


def _systems(pair: str, responses: Mapping[str, object]) -> tuple[str, str] | None:
    """Return the folders of a pair's two systems: by name, or the only one that begins with it (claude-instant)."""
    systems = []
    for name in pair.split("_vs_"):
        begins = [system for system in sorted(responses) if system.startswith(name)]
        if name not in responses and len(begins) != 1:
            return None
        systems.append(name if name in responses else begins[0])
    return (systems[0], systems[1]) if len(systems) == 2 else None


def _criterion_key(criterion: str, scenario: str, criteria: set[str]) -> str:
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
