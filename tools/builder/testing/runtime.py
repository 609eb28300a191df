"""Holds a bundle in the native runtime against the reference implementation (transformers, f32, eager).

    runtime --checkpoint <folder> --bundle x.bundle

The modules run the cases of `parity`; the tokenizer must give the reference's ids; the tasks must give its vectors and
its greedy text. Prints each case; fails above 1e-4, or where ids or text differ. This is the body of every family's
`:runtime_test`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import mconnect
import numpy as np
import tokenizers
import torch

from tools.builder.testing import cases
from tools.builder.testing.arguments import CHECKPOINT, paths
from tools.builder.testing.subjects import Array, Oracle

TOLERANCE = 1e-4
NEW_TOKENS = 64
TEXTS = (
    "The river rises in the hills",
    "On the first day of every month",
    "Der Fluß entspringt im Gebirge; 3,50 €",
    "",
    "  spaces \t and\nlines  ",
    "日本語のテキスト。 한국어 עברית 👩‍👩‍👧 e\u0301",
)


class NativeModule:
    """A module in the native runtime as the cases drive it."""

    def __init__(self, module: mconnect.Module) -> None:
        self._session = module.session()

    def run(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        return self._session.run(inputs)

    def reset(self) -> None:
        self._session.reset()


def module_cases(module: mconnect.Module, oracle: Oracle) -> Iterator[cases.Case]:
    """The schedules of `parity` through the runtime's own sessions."""
    config = oracle.model.config
    if module.stateful:
        yield from cases.decoder_cases(NativeModule(module), oracle, config.vocab_size)
    else:
        limit = config.max_position_embeddings
        yield from cases.encoder_cases(NativeModule(module), oracle, config.vocab_size, limit, _has_types(module))


def _has_types(module: mconnect.Module) -> bool:
    return any(tensor.name == "token_type_ids" for tensor in module.inputs)


def tokenizer_case(model: mconnect.Model, folder: Path) -> cases.Case:
    """Ids of every text, and their text back: the number of texts that differ."""
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    reference.no_truncation()
    reference.no_padding()
    native = model.tokenizer()
    wrong = 0
    for text in TEXTS:
        want = reference.encode(text).ids
        wrong += native.encode(text) != want or native.decode(want) != reference.decode(want)
    return "tokenizer: ids and text", float(wrong)


def embedding_case(model: mconnect.Model, folder: Path, oracle: Oracle) -> cases.Case:
    """Vectors of texts of unequal length in one batch, pooled by the reference's arithmetic."""
    recipe = json.loads(model.asset("text-embedding"))
    reference = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    reference.no_padding()
    reference.enable_truncation(recipe["max_tokens"])
    has_types = any(_has_types(model.module(name)) for name in model.modules)
    want = []
    for text in TEXTS:
        encoding = reference.encode(text)
        ids, mask, types = (
            np.array([row], np.int64) for row in (encoding.ids, encoding.attention_mask, encoding.type_ids)
        )
        hidden = oracle.hidden_states(ids, mask, types if has_types else None)[0]
        vector = {"mean": hidden.mean(0), "cls": hidden[0], "last": hidden[-1]}[recipe["pooling"]]
        want.append(vector / np.linalg.norm(vector) if recipe["normalize"] else vector)
    got = model.text_embedding().embed(list(TEXTS))
    return "text embedding: vectors", cases.error(got, np.array(want, np.float32))


def generation_cases(model: mconnect.Model, oracle: Oracle) -> Iterator[cases.Case]:
    """Greedy text of the task and of the reference: the number of tokens that differ."""
    task, tokenizer = model.text_generation(), model.tokenizer()
    for prompt in TEXTS[:3]:
        ids = tokenizer.encode(prompt)
        want = _until_end(oracle.greedy(np.array([ids], np.int64), NEW_TOKENS), model)
        pieces: list[str] = []
        got = task.generate(
            prompt, max_new_tokens=NEW_TOKENS, greedy=True, repetition_penalty=1.0, on_text=pieces.append
        )
        wrong = sum(a != b for a, b in zip(got.ids, want, strict=False)) + abs(len(got.ids) - len(want))
        wrong += "".join(pieces) != got.text or got.text != tokenizer.decode(got.ids)
        yield f"greedy text after {prompt!r}: {got.text!r}", float(wrong)


def _until_end(ids: Sequence[int], model: mconnect.Model) -> list[int]:
    """What the task gives of a continuation that nothing stopped: up to and with the end-of-text token."""
    ends = json.loads(model.asset("text-generation"))["eos_token_ids"]
    stop = next((i + 1 for i, token in enumerate(ids) if token in ends), len(ids))
    return list(ids[:stop])


def check(folder: Path, bundle: Path, store: Path) -> bool:
    """Runs every case, printing as it goes; whether all held."""
    model = mconnect.Model.load(bundle, device="cpu", store=store)
    architecture = json.loads((folder / "config.json").read_text())["architectures"][0]
    oracle = Oracle(folder, architecture)
    results = [(name, case) for name in model.modules for case in module_cases(model.module(name), oracle)]
    results.append(("assets", tokenizer_case(model, folder)))
    if "text-embedding" in model.tasks:
        results.append(("task", embedding_case(model, folder, oracle)))
    if "text-generation" in model.tasks:
        results += [("task", case) for case in generation_cases(model, oracle)]
    good = True
    for where, (case, error) in results:
        held = error <= TOLERANCE
        good &= held
        print(f"{'ok  ' if held else 'FAIL'} {model.name} {where}: {case}: {error:.2e}")
    return good


def main(argv: Sequence[str]) -> int:
    """Exit codes: 0 all cases held, 1 some did not."""
    args = paths(argv, "runtime", __doc__, checkpoint=CHECKPOINT, bundle="the bundle built from it")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as store:
        return 0 if check(args.checkpoint, args.bundle, Path(store)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
