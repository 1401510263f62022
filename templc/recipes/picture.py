"""Line charts as SVG, one panel a series, without any package.

chart({"reward": [0.3, 0.7, 1.0], "loss": [0.2, 0.1, 0.0]}, "step")       # the text of an SVG file
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, LEFT, TOP = 640, 130, 70, 28
_STYLE = "font-family='sans-serif' font-size='12' fill='#333'"


def chart(series: Mapping[str, Sequence[float]], axis: str) -> str:
    """A panel for each series, its values over 0, 1, 2, ... ; `axis` names these."""
    panels = [
        _panel(number * (HEIGHT + TOP) + TOP, name, values)
        for number, (name, values) in enumerate(series.items())
    ]
    bottom = len(panels) * (HEIGHT + TOP) + TOP
    label = f"<text x='{WIDTH // 2}' y='{bottom + 4}' {_STYLE}>{axis}</text>"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {bottom + 14}'>"
        f"<rect width='100%' height='100%' fill='white'/>{''.join(panels)}{label}</svg>\n"
    )


def _panel(top: int, name: str, values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    space = high - low or 1.0
    wide = (WIDTH - LEFT - 20) / max(len(values) - 1, 1)
    points = [
        (LEFT + at * wide, top + (HEIGHT - 16) * (1 - (value - low) / space))
        for at, value in enumerate(values)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='#2266aa'/>" for x, y in points)
    return (
        f"<text x='{LEFT}' y='{top - 8}' {_STYLE} font-weight='bold'>{name}</text>"
        f"<text x='4' y='{top + 6}' {_STYLE}>{high:.4g}</text>"
        f"<text x='4' y='{top + HEIGHT - 14}' {_STYLE}>{low:.4g}</text>"
        f"<polyline points='{path}' fill='none' stroke='#2266aa' stroke-width='2'/>{dots}"
    )
