"""Makes a tiny random checkpoint of a family, the same bytes on every machine.

    make_tiny --family families/qwen3/family.json --config families/qwen3/tiny.json --out /tmp/tiny-qwen3

`--config` is a file, or JSON text: {"tokenizer": "gpt2" | "qwen2" | "llama3" | "wordpiece", "config": {...}}, where
`config` holds the fields of config.json; those left out keep the reference library's defaults. Tensor names and
shapes are those of the reference library's model; values come from `tools.builder.tiny.values`.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch
import transformers

from tools.builder.resolve import Family, FamilyError
from tools.builder.tiny import assets, values

CONTEXT = ("max_position_embeddings", "n_positions")


class TinyError(ValueError):
    """A description of a tiny checkpoint that cannot be followed."""


def make_tiny(family: Family, description: dict[str, Any], out: Path) -> None:
    """Writes the checkpoint into the folder `out`. Raises `TinyError`."""
    if set(description) != {"tokenizer", "config"} or description["tokenizer"] not in assets.TOKENIZERS:
        raise TinyError(
            f"a tiny checkpoint is described by an object of tokenizer (one of {', '.join(assets.TOKENIZERS)}) "
            f"and config; given is {description!r}"
        )
    raw = {"architectures": [family.architectures[0]], "model_type": family.model_types[0], **description["config"]}
    dtype = raw.setdefault("dtype", "float32")
    if dtype not in values.DTYPES:
        raise TinyError(f"dtype is {dtype!r}; it must be one of {', '.join(values.DTYPES)}")
    missing = [names for names in (("vocab_size",), CONTEXT) if not any(name in raw for name in names)]
    if missing:
        raise TinyError(f"the config of a tiny checkpoint must state {' or '.join(missing[0])}")
    context = next(raw[name] for name in CONTEXT if name in raw)
    hidden = _config(raw).hidden_size  # whatever the architecture calls it in config.json
    files = assets.make(description["tokenizer"], raw["vocab_size"], hidden, context)
    generation = files.get("generation_config.json", {})
    tokens = {name: generation.get(name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    raw |= {name: id for name, id in tokens.items() if id is not None}
    files["config.json"] = raw
    for path, body in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(body, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        (out / path).write_text(text, "utf-8")
    tensors = {
        name: array.astype(values.DTYPES[dtype])
        for name, array in _tensors(raw["architectures"][0], _config(raw)).items()
    }
    (out / "model.safetensors").write_bytes(safetensors.numpy.save(tensors, metadata={"format": "pt"}))


def _config(raw: dict[str, Any]) -> Any:
    return transformers.AutoConfig.for_model(**copy.deepcopy(raw))  # it writes into nested objects


def _tensors(architecture: str, config: Any) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    with torch.device("meta"):
        model = getattr(transformers, architecture)(config)
    tied = set(model.all_tied_weights_keys)
    tensors = {}
    for prefix, module in model.named_modules():
        for leaf, parameter in module.named_parameters(prefix=prefix, recurse=False, remove_duplicate=False):
            shape = tuple(parameter.shape)
            if leaf in tied:
                continue
            if "Norm" in type(module).__name__ and leaf.endswith("weight"):
                tensors[leaf] = values.norm_weight(leaf, shape)
            elif len(shape) == 1:
                tensors[leaf] = values.bias(leaf, shape)
            else:
                # torch's Linear and Embedding have their inputs last, GPT-2's Conv1D first.
                inputs = shape[0] if type(module).__name__ == "Conv1D" else shape[-1]
                tensors[leaf] = values.matrix(leaf, shape, inputs)
    return tensors


def main(argv: Sequence[str]) -> int:
    """Exit codes: 0 made, 2 a mistake in the arguments."""
    assert __doc__
    parser = argparse.ArgumentParser(
        "make_tiny", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", type=Path, required=True, help="the family's family.json")
    parser.add_argument("--config", required=True, help="the description: a file or JSON text")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    args = parser.parse_args(argv)
    try:
        text = args.config if args.config.lstrip().startswith("{") else Path(args.config).read_text("utf-8")
        make_tiny(Family.open(args.family), json.loads(text), args.out)
    except (TinyError, FamilyError, OSError, ValueError) as error:
        print(f"make_tiny: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
