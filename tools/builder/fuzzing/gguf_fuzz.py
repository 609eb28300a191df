"""Mutated GGUF files: opening one as a checkpoint and reading its tensors ends well or with CheckpointError, making a
bundle's assets of its metadata well or with AssetError.

bazel run //tools/builder/fuzzing:gguf_fuzz -- --seconds 600
"""

from __future__ import annotations

import dataclasses
import random
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.builder.assets.reading import AssetError
from tools.builder.checkpoint import DTYPES, CheckpointError
from tools.builder.fuzzing.runner import INTERESTING, Target, damaged, main
from tools.builder.gguf.architectures import ARCHITECTURES, FACTORS
from tools.builder.gguf.checkpoint import GgufCheckpoint
from tools.builder.pipeline import make_assets

_U8, _U32, _I32, _F32, _BOOL, _STRING, _ARRAY, _U64, _F64 = 0, 4, 5, 6, 7, 8, 9, 10, 12
_FORMS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_HIDDEN = 32
_LETTERS = (*"aehiot", "\u0120")  # of the byte alphabet
_KEYS = (
    "context_length", "embedding_length", "feed_forward_length", "block_count", "attention.head_count",
    "attention.head_count_kv", "attention.key_length", "attention.value_length", "rope.dimension_count",
    "rope.freq_base", "rope.scaling.type", "rope.scaling.factor", "rope.scaling.original_context_length",
    "rope.scaling.attn_factor", "rope.scaling.yarn_beta_fast", "rope.scale_linear", "attention.sliding_window",
    "attention.sliding_window_pattern", "expert_count", "expert_used_count", "attention.scale", "vocab_size", "new",
)  # fmt: skip
_OTHER_KEYS = (
    "general.alignment", "general.license", "general.architecture", "split.no", "split.count", "split.tensors.count",
    "tokenizer.chat_template", *(f"tokenizer.ggml.{name}" for name in (
        "model", "pre", "tokens", "token_type", "merges", "scores", "bos_token_id", "eos_token_id", "eot_token_id",
        "unknown_token_id", "padding_token_id", "add_bos_token", "add_eos_token", "add_space_prefix",
    )),
)  # fmt: skip
_TEXTS = (
    "", "gpt2", "llama", "qwen2", "linear", "yarn", "longrope", "none", "{{ messages }}", "mit", "a b", "▁", "<0x0A>",
    "\u0120", "x" * 400, "日本",
)  # fmt: skip


@dataclasses.dataclass
class Document:
    """A file before it is bytes. An entry is (key, type, value); an array's value is (type of items, items)."""

    version: int
    entries: list[tuple[str, int, Any]]
    tensors: list[list[Any]]  # [name, shape innermost first, type, offset]
    size: int  # of the tensors' bytes
    extra: tuple[int, int] = (0, 0)  # by which the head's counts of tensors and entries are wrong

    def bytes(self, rng: random.Random) -> bytes:
        head = struct.pack(
            "<4sIQQ", b"GGUF", self.version, (len(self.tensors) + self.extra[0]) % (1 << 64),
            (len(self.entries) + self.extra[1]) % (1 << 64),
        )  # fmt: skip
        for key, kind, value in self.entries:
            head += _text(key) + struct.pack("<I", kind) + _value(kind, value)
        for name, shape, kind, offset in self.tensors:
            head += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape) + struct.pack("<IQ", kind, offset)
        return head + bytes(-len(head) % 32) + rng.randbytes(min(self.size, 1 << 20))


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(kind: int, value: Any) -> bytes:
    if kind == _STRING:
        return _text(str(value))
    if kind == _ARRAY:
        of, items = value
        return struct.pack("<IQ", of, len(items)) + b"".join(_value(of, item) for item in items)
    form = _FORMS.get(kind, "I")
    if form in "fd":
        return struct.pack("<" + form, float(value) if abs(float(value)) < 3e38 else 0.0)
    width = struct.calcsize(form)
    return (int(value) & ((1 << 8 * width) - 1)).to_bytes(width, "little")


def document(rng: random.Random) -> Document:
    """A well-formed file of one of the architectures, with a small vocabulary."""
    key = rng.choice(list(ARCHITECTURES))
    name = key.split()[0]
    if rng.random() < 0.5:
        tokens = [*_LETTERS, "he", "\u0120t", "</s>"]
        merges = (_ARRAY, (_STRING, ["h e", "\u0120 t"]))
        vocabulary: list[tuple[str, int, Any]] = [
            ("model", _STRING, "gpt2"),
            ("pre", _STRING, "qwen2"),
            ("merges", *merges),
        ]
    else:
        tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(8)), "▁", "t", "h", "e", "he", "▁t"]
        scores = [-float(index) for index in range(len(tokens))]
        vocabulary = [("model", _STRING, "llama"), ("scores", _ARRAY, (_F32, scores))]
    types = [3 if token.endswith("s>") else 1 for token in tokens]
    vocabulary += [("tokens", _ARRAY, (_STRING, tokens)), ("token_type", _ARRAY, (_I32, types))]
    vocabulary += [("eos_token_id", _U32, tokens.index("</s>")), ("add_bos_token", _BOOL, 0)]
    sizes = {
        "context_length": 64, "embedding_length": _HIDDEN, "feed_forward_length": 64, "block_count": 1,
        "attention.head_count": 2, "attention.head_count_kv": 1,
    }  # fmt: skip
    entries: list[tuple[str, int, Any]] = [("general.architecture", _STRING, name)]
    entries += [(f"{name}.{field}", _U32, size) for field, size in sizes.items()]
    entries += [(f"{name}.attention.layer_norm_rms_epsilon", _F32, 1e-6), (f"{name}.rope.freq_base", _F32, 10000.0)]
    for field in ARCHITECTURES[key].settings.values():
        scale = "scal" in field
        entries.append((f"{name}.{field}", _F32 if scale else _U32, 0.5 if scale else 16))
    entries += [(f"tokenizer.ggml.{field}", kind, value) for field, kind, value in vocabulary]
    tensors: list[list[Any]] = [["token_embd.weight", [_HIDDEN, len(tokens)], 0, 0], ["output_norm.weight", [32], 0, 0]]
    for stem in (*ARCHITECTURES[key].layers, *ARCHITECTURES[key].experts):
        shape = [_HIDDEN] if "norm" in stem else [_HIDDEN, 4, 2] if stem.endswith("_exps") else [_HIDDEN, 32]
        tensors.append([f"blk.0.{stem}.weight", shape, rng.choice((0, 1, 30, 8, 2)) if len(shape) > 1 else 0, 0])
    return _placed(Document(3, entries, tensors, 0))


