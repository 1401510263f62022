"""What a run over files is to do, and what its rows depend on.

Plan(inputs("chats.jsonl"), Path("out.parquet"), make, Settings())
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from templc.data.conversation import NAMES, TOOLS
from templc.data.files import ROWS, Input, slices
from templc.data.rows import Slice
from templc.data.settings import Settings
from templc.runtime.renderer import Renderer
from templc.version import VERSION

Engine = Literal["processes", "ray"]
Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """make: gives the renderer, bound to its tokenizer; a function of a module, for each process calls it.

    tokenizer: its name, which tells runs apart. workers: None for one a core. rows: the most in a slice.
    """

    files: Sequence[Input]
    out: Path
    make: Callable[[], Renderer]
    settings: Settings = field(default_factory=Settings)
    tokenizer: str = ""
    workers: int | None = None
    overwrite: bool = False
    rows: int = ROWS
    engine: Engine = "processes"

    def slices(self) -> Iterator[Slice]:
        """The rows of all files, in order."""
        column = self.settings.messages
        return slices(self.files, (*((column,) if column else NAMES), TOOLS), self.rows)

    def identity(self, renderer: Renderer) -> dict[str, object]:
        """All that the rows depend on, as JSON has it."""
        settings: Mapping[str, object] = asdict(self.settings)
        return {
            "templc": VERSION,
            "format": f"{renderer.fingerprint()} {renderer.content_specials}",
            "tokenizer": f"{self.tokenizer} {renderer.codec(None).digest}",
            "settings": dict(settings),
            "rows a slice": self.rows,
            "input": [[file.path, file.size, file.changed] for file in self.files],
        }
