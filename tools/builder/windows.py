"""Which layers attend to a sliding window only, and the dialects in which config.json states it.

Four are in use: a list `layer_types`; `sliding_window_pattern` n, where each n-th layer attends to everything;
`use_sliding_window` with `max_window_layers`, the first layer that slides; and `sliding_window` alone, for all layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.builder.config import ConfigError, integer

FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True)
class Windows:
    """The window of each layer in tokens, a token itself included; `None` where the layer attends to everything."""

    sizes: tuple[int | None, ...] = ()

    def __getitem__(self, layer: int) -> int | None:
        return self.sizes[layer]

    @staticmethod
    def read(config: Mapping[str, Any], **dialect: Any) -> Windows:
        """Interprets the dialect of one architecture. Raises `ConfigError` naming the field.

        `dialect` names the fields that the architecture's reference implementation reads, with its defaults: some of
        `sliding_window`, `use_sliding_window`, `max_window_layers`, `sliding_window_pattern`, `layer_types`. A field
        that it does not read may stand in config.json only where it says the same.
        """
        fields = {name: config.get(name, default) for name, default in dialect.items()}
        layers = integer("num_hidden_layers", config.get("num_hidden_layers", 0), least=0)
        size, off = fields.get("sliding_window"), ""
        if "use_sliding_window" in fields:
            if not isinstance(fields["use_sliding_window"], bool):
                raise ConfigError(
                    f"config.json: use_sliding_window is {fields['use_sliding_window']!r}; it must be true or false"
                )
            if not fields["use_sliding_window"]:
                size, off = None, "use_sliding_window is false"
        if size is not None:
            integer("sliding_window", size, least=1)
        types = _types(fields, layers, size)
        stated = config.get("layer_types")
        if stated is not None:
            _check_types(stated, layers)
            if "layer_types" not in dialect and stated != types:
                raise ConfigError(
                    f"config.json: layer_types is {stated}; this architecture has no layers of its own kinds, "
                    f"and its other fields make them {types}"
                )
            types = stated
        if SLIDING in types and size is None:
            raise ConfigError(f"config.json: layer_types has {SLIDING!r} and {off or 'sliding_window is null'}")
        return Windows(tuple(size if kind == SLIDING else None for kind in types))


def _types(fields: Mapping[str, Any], layers: int, size: int | None) -> list[str]:
    """What each layer is where no list says so."""
    if size is None:
        return [FULL] * layers
    if "sliding_window_pattern" in fields:
        period = integer("sliding_window_pattern", fields["sliding_window_pattern"], least=1)
        return [SLIDING if (i + 1) % period else FULL for i in range(layers)]
    first = integer("max_window_layers", fields.get("max_window_layers", 0), least=0)
    return [SLIDING if i >= first else FULL for i in range(layers)]


def _check_types(stated: Any, layers: int) -> None:
    if not isinstance(stated, list) or len(stated) != layers:
        raise ConfigError(f"config.json: layer_types is {stated!r}; it must be a list of num_hidden_layers {layers}")
    for i, kind in enumerate(stated):
        if kind not in (FULL, SLIDING):
            raise ConfigError(f"config.json: layer_types[{i}] is {kind!r}; it must be {FULL!r} or {SLIDING!r}")
