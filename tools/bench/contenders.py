"""What is measured: the same work by Model Connect and by the libraries that a user would pick instead.

Each function loads a model and returns a round. Imports are inside: a process loads only its own contender's library.
"""

import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.bench.rounds import Round


def unpack(bundle: Path) -> Path:
    """A folder with the bundle's members, which lives as long as the process."""
    import atexit
    import shutil

    import zstandard

    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with (
        bundle.open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as plain,
        tarfile.open(fileobj=plain, mode="r|") as tar,
    ):
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None, f"{bundle}: {member.name} is no file"
            path = folder / member.name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as out:
                shutil.copyfileobj(content, out)
    return folder


def _seconds(work: Any) -> Round:
    def run() -> dict[str, float]:
        start = time.perf_counter()
        work()
        return {"seconds": time.perf_counter() - start}

    run()  # what is done once (packing weights, choosing kernels) is not measured
    return run


# ---- Text embedding: texts to unit vectors, tokenization included ----


def ours_embedding(bundle: Path, texts: Sequence[str], threads: int, precision: str) -> Round:
    import mconnect

    task = mconnect.Model.load(bundle, threads=threads, precision=precision).text_embedding()
    return _seconds(lambda: task.embed(texts))


def transformers_embedding(checkpoint: Path, texts: Sequence[str], threads: int, precision: str) -> Round:
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(threads)
    dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[precision]
    tokenizer, model = (
        AutoTokenizer.from_pretrained(checkpoint),
        AutoModel.from_pretrained(checkpoint, dtype=dtype).eval(),
    )

    def work() -> Any:
        with torch.inference_mode():
            batch = tokenizer(list(texts), padding=True, truncation=True, max_length=256, return_tensors="pt")
            hidden = model(**batch).last_hidden_state.float()
            mask = batch["attention_mask"].unsqueeze(-1)
            return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1).numpy()

    return _seconds(work)


def openvino_embedding(bundle: Path, texts: Sequence[str], threads: int, precision: str) -> Round:
    """OpenVINO's Python interface on the bundle's own IR, with the tokenizers library."""
    import numpy as np
    import openvino as ov
    from tokenizers import Tokenizer

    folder = unpack(bundle)
    weights = np.memmap(next((folder / "weights").iterdir()), np.uint8, "r")
    core = ov.Core()
    xml = (folder / "modules/encoder/openvino.xml").read_bytes()
    options = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
    request = core.compile_model(core.read_model(xml, ov.Tensor(weights)), "CPU", options).create_infer_request()
    tokenizer = Tokenizer.from_file(str(folder / "assets/tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()

    def work() -> Any:
        encodings = tokenizer.encode_batch(list(texts))
        ids, mask, types = (
            np.array([getattr(e, k) for e in encodings], np.int64) for k in ("ids", "attention_mask", "type_ids")
        )
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        hidden = request.infer(inputs, share_inputs=True, share_outputs=True)["last_hidden_state"]
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    return _seconds(work)


# ---- Text generation: greedy, one prompt; tokens a second ----


def ours_generation(bundle: Path, prompt: Sequence[int], new_tokens: int, threads: int, precision: str) -> Round:
    import mconnect

    task = mconnect.Model.load(bundle, threads=threads, precision=precision).text_generation()

    def run() -> dict[str, float]:
        g = task.generate(list(prompt), max_new_tokens=new_tokens, greedy=True)
        return {"prefill": len(prompt) / g.prefill_seconds, "decode": (g.completion_tokens - 1) / g.decode_seconds}

    run()
    return run


def genai_generation(bundle: Path, prompt: Sequence[int], new_tokens: int, threads: int, precision: str) -> Round:
    """openvino-genai's pipeline on the bundle's own IR, with logits_to_keep fixed to 1: it knows no such input."""
    import numpy as np
    import openvino as ov
    import openvino_genai
    from openvino import opset13 as opset

    folder = unpack(bundle)
    weights = np.memmap(next((folder / "weights").iterdir()), np.uint8, "r")
    xml = (folder / "modules/decoder/openvino.xml").read_bytes()
    model = ov.Core().read_model(xml, ov.Tensor(weights))
    keep = next(p for p in model.get_parameters() if "logits_to_keep" in p.output(0).names)
    keep.output(0).replace(opset.constant(np.ones(1, np.int64)).output(0))
    model.remove_parameter(keep)
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
