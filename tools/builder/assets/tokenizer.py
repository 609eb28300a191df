"""The effective tokenizer: what the reference library makes of a checkpoint's files, as one `tokenizer.json`.

A checkpoint's own `tokenizer.json` is not always what its users get: transformers (5.x) takes the vocabulary from it
and rebuilds normalizer, pre-tokenizer and decoder by the class that `tokenizer_config.json` names, with the options
found there. This module follows transformers' `TokenizersBackend` and its classes for the tokenizers that it knows, and
refuses the rest by name. Truncation and padding are left out: the caller of a task decides them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, processors

from tools.builder.assets import sentencepiece_files
from tools.builder.assets.reading import AssetError, read_object
from tools.builder.assets.sentencepiece_files import SentencePiece, read_sentencepiece
from tools.builder.assets.tiktoken_files import Ranks, read_tekken, read_tiktoken
from tools.builder.assets.tokenizer_classes import CLASSES, own_post_processor
from tools.builder.assets.tokenizer_files import (
    NAMED_TOKENS,
    Token,
    TokenizerFiles,
    resolve_tokens,
    text_of,
    token_of,
)

_CLASS_OF_MODEL_TYPE = {
    "bert": "BertTokenizer",
    "gpt2": "GPT2Tokenizer",
    **dict.fromkeys(("gemma", "gemma2", "gemma3", "gemma3_text"), "GemmaTokenizer"),
    **dict.fromkeys(("granite", "mistral", "mixtral", "olmo2", "phi3"), "TokenizersBackend"),
    **dict.fromkeys(("qwen2", "qwen3", "qwen3_moe"), "Qwen2Tokenizer"),
    "roberta": "RobertaTokenizer",
    "t5": "T5Tokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
}
_AS_FILED = ("PreTrainedTokenizer", "TokenizersBackend")  # classes that take tokenizer.json as it is
_MISNAMED = ("qwen2",)  # model types whose checkpoints name a wrong class


def effective_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of the checkpoint in `folder`. Raises AssetError naming what cannot be represented."""
    return read_tokenizer(folder)[0]


def read_tokenizer(folder: Path) -> tuple[Tokenizer, dict[str, str]]:
    """effective_tokenizer(), and transformers' `special_tokens_map`, such as `bos_token` → "<s>": the tokens that the
    files name and, where they do not, those that the tokenizer's class stands for."""
    try:
        tokenizer, files = _effective_tokenizer(folder)
        return tokenizer, _special_tokens_map(files.options)
    except (AssetError, OSError):
        raise
    except Exception as error:  # files of unknown origin; the tokenizers library raises plain Exception
        raise AssetError(
            f"{folder}: the files of the tokenizer are malformed: {type(error).__name__}: {error}"
        ) from error


def _effective_tokenizer(folder: Path) -> tuple[Tokenizer, TokenizerFiles]:
    options = read_object(folder / "tokenizer_config.json", optional=True)
    filed = read_object(folder / "tokenizer.json", optional=True)
    if not isinstance(filed.get("model"), dict) and (folder / "tokenizer.json").exists():
        raise AssetError(
            f"{folder / 'tokenizer.json'} has no object 'model', so it is no tokenizer of the tokenizers library; "
            "fetch it again"
        )
    _refuse_unrepresentable(folder / "tokenizer_config.json", options)
    files = TokenizerFiles(folder, options, filed, {})
    resolve_tokens(files)
    original = None if filed else _original(files)
    if isinstance(original, SentencePiece):
        files.model = original
    name = "TokenizersBackend" if isinstance(original, Ranks) else _class_name(files)
    if name in _AS_FILED:
        tokenizer = _as_filed(files, original)
    elif name in CLASSES:
        if original is not None:
            files.options["extra_special_tokens"] = files.model.added if files.model else []
        tokenizer = CLASSES[name](files)
        _add_tokens(tokenizer, files)
        _post_process(tokenizer, files, name)
    else:
        known = ", ".join(sorted((*CLASSES, *_AS_FILED)))
        raise AssetError(f"{files.config}: tokenizer_class {name!r} is not supported; supported are {known}")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if files.model is not None:
        files.model.prove(tokenizer, offset=1 if name == "XLMRobertaTokenizer" else 0)
    return tokenizer, files


