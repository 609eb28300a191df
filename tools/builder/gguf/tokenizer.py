"""A GGUF file's vocabulary as the files of a tokenizer: `tokenizer.json` and `tokenizer_config.json`.

Follows transformers' reading of such files (integrations/gguf/gguf_tokenizer_mapping.py), but for two things: Qwen's
normalizer (NFC), which such a file does not state and that reading loses, is restored; and a file that does not say how
its text is split is refused, where that reading guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tools.builder.assets.byte_letters import byte_letters, spelled
from tools.builder.assets.merges import merges_of
from tools.builder.assets.tokenizer import framed
from tools.builder.checkpoint import CheckpointError

_CONTROL, _USER_DEFINED = 3, 4  # of tokenizer.ggml.token_type
_NAMED = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "pad_token": "padding_token_id",
}
_GPT2_SPLIT = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA3_SPLIT = _QWEN2_SPLIT.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
_WORD = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+%s"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*%s"
)
_TAIL = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_TEKKEN_SPLIT = _WORD % ("", "") + r"|\p{N}" + _TAIL
_GPT4O_SPLIT = _WORD % (("(?i:'s|'t|'re|'ve|'m|'ll|'d)?",) * 2) + r"|\p{N}{1,3}" + _TAIL
_SPLITS: Mapping[str, str] = {
    **dict.fromkeys(("gpt-2", "phi-2", "olmo"), _GPT2_SPLIT),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez"), _QWEN2_SPLIT),
    **dict.fromkeys(
        ("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "dbrx", "smaug-bpe"),
        _LLAMA3_SPLIT,
    ),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "minimax-m2"), _GPT4O_SPLIT),
    "tekken": _TEKKEN_SPLIT,
}
_BY_DIGITS = ("starcoder", "refact", "smollm", "command-r")  # single digits first, then GPT-2's split


@dataclass(frozen=True)
class _Vocabulary:
    path: Path
    architecture: str
    metadata: Mapping[str, Any]
    tokens: list[str]

    def get(self, key: str, kind: type[Any], default: Any = None) -> Any:
        value = self.metadata.get(f"tokenizer.ggml.{key}", default)
        if value is not default and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise CheckpointError(f"{self.path}: tokenizer.ggml.{key} is not of type {kind.__name__}: {value!r:.80}")
        return value

    def merges(self, rank: Callable[[int], float] | None = None) -> list[tuple[str, str]]:
        """The file's merges, or those that the scores of its tokens imply."""
        filed = self.get("merges", list)
        if filed is not None:
            pairs = [tuple(merge.split(" ")) if isinstance(merge, str) else () for merge in filed]
            bad = next((index for index, pair in enumerate(pairs) if len(pair) != 2), None)
            if bad is not None:
                raise CheckpointError(f"{self.path}: tokenizer.ggml.merges[{bad}] is {filed[bad]!r}, not two tokens")
            return pairs  # type: ignore[return-value]
        if rank is None:
            scores = self.get("scores", list)
            if scores is None or len(scores) != len(self.tokens):
                raise CheckpointError(f"{self.path} has neither tokenizer.ggml.merges nor a score for each token")
            rank = scores.__getitem__
        return merges_of(self.tokens, rank)


def tokenizer_files(path: Path, metadata: Mapping[str, Any]) -> tuple[Tokenizer, dict[str, Any]]:
    """The tokenizer, and tokenizer_config.json. Raises CheckpointError naming what cannot be represented."""
    tokens = metadata.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not tokens or not all(isinstance(token, str) for token in tokens):
        raise CheckpointError(f"{path} holds no vocabulary: tokenizer.ggml.tokens must be a list of texts")
    vocabulary = _Vocabulary(path, str(metadata.get("general.architecture")), metadata, tokens)
    kind = vocabulary.get("model", str)
    if kind == "gpt2":
        tokenizer = _byte_level(vocabulary)
    elif kind == "llama":
        tokenizer = (_gemma if vocabulary.architecture.startswith("gemma") else _sentencepiece)(vocabulary)
    else:
        raise CheckpointError(f"{path}: tokenizer.ggml.model is {kind!r}, which is not read; read are gpt2 and llama")
    options = {name: tokens[index] for name, key in _NAMED.items() if (index := _id(vocabulary, key)) is not None}
    tokenizer.add_tokens(_added(vocabulary, kind == "gpt2", options))
    adds = {
        "bos": vocabulary.get("add_bos_token", bool, kind == "llama"),
        "eos": vocabulary.get("add_eos_token", bool, False),
    }
    bos, eos = (options.get(f"{end}_token") if adds[end] else None for end in ("bos", "eos"))
    tokenizer.post_processor = framed(tokenizer, bos, eos)
    template = metadata.get("tokenizer.chat_template")
    if isinstance(template, str):
        options["chat_template"] = template
    return tokenizer, {"tokenizer_class": "PreTrainedTokenizerFast", **options}


