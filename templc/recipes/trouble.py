"""What went wrong with a service, as one message with a cure.

raise explained("sampling", error, url) from error
"""

from __future__ import annotations

import sys
from typing import Any

from templc.runtime.errors import TemplcError

AGAIN = "the run can be resumed: start it again with the same folder"
KEY = "set MINT_API_KEY to your key; a server of your own takes any that starts with tml-, like tml-local"
_LONGEST = 300
# What servers of another version answer: an unknown address, another encoding, a body that they do not read.
_SKEW = {404, 405, 415, 422, 426, 501}


class ServiceError(TemplcError):
    """A service that cannot be used, or that has stopped answering."""


def explained(what: str, error: Exception, url: str | None) -> ServiceError:
    """The message for whatever a client raised; url: of the server, None where there is none."""
    if isinstance(error, TemplcError):
        return ServiceError(f"{what} failed: {error.message}", help=error.help)
    text = (str(error) or repr(error)).splitlines()[0][:_LONGEST]
    status = getattr(error, "status_code", None)
    if status in (401, 403):
        return ServiceError(f"{what} failed, {url} refuses the key: {text}", help=KEY)
    if "api_key" in text:
        return ServiceError(f"{what} failed: {text}", help=KEY)
    if status in _SKEW and url:
        help = f"this is {' on '.join(versions())}; is the server made for it? Otherwise, {AGAIN}"
        return ServiceError(f"{what} failed, {url} does not take the request: {text}", help=help)
    return ServiceError(f"{what} failed: {text}", help=AGAIN if url else "")


def versions() -> list[str]:
    """The clients that are imported, with their versions: `mint 0.2.0`, `tinker 0.22.0`."""
    modules = [(name, sys.modules.get(name)) for name in ("mint", "tinker")]
    return [f"{name} {getattr(module, '__version__', '?')}" for name, module in modules if module]


def skewed() -> str:
    """How the imported clients do not fit each other, "" where they do: mint itself does not look."""
    mint: Any = sys.modules.get("mint.mint")
    tinker: Any = sys.modules.get("tinker")
    wanted = getattr(mint, "EXPECTED_TINKER_VERSION", None)
    found = getattr(tinker, "__version__", None)
    if not wanted or not found or wanted == found:
        return ""
    return f"{versions()[0]} is made for tinker {wanted}, and tinker {found} is installed"
