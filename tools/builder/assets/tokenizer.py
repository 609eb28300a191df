"""The effective tokenizer: what the reference library makes of a checkpoint's files, as one `tokenizer.json`.

A checkpoint's own `tokenizer.json` is not always what its users get: transformers (5.x) takes the vocabulary from it
and rebuilds normalizer, pre-tokenizer and decoder by the class that `tokenizer_config.json` names, with the options
found there. This module follows transformers' `TokenizersBackend` and its classes for the tokenizers that it knows, and
refuses the rest by name. Truncation and padding are left out: the caller of a task decides them.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from tools.builder.assets.reading import AssetError, field, read_object

NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_CLASS_OF_MODEL_TYPE = {
    "bert": "BertTokenizer",
    "gpt2": "GPT2Tokenizer",
    "qwen2": "Qwen2Tokenizer",
    "qwen3": "Qwen2Tokenizer",
}
_AS_FILED = ("PreTrainedTokenizer", "TokenizersBackend")  # classes that take tokenizer.json as it is
_MISNAMED = (
    "qwen2",
)  # model types whose checkpoints name a wrong class; transformers loads their tokenizer.json as it is
Token = str | AddedToken


@dataclasses.dataclass
class _Files:
    """What a tokenizer is made of; `options` are those of `tokenizer_config.json`, special tokens resolved."""

    folder: Path
    options: dict[str, Any]
    filed: dict[str, Any]  # the checkpoint's tokenizer.json; empty where it has none
    added: dict[int, AddedToken]

    @property
    def config(self) -> Path:
        return self.folder / "tokenizer_config.json"

    def flag(self, key: str, default: bool) -> bool:
        return field(self.config, self.options, key, bool, default)


def effective_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of the checkpoint in `folder`. Raises AssetError naming what cannot be represented."""
    try:
        return _effective_tokenizer(folder)
    except (AssetError, OSError):
        raise
    except Exception as error:  # files of unknown origin; the tokenizers library raises plain Exception
        raise AssetError(
            f"{folder}: the files of the tokenizer are malformed: {type(error).__name__}: {error}"
        ) from error


def _effective_tokenizer(folder: Path) -> Tokenizer:
    options = read_object(folder / "tokenizer_config.json", optional=True)
    filed = read_object(folder / "tokenizer.json", optional=True)
    _refuse_unrepresentable(folder / "tokenizer_config.json", options)
    files = _Files(folder, options, filed, {})
    _resolve_tokens(files)
    name = _class_name(files)
    if name in _AS_FILED:
        tokenizer = _as_filed(files)
    elif name in _CLASSES:
        tokenizer = _CLASSES[name](files)
        _add_tokens(tokenizer, files)
        _post_process(tokenizer, files, name)
    else:
        known = ", ".join(sorted((*_CLASSES, *_AS_FILED)))
        raise AssetError(f"{files.config}: tokenizer_class {name!r} is not supported; supported are {known}")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def token_id(tokenizer: Tokenizer, folder: Path, key: str) -> int | None:
    """The id of a special token such as `eos_token`, as tokenizer_config.json or special_tokens_map.json names it."""
    files = _Files(folder, read_object(folder / "tokenizer_config.json", optional=True), {}, {})
    _resolve_tokens(files)
    token = files.options.get(key)
    found: int | None = tokenizer.token_to_id(_text(token)) if token is not None else None
    return found


def _refuse_unrepresentable(config: Path, options: Mapping[str, Any]) -> None:
    auto_map = options.get("auto_map")
    if auto_map and (not isinstance(auto_map, dict) or auto_map.get("AutoTokenizer")):
        raise AssetError(f"{config}: field 'auto_map' names the checkpoint's own code; a bundle never runs such code")
    if options.get("split_special_tokens"):
        raise AssetError(f"{config}: field 'split_special_tokens' is true, which tokenizer.json cannot express")
    if options.get("fix_mistral_regex"):
        raise AssetError(f"{config}: field 'fix_mistral_regex' is true, which is not supported")


def _class_name(files: _Files) -> str:
    """The tokenizer class that transformers' AutoTokenizer would choose, without the suffix `Fast`."""
    model = read_object(files.folder / "config.json", optional=True)
    model_type = model.get("model_type")
    declared = files.options.get("tokenizer_class") or model.get("tokenizer_class")
    usual = _CLASS_OF_MODEL_TYPE.get(model_type) if isinstance(model_type, str) else None
    if declared is None and usual is None:
        if files.filed:
            return "TokenizersBackend"
        raise AssetError(f"{files.folder} has no tokenizer.json, and no file of it names a tokenizer_class")
    name = str(declared or usual).removesuffix("Fast")
    if name == "LlamaTokenizer" and _mentions_byte_level(files.filed):
        return "TokenizersBackend"  # Llama 3 and its kin declare the class of Llama 2
    if model_type in _MISNAMED and name != usual:
        return str(usual)
    return name


def _mentions_byte_level(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_mentions_byte_level(v) for k, v in value.items() if k != "model")
    if isinstance(value, list):
        return any(_mentions_byte_level(v) for v in value)
    return bool(value == "ByteLevel")


