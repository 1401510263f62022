"""The automaton of a response: states, and the anchors that lead from one to the next.

A response is a set of paths, one for each combination of alternatives. A state is the set of places in them where the
text read so far may end, so alternatives that begin alike share states until an anchor tells them apart.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import product

from templc.runtime.parser.alphabet import Alphabet
from templc.runtime.parser.grammar import (
    STRIPS,
    Anchor,
    ArgumentCall,
    BareCall,
    Blank,
    Calls,
    CallShape,
    Either,
    FieldCall,
    Hole,
    If,
    Item,
    JsonCall,
    MapCall,
    Part,
    PythonCalls,
    Response,
    Strip,
    TreeCall,
)
from templc.runtime.parser.states import Exit, Place, State, Table, finish

Step = Anchor | Blank | Hole | Calls
Path = tuple[Step, ...]


@lru_cache(maxsize=256)
def table_of(
    response: Response, controls: tuple[str, ...], stops: tuple[str, ...], accept: bool
) -> Table:
    """The automaton; `controls` are the control tokens as `Alphabet` has them, accept: calls count in reasoning."""
    alphabet = Alphabet(controls)
    paths = tuple(tuple(_inside(step, alphabet) for step in path) for path in paths_of(response))
    return _Builder(paths, tuple(map(alphabet.inside, stops)), accept).table(alphabet)


def paths_of(response: Response) -> list[Path]:
    """Every way through a response, white space given to the anchor or calls that it stands beside."""
    return [_gathered(path) for path in _paths(response.items)]


def _paths(items: tuple[Item, ...]) -> list[Path]:
    """Every way through the items."""
    found: list[list[Path]] = []
    for item in items:
        match item:
            case If(holds, inner):
                found.append(_paths(inner) if holds else [()])
            case Either(options):
                found.append([path for option in options for path in _option(option)] or [()])
            case _:
                found.append([(item,)])
    return list(
        dict.fromkeys(tuple(step for part in parts for step in part) for parts in product(*found))
    )


def _option(option: If | tuple[Item, ...]) -> list[Path]:
    if isinstance(option, If):
        return _paths(option.items) if option.holds else []
    return _paths(option)


def _gathered(path: Path) -> Path:
    """White space before an anchor or calls given to them, where text may stand before it."""
    found: list[Step] = []
    for step in path:
        if isinstance(step, Anchor) and not step.core:
            continue
        match found:
            case [*_, Anchor() as before, Blank(text)] if isinstance(step, Hole):
                found[-2:] = [replace(before, post=before.post + text)]
        space = found[-1].text if len(found) > 1 and isinstance(found[-1], Blank) else ""
        if space and isinstance(step, Anchor):
            found[-1] = replace(step, pre=space + step.pre)
        elif space and isinstance(step, Calls):
            found[-1] = replace(step, before=space + step.before, alone=space + step.alone)
        else:
            found.append(step)
    return tuple(found)


def _inside(step: Step, alphabet: Alphabet) -> Step:
    match step:
        case Anchor():
            return _anchor(step, alphabet)
        case Calls(call, before, alone, between, opening, closing):
            return Calls(
                _call(call, alphabet),
                before,
                alone,
                between,
                _anchor(opening, alphabet) if opening else None,
                _anchor(closing, alphabet) if closing else None,
            )
        case _:
            return step


def _anchor(anchor: Anchor, alphabet: Alphabet) -> Anchor:
    return Anchor(alphabet.inside(anchor.core), anchor.pre, anchor.post)


def _call(shape: CallShape, alphabet: Alphabet) -> CallShape:
    if isinstance(shape, BareCall):
        return shape
    opening, closing = _anchor(shape.open, alphabet), _anchor(shape.close, alphabet)

    def run(items: tuple[str | Part, ...]) -> tuple[str | Part, ...]:
        return tuple(alphabet.inside(item) if isinstance(item, str) else item for item in items)

    match shape:
        case JsonCall() | PythonCalls():
            return replace(shape, open=opening, close=closing)
        case MapCall(before=before, mark=mark):
            return MapCall(opening, closing, alphabet.inside(before), alphabet.inside(mark))
        case TreeCall(head=head, mark=mark):
            return TreeCall(opening, closing, run(head), alphabet.inside(mark))
        case FieldCall(inner=inner):
            return FieldCall(opening, closing, *run(inner))
        case ArgumentCall(head=head, argument=argument, tail=tail, other=other, between=between):
            return ArgumentCall(
                opening,
                closing,
                run(head),
                run(argument),
                alphabet.inside(tail),
                run(other),
                alphabet.inside(between),
            )


class _Builder:
    def __init__(self, paths: tuple[Path, ...], stops: tuple[str, ...], accept: bool) -> None:
        self._paths = paths
        self._stops = stops
        self._accept = accept
        self._states: list[State] = []
        self._numbers: dict[tuple[frozenset[Place], str], int] = {}
        self._end = _end_blank(paths)

    def table(self, alphabet: Alphabet) -> Table:
        start = next(
            (path[0].text for path in self._paths if path and isinstance(path[0], Blank)), ""
        )
        self._state(frozenset((number, 0) for number in range(len(self._paths))), "text")
        for state in self._states:
            finish(state, self._stops, alphabet)
        return Table(tuple(self._states), start, self._end, self._stops)

    def _state(self, places: frozenset[Place], kind: str, opener: str = "") -> int:
        """The number of the state at `places`; kind: text, late (behind calls) or gap (inside a section)."""
        key = (places, kind)
        if key not in self._numbers:
            self._numbers[key] = len(self._states)
            state = State(places, late=kind == "late", gap=kind == "gap", opener=opener)
            self._states.append(state)
            self._fill(state, self._numbers[key])
        return self._numbers[key]

    def _fill(self, state: State, number: int) -> None:
        ordered = sorted(state.places)
        if state.gap or state.late:
            self._behind_calls(state, ordered)
            return
        holes = self._holes(ordered)
        lead = [place for place in ordered if not isinstance(self._step(place), Hole)]
        inside = [self._behind(place) for place in holes]
        found = [step for path, at in holes if isinstance(step := self._paths[path][at], Hole)]
        fields = list(dict.fromkeys(step.field for step in found))
        # A thought must never be shown as an answer, so reasoning wins where a field could be either.
        state.name = "reasoning" if "reasoning" in fields else fields[0] if fields else "content"
        state.late = not fields
        strips = {step.strip for step in found if step.field == state.name}
        state.strip = STRIPS[strips.pop()] if len(strips) == 1 else Strip()
        self._exits(state.exits, inside, state)
        self._exits(state.lead, lead, state)
        state.empty = {core: way for core, way in state.lead.items() if _other(way, state)}
        for core, way in state.lead.items():
            usual = state.exits.get(core)
            if usual is not None and usual.kind == way.kind == "call" and usual.alone is None:
                # What stands before calls where no field does.
                usual.alone = way.pre if way.pre != usual.pre else None
        state.lead = {core: way for core, way in state.lead.items() if core not in state.exits}
        if state.name == "reasoning" and self._accept:
            self._calls_in_reasoning(state, number)

    def _step(self, place: Place) -> Step | None:
        path, at = place
        steps = self._paths[path]
        while at < len(steps) and isinstance(steps[at], Blank):
            at += 1
        return steps[at] if at < len(steps) else None

    def _holes(self, places: list[Place]) -> list[Place]:
        """The places of the holes here; where there is none, of the next ones for content, which may stand alone."""
        here = [self._skipped(place) for place in places if isinstance(self._step(place), Hole)]
        if here:
            return here
        found = []
        for path, at in places:
            steps = self._paths[path]
            ahead = (
                n
                for n in range(at, len(steps))
                if steps[n] == Hole("content") or _is_content(steps[n])
            )
            found += [(path, n) for n in ahead][:1]
        return found

    def _behind(self, place: Place) -> Place:
        """The place behind a hole, and behind others that nothing parts from it."""
        path, at = place
        steps = self._paths[path]
        while at < len(steps) and isinstance(steps[at], Hole):
            at += 1
        return path, at

    def _skipped(self, place: Place) -> Place:
        path, at = place
        while isinstance(self._paths[path][at], Blank):
            at += 1
        return path, at

    def _exits(self, exits: dict[str, Exit], places: list[Place], state: State) -> None:
        """The anchors that may come next from `places`, calls being optional."""
        targets: dict[str, tuple[Anchor, list[Place]]] = {}
        for path, start in places:
            steps = self._paths[path]
            for at in range(start, len(steps)):
                step = steps[at]
                if isinstance(step, Anchor):
                    targets.setdefault(step.core, (step, []))[1].append((path, at + 1))
                    break
                if isinstance(step, Calls):
                    self._call_exits(exits, step, (path, at))
                elif isinstance(step, Hole):
                    break
        for core, (anchor, behind) in targets.items():
            if core in self._stops:
                exits.setdefault(core, Exit("stop", core, anchor.pre))
                continue
            way = exits.setdefault(core, Exit("enter", core, anchor.pre, None, anchor.post))
            way.target = self._state(frozenset(behind), "text", core)
        for stop in self._stops:
            exits.setdefault(stop, Exit("stop", stop, "" if len(stop) > 1 else self._end))

    def _call_exits(self, exits: dict[str, Exit], calls: Calls, place: Place) -> None:
        behind = frozenset([place])
        alone = calls.alone if calls.alone != calls.before else None
        core = calls.call.open.core
        if calls.open is None:
            target = self._state(behind, "late")
            way = exits.setdefault(
                core, Exit("call", core, calls.before, alone, target=target, calls=calls)
            )
            if way.calls is not None and calls.call not in (way.calls.call, *way.others):
                way.others.append(calls.call)
            return
        opening = calls.open
        target = self._state(behind, "gap")
        pre = calls.before or opening.pre
        way = Exit("section", opening.core, pre, alone, opening.post, target)
        exits.setdefault(opening.core, way)
        # A brace outside of the section is text.
        if not isinstance(calls.call, BareCall):
            exits.setdefault(core, Exit("call", core, target=target, calls=calls))

    def _behind_calls(self, state: State, places: list[Place]) -> None:
        for path, at in places:
            calls = self._paths[path][at]
            assert isinstance(calls, Calls)
            core = calls.call.open.core
            target = self._state(state.places, "gap" if state.gap or calls.open else "late")
            state.exits[core] = Exit("call", core, calls.between, target=target, calls=calls)
            if calls.open:
                opening = calls.open
                state.exits[opening.core] = Exit(
                    "section", opening.core, "", None, opening.post, target
                )
            if calls.close and state.gap:
                closing, late = calls.close, self._state(state.places, "late")
                state.exits[closing.core] = Exit(
                    "leave", closing.core, closing.pre, None, closing.post, late
                )
            if not state.gap:
                self._exits(state.exits, [(path, at + 1)], state)
        for stop in self._stops:
            state.exits.setdefault(stop, Exit("stop", stop, "" if len(stop) > 1 else self._end))

    def _calls_in_reasoning(self, state: State, number: int) -> None:
        for path in self._paths:
            for step in path:
                if isinstance(step, Calls):
                    core = step.call.open.core
                    state.exits.setdefault(
                        core, Exit("call", core, step.before, target=number, calls=step)
                    )


def _other(way: Exit, state: State) -> bool:
    """Whether a control token leads elsewhere where no field stands before it, not even an empty one."""
    usual = state.exits.get(way.core)
    if usual is None or len(way.core) > 1 or not way.kind == usual.kind == "enter":
        return False
    return (way.post, way.target) != (usual.post, usual.target)


def _is_content(step: Step) -> bool:
    return isinstance(step, Hole) and step.field == "content"


def _end_blank(paths: tuple[Path, ...]) -> str:
    """White space that every path ends with."""
    return next(
        (path[-1].text for path in paths if len(path) > 1 and isinstance(path[-1], Blank)), ""
    )
