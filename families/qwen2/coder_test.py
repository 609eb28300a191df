"""A real checkpoint, Qwen2.5-Coder-0.5B-Instruct as GGUF (Q4_K_M), in the native runtime: against transformers in f32
on the dequantised weights. Needs 7 GB of memory and a few minutes; run by hand:

    bazel test //families/qwen2:coder_test --test_output=all
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mconnect
import numpy as np
import numpy.typing as npt
import pytest
import torch
import transformers
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

HERE = Path(__file__).parent
NEW_TOKENS = 48
FORCED_TOKENS = 512
MEAN_KL, TOP_1 = 1e-3, 0.99
PROMPTS: list[str] = json.loads((HERE / "coder_prompts.json").read_text(encoding="utf-8"))


def gguf() -> Path:
    """The pinned file: external repositories lie beside this one among the runfiles."""
    place = os.environ["CHECKPOINT"]
    return next(Path(p).absolute() for p in (place, place.replace("external/", "../", 1)) if Path(p).exists())


@pytest.fixture(scope="module")
def reference() -> tuple[Any, Any]:
    """transformers' model on the dequantised weights, f32, and its tokenizer."""
    path = gguf()
    config = transformers.AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
    with torch.device("meta"):
        model = transformers.Qwen2ForCausalLM(config)
    # What from_pretrained(gguf_file=...) does, which needs a package more.
    state = load_gguf_checkpoint(path, True, model)["tensors"]  # type: ignore[no-untyped-call]
    assert all(tensor.dtype == torch.float32 for tensor in state.values())
    model = transformers.Qwen2ForCausalLM(config)
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}
    model.tie_weights()
    model.train(False)
    return model, transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)


@pytest.fixture(params=["BUNDLE"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[mconnect.Model]:
    """A bundle of the checkpoint, loaded for f32 arithmetic."""
    yield mconnect.Model.load(os.environ[request.param], device="cpu", precision="f32", store=tmp_path)


def test_GreedyAnswersAreTheReferences(model: mconnect.Model, reference: tuple[Any, Any]) -> None:
    oracle, tokenizer = reference
    task, wrong = model.text_generation(), []
    prompts = []
    for prompt in PROMPTS:
        messages = [{"role": "user", "content": prompt}]
        prompts.append(task.encode_chat(messages))
        assert prompts[-1] == tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    answers = task.generate_batch(
        prompts, max_new_tokens=NEW_TOKENS, greedy=True, repetition_penalty=1.0, ignore_eos=True
    )
    for prompt, ids, got in zip(PROMPTS, prompts, answers, strict=True):
        # Where each token of the answer is the reference's likeliest after all before it, the reference would have
        # written the same: one pass tells, and up to which token.
        whole = torch.tensor([[*ids, *got.ids]])
        with torch.no_grad():
            logits = oracle(input_ids=whole, logits_to_keep=NEW_TOKENS + 1).logits[0, :-1]
        want = logits.argmax(-1).tolist()
        same = next((i for i, pair in enumerate(zip(got.ids, want, strict=True)) if pair[0] != pair[1]), NEW_TOKENS)
        top = logits.topk(2).values
        margin = float((top[:, 0] - top[:, 1]).min())
        print(f"{same} of {NEW_TOKENS} tokens equal (closest call {margin:.1e}): {prompt!r} -> {got.text!r}")
        if same < NEW_TOKENS:
            wrong.append((prompt, same))
    assert len(PROMPTS) == 20 and not wrong


def log_softmax(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    shifted = logits.astype(np.float64) - logits.max()
    return np.asarray(shifted - np.log(np.exp(shifted).sum()))


@pytest.mark.parametrize("model", ["BUNDLE_F16"], indirect=True)
def test_WeightsRoundedToF16KeepTheDistribution(model: mconnect.Model, reference: tuple[Any, Any]) -> None:
    oracle, tokenizer = reference
    text = (HERE / "coder_passage.txt").read_text(encoding="utf-8")
    ids = np.array([tokenizer(text)["input_ids"][:FORCED_TOKENS]], np.int64)
    assert ids.shape == (1, FORCED_TOKENS)
    with torch.no_grad():
        want = oracle(input_ids=torch.from_numpy(ids)).logits[0].numpy()
    got = model.module("decoder").run({
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "position_ids": np.arange(FORCED_TOKENS, dtype=np.int64)[None],
        "beam_idx": np.zeros(1, np.int32),
        "logits_to_keep": np.zeros(1, np.int64),
    })["logits"][0]  # fmt: skip
    assert got.shape == want.shape
    divergences = []
    for p, q in zip(map(log_softmax, want), map(log_softmax, got), strict=True):
        divergences.append(float((np.exp(p) * (p - q)).sum()))
    kl, agree = float(np.mean(divergences)), float(np.mean(got.argmax(-1) == want.argmax(-1)))
    print(f"mean KL {kl:.2e}, largest {max(divergences):.2e}; the likeliest token is the same at {agree:.2%}")
    assert kl <= MEAN_KL and agree >= TOP_1
