"""`assets/text-embedding.json`: how hidden states become one vector, from the files of sentence-transformers.

A checkpoint without `modules.json` gets mean pooling, normalisation to unit length, and the longest input that its
tokenizer and position table allow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tools.builder.assets.reading import AssetError, field, read_json, read_object

_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last"}
_POOLING_NAMES = {"mean": "mean", "cls": "cls", "lasttoken": "last"}  # of the later form {"pooling_mode": "mean"}
_TRANSFORMER_CONFIGS = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
_UNLIMITED = 10**9  # tokenizers without a limit state an absurd one, such as 10^30


def text_embedding(folder: Path) -> dict[str, Any]:
    """The asset for the checkpoint in `folder`. Raises AssetError naming the field that it cannot express."""
    modules = _modules(folder)
    _refuse_prompts(folder / "config_sentence_transformers.json")
    pooling = "mean" if modules is None else _pooling(folder / modules["Pooling"] / "config.json")
    normalize = modules is None or "Normalize" in modules
    return {
        "max_tokens": _max_tokens(folder / (modules or {}).get("Transformer", "")),
        "normalize": normalize,
        "pooling": pooling,
    }


def _modules(folder: Path) -> dict[str, str] | None:
    """Kind → folder of each module in order; None where the checkpoint has no modules.json."""
    path = folder / "modules.json"
    if not path.exists():
        return None
    entries = read_json(path)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise AssetError(f"{path} is not a list of modules")
    kinds = [field(path, entry, "type", str, "").rpartition(".")[2] for entry in entries]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise AssetError(
            f"{path}: field 'type' lists {kinds}; supported are Transformer, Pooling and then, or not, Normalize"
        )
    places = [field(path, entry, "path", str, "") for entry in entries]
    for place in places:
        if Path(place).is_absolute() or ".." in Path(place).parts:
            raise AssetError(f"{path}: field 'path' is {place!r}, outside the checkpoint")
    return dict(zip(kinds, places, strict=True))


def _pooling(path: Path) -> str:
    config = read_object(path)
    known = {"word_embedding_dimension", "embedding_dimension", "include_prompt", "pooling_mode"}
    for key in config:
        if key not in known and not key.startswith("pooling_mode_"):
            raise AssetError(f"{path}: field {key!r} is not known")
    modes = [key for key in config if key.startswith("pooling_mode_") and field(path, config, key, bool, False)]
    if not modes and "pooling_mode" in config:
        name = field(path, config, "pooling_mode", str, "")
        if name not in _POOLING_NAMES:
            raise AssetError(f"{path}: field 'pooling_mode' is {name!r}; supported are {', '.join(_POOLING_NAMES)}")
        return _POOLING_NAMES[name]
    if len(modes) != 1 or modes[0] not in _POOLINGS:
        named = ", ".join(repr(mode) for mode in modes) or "no field"
        raise AssetError(f"{path}: {named} is true; exactly one of {', '.join(_POOLINGS)} must be")
    return _POOLINGS[modes[0]]


def _max_tokens(folder: Path) -> int:
    model = read_object(folder / "config.json")
    positions = field(folder / "config.json", model, "max_position_embeddings", int, _UNLIMITED)
    path = next(
        (folder / name for name in _TRANSFORMER_CONFIGS if (folder / name).exists()), folder / _TRANSFORMER_CONFIGS[0]
    )
    config = read_object(path, optional=True)
    for key in config:
        if key not in ("max_seq_length", "do_lower_case"):
            raise AssetError(f"{path}: field {key!r} is not known")
    if field(path, config, "do_lower_case", bool, False) and not _lower_cases(folder):
        raise AssetError(
            f"{path}: field 'do_lower_case' is true and the tokenizer does not lower-case; a bundle cannot express that"
        )
    given = field(path, config, "max_seq_length", int, 0)
    if given > positions:
        raise AssetError(f"{path}: field 'max_seq_length' is {given}, beyond the model's {positions} positions")
    options = folder / "tokenizer_config.json"
    tokenizer: Any = read_object(options, optional=True).get("model_max_length")
    stated = isinstance(tokenizer, int | float) and 0 < tokenizer < _UNLIMITED  # not 1e30, nor NaN
    limit = given or min(positions, int(tokenizer) if stated else _UNLIMITED)
    if not 0 < limit < _UNLIMITED:
        raise AssetError(f"{folder}: no file states the longest input; give 'max_seq_length' in {path.name}")
    return limit


def _lower_cases(folder: Path) -> bool:
    from tools.builder.assets.tokenizer import effective_tokenizer

    normalizer = effective_tokenizer(folder).normalizer
    return normalizer is not None and normalizer.normalize_str("AÉ") == normalizer.normalize_str("aé")


def _refuse_prompts(path: Path) -> None:
    config = read_object(path, optional=True)
    name = config.get("default_prompt_name")
    prompts = field(path, config, "prompts", dict, {})
    if name is not None and prompts.get(name):
        raise AssetError(
            f"{path}: field 'default_prompt_name' is {name!r}, which puts text before every input; "
            "a bundle cannot express that"
        )
