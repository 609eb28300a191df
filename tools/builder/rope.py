"""The tables of rotary position embedding, and the dialects in which config.json states their parameters.

Old files: `rope_theta` beside `rope_scaling`, which is null or an object with `type` or `rope_type`. New files: one
object `rope_parameters` with `rope_type` and `rope_theta` inside, or one such object for each kind of layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tools.builder import frequencies
from tools.builder.config import ConfigError, number
from tools.builder.frequencies import F32
from tools.builder.graph import Graph, Value
from tools.builder.windows import FULL, SLIDING

RopeTable: TypeAlias = tuple[Value, ...]
"""cos and sin f32 [positions, rotary / 2]; with LongRoPE also those of short texts. `ops.rope` takes it."""

_FIELDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # required, optional
    "default": ((), ()),
    "linear": (("factor",), ()),
    "dynamic": (("factor",), ()),
    "llama3": (("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"), ()),
    "yarn": (
        ("factor", "original_max_position_embeddings"),
        ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    ),
    "longrope": (
        ("short_factor", "long_factor", "original_max_position_embeddings"),
        ("attention_factor", "factor"),
    ),
}
_COMMON = ("rope_type", "type", "rope_theta", "partial_rotary_factor")
_MAX_ENTRIES = 1 << 28
"""Of a table: 2^21 positions of a head of 256. Beyond it, a config.json is wrong and not ambitious."""
_MAX_THETA = 1e30
"""Far above what models use (1e4 to 1e8), and far below where f32 ends."""


@dataclass(frozen=True)
class Rope:
    """How positions turn heads: by frequencies theta^(-2i/d), scaled by `kind`.

    `default` (Su et al., 2021), `linear` (all divided by `factor`; Chen et al., 2023), `dynamic` (as `default` up to
    max_position_embeddings, and no further: see `table`), `llama3`, `yarn` and `longrope` (see `frequencies`).
    `rotary` is the part of each head that turns; `attention_scale` multiplies cos and sin.
    """

    theta: float = 10000.0
    kind: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position_embeddings: float = 8192
    rotary: float = 1.0
    attention_scale: float = 1.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    short_factor: tuple[float, ...] = ()
    long_factor: tuple[float, ...] = ()

    @staticmethod
    def read(
        config: Mapping[str, Any],
        *,
        theta: float = 10000.0,
        partial: bool = False,
        aliases: Mapping[str, str] | None = None,
    ) -> Rope:
        """Interprets either dialect. Raises `ConfigError` naming the field that it cannot interpret.

        `theta` stands where config.json gives none. `partial`: the architecture can rotate a part of each head.
        `aliases` are further names of kinds, by which an architecture's first checkpoints called them.
        """
        given = {name: config[name] for name in ("rope_scaling", "rope_parameters") if config.get(name)}
        for name, value in given.items():
            if not isinstance(value, dict):
                raise ConfigError(f"config.json: {name} is {value!r}; it must be an object or null")
        if len(given) == 2 and given["rope_scaling"] != given["rope_parameters"]:
            raise ConfigError("config.json: rope_scaling and rope_parameters are both given and differ")
        nothing: tuple[str, dict[str, Any]] = ("rope_parameters", {})
        where, fields = next(iter(given.items()), nothing)
        rope = _read(config, where, fields, theta, aliases or {})
        if rope.rotary != 1 and not partial:
            raise ConfigError(
                f"config.json: partial_rotary_factor is {rope.rotary}; only whole heads are rotated (1.0)"
            )
        return rope

    def frequencies(self, dim: int, *, short: bool = False) -> F32:
        """Radians per position, f32 [dim / 2]; for `longrope` those of long texts, or of `short` ones."""
        if self.kind == "yarn":
            return frequencies.yarn(
                self.theta, dim, self.factor, self.beta_fast, self.beta_slow,
                self.original_max_position_embeddings, self.truncate,
            )  # fmt: skip
        if self.kind == "longrope":
            name, factors = ("short_factor", self.short_factor) if short else ("long_factor", self.long_factor)
            if len(factors) != dim // 2:
                raise ConfigError(
                    f"config.json: {name} has {len(factors)} numbers; {dim} rotated dimensions need {dim // 2}"
                )
            return frequencies.longrope(self.theta, dim, factors)
        plain = frequencies.default(self.theta, dim)
        if self.kind == "linear":
            return plain / np.float32(self.factor)
        if self.kind == "llama3":
            return frequencies.llama3(
                plain, self.factor, self.low_freq_factor, self.high_freq_factor, self.original_max_position_embeddings
            )
        return plain

    def table(self, graph: Graph, head_dim: int, positions: int) -> RopeTable:
        """cos and sin f32 [positions, rotary / 2], as constants of the graph for `ops.rope`.

        `longrope` turns a text that is longer than its original context by other frequencies than a short one: the
        table is then followed by that of short texts, which has as many rows as the original context. `dynamic` makes
        frequencies of each length of text, beyond `positions`; its table ends there, and so do the texts.
        """
        dim = int(head_dim * self.rotary)
        if dim % 2 or dim == 0:
            part = "" if self.rotary == 1 else f" and partial_rotary_factor {self.rotary}"
            raise ConfigError(
                f"config.json: head_dim is {head_dim}{part}; rotary embedding needs an even number of dimensions"
            )
        entries = positions * head_dim // 2
        if not 0 < entries <= _MAX_ENTRIES:
            raise ConfigError(
                f"config.json: max_position_embeddings {positions} and head_dim {head_dim} make a rotary table of "
                f"{entries} entries; it may have 1 to {_MAX_ENTRIES}"
            )
        table = self._table(graph, "rope", self.frequencies(dim), positions)
        original = int(self.original_max_position_embeddings)
        if self.kind != "longrope":
            return table
        short = self.frequencies(dim, short=True)
        return table + self._table(graph, "rope.short", short, min(original, positions))

    def _table(self, graph: Graph, name: str, per_position: F32, positions: int) -> RopeTable:
        # The angle is rounded to f32 first, as in the reference library: at large positions that is part of the model.
        angles = np.arange(positions, dtype=np.float32)[:, None] * per_position[None]
        scale = np.float32(self.attention_scale)
        cos, sin = (part.astype(np.float32) * scale for part in frequencies.cos_sin(angles.astype(np.float64)))
        return graph.constant(f"{name}.cos", cos), graph.constant(f"{name}.sin", sin)


@dataclass(frozen=True)
class LayerRopes:
    """Rotary embedding of models whose sliding layers have another one than their full layers (Gemma 3)."""

    full: Rope = Rope()
    sliding: Rope = Rope()

    @staticmethod
    def read(config: Mapping[str, Any], *, theta: float, local_theta: float) -> LayerRopes:
        """`rope_theta` and `rope_scaling` for full layers beside `rope_local_base_freq` for sliding ones, or
        `rope_parameters` with an object for each kind. The thetas given stand where config.json has none."""
        nested, local = config.get("rope_parameters"), config.get("rope_local_base_freq")
        old = {name: value for name, value in config.items() if name != "rope_parameters"}
        kinds = {FULL: (old, theta), SLIDING: ({"rope_theta": local}, local_theta)}
        if nested:
            if not isinstance(nested, dict) or set(nested) - set(kinds):
                raise ConfigError(
                    f"config.json: rope_parameters is {nested!r}; it must be an object of {FULL} and {SLIDING}"
                )
            if config.get("rope_scaling"):
                raise ConfigError("config.json: rope_scaling and rope_parameters are both given")
        ropes = {}
        for kind, (fields, base) in kinds.items():
            inner = (nested or {}).get(kind) or {}
            if not isinstance(inner, dict):
                raise ConfigError(f"config.json: rope_parameters.{kind} is {inner!r}; it must be an object or null")
            if inner:
                ropes[kind] = _read(
                    {**config, **fields, "rope_scaling": None}, f"rope_parameters.{kind}", inner, base, {}
                )
            else:
                ropes[kind] = Rope.read({**fields, "rope_parameters": None}, theta=base)
        return LayerRopes(ropes[FULL], ropes[SLIDING])


def _read(
    config: Mapping[str, Any], where: str, fields: Mapping[str, Any], default_theta: float, aliases: Mapping[str, str]
) -> Rope:
    kinds = {name: fields[name] for name in ("rope_type", "type") if name in fields}
    if len({repr(kind) for kind in kinds.values()}) > 1:
        raise ConfigError(
            f"config.json: {where}.rope_type is {kinds['rope_type']!r} and {where}.type {kinds['type']!r}"
        )
    kind = next(iter(kinds.values()), "default")
    kind = aliases.get(kind, kind) if isinstance(kind, str) else kind
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise ConfigError(f"config.json: {where}.rope_type is {kind!r}; supported are {', '.join(_FIELDS)}")
    required, optional = _FIELDS[kind]
    fields = {name: value for name, value in fields.items() if value is not None}
    unknown = sorted(set(fields) - set(_COMMON) - set(required) - set(optional))
    if unknown:
        raise ConfigError(f"config.json: {where}.{unknown[0]} has no meaning for rope_type {kind!r}")
    theta = fields.get("rope_theta", config.get("rope_theta"))
    theta = default_theta if theta is None else number("rope_theta", theta, least=0, above=True)
    if theta > _MAX_THETA:
        raise ConfigError(f"config.json: rope_theta is {theta}; it may be up to {_MAX_THETA}")
    rotary = fields.get("partial_rotary_factor", config.get("partial_rotary_factor"))
    rotary = 1.0 if rotary is None else number("partial_rotary_factor", rotary, least=0, above=True)
    if rotary > 1:
        raise ConfigError(f"config.json: partial_rotary_factor is {rotary}; it may be up to 1, the whole head")
    values = {name: _field(config, fields, where, name) for name in required}
    if kind == "yarn":
        values |= _yarn(fields, where, values)
    elif kind == "longrope":
        values |= _longrope(config, fields, where, values)
    rope = Rope(theta, kind, rotary=rotary, **values)
    if kind == "llama3" and rope.high_freq_factor <= rope.low_freq_factor:
        raise ConfigError(f"config.json: {where}.high_freq_factor must exceed low_freq_factor ({rope.low_freq_factor})")
    return rope


def _field(config: Mapping[str, Any], fields: Mapping[str, Any], where: str, name: str) -> Any:
    value = fields.get(name)
    if name == "original_max_position_embeddings":
        beside = config.get(name)
        if None not in (value, beside) and value != beside:
            raise ConfigError(f"config.json: {where}.{name} is {value!r} and {name} {beside!r}")
        value = beside if value is None else value
        value = config.get("max_position_embeddings") if value is None else value
    if name in ("short_factor", "long_factor"):
        if not isinstance(value, list) or not value:
            raise ConfigError(f"config.json: {where}.{name} is {value!r}; it must be a list of numbers")
        return tuple(number(f"{where}.{name}[{i}]", v, least=0, above=True) for i, v in enumerate(value))
    return number(f"{where}.{name}", value, least=0, above=True)


def _yarn(fields: Mapping[str, Any], where: str, values: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {
        name: number(f"{where}.{name}", fields[name], least=0)
        for name in ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim")
        if name in fields
    }
    truncate = fields.get("truncate", True)
    if not isinstance(truncate, bool):
        raise ConfigError(f"config.json: {where}.truncate is {truncate!r}; it must be true or false")
    scale = frequencies.yarn_scale(values["factor"], numbers.get("mscale"), numbers.get("mscale_all_dim"))
    return {
        "truncate": truncate,
        "beta_fast": numbers.get("beta_fast") or 32.0,
        "beta_slow": numbers.get("beta_slow") or 1.0,
        "attention_scale": numbers.get("attention_factor", scale),
    }


def _longrope(
    config: Mapping[str, Any], fields: Mapping[str, Any], where: str, values: Mapping[str, Any]
) -> dict[str, Any]:
    original = values["original_max_position_embeddings"]
    if original != int(original) or original < 2:
        raise ConfigError(f"config.json: {where}.original_max_position_embeddings is {original}; it must be 2 or more")
    if "attention_factor" in fields:
        return {"attention_scale": number(f"{where}.attention_factor", fields["attention_factor"], least=0)}
    factor = fields.get("factor")
    if factor is None:
        whole = number("max_position_embeddings", config.get("max_position_embeddings"), least=0, above=True)
        factor = whole / original
    factor = number(f"{where}.factor", factor, least=0, above=True)
    return {"attention_scale": frequencies.longrope_scale(factor, original)}
