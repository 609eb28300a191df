"""`assets/chat_template.json`: the checkpoint's chat templates as trees, and the special tokens that they name.

Which files count follows transformers 5.24 (`PreTrainedTokenizerBase.from_pretrained`): `chat_template.jinja` and
`additional_chat_templates/*.jinja` go before the field `chat_template` of tokenizer_config.json; a processor's older
`chat_template.json` is read where there is nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tools.builder.assets.jinja_tree import TemplateError, compile_template
from tools.builder.assets.reading import AssetError, canonical, read_object, read_text

FORMAT = 1


def chat_template(folder: Path, tokens: Mapping[str, str]) -> bytes | None:
    """The asset for the checkpoint in `folder`, whose special tokens are `tokens` (`read_tokenizer`); None where it has
    no chat template. Raises AssetError."""
    sources = _sources(folder)
    return compile_chat_template(sources, tokens) if sources else None


def compile_chat_template(sources: Mapping[str, tuple[str, str]], tokens: Mapping[str, str]) -> bytes:
    """The asset's bytes for templates by name.

    Args:
      sources: name → (the file it is from, for messages; the Jinja source).
      tokens: variables such as `bos_token` → their text.

    Raises:
      AssetError: naming file, line and construct, where Jinja2 or the runtime cannot take a template.
    """
    trees = {}
    for name, (file, source) in sources.items():
        try:
            trees[name] = compile_template(source)
        except TemplateError as error:
            raise AssetError(f"{file}: the chat template {name!r}, {error}") from None
    try:
        return canonical({"format": FORMAT, "templates": trees, "tokens": dict(tokens)})
    except UnicodeEncodeError:
        raise AssetError("a chat template or special token has a lone surrogate, which is no text") from None


def _sources(folder: Path) -> dict[str, tuple[str, str]]:
    sources: dict[str, tuple[str, str]] = {}
    files = [("default", folder / "chat_template.jinja")]
    files += [(path.stem, path) for path in sorted((folder / "additional_chat_templates").glob("*.jinja"))]
    for name, path in files:
        if path.exists():
            sources[name] = (str(path), read_text(path))
    if sources:
        return sources
    for path in (folder / "tokenizer_config.json", folder / "chat_template.json"):
        if found := _field(path):
            return found
    return {}


def _field(path: Path) -> dict[str, tuple[str, str]]:
    """The field `chat_template`: text, a list of {"name", "template"}, or an object of names and texts."""
    value = read_object(path, optional=True).get("chat_template")
    if value is None:
        return {}
    if isinstance(value, str):
        return {"default": (str(path), value)}
    if isinstance(value, list):
        if not all(isinstance(each, dict) and {"name", "template"} <= each.keys() for each in value):
            raise AssetError(f"{path}: field 'chat_template' is a list whose items lack 'name' or 'template'")
        value = {each["name"]: each["template"] for each in value}
    if not isinstance(value, dict) or not all(isinstance(k, str) and isinstance(v, str) for k, v in value.items()):
        raise AssetError(f"{path}: field 'chat_template' is neither text nor templates by name")
    return {name: (str(path), source) for name, source in value.items()}
