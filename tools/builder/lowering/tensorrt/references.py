"""Makes what `execute.py` compares with: inputs and outputs of a module's runs, by the reference lowering.

    python -m tools.builder.lowering.tensorrt.references unpacked/qwen3 qwen3.npz

Encoders: a batch, and a padded batch. Decoders: prefill, decode, chunked prefill, a batch that is padded on the left,
and rows of the cache that are reordered. Needs torch; the machine with the GPU does not.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tools.builder.graph import Graph
from tools.builder.lowering import reference
from tools.builder.lowering.tensorrt.emitter import Array
from tools.builder.lowering.tensorrt.execute import read_modules

TOKENS = 23
PADDING = (12, 0, 7)

Step = dict[str, Array]


def cases(graph: Graph) -> dict[str, list[Step]]:
    """The inputs of each case's runs, in order."""
    names = {port.name for port in graph.inputs}
    vocab = min(_table(graph), 1 << 20)
    ids = np.random.Generator(np.random.Philox(3)).integers(0, vocab, (3, TOKENS), dtype=np.int64)
    if not graph.caches:
        seen = np.arange(TOKENS)[None] < TOKENS - np.array(PADDING)[:, None]
        masks = {"batch": np.ones_like(ids), "padded batch": seen.astype(np.int64)}
        common = {"input_ids": ids, "token_type_ids": 0 * ids}
        every = {name: {**common, "attention_mask": mask} for name, mask in masks.items()}
        return {case: [{k: v for k, v in step.items() if k in names}] for case, step in every.items()}
    flat = (0, 0, 0)
    return {
        "prefill": list(_steps(ids, [TOKENS], flat)),
        "decode": list(_steps(ids, [17] + [1] * 6, flat)),
        "chunked prefill": list(_steps(ids, [9, 8, 6], flat)),
        "left-padded batch": list(_steps(ids, [13, 8, 1, 1], PADDING)),
        "rows reordered": list(_steps(ids, [20, 1, 1, 1], PADDING, [2, 0, 0])),
    }


def _steps(
    ids: Array, sizes: Sequence[int], padding: Sequence[int], rows: Sequence[int] | None = None
) -> Iterator[Step]:
    """A decoder's inputs; from the second run on, row b continues row `rows[b]`."""
    past, hidden = 0, np.array(padding)
    for index, tokens in enumerate(sizes):
        order = np.array(rows if rows is not None and index else range(len(ids)))
        hidden = hidden[order]
        places = np.arange(past + tokens)[None]
        yield {
            "input_ids": ids[:, past : past + tokens],
            "attention_mask": (places >= hidden[:, None]).astype(np.int64),
            "position_ids": np.maximum(places[:, past:] - hidden[:, None], 0),
            "beam_idx": order.astype(np.int32),
            "logits_to_keep": np.array([0 if index == 0 else 1]),
        }
        past += tokens


def _table(graph: Graph) -> int:
    """How many tokens there are: the rows of the table that `input_ids` index."""
    ids = next(port.value for port in graph.inputs if port.name == "input_ids")
    sizes = [n.inputs[1].shape[0] for n in graph.nodes if n.op == "embedding" and n.inputs[0] is ids and n.inputs[1]]
    return min(size for size in sizes if isinstance(size, int))


def record(name: str, graph: Graph, weights: dict[str, Array]) -> dict[str, Array]:
    """The references of a module, by the names that `execute.errors` reads."""
    made: dict[str, Array] = {}
    for case, steps in cases(graph).items():
        caches = reference.Caches()
        for index, inputs in enumerate(steps):
            outputs, _ = reference.run(graph, weights, inputs, caches)
            where = f"{name}/{case}/{index:03}"
            made |= {f"{where}/in/{key}": value for key, value in inputs.items()}
            mask = inputs["attention_mask"][:, -inputs["input_ids"].shape[1] :] != 0
            for key, value in outputs.items():  # [batch, tokens, ...]: what padding gives has no meaning
                seen = mask[:, mask.shape[1] - value.shape[1] :]
                made[f"{where}/out/{key}"] = np.where(seen[..., None], value, np.float32("nan"))
    return made


def main(argv: Sequence[str]) -> int:
    """Exit code 0, or an exception."""
    parser = argparse.ArgumentParser(
        "references", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="a bundle's folder, or a graph.json")
    parser.add_argument("out", type=Path, help="the .npz to write")
    parser.add_argument("--weights", type=Path, help="safetensors file, for a graph.json")
    args = parser.parse_args(argv)
    made: dict[str, Array] = {}
    for name, (graph, weights) in read_modules(args.source, args.weights).items():
        made |= record(name, graph, weights)
    np.savez(args.out, **made)  # type: ignore[arg-type]
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
