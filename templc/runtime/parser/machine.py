"""The machine that reads a turn: it walks the table over a string that grows, and records what each part is.

    machine.feed("<think>\\nhm"); machine.feed("\\n</think>\\n\\nYes."); machine.finish()

Each character is looked at a bounded number of times, whatever comes. What may still turn out to belong to an anchor
is kept back, and nothing else; so a cut of the input anywhere changes nothing.
"""

from __future__ import annotations

from templc.runtime.parser.call_run import CallRun, ended, opened
from templc.runtime.parser.calls import Reading
from templc.runtime.parser.grammar import BareCall
from templc.runtime.parser.record import Record
from templc.runtime.parser.states import SOLID, Begin, Exit, Table


class Machine:
    """Reads one turn; `record` holds what it has found, `stopped` the stop that ended it."""

    def __init__(self, table: Table, record: Record, reading: Reading) -> None:
        self.table = table
        self.record = record
        self.reading = reading
        self.state = table.states[0]
        self.stopped: str | None = None
        self.finished = False
        self.definite = False
        self.reasoned = False
        self.stopped_in_reasoning = False
        self.buffer = ""
        self.at = 0
        self.base = 0
        self._eat = table.start
        self._final = False
        self._lead = self.state.leads
        self._begun = False
        self._entered = False
        self._noted_rest = False
        self._held: list[str] = []
        self._call: CallRun | None = None
        self._junk: list[str] = []

    @property
    def position(self) -> int:
        """Offset of the next character to be read."""
        return self.base + self.at

    @property
    def reasoning_open(self) -> bool:
        """Whether the text read so far ends inside reasoning."""
        return self.state.name == "reasoning"

    @property
    def fresh(self) -> Begin | None:
        """The state at hand, if nothing but white space behind its anchor was read of it; else None."""
        waits = self.at < len(self.buffer) or self._held or self._begun or self._call
        if waits or self.stopped is not None:
            return None
        return Begin(self.state, self._eat, self.reasoned)

    def feed(self, text: str) -> None:
        """Read more of the turn."""
        self.base += self.at
        self.buffer = self.buffer[self.at :] + text
        self.at = 0
        self._run()

    def finish(self, finished: bool) -> None:
        """The turn ends here; `finished`: by a stop that is not in the text."""
        self._final, self.finished = True, finished
        self._run()
        if self.stopped is None:
            self._end()

    def _run(self) -> None:
        while self._step():
            pass

    def _step(self) -> bool:
        """One step; False when more text is needed."""
        if self.stopped is not None:
            return self._behind_stop()
        if self._call is not None:
            return self._in_call(self._call)
        if self._entered and self.state.empty:
            return self._at_the_beginning()
        if self._eat and not self._eaten():
            return False
        if self.state.gap:
            return self._in_gap()
        return self._leading() if self._lead else self._in_text()

    def _at_the_beginning(self) -> bool:
        """The first character of a state; False where it is still to come."""
        if self.at == len(self.buffer) and not self._final:
            return False
        self._entered = False
        way = self.state.empty.get(self.buffer[self.at : self.at + 1])
        if way is not None:
            self._eat = ""
            self._leave(way, lead=True)
        return True

    # white space that the format writes behind an anchor

    def _eaten(self) -> bool:
        """Take the white space off where it stands; False where more text decides."""
        there = self.buffer[self.at : self.at + len(self._eat)]
        if there == self._eat:
            self._skip(len(there))
        elif self._eat.startswith(there) and not self._final:
            return False
        self._eat = ""
        return True

    def _skip(self, size: int, kind: str = "scaffold") -> None:
        self.record.span(self.position, self.position + size, kind)
        self.at += size

    # text

    def _leading(self) -> bool:
        """Before the first character that is not white space: an anchor may still say what this is."""
        match = SOLID.search(self.buffer, self.at)
        solid = match.start() if match else len(self.buffer)
        self._hold(solid)
        if match is None:
            return False
        core = self.state.lead_finder.begins(self.buffer, self.at, self._final)
        if core is None:
            return False
        if core:
            lead = core not in self.state.exits
            self._leave(self.state.lead[core] if lead else self.state.exits[core], lead=lead)
            return True
        self._lead = False
        self._release()
        return True

    def _hold(self, end: int) -> None:
        if end > self.at:
            self._held.append(self.buffer[self.at : end])
            self.at = end

    def _release(self) -> None:
        """Text begins: the white space before it is text too, unless the format strips it."""
        held, start = self._unheld()
        left = self.state.strip.left
        keep = held.lstrip(left) if left != "" else held
        if self.state.late:
            end = self.position
            self.record.note("content_after_call", "there is text behind the calls", end, end + 1)
            keep = "" if self.record.empty("content") else held
        self.record.span(start, start + len(held) - len(keep), "scaffold")
        self._put(keep, start + len(held) - len(keep))

    def _unheld(self) -> tuple[str, int]:
        held = "".join(self._held)
        self._held = []
        return held, self.position - len(held)

    def _put(self, text: str, start: int) -> None:
        self._begun = self._begun or bool(text)
        self.record.put(self.state.name, text, start)

    def _in_text(self) -> bool:
        match, limit = self.state.finder.find(self.buffer, self.at, self._final)
        if match is not None:
            self._flush(match.start())
            self._leave(self.state.exits[match[0]], lead=False)
            return True
        self._flush(limit)
        return False

    def _flush(self, end: int) -> None:
        """Give out the text up to `end`, but for what an anchor or a strip may still claim."""
        text = self.buffer[self.at : end]
        strip = self.state.strip.right
        solid = len(text.rstrip(strip)) if strip != "" else len(text)
        if solid:
            held, start = self._unheld()
            whole = held + text[:solid]
            keep = self._claimed(whole)
            self._put(whole[: len(whole) - keep], start)
            self._held = [whole[len(whole) - keep :]] if keep else []
            self.at += solid
        self._hold(end)

    def _claimed(self, text: str) -> int:
        """How many characters at the end of `text` begin white space that stands before an anchor."""
        pres = self.state.pres
        longest = min(len(text), max(map(len, pres), default=0))
        return next((size for size in range(longest, 0, -1) if text[len(text) - size :] in pres), 0)

    def _leave(self, way: Exit, *, lead: bool) -> None:
        """Take an exit that stands at the read position."""
        held, start = self._unheld()
        if way.calls is not None and isinstance(way.calls.call, BareCall):
            self._call = opened(self, way, held)
            self.at += len(way.core)
            return
        if lead or (self.state.late and self._lead):
            if held != way.pre:
                self._separator(start, way)
            self.record.span(start, start + len(held), "scaffold")
        else:
            self._close(held, start, way)
        if way.kind == "again":
            self.record.note(
                "reopened", "the block was open already", self.position, self.position + 1
            )
        self._take(way)

    def _close(self, held: str, start: int, way: Exit) -> None:
        """Text ends here: take off what the format writes before the anchor, and what it strips."""
        if not self._begun and way.alone and held == way.alone:
            body = ""
        elif way.pre and held.endswith(way.pre):
            body = held[: len(held) - len(way.pre)]
        else:
            body = held
            if way.pre and (self._begun or way.alone is None):
                self._separator(start + len(held), way)
        strip = self.state.strip
        body = body.rstrip(strip.right) if strip.right != "" else body
        if not self._begun and strip.left != "":
            body = body.lstrip(strip.left)
        self._put(body, start)
        self.record.span(start + len(body), start + len(held), "scaffold")

    def _separator(self, at: int, way: Exit) -> None:
        core = self.record.alphabet.outside(way.core)
        self.record.note("separator", f"other white space than usual before {core}", at, at + 1)

    def _take(self, way: Exit) -> None:
        end = self.position + len(way.core)
        match way.kind:
            case "call":
                assert way.calls is not None
                self._call = opened(self, way, "")
                self.at += len(way.core)
                return
            case "stop":
                self._stop(way.core)
                return
            case "again":
                self.record.span(self.position, end, "scaffold")
                self._eat = way.post
            case _:
                self.record.span(self.position, end, "scaffold")
                self.enter(way.target, way.post)
        self.at += len(way.core)

    def enter(self, target: int, post: str = "") -> None:
        """Go to a state; `post` is white space to be taken off first."""
        state = self.table.states[target]
        resumed = state is self.state and state.name == "reasoning"
        self.state, self._eat, self._entered = state, post, True
        self.reasoned = self.reasoned or self.reasoning_open
        self._lead, self._begun = state.leads and not resumed, resumed

    def as_text(self, text: str, start: int) -> None:
        """Text that was taken for the beginning of a call belongs to the state at hand after all."""
        self._lead, self._eat = False, ""
        self._put(text, start)

    def _stop(self, core: str) -> None:
        self.stopped = core
        self.stopped_in_reasoning = self.reasoning_open and not self.state.late
        self._skip(len(core), "stop")

    def _behind_stop(self) -> bool:
        rest = len(self.buffer) - self.at
        if rest and not self._noted_rest:
            self._noted_rest = True
            self.record.note(
                "after_stop", "there is more behind the stop", self.position, self.position + 1
            )
        self._skip(rest, "after_stop")
        return False

    # sections of calls

    def _in_gap(self) -> bool:
        match, limit = self.state.finder.find(self.buffer, self.at, self._final)
        end = match.start() if match else limit
        self._junk.append(self.buffer[self.at : end])
        self.at = end
        if match is None:
            return False
        way = self.state.exits[match[0]]
        self._drop_junk(way.pre)
        if way.kind == "stop":
            self.record.note(
                "open_section",
                "the section of calls is not closed",
                self.position,
                self.position + 1,
            )
        self._take(way)
        return True

    def _drop_junk(self, meant: str = "") -> None:
        """Text between calls is lost, unless it is what the format writes there."""
        junk, self._junk = "".join(self._junk), []
        start = self.position - len(junk)
        self.record.span(start, self.position, "scaffold")
        if junk.strip() not in ("", meant.strip()):
            self.record.error(
                "junk_in_section", "there is text between calls", start, self.position, junk
            )

    # calls

    def _in_call(self, call: CallRun) -> bool:
        found, limit = call.scan.find(self.buffer, self.at, self.base, self._final)
        end = found.start if found else limit
        call.parts.append(self.buffer[self.at : end])
        self.at = end
        if found is None and not self._final:
            return False
        self._call = None
        return ended(self, call, found.core if found else None)

    # the end

    def _end(self) -> None:
        if self.state.gap:
            self._drop_junk()
            return
        held, start = self._unheld()
        rest = held + self.buffer[self.at :]
        self.at = len(self.buffer)
        if self.state.late and not rest.strip():
            self.record.span(start, start + len(rest), "scaffold")
            return
        end = self.table.end if self.finished else ""
        self._close(rest, start, Exit("stop", "", end))
