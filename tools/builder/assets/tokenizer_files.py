"""The files of a checkpoint that say how it makes tokens, as read, before a class of tokenizers interprets them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from tools.builder.assets.reading import field, read_object
from tools.builder.assets.sentencepiece_files import SentencePiece

NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
Token = str | AddedToken


@dataclasses.dataclass
class TokenizerFiles:
    """What a tokenizer is made of; `options` are those of `tokenizer_config.json`, special tokens resolved."""

    folder: Path
    options: dict[str, Any]
    filed: dict[str, Any]  # the checkpoint's tokenizer.json; empty where it has none
    added: dict[int, AddedToken]
    model: SentencePiece | None = None  # read where there is no tokenizer.json

    @property
    def config(self) -> Path:
        return self.folder / "tokenizer_config.json"

    def flag(self, key: str, default: bool) -> bool:
        return field(self.config, self.options, key, bool, default)


def resolve_tokens(files: TokenizerFiles) -> None:
    """Reads added and special tokens: from tokenizer_config.json, or for older checkpoints from the files beside it."""
    options, folder = files.options, files.folder
    if "additional_special_tokens" in options and not options.get("extra_special_tokens"):
        options["extra_special_tokens"] = options.pop("additional_special_tokens")
    if "added_tokens_decoder" in options:
        for index, token in options["added_tokens_decoder"].items():
            files.added[int(index)] = added_token(token)
    else:
        for key, value in read_object(folder / "special_tokens_map.json", optional=True).items():
            key = "extra_special_tokens" if key == "additional_special_tokens" else key
            options[key] = value
        added = read_object(folder / "added_tokens.json", optional=True)
        special = {text_of(options[key]) for key in NAMED_TOKENS if options.get(key)}
        special |= {text_of(token) for token in options.get("extra_special_tokens") or []}
        for content, index in added.items():
            files.added[index] = AddedToken(content, normalized=content not in special, special=content in special)
        for entry in files.filed.get("added_tokens", []):
            files.added[entry["id"]] = AddedToken(**{k: v for k, v in entry.items() if k != "id"})
    known = {token.content: token for token in files.added.values()}
    for key in NAMED_TOKENS:
        if options.get(key) is not None:
            options[key] = known.get(text_of(options[key]), token_of(options[key]))


def text_of(token: Any) -> str:
    if isinstance(token, AddedToken):
        return str(token.content)
    return str(token["content"]) if isinstance(token, dict) else str(token)


def token_of(token: Any) -> Token:
    """A special token as a config states it: text or an object."""
    if isinstance(token, dict):
        return added_token({**token, "special": True})
    if not isinstance(token, str | AddedToken):
        raise ValueError(f"the special token {token!r} is neither text nor an object with 'content'")
    return token


def added_token(token: Any) -> AddedToken:
    if not isinstance(token, dict) or not isinstance(token.get("content"), str):
        raise ValueError(f"the token {token!r} has no content")
    return AddedToken(**{key: value for key, value in token.items() if key != "__type"})
