"""Typed reading of `config.json`.

    @dataclass(frozen=True)
    class Config:
        hidden_size: int = 4096                              # the reference library's default
        num_key_value_heads: int | None = None
        hidden_act: Literal["silu"] = "silu"                 # any other value is an error
        n_embd: int = alias("hidden_size", default=768)      # also read under a second name
        rope: Rope = reads(Rope, theta=1e6)                  # a type that interprets several fields itself

    config = read(Config, checkpoint.config)

`rope` is made by `Rope.read(config, theta=1e6)`, which sees config.json with the defaults of the class's other fields
filled in.

A field that the class does not name is ignored, as the reference library ignores it. A value that the class cannot
interpret is an error that names the field.
"""

from __future__ import annotations

import dataclasses
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union

T = TypeVar("T")


class ConfigError(ValueError):
    """A field of config.json that the family cannot interpret."""


def alias(*names: str, default: Any) -> Any:
    """A dataclass field that may also stand under other names."""
    return dataclasses.field(default=default, metadata={"names": names})


def reads(cls: Any, **dialect: Any) -> Any:
    """A dataclass field that `cls.read(config, **dialect)` makes from several fields of config.json.

    `dialect` says what the architecture's reference implementation does differently from others of its kind.
    """
    return dataclasses.field(default_factory=lambda: cls.read({}, **dialect), metadata={"dialect": dialect})


def read(cls: type[T], config: Mapping[str, Any]) -> T:
    """Fills the dataclass `cls` from a parsed config.json. Raises `ConfigError`."""
    if config.get("quantization_config"):
        method = _method(config["quantization_config"])
        raise ConfigError(
            f"config.json: quantization_config {method!r}: quantised checkpoints are not read; "
            f"use the original checkpoint"
        )
    hints = typing.get_type_hints(cls)
    values: dict[str, Any] = {}
    plain = {f.name: f.default for f in dataclasses.fields(cls) if f.default is not dataclasses.MISSING}  # type: ignore[arg-type]
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        kind = hints[field.name]
        if hasattr(kind, "read"):
            values[field.name] = kind.read({**plain, **config}, **field.metadata.get("dialect", {}))
            continue
        names = [n for n in (field.name, *field.metadata.get("names", ())) if n in config]
        if len({repr(config[n]) for n in names}) > 1:
            raise ConfigError(f"config.json: {' and '.join(names)} mean the same and differ")
        if names:
            values[field.name] = _value(names[0], config[names[0]], kind)
    try:
        return cls(**values)
    except ConfigError:
        raise
    except TypeError as error:
        raise ConfigError(f"config.json: {error}") from None


def is_finite(value: Any) -> bool:
    """Whether a JSON value is a number that a float can hold."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def number(where: str, value: Any, *, least: float, above: bool = False) -> float:
    """A finite number of at least `least` (above it, if `above`). Raises `ConfigError` naming `where`."""
    if not is_finite(value) or value < least or (above and value == least):
        raise ConfigError(
            f"config.json: {where} is {value!r}; it must be a number {'above' if above else 'of at least'} {least}"
        )
    return float(value)


def integer(where: str, value: Any, *, least: int) -> int:
    """An integer of at least `least`. Raises `ConfigError` naming `where`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"config.json: {where} is {value!r}; it must be an integer of at least {least}")
    return value


def _method(quantization: Any) -> str:
    return str(quantization.get("quant_method", "?")) if isinstance(quantization, dict) else str(quantization)


def _value(name: str, value: Any, kind: Any) -> Any:
    options = typing.get_args(kind) if typing.get_origin(kind) in (Union, types.UnionType) else (kind,)
    for option in options:
        if typing.get_origin(option) is Literal:
            if any(value == v and type(value) is type(v) for v in typing.get_args(option)):
                return value
        elif typing.get_origin(option) is list:
            (item,) = typing.get_args(option)
            if isinstance(value, list):
                return [_value(f"{name}[{i}]", v, item) for i, v in enumerate(value)]
        elif option is float:
            if is_finite(value):
                return float(value)
        elif isinstance(option, type) and isinstance(value, option) and (option is bool or not isinstance(value, bool)):
            return value
    raise ConfigError(f"config.json: {name} is {value!r}; it must be {' or '.join(_show(o) for o in options)}")


def _show(option: Any) -> str:
    if typing.get_origin(option) is Literal:
        return " or ".join(repr(v) for v in typing.get_args(option))
    if typing.get_origin(option) is list:
        return "a list"
    return (
        "null"
        if option is type(None)
        else {"int": "an integer", "float": "a finite number", "bool": "true or false"}.get(
            option.__name__, f"a {option.__name__}"
        )
    )
