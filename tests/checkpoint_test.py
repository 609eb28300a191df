"""A pinned checkpoint arrives as the folder that its maker ships."""

import json
import os
from pathlib import Path

from safetensors import safe_open

FOLDER = Path(os.environ["TEST_SRCDIR"], "minilm", "files")


def test_holds_the_files_of_a_checkpoint() -> None:
    assert {"config.json", "tokenizer.json", "model.safetensors", "modules.json"} <= {p.name for p in FOLDER.iterdir()}


def test_config_and_weights_agree() -> None:
    config = json.loads((FOLDER / "config.json").read_text())
    with safe_open(FOLDER / "model.safetensors", "numpy") as weights:
        shape = weights.get_slice("embeddings.word_embeddings.weight").get_shape()
    assert shape == [config["vocab_size"], config["hidden_size"]] == [30522, 384]