def _placed(made: Document) -> Document:
    """Gives each tensor its offset."""
    sizes = {0: (1, 4), 1: (1, 2), 30: (1, 2), 8: (32, 34), 2: (32, 18)}
    end = 0
    for tensor in made.tensors:
        items, block = sizes[tensor[2]]
        count = 1
        for size in tensor[1]:
            count *= size
        tensor[3] = end
        end += count // items * block
        end += -end % 32
    made.size = end
    return made


def disturb(rng: random.Random, made: Document) -> None:
    """Changes one thing."""
    choice = rng.randrange(10)
    at = rng.randrange(len(made.entries)) if made.entries else 0
    architecture = str(made.entries[0][2]) if made.entries else "llama"
    if choice == 0 and made.entries:
        del made.entries[at]
    elif choice == 1 and made.entries:
        key, kind, value = made.entries[at]
        made.entries[at] = (key, *_other(rng, kind, value))
    elif choice <= 3:
        key = rng.choice((*_OTHER_KEYS, *(f"{architecture}.{name}" for name in _KEYS)))
        made.entries = [entry for entry in made.entries if entry[0] != key or rng.random() < 0.1]
        made.entries.append((key, *_other(rng, _U32, 1)))
    elif choice == 4:
        made.version = rng.choice((1, 2, 3, 4, 3 << 24))
    elif choice == 5:
        made.extra = rng.choice(((1, 0), (0, 1), (-1, 0), (0, -1), (1 << 24, 0), (0, 1 << 24), (1 << 62, 1 << 62)))
    elif choice == 6:
        made.tensors.append([_name(rng), [rng.choice((1, 16, 32, 256)) for _ in range(rng.randrange(6))], 0, made.size])
        made.size += 4096
    elif made.tensors:
        tensor = rng.choice(made.tensors)
        field = rng.randrange(4)
        if field == 0:
            tensor[0] = _name(rng)
        elif field == 1:
            tensor[1] = [rng.choice((size, size, rng.choice(INTERESTING))) for size in tensor[1]]
        elif field == 2:
            tensor[2] = rng.choice((*range(45), 1 << 31))
        else:
            tensor[3] = (tensor[3] + rng.choice((32, -32, 1, *INTERESTING))) % (1 << 64)


def _other(rng: random.Random, kind: int, value: Any) -> tuple[int, Any]:
    """Another value, often of another type."""
    choice = rng.randrange(6)
    if choice == 0:
        return _STRING, rng.choice(_TEXTS)
    if choice == 1:
        return rng.choice((_F32, _F64)), rng.choice((0.0, -1.0, float("nan"), 1e30, 1e-30, 0.5, 8.0))
    if choice == 2:
        return _BOOL, rng.randrange(256)
    if choice == 3:
        items: Sequence[Any] = [rng.choice(_TEXTS) for _ in range(rng.randrange(5))]
        return (_ARRAY, (_STRING, items)) if rng.random() < 0.5 else (_ARRAY, (_I32, [rng.randrange(9)] * 5))
    if choice == 4 and kind == _ARRAY and value[1]:
        of, old = value[0], list(value[1])
        place = rng.randrange(len(old))
        old[place : place + rng.randrange(2)] = [rng.choice(_TEXTS) if of == _STRING else rng.choice((0, 3, 6, 99))]
        return kind, (of, old)
    return rng.choice((_U8, _U32, _I32, _U64, 11)), rng.choice((*INTERESTING, 4, 5, 16, 64))


def _name(rng: random.Random) -> str:
    stems = [stem for each in ARCHITECTURES.values() for stem in (*each.layers, *each.experts)]
    block = f"blk.{rng.choice((0, 1, 2, 77, 99999))}.{rng.choice(stems)}.{rng.choice(('weight', 'bias', 'scale'))}"
    return rng.choice((block, block, *FACTORS, "output.weight", "token_embd.weight", "", "blk.0", "x" * 300))


def mutated(rng: random.Random) -> bytes:
    """A file that is wrong in a few places; now and then a good one."""
    made = document(rng)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        disturb(rng, made)
    return damaged(rng, made.bytes(rng), rng.choice((0, 0, 0, 1, 4)))


def read(path: Path) -> None:
    """Opens the file and reads all that a build reads."""
    checkpoint = GgufCheckpoint.open(path)
    make_assets(checkpoint.folder, "text-generation")
    for name, tensor in checkpoint.tensors.items():
        array = checkpoint.read(name)
        assert (array.shape, array.dtype) == (tensor.shape, DTYPES[tensor.dtype])


TARGET = Target(mutated, read, (CheckpointError, AssetError), ".gguf")

if __name__ == "__main__":
    sys.exit(main(TARGET, sys.argv[1:], __doc__))
