"""Line charts as SVG, one panel for each subject, without any package.

chart({"reward": [0.3, 0.7, 1.0]}, "step")                                  # the text of an SVG file
chart({"tokens": {"anew": [36, 109], "extended": [36, 73]}}, "turns", first=1)    # two lines in one panel
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Lines: TypeAlias = "Sequence[float] | Mapping[str, Sequence[float]]"

WIDTH, HEIGHT, LEFT, TOP, BELOW = 640, 130, 70, 40, 34
COLOURS = ("#2266aa", "#cc5500", "#228844")
_STYLE = "font-family='sans-serif' font-size='12'"


def chart(panels: Mapping[str, Lines], axis: str, *, first: int = 0) -> str:
    """A panel for each subject, its values over first, first + 1, ... ; `axis` names these. Lines share a scale."""
    given = [
        (name, known if isinstance(known, Mapping) else {"": known})
        for name, known in panels.items()
    ]
    drawn = [_panel(number * (HEIGHT + TOP) + TOP, *one) for number, one in enumerate(given)]
    bottom = len(drawn) * (HEIGHT + TOP) + BELOW
    count = max(len(values) for _, lines in given for values in lines.values())
    ticks = "".join(
        _text(_across(at, count), bottom - 22, str(first + at), anchor="middle")
        for at in sorted({0, (count - 1) // 2, count - 1})
    )
    label = _text((LEFT + WIDTH) / 2, bottom - 6, axis, anchor="middle")
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {bottom}'>"
        f"<rect width='100%' height='100%' fill='white'/>{''.join(drawn)}{ticks}{label}</svg>\n"
    )


def _panel(top: int, name: str, lines: Mapping[str, Sequence[float]]) -> str:
    values = [value for line in lines.values() for value in line]
    low, high = min(values), max(values)
    base = top + HEIGHT - 16
    frame = f"<path d='M{LEFT},{top} V{base} H{WIDTH - 20}' fill='none' stroke='#bbb'/>"
    marks = _text(LEFT - 6, top + 8, f"{high:.5g}", anchor="end") + _text(
        LEFT - 6, base, f"{low:.5g}", anchor="end"
    )
    legend = "".join(_legend(top, lines)) if len(lines) > 1 else ""
    drawn = "".join(
        _line(line, base, (HEIGHT - 16) / (high - low or 1.0), low, colour)
        for line, colour in zip(lines.values(), COLOURS, strict=False)
    )
    return _text(LEFT, top - 10, name, weight="bold") + frame + marks + legend + drawn


def _line(values: Sequence[float], base: int, scale: float, low: float, colour: str) -> str:
    points = [
        (_across(at, len(values)), base - scale * (value - low)) for at, value in enumerate(values)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5' fill='{colour}'/>" for x, y in points
    )
    return f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>{dots}"


def _legend(top: int, names: Mapping[str, Sequence[float]]) -> Iterator[str]:
    for number, (name, colour) in enumerate(zip(names, COLOURS, strict=False)):
        at = top + 14 + 18 * number
        yield f"<rect x='{LEFT + 14}' y='{at - 9}' width='10' height='10' fill='{colour}'/>"
        yield _text(LEFT + 30, at, name)


def _across(at: int, count: int) -> float:
    return LEFT + at * (WIDTH - LEFT - 20) / max(count - 1, 1)


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    place = f"x='{x:.0f}' y='{y:.0f}' text-anchor='{anchor}' font-weight='{weight}'"
    return f"<text {place} {_STYLE} fill='#333'>{text}</text>"