def _special_tokens_map(options: Mapping[str, Any]) -> dict[str, str]:
    named = {key: text_of(options[key]) for key in NAMED_TOKENS if options.get(key) is not None}
    # Any other field of that name that holds a token is one of the model's own, as transformers 5.24 reads it.
    own = {
        key: text_of(value)
        for key, value in options.items()
        if key not in NAMED_TOKENS
        and key.endswith("_token")
        and (isinstance(value, str | AddedToken) or (isinstance(value, dict) and value.get("__type") == "AddedToken"))
    }
    extra = options.get("extra_special_tokens")
    return named | own | ({key: text_of(token) for key, token in extra.items()} if isinstance(extra, dict) else {})


def _original(files: TokenizerFiles) -> SentencePiece | Ranks | None:
    """The model of another library in a folder without tokenizer.json. None where vocabulary files stand for it."""
    folder = files.folder
    if (folder / "tekken.json").exists():
        return read_tekken(folder / "tekken.json")
    added = {index: token.content for index, token in files.added.items()}
    for path in sorted(folder.glob("*.tiktoken")):
        return read_tiktoken(path, added)
    model = next((folder / name for name in sentencepiece_files.NAMES if (folder / name).exists()), None)
    if model is None:
        return None
    with model.open("rb") as file:
        words = file.read(64).split()
    if model.name == "tokenizer.model" and words[1:2] == [b"0"]:  # Llama 3 keeps tiktoken's lines under this name
        return read_tiktoken(model, added)
    return read_sentencepiece(model)


def token_id(tokenizer: Tokenizer, folder: Path, key: str) -> int | None:
    """The id of a special token such as `eos_token`, as tokenizer_config.json or special_tokens_map.json names it."""
    files = TokenizerFiles(folder, read_object(folder / "tokenizer_config.json", optional=True), {}, {})
    resolve_tokens(files)
    token = files.options.get(key)
    found: int | None = tokenizer.token_to_id(text_of(token)) if token is not None else None
    return found


def _refuse_unrepresentable(config: Path, options: Mapping[str, Any]) -> None:
    auto_map = options.get("auto_map")
    if auto_map and (not isinstance(auto_map, dict) or auto_map.get("AutoTokenizer")):
        raise AssetError(f"{config}: field 'auto_map' names the checkpoint's own code; a bundle never runs such code")
    if options.get("split_special_tokens"):
        raise AssetError(f"{config}: field 'split_special_tokens' is true, which tokenizer.json cannot express")
    if options.get("fix_mistral_regex"):
        raise AssetError(f"{config}: field 'fix_mistral_regex' is true, which is not supported")


def _class_name(files: TokenizerFiles) -> str:
    """The tokenizer class that transformers' AutoTokenizer would choose, without the suffix `Fast`."""
    model = read_object(files.folder / "config.json", optional=True)
    model_type = model.get("model_type")
    declared = files.options.get("tokenizer_class") or model.get("tokenizer_class")
    usual = _CLASS_OF_MODEL_TYPE.get(model_type) if isinstance(model_type, str) else None
    if declared is None and usual is None:
        if files.filed:
            return "TokenizersBackend"
        raise AssetError(f"{files.folder} has no tokenizer.json, and no file of it names a tokenizer_class")
    if usual in _AS_FILED:
        return usual
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


def _special_tokens(files: TokenizerFiles) -> list[Token]:
    """Named special tokens in transformers' order, then those that only this model has."""
    options = files.options
    named: list[Token] = [options[key] for key in NAMED_TOKENS if options.get(key) is not None]
    extra = options.get("extra_special_tokens") or []
    own = {k: v for k, v in options.items() if k.endswith("_token") and k not in NAMED_TOKENS and isinstance(v, str)}
    if isinstance(extra, dict):
        own.update(extra)
        extra = []
    return named + [token_of(v) for v in own.values()] + [token_of(v) for v in extra]