def _resolve_tokens(files: _Files) -> None:
    """Reads added and special tokens: from tokenizer_config.json, or for older checkpoints from the files beside it."""
    options, folder = files.options, files.folder
    if "additional_special_tokens" in options and not options.get("extra_special_tokens"):
        options["extra_special_tokens"] = options.pop("additional_special_tokens")
    if "added_tokens_decoder" in options:
        for index, token in options["added_tokens_decoder"].items():
            files.added[int(index)] = _added_token(token)
    else:
        for key, value in read_object(folder / "special_tokens_map.json", optional=True).items():
            key = "extra_special_tokens" if key == "additional_special_tokens" else key
            options[key] = value
        added = read_object(folder / "added_tokens.json", optional=True)
        special = {_text(options[key]) for key in NAMED_TOKENS if options.get(key)}
        special |= {_text(token) for token in options.get("extra_special_tokens") or []}
        for content, index in added.items():
            files.added[index] = AddedToken(content, normalized=content not in special, special=content in special)
        for entry in files.filed.get("added_tokens", []):
            files.added[entry["id"]] = AddedToken(**{k: v for k, v in entry.items() if k != "id"})
    known = {token.content: token for token in files.added.values()}
    for key in NAMED_TOKENS:
        if options.get(key) is not None:
            options[key] = known.get(_text(options[key]), _token(options[key]))


def _text(token: Any) -> str:
    if isinstance(token, AddedToken):
        return str(token.content)
    return str(token["content"]) if isinstance(token, dict) else str(token)


def _token(token: Any) -> Token:
    """A special token as a config states it: text or an object."""
    if isinstance(token, dict):
        return _added_token({**token, "special": True})
    return token if isinstance(token, AddedToken) else str(token)


def _added_token(token: Any) -> AddedToken:
    if not isinstance(token, dict) or not isinstance(token.get("content"), str):
        raise ValueError(f"the token {token!r} has no content")
    return AddedToken(**{key: value for key, value in token.items() if key != "__type"})


def _special_tokens(files: _Files) -> list[Token]:
    """Named special tokens in transformers' order, then those that only this model has."""
    options = files.options
    named: list[Token] = [options[key] for key in NAMED_TOKENS if options.get(key) is not None]
    extra = options.get("extra_special_tokens") or []
    own = {k: v for k, v in options.items() if k.endswith("_token") and k not in NAMED_TOKENS and isinstance(v, str)}
    if isinstance(extra, dict):
        own.update(extra)
        extra = []
    return named + [_token(v) for v in own.values()] + [_token(v) for v in extra]


def _add_tokens(tokenizer: Tokenizer, files: _Files) -> None:
    """Adds the tokens that the tokenizer lacks, ids ascending, then special tokens: TokenizersBackend.__init__."""
    present = {repr(token) for token in tokenizer.get_added_tokens_decoder().values()}
    adding: list[Token] = [token for _, token in sorted(files.added.items()) if repr(token) not in present]
    known = {token.content for token in tokenizer.get_added_tokens_decoder().values()} | {_text(t) for t in adding}
    special = _special_tokens(files)
    for token in special:
        if _text(token) not in known:
            adding.append(token)
            known.add(_text(token))
    named = {_text(token) for token in special}
    for index, token in enumerate(adding):
        if isinstance(token, str):
            adding[index] = AddedToken(token, special=True)
        elif not token.special and token.content in named:
            token.special = True
    if adding:
        tokenizer.add_tokens(adding)


def _post_process(tokenizer: Tokenizer, files: _Files, name: str) -> None:
    if name == "BertTokenizer":
        cls, sep = _text(files.options["cls_token"]), _text(files.options["sep_token"])
        ids = [(token, tokenizer.token_to_id(token)) for token in (cls, sep)]
        if missing := [token for token, index in ids if index is None]:
            raise AssetError(f"{files.folder}: the vocabulary lacks the special token {missing[0]!r}")
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{cls}:0 $A:0 {sep}:0", pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1", special_tokens=ids
        )
    elif files.filed.get("post_processor"):
        tokenizer.post_processor = _load(
            files, {**files.filed, "model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": []}
        ).post_processor
    else:
        tokenizer.post_processor = _beginning_and_end(tokenizer, files)


def _beginning_and_end(tokenizer: Tokenizer, files: _Files) -> processors.TemplateProcessing:
    """Tokens around the text: `add_bos_token` and `add_eos_token` count only where there is no tokenizer.json."""

    def mark(key: str) -> str | None:
        token = files.options.get(key)
        if files.filed or not files.flag(f"add_{key}", False) or token is None:
            return None
        if tokenizer.token_to_id(_text(token)) is None:
            raise AssetError(f"{files.folder}: the vocabulary lacks the special token {_text(token)!r}")
        return _text(token)

    return framed(tokenizer, mark("bos_token"), mark("eos_token"))


