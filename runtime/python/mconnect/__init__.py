"""Runs model bundles natively: no PyTorch, no network, no code from the bundle.

    import mconnect

    model = mconnect.Model.load("minilm.bundle")
    vectors = model.text_embedding().embed(["a cat", "a dog"])    # float32 [2, 384]

    chat = mconnect.Model.load("qwen3.bundle").text_generation()
    for piece in chat.stream("Once upon a time", max_new_tokens=64):
        print(piece, end="", flush=True)
    answer = chat.chat([{"role": "user", "content": "Is 7 prime?"}], choice=["yes", "no"])

    outputs = model.module("encoder").run({"input_ids": ids, "attention_mask": mask, "token_type_ids": types})

A model may be used from many threads; native work runs without the interpreter's lock and ends on Ctrl-C.
"""

from mconnect._error import Error
from mconnect._native import (
    Embeddings,
    Generation,
    Model,
    Module,
    Score,
    Session,
    TensorInfo,
    TextEmbedding,
    TextGeneration,
    TextSession,
    TextStream,
    Tokenizer,
    TokenLogprob,
    inspect,
)

__all__ = [
    "Embeddings",
    "Error",
    "Generation",
    "Model",
    "Module",
    "Score",
    "Session",
    "TensorInfo",
    "TextEmbedding",
    "TextGeneration",
    "TextSession",
    "TextStream",
    "TokenLogprob",
    "Tokenizer",
    "inspect",
]