def _id(vocabulary: _Vocabulary, key: str) -> int | None:
    index = vocabulary.get(key, int)
    if index is not None and not 0 <= index < len(vocabulary.tokens):
        raise CheckpointError(
            f"{vocabulary.path}: tokenizer.ggml.{key} is {index}, "
            f"and the vocabulary has {len(vocabulary.tokens)} tokens"
        )
    return None if index is None else int(index)


def _added(vocabulary: _Vocabulary, byte_level: bool, options: Mapping[str, str]) -> list[AddedToken]:
    """Tokens that are found whole in a text: the control tokens, and those that the model's maker defined."""
    types = vocabulary.get("token_type", list, [])
    alphabet = set(byte_letters())
    named = set(options.values())
    added = []
    for token, kind in zip(vocabulary.tokens, types, strict=False):
        # Every real token of a byte-level vocabulary is in the byte alphabet; a control token that is not is an error
        # of the converter, which would lie beyond the model's vocabulary.
        control = token in named or (kind == _CONTROL and not (byte_level and set(token) - alphabet))
        if token and (control or kind == _USER_DEFINED):
            added.append(AddedToken(token, normalized=False, special=control))
    return added


def _byte_level(vocabulary: _Vocabulary) -> Tokenizer:
    letters = byte_letters()
    alphabet = set(letters)
    table = {
        token if set(token) <= alphabet else spelled(token.encode("utf-8"), letters): index
        for index, token in enumerate(vocabulary.tokens)
    }
    tokenizer = Tokenizer(
        _bpe(vocabulary, table, vocabulary.merges(), continuing_subword_prefix="", end_of_word_suffix="")
    )
    if vocabulary.get("pre", str) == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = _split(vocabulary)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _split(vocabulary: _Vocabulary) -> pre_tokenizers.PreTokenizer:
    name = vocabulary.get("pre", str)
    if name is None and vocabulary.architecture == "gpt2":
        name = "gpt-2"
    if name in _BY_DIGITS:
        steps = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        return pre_tokenizers.Sequence(steps)
    if name not in _SPLITS:
        stated = "is not stated" if name is None else f"is {name!r}, which is not read"
        raise CheckpointError(
            f"{vocabulary.path}: how text is split (tokenizer.ggml.pre) {stated}; "
            f"read are {', '.join(sorted((*_SPLITS, *_BY_DIGITS)))}"
        )
    if _SPLITS[name] == _GPT2_SPLIT:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(_SPLITS[name]), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip


def _sentencepiece(vocabulary: _Vocabulary) -> Tokenizer:
    table = {token: index for index, token in enumerate(vocabulary.tokens)}
    tokenizer = Tokenizer(_bpe(vocabulary, table, vocabulary.merges(), fuse_unk=True, byte_fallback=True))
    space = vocabulary.get("add_space_prefix", bool, True)
    if vocabulary.architecture == "phi3":
        # Its own tokenizer.json prepends the space by a normalizer: "  hi" begins with three of them.
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    else:
        scheme = "first" if space else "never"
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps + ([decoders.Strip(content=" ", left=1)] if space else []))
    return tokenizer


def _gemma(vocabulary: _Vocabulary) -> Tokenizer:
    # Runs of spaces stand as such in the file. Its scores do not follow the order of its merges; its tokens do.
    tokens = ["▁" * len(token) if token and not token.strip(" ") else token for token in vocabulary.tokens]
    respelled = _Vocabulary(vocabulary.path, vocabulary.architecture, vocabulary.metadata, tokens)
    unknown = _id(vocabulary, "unknown_token_id")
    tokenizer = Tokenizer(
        _bpe(
            vocabulary,
            {token: index for index, token in enumerate(tokens)},
            respelled.merges(lambda index: -index),
            fuse_unk=True,
            byte_fallback=True,
            unk_token="<unk>" if unknown is None else tokens[unknown],
        )
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous", invert=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def _bpe(vocabulary: _Vocabulary, table: dict[str, int], merges: list[tuple[str, str]], **options: Any) -> models.BPE:
    if len(table) != len(vocabulary.tokens):
        seen: set[str] = set()
        twice = next(token for token in vocabulary.tokens if token in seen or seen.add(token))  # type: ignore[func-returns-value]
        raise CheckpointError(f"{vocabulary.path}: tokenizer.ggml.tokens holds {twice!r} twice")
    try:
        return models.BPE(vocab=table, merges=merges, dropout=None, **options)
    except Exception as error:  # the tokenizers library raises plain Exception
        raise CheckpointError(f"{vocabulary.path}: the merges do not fit the vocabulary: {error}") from None
