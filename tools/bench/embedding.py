"""Text embedding: the same texts to unit vectors, tokenization included, by Model Connect and by what a user would pick
instead.

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


def mconnect(bundle: Path, texts: Sequence[str], threads: int, precision: str) -> Round:
    import mconnect

    task = mconnect.Model.load(bundle, threads=threads, precision=precision).text_embedding()
    return _seconds(lambda: task.embed(texts))


def transformers(checkpoint: Path, texts: Sequence[str], threads: int, precision: str) -> Round:
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


def openvino(bundle: Path, texts: Sequence[str], threads: int, precision: str) -> Round:
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
