"""One way to run a recorded module under each lowering, and to run the reference implementation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
import transformers

from tools.builder.graph import Graph
from tools.builder.lowering import reference
from tools.builder.lowering.openvino.execute import Execution

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.int64]


class Subject(Protocol):
    """A module under test. A decoder's cache grows from run to run."""

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        """The outputs by name."""

    def reset(self) -> None:
        """Empties the cache."""


class ReferenceLowering:
    """`tools.builder.lowering.reference` on a graph read back from its JSON."""

    def __init__(self, graph: Graph, weights: Mapping[str, Array]) -> None:
        self._graph, self._weights = Graph.from_json(graph.to_json()), weights
        self._caches = reference.Caches()

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        return reference.run(self._graph, self._weights, inputs, self._caches)[0]

    def reset(self) -> None:
        self._caches.reset()


def subjects(graph: Graph, weights: Mapping[str, Array]) -> dict[str, Subject]:
    """The module under every lowering, in f32."""
    return {
        "reference": ReferenceLowering(graph, weights),
        "openvino": Execution(Graph.from_json(graph.to_json()), weights, precision="f32"),
    }


class Oracle:
    """The reference implementation: transformers on the CPU, f32, eager attention."""

    def __init__(self, folder: Path, architecture: str) -> None:
        self.model = getattr(transformers, architecture).from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager"
        )
        self.model.eval()

    def hidden_states(self, ids: Ids, mask: Ids, types: Ids | None) -> Array:
        """An encoder's last hidden state, f32 [batch, tokens, hidden]. `types` is `None` where it has no segments."""
        segments = {} if types is None else {"token_type_ids": torch.from_numpy(types)}
        with torch.no_grad():
            out = self.model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask), **segments)
        return np.asarray(out.last_hidden_state.numpy())

    def logits(self, ids: Ids) -> Array:
        """A decoder's logits for whole sequences without padding or cache, f32 [batch, tokens, vocab]."""
        with torch.no_grad():
            return np.asarray(self.model(input_ids=torch.from_numpy(ids)).logits.numpy())

    def greedy(self, ids: Ids, count: int) -> list[int]:
        """The continuation of one sequence by `count` tokens, each the likeliest; nothing stops it earlier."""
        settings = {"do_sample": False, "max_new_tokens": count, "eos_token_id": None, "pad_token_id": 0}
        config = transformers.GenerationConfig(**settings)  # type: ignore[no-untyped-call]
        # from_pretrained put the checkpoint's defaults here, and generate fills what `config` leaves open from them.
        self.model.generation_config = config
        out = self.model.generate(torch.from_numpy(ids), attention_mask=torch.ones(ids.shape, dtype=torch.int64))
        return [int(token) for token in out[0, ids.shape[1] :]]