def framed(tokenizer: Tokenizer, bos: str | None, eos: str | None) -> processors.TemplateProcessing:
    """The post-processor that puts `bos` before and `eos` after each text, where they are given."""
    parts = [bos and f"{bos}:0", "$A:0", eos and f"{eos}:0"]
    pair = [*parts, bos and f"{bos}:1", "$B:1", eos and f"{eos}:1"]
    ids = [(token, tokenizer.token_to_id(token)) for token in dict.fromkeys((bos, eos)) if token is not None]
    return processors.TemplateProcessing(
        single=" ".join(filter(None, parts)), pair=" ".join(filter(None, pair)), special_tokens=ids
    )


def _load(files: _Files, content: Mapping[str, Any]) -> Tokenizer:
    try:
        return Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # the tokenizers library raises plain Exception
        raise AssetError(
            f"{files.folder / 'tokenizer.json'} is not a tokenizer of the tokenizers library: {error}"
        ) from None


def _as_filed(files: _Files) -> Tokenizer:
    if not files.filed:
        raise AssetError(f"{files.folder} has no tokenizer.json, which its tokenizer_class needs")
    tokenizer = _load(files, files.filed)
    _add_tokens(tokenizer, files)
    if not files.filed.get("post_processor"):
        tokenizer.post_processor = _beginning_and_end(tokenizer, files)
    return tokenizer


def _vocabulary(files: _Files, filename: str) -> dict[str, int]:
    """token → id from tokenizer.json, or from the older vocabulary file where there is none."""
    if files.filed:
        model = files.filed.get("model", {})
        vocabulary = model.get("vocab")
        if model.get("dropout"):
            raise AssetError(
                f"{files.folder / 'tokenizer.json'}: field 'dropout' is {model['dropout']}; "
                "a bundle's tokenizer is deterministic"
            )
        if not isinstance(vocabulary, dict):
            raise AssetError(f"{files.folder / 'tokenizer.json'}: the vocabulary is not that of a {filename}")
        return vocabulary
    path = files.folder / filename
    if not path.exists():
        raise AssetError(f"{files.folder} has neither tokenizer.json nor {filename}")
    if path.suffix == ".json":
        return read_object(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    return {token: index for index, token in enumerate(lines[:-1] if lines[-1] == "" else lines)}


def _merges(files: _Files) -> list[tuple[str, str]]:
    if files.filed:
        merges = files.filed["model"].get("merges", [])
        split = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
        return [(left, right) for left, right in split]
    path = files.folder / "merges.txt"
    if not path.exists():
        raise AssetError(f"{files.folder} has vocab.json and no merges.txt")
    lines = path.read_text(encoding="utf-8").split("\n")
    pairs = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    return [(left, right) for left, right in pairs]


def _defaults(files: _Files, **tokens: str | None) -> None:
    for key, token in tokens.items():
        files.options.setdefault(key, token)


def _bert(files: _Files) -> Tokenizer:
    _defaults(files, unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]")
    strip = files.options.get("strip_accents")
    if strip is not None and not isinstance(strip, bool):
        raise AssetError(f"{files.config}: field 'strip_accents' is {strip!r}, not a bool or null")
    tokenizer = Tokenizer(
        models.WordPiece(_vocabulary(files, "vocab.txt"), unk_token=_text(files.options["unk_token"]))
    )
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=files.flag("tokenize_chinese_chars", True),
        strip_accents=strip,
        lowercase=files.flag("do_lower_case", True),
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    return tokenizer


def _byte_level(files: _Files) -> models.BPE:
    return models.BPE(
        vocab=_vocabulary(files, "vocab.json"),
        merges=_merges(files),
        dropout=None,
        continuing_subword_prefix="",
        end_of_word_suffix="",
        fuse_unk=False,
    )


def _gpt2(files: _Files) -> Tokenizer:
    end = "<|endoftext|>"
    _defaults(files, unk_token=end, bos_token=end, eos_token=end, pad_token=None)
    tokenizer = Tokenizer(_byte_level(files))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=files.flag("add_prefix_space", False))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _qwen2(files: _Files) -> Tokenizer:
    end = "<|endoftext|>"
    _defaults(files, unk_token=end, bos_token=None, eos_token=end, pad_token=end)
    tokenizer = Tokenizer(_byte_level(files))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(_QWEN2_SPLIT), behavior="isolated", invert=False),
        pre_tokenizers.ByteLevel(add_prefix_space=files.flag("add_prefix_space", False), use_regex=False),
    ])  # fmt: skip
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _llama(files: _Files) -> Tokenizer:
    _defaults(files, unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    space = files.flag("add_prefix_space", True)
    scheme = ("always" if files.flag("legacy", False) else "first") if space else "never"
    tokenizer = Tokenizer(
        models.BPE(
            vocab=_vocabulary(files, "vocab.json"),
            merges=_merges(files),
            fuse_unk=True,
            byte_fallback=True,
            dropout=None,
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps + ([decoders.Strip(content=" ", left=1)] if space else []))
    return tokenizer


_CLASSES: dict[str, Callable[[_Files], Tokenizer]] = {
    "BertTokenizer": _bert,
    "GPT2Tokenizer": _gpt2,
    "LlamaTokenizer": _llama,
    "Qwen2Tokenizer": _qwen2,
}
