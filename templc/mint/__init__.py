"""`mint.renderers` for MinT releases that have none: importing this module makes it importable.

    import templc.mint
    from mint.renderers import get_renderer

Where MinT ships a `mint.renderers` of its own, that one is left alone. ImportError without mindlab-toolkit.
"""

from __future__ import annotations

import importlib.util
import sys

from templc.mint import renderers


def install() -> bool:
    """Make `mint.renderers` ours unless MinT has one; whether it is ours now."""
    try:
        import mint
    except ImportError as error:
        raise ImportError(f"{error}\n  help: pip install mindlab-toolkit") from error
    known = sys.modules.get("mint.renderers")
    if known is None and importlib.util.find_spec("mint.renderers") is None:
        sys.modules["mint.renderers"] = renderers
        mint.renderers = renderers
        return True
    return known is renderers


install()
