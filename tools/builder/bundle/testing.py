"""A small valid bundle for tests."""

import hashlib
from typing import Any

_WEIGHTS = bytes(range(256)) * 40

MEMBERS: dict[str, bytes] = {
    "assets/text-embedding.json": b'{"max_tokens":256,"normalize":true,"pooling":"mean"}\n',
    "assets/tokenizer.json": b'{"model":{"type":"WordPiece"}}\n',
    "modules/encoder/graph.json": b'{"format":1}\n',
    "modules/encoder/openvino.xml": b"<net/>\n" * 100,
    f"weights/{hashlib.sha256(_WEIGHTS).hexdigest()}.safetensors": _WEIGHTS,
}


def example_manifest() -> dict[str, Any]:
    """A fresh manifest, without `members`, for MEMBERS."""
    weights = next(path for path in MEMBERS if path.startswith("weights/"))
    return {
        "format": 1,
        "name": "example",
        "family": "bert",
        "tasks": ["text-embedding"],
        "modules": {
            "encoder": {
                "graph": "modules/encoder/graph.json",
                "inputs": [
                    {"name": "input_ids", "dtype": "i64", "shape": ["batch", "tokens"]},
                    {"name": "attention_mask", "dtype": "i64", "shape": ["batch", "tokens"]},
                ],
                "outputs": [{"name": "last_hidden_state", "dtype": "f32", "shape": ["batch", "tokens", 384]}],
                "stateful": False,
                "variants": [
                    {
                        "engine": "openvino",
                        "path": "modules/encoder/openvino.xml",
                        "weights": weights,
                        "requires": {"version": "2026.4"},
                    }
                ],
            }
        },
        "assets": {"text-embedding": "assets/text-embedding.json", "tokenizer": "assets/tokenizer.json"},
        "checkpoint": {
            "source": "hub",
            "repository": "example/bert",
            "revision": "0123456789abcdef",
            "files": [{"path": "config.json", "size": 612, "sha256": hashlib.sha256(b"config").hexdigest()}],
        },
        "licence": "Apache-2.0",
        "builder": "0.1.0",
    }


def pseudo_random(size: int, seed: int = 1) -> bytes:
    """Bytes that hardly compress and are the same on every machine."""
    return hashlib.shake_128(seed.to_bytes(8, "little")).digest(size)
