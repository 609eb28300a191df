"""Where a checkpoint comes from: a folder, a GGUF file, or a repository of the Hugging Face hub."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from pathlib import Path
from typing import Any

from tools.builder.checkpoint import MEMBERS, Checkpoint
from tools.builder.files import FileError, open_plain
from tools.builder.gguf.checkpoint import GgufCheckpoint
from tools.builder.gguf.reader import MAGIC

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
"""How a bundle begins."""
GGUF_MAGIC = MAGIC

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_SMALL_FILES = (
    "added_tokens.json", "chat_template.jinja", "chat_template.json", "config.json",
    "config_sentence_transformers.json", "generation_config.json", "merges.txt", "model.safetensors.index.json",
    "modules.json", "special_tokens_map.json", "tekken.json", "tokenizer.json", "tokenizer_config.json", "vocab.json",
    "vocab.txt",
)  # fmt: skip
_SMALL_PATTERNS = (
    "sentence_*_config.json", "*_Pooling/config.json", "*.model", "*.tiktoken", "additional_chat_templates/*.jinja",
)  # fmt: skip


class SourceError(ValueError):
    """A checkpoint that cannot be found or fetched."""


@dataclasses.dataclass(frozen=True)
class Source:
    """A checkpoint's folder on this machine and its origin: `revision` is the hub's commit, None for a folder.

    `gguf` is the one file in it, or the first part of the one, that is the checkpoint; None for safetensors.
    """

    folder: Path
    repository: str | None = None
    revision: str | None = None
    gguf: Path | None = None

    def open(self) -> Checkpoint:
        """The checkpoint, whose `folder` holds the small files that assets are made of. Raises CheckpointError."""
        return Checkpoint.open(self.folder) if self.gguf is None else GgufCheckpoint.open(self.gguf)

    @property
    def name(self) -> str:
        """A name for a bundle made of it: letters, digits, dots, dashes and underscores."""
        file = self.gguf and re.sub(r"-\d{5}-of-\d{5}$", "", self.gguf.stem)
        base = (self.repository or file or self.folder.resolve().name).rpartition("/")[2]
        return re.sub(r"[^A-Za-z0-9._-]+", "-", base).lower().strip("-") or "model"

    def manifest(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """The manifest's `checkpoint`: origin, and size and sha256 of each file that a build depends on."""
        paths = {tensor.file for tensor in checkpoint.tensors.values()}
        if self.gguf is None:
            paths |= {self.folder / name for name in _SMALL_FILES}
            paths |= {path for pattern in _SMALL_PATTERNS for path in self.folder.glob(pattern)}
        files = sorted((path.relative_to(self.folder).as_posix(), path) for path in paths if path.is_file())
        return {
            "files": [{"path": name, "sha256": _sha256(path), "size": path.stat().st_size} for name, path in files],
            "repository": self.repository,
            "revision": self.revision,
            "source": "hub" if self.repository else "folder",
        }


def locate(checkpoint: str, revision: str | None = None) -> Source:
    """Finds a folder or a GGUF file, or fetches a repository `owner/name` at `revision` (the main branch by default)
    into the hub's cache. A folder with GGUF files and no config.json stands for its one model.

    Raises SourceError, which says what to do, for a path that is no folder and for a repository that cannot be had.
    """
    path = Path(checkpoint)
    if path.is_dir():
        if revision is not None:
            raise SourceError(
                f"revision {revision!r} is given, but {checkpoint} is a folder; only hub repositories have revisions"
            )
        return Source(path, gguf=None if (path / "config.json").exists() else _only_gguf(path))
    if path.exists() or path.is_symlink():
        try:
            with open_plain(path) as file:
                magic = file.read(4)
        except FileError as error:
            raise SourceError(str(error)) from None
        if magic == GGUF_MAGIC:
            if revision is not None:
                raise SourceError(
                    f"revision {revision!r} is given, but {checkpoint} is a file; only hub repositories have"
                )
            return Source(path.parent, gguf=path)
        if magic == ZSTD_MAGIC:
            raise SourceError(
                f"{checkpoint} is a bundle already; `build` takes the checkpoint that a bundle is made from"
            )
        raise SourceError(
            f"{checkpoint} is a file; a checkpoint is a folder with config.json and *.safetensors, a GGUF file, "
            f"or a hub id"
        )
    if not _HUB_ID.fullmatch(checkpoint):
        raise SourceError(f"{checkpoint} does not exist, and is not a hub id such as Qwen/Qwen3-0.6B either")
    return _fetch(checkpoint, revision)


def _only_gguf(folder: Path) -> Path | None:
    """The one model among the folder's GGUF files, by its first part where it is split."""
    models = [path for path in sorted(folder.glob("*.gguf")) if not re.search(r"-(?!00001)\d{5}-of-\d{5}$", path.stem)]
    if len(models) > 1:
        raise SourceError(
            f"{folder} holds {len(models)} GGUF models; name one: {', '.join(path.name for path in models[:5])}"
        )
    return models[0] if models else None


def licence(folder: Path) -> str | None:
    """The licence that README.md's front matter states, or that a LICENSE file begins with; None where neither does."""
    readme = folder / "README.md"
    if readme.is_file():
        front = re.match(
            r"---\n(.*?)\n---", readme.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n"), re.DOTALL
        )
        fields = (
            dict(
                re.findall(
                    r"^(license|license_name):[ \t]*(?:\n- )?[\"']?([^\"'\n]+?)[\"']?[ \t]*$", front[1], re.MULTILINE
                )
            )
            if front
            else {}
        )
        if stated := fields.get("license_name") if fields.get("license") == "other" else fields.get("license"):
            return str(stated)
    for path in sorted(path for path in folder.glob("LICENSE*") if path.is_file()):
        text = path.read_text(encoding="utf-8", errors="replace")
        for name, marks in _LICENCES.items():
            if all(mark in text for mark in marks):
                return name
        first = next((line.strip() for line in text.splitlines() if line.strip()), "")
        return "".join(filter(str.isprintable, first))[:200] or None
    return None


_LICENCES = {
    "apache-2.0": ("Apache License", "Version 2.0"),
    "mit": ("Permission is hereby granted, free of charge", 'THE SOFTWARE IS PROVIDED "AS IS"'),
}


def _fetch(repository: str, revision: str | None) -> Source:
    import huggingface_hub
    from huggingface_hub import errors

    where = f"{repository}@{revision}" if revision else repository
    try:
        folder = Path(huggingface_hub.snapshot_download(repository, revision=revision, allow_patterns=list(MEMBERS)))
    except errors.GatedRepoError:
        raise SourceError(
            f"{where} is gated: accept its terms on its page, then set HF_TOKEN to a token that may read it"
        ) from None
    except errors.RepositoryNotFoundError:
        raise SourceError(
            f"{where}: there is no folder and no hub repository of this name (a private one needs HF_TOKEN)"
        ) from None
    except errors.RevisionNotFoundError:
        raise SourceError(f"{repository} has no revision {revision!r}") from None
    except errors.HFValidationError as error:
        raise SourceError(f"{repository} is not a hub id: {error}") from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        raise SourceError(
            f"{where} is not in the hub's cache and the hub cannot be reached (offline, or HF_HUB_OFFLINE is set); "
            f"fetch it where there is a network (hf download {repository}) and copy the cache, or give a folder"
        ) from None
    except errors.HfHubHTTPError as error:
        raise SourceError(f"{where} cannot be fetched: {error}") from None
    return Source(folder, repository, folder.name)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
