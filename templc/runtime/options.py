"""Options of a format: typed, checked, with defaults; None is never a value.

`Option("bool", None, doc="...")` is unset until the caller sets it, which is neither true nor false.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from typing import Literal

from templc.runtime.errors import OptionError
from templc.runtime.misplaced import refuse_argument
from templc.runtime.records import Record, Records, read_record, read_records

Value = bool | str | int | tuple[str, ...] | Records | Record | None


@dataclass(frozen=True, slots=True)
class Option:
    """One option; a `token` is bound to the tokenizer's own bos or eos token unless the caller sets it.

    A choice with `otherwise` is that under `as_template` where a value is not listed, as the template takes it.
    No `int` is below `least`. A `list` holds some of its values, each once and in their order, and nothing by default.
    A `record` is a mapping with some of its values as keys.
    `records` are mappings: the `fields` are written by name, of which `optional` ones may be missing, or the records
    whole where there are none. `further`: they may have further fields. `texts`: each may also be a text.
    A `date` is given as a date, a datetime or ISO text, and kept as ISO text; no clock is ever read for it.
    """

    type: Literal["bool", "text", "choice", "token", "date", "int", "list", "record", "records"]
    default: Value = None
    values: tuple[str, ...] = ()
    bind: Literal["bos", "eos", ""] = ""
    otherwise: str = ""
    doc: str = ""
    least: int | None = None
    fields: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    further: bool = False
    texts: bool = False

    @property
    def takes(self) -> str:
        """What a caller may give, in words: `low | high`, `list of records with title (optional), text`."""
        keys = [f"{key} (optional)" if key in self.optional else key for key in self.fields]
        match self.type:
            case "list":
                return f"list of {', '.join(self.values)}"
            case "record":
                return f"mapping with some of {', '.join(self.values)}"
            case "records":
                keys += ["further fields"] if self.further else []
                whole = "list of texts and records" if self.texts else "list of records"
                return f"list of records with {', '.join(keys)}" if keys else whole
        return " | ".join(self.values) or self.type


def checked(
    format_name: str,
    known: Mapping[str, Option],
    given: Mapping[str, object],
    *,
    as_template: bool = False,
) -> dict[str, Value]:
    """All options of a format with their values; OptionError for an unknown name or a value of another type."""
    values: dict[str, Value] = {
        name: Record({}, 0) if option.type == "record" else option.default
        for name, option in known.items()
    }
    for name, value in given.items():
        if name not in known:
            refuse_argument(name)
            raise OptionError(f"{format_name} has no option `{name}`", help=_cure(name, known))
        option = known[name]
        unlisted = isinstance(value, str) and value not in option.values
        if as_template and option.otherwise and unlisted:
            value = option.otherwise
        if option.type == "record" and value is not None:
            values[name] = read_record(name, option.values, value, as_template=as_template)
        elif option.type == "records" and value is not None:
            values[name] = read_records(
                name,
                option.fields,
                value,
                option.optional,
                further=option.further,
                texts=option.texts,
                as_template=as_template,
            )
        else:
            values[name] = _value(name, option, value)
    return values


def _cure(name: str, known: Mapping[str, Option]) -> str:
    close = get_close_matches(name, known, 1)
    listed = ", ".join(f"{key} ({option.takes})" for key, option in known.items()) or "none"
    return (
        f"did you mean `{close[0]}`? its options: {listed}" if close else f"its options: {listed}"
    )


def _value(name: str, option: Option, value: object) -> Value:
    if option.type == "date" and value is not None:
        return _date(name, value)
    if option.type == "list" and value is not None:
        return _list(name, option, value)
    wanted, kind = _KINDS.get(option.type, (str, "a text"))
    if value is None:
        raise OptionError(f"the option `{name}` is None", help="leave it out to keep it unset")
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        raise OptionError(f"the option `{name}` is {value!r}", help=f"it must be {kind}")
    if option.least is not None and isinstance(value, int) and value < option.least:
        raise OptionError(
            f"the option `{name}` is {value}", help=f"it must be at least {option.least}"
        )
    if option.values and value not in option.values:
        raise OptionError(
            f"the option `{name}` is {value!r}", help=f"one of {', '.join(option.values)}"
        )
    # A member of an enumeration may be written otherwise than the text that it is equal to.
    return str.__str__(value) if isinstance(value, str) else value  # type: ignore[return-value]


_KINDS: dict[str, tuple[type, str]] = {
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
}


def _list(name: str, option: Option, value: object) -> tuple[str, ...]:
    """Some of the values of an option, in their order."""
    known = option.values
    if not isinstance(value, list | tuple | set | frozenset):
        raise OptionError(
            f"the option `{name}` is {value!r}", help=f"a list of some of {', '.join(known)}"
        )
    for one in value:
        if one not in known:
            raise OptionError(
                f"the option `{name}` holds {one!r}", help=f"some of {', '.join(known)}"
            )
    return tuple(one for one in known if one in value)


def _date(name: str, value: object) -> str:
    """A date in ISO form."""
    if isinstance(value, date | datetime):
        return value.isoformat()
    try:
        return datetime.fromisoformat(str(value)).isoformat()
    except ValueError:
        raise OptionError(
            f"the option `{name}` is {value!r}",
            help='it must be a date: datetime.date(2026, 3, 4) or "2026-03-04"',
        ) from None


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """OptionError unless `value` is one of those that are allowed."""
    if value not in allowed:
        raise OptionError(f"{name} is {value!r}", help=f"one of {', '.join(allowed)}")
