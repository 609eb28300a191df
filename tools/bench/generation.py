"""Text generation: the same greedy continuation of one prompt by Model Connect and by what a user would pick instead.

Each function loads a model and returns a round, which gives "prefill" (prompt tokens a second until the first new token
is known) and "decode" (later tokens a second). Imports are inside: a process loads only its own contender's library.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tools.bench.embedding import unpack
from tools.bench.rounds import Round


def _loop(prompt: Sequence[int], new_tokens: int, start: Callable[[], Any], step: Callable[[], Any]) -> Round:
    """`start` takes the prompt to the first new token, `step` takes one more."""

    def run() -> dict[str, float]:
        t0 = time.perf_counter()
        start()
        t1 = time.perf_counter()
        for _ in range(new_tokens - 1):
            step()
        t2 = time.perf_counter()
        return {"prefill": len(prompt) / (t1 - t0), "decode": (new_tokens - 1) / (t2 - t1)}

    run()  # what is done once (packing weights, choosing kernels) is not measured
    return run


def mconnect(bundle: Path, prompt: Sequence[int], new_tokens: int, threads: int, precision: str) -> Round:
    import mconnect

    task = mconnect.Model.load(bundle, threads=threads, precision=precision).text_generation()

    def run() -> dict[str, float]:
        g = task.generate(list(prompt), max_new_tokens=new_tokens, greedy=True)
        return {"prefill": len(prompt) / g.prefill_seconds, "decode": (g.completion_tokens - 1) / g.decode_seconds}

    run()
    return run


def openvino_genai(bundle: Path, prompt: Sequence[int], new_tokens: int, threads: int, precision: str) -> Round:
    """openvino-genai's pipeline on the bundle's own IR, with logits_to_keep fixed to 1: it knows no such input."""
    import numpy as np
    import openvino as ov
    import openvino_genai

    from tools.builder.lowering.openvino.execute import freeze_input

    folder = unpack(bundle)
    weights = np.memmap(next((folder / "weights").iterdir()), np.uint8, "r")
    xml = (folder / "modules/decoder/openvino.xml").read_bytes()
    model = ov.Core().read_model(xml, ov.Tensor(weights))
    freeze_input(model, "logits_to_keep", np.ones(1, np.int64))
    ov.save_model(model, folder / "openvino_model.xml", compress_to_fp16=False)
    options = {
        "INFERENCE_PRECISION_HINT": precision,
        "KV_CACHE_PRECISION": precision,
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "ATTENTION_BACKEND": "SDPA",
    }
    pipeline = openvino_genai.LLMPipeline(folder, "CPU", **options)
    config = openvino_genai.GenerationConfig(max_new_tokens=new_tokens, ignore_eos=True, do_sample=False)
    config.set_eos_token_id(0)  # ignored, but there must be one
    ids = ov.Tensor(np.array([prompt], np.int64))
    inputs = openvino_genai.TokenizedInputs(ids, ov.Tensor(np.ones((1, len(prompt)), np.int64)))

    def run() -> dict[str, float]:
        metrics = pipeline.generate(inputs, config).perf_metrics
        return {"prefill": len(prompt) / (metrics.get_ttft().mean / 1e3), "decode": 1e3 / metrics.get_tpot().mean}

    run()
    return run


def transformers(checkpoint: Path, prompt: Sequence[int], new_tokens: int, threads: int) -> Round:
    """In f32, with the key-value cache and the loop of its own `generate`, less what that does beside the model."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(threads)
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    state: Any = None

    def forward(ids: Any, cache: Any) -> None:
        nonlocal state
        with torch.inference_mode():
            state = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)

    return _loop(
        prompt,
        new_tokens,
        lambda: forward(torch.tensor([list(prompt)]), None),
        lambda: forward(state.logits[:, -1].argmax(-1, keepdim=True), state.past_key_values),
    )


def onnxruntime_genai(folder: Path, prompt: Sequence[int], new_tokens: int, threads: int) -> Round:
    """onnxruntime-genai on a folder that its own model builder made."""
    import json

    import numpy as np
    import onnxruntime_genai as og

    config = og.Config(str(folder))
    config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": threads}}}}))
    model = og.Model(config)
    generator: Any = None

    def start() -> None:
        nonlocal generator
        options = og.GeneratorParams(model)
        options.set_search_options(max_length=len(prompt) + new_tokens, do_sample=False)
        generator = og.Generator(model, options)
        generator.append_tokens(np.array([prompt], np.int32))
        generator.generate_next_token()

    return _loop(prompt, new_tokens, start, lambda: generator.generate_next_token())


def llama_cpp(gguf: Path, prompt: Sequence[int], new_tokens: int, threads: int) -> Round:
    """llama.cpp on a GGUF file."""
    import numpy as np
    from llama_cpp import Llama

    context = len(prompt) + new_tokens
    model = Llama(
        str(gguf), n_ctx=context, n_threads=threads, n_threads_batch=threads, n_batch=len(prompt), verbose=False
    )

    def token() -> int:
        return int(np.ctypeslib.as_array(model._ctx.get_logits(), (model.n_vocab(),)).argmax())

    def start() -> None:
        model.reset()
        model.eval(list(prompt))
        token()

    return _loop(prompt, new_tokens, start, lambda: model.eval([token()]))