def _add_tokens(tokenizer: Tokenizer, files: TokenizerFiles) -> None:
    """Adds the tokens that the tokenizer lacks, ids ascending, then special tokens: TokenizersBackend.__init__."""
    present = {repr(token) for token in tokenizer.get_added_tokens_decoder().values()}
    adding: list[Token] = [token for _, token in sorted(files.added.items()) if repr(token) not in present]
    known = {token.content for token in tokenizer.get_added_tokens_decoder().values()} | {text_of(t) for t in adding}
    special = _special_tokens(files)
    for token in special:
        if text_of(token) not in known:
            adding.append(token)
            known.add(text_of(token))
    named = {text_of(token) for token in special}
    for index, token in enumerate(adding):
        if isinstance(token, str):
            adding[index] = AddedToken(token, special=True)
        elif not token.special and token.content in named:
            token.special = True
    if adding:
        tokenizer.add_tokens(adding)


def _post_process(tokenizer: Tokenizer, files: TokenizerFiles, name: str) -> None:
    if (own := own_post_processor(tokenizer, files, name)) is not None:
        tokenizer.post_processor = own
    elif files.filed.get("post_processor"):
        tokenizer.post_processor = _load(
            files, {**files.filed, "model": {"type": "BPE", "vocab": {}, "merges": []}, "added_tokens": []}
        ).post_processor
    else:
        tokenizer.post_processor = _beginning_and_end(tokenizer, files)


def _beginning_and_end(tokenizer: Tokenizer, files: TokenizerFiles) -> processors.TemplateProcessing:
    """Tokens around the text: `add_bos_token` and `add_eos_token` count only where there is no tokenizer.json."""

    def mark(key: str) -> str | None:
        token = files.options.get(key)
        if files.filed or not files.flag(f"add_{key}", False) or token is None:
            return None
        if tokenizer.token_to_id(text_of(token)) is None:
            raise AssetError(f"{files.folder}: the vocabulary lacks the special token {text_of(token)!r}")
        return text_of(token)

    return framed(tokenizer, mark("bos_token"), mark("eos_token"))


def framed(tokenizer: Tokenizer, bos: str | None, eos: str | None) -> processors.TemplateProcessing:
    """The post-processor that puts `bos` before and `eos` after each text, where they are given."""
    parts = [bos and f"{bos}:0", "$A:0", eos and f"{eos}:0"]
    pair = [*parts, bos and f"{bos}:1", "$B:1", eos and f"{eos}:1"]
    ids = [(token, tokenizer.token_to_id(token)) for token in dict.fromkeys((bos, eos)) if token is not None]
    return processors.TemplateProcessing(
        single=" ".join(filter(None, parts)), pair=" ".join(filter(None, pair)), special_tokens=ids
    )


def _load(files: TokenizerFiles, content: Mapping[str, Any]) -> Tokenizer:
    try:
        return Tokenizer.from_str(json.dumps(content))
    except Exception as error:  # the tokenizers library raises plain Exception
        raise AssetError(
            f"{files.folder / 'tokenizer.json'} is not a tokenizer of the tokenizers library: {error}"
        ) from None


def _as_filed(files: TokenizerFiles, original: SentencePiece | Ranks | None) -> Tokenizer:
    """tokenizer.json as it is, or the model of another library as that says."""
    if isinstance(original, SentencePiece):
        tokenizer = _of_sentencepiece(files, original)
    elif original is not None:
        tokenizer = original.tokenizer()
    elif files.filed:
        tokenizer = _load(files, files.filed)
    else:
        raise AssetError(f"{files.folder} has no tokenizer.json, which its tokenizer_class needs")
    _add_tokens(tokenizer, files)
    if not files.filed.get("post_processor"):
        tokenizer.post_processor = _beginning_and_end(tokenizer, files)
    return tokenizer


def _of_sentencepiece(files: TokenizerFiles, model: SentencePiece) -> Tokenizer:
    for index, token in files.added.items():
        if index < len(model.pieces) and model.pieces[index][0] != token.content:
            raise AssetError(f"{files.config}: token {index} is {token.content!r}, and {model.path} has another there")
        if model.add_dummy_prefix:  # found in the text before a space is prepended to what lies between
            files.added[index] = _unnormalized(token)
    for key, piece in model.named.items():
        if key != "pad_token":
            files.options.setdefault(key, piece)
    files.options["extra_special_tokens"] = [token for token in model.added if token.special]
    return model.tokenizer(files.flag("legacy", True))


def _unnormalized(token: AddedToken) -> AddedToken:
    return AddedToken(
        token.content,
        single_word=token.single_word,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        normalized=False,
        special=token.special,
    )
