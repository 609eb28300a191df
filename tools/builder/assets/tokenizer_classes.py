"""The classes of tokenizers that build their parts themselves and take the vocabulary alone from a checkpoint's files.

Each function follows the constructor of transformers' class of that name.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from tools.builder.assets.merges import merges_of
from tools.builder.assets.reading import AssetError, read_object, read_text
from tools.builder.assets.tokenizer_files import TokenizerFiles, text_of

_QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_T5_SENTINELS = 100


def _vocabulary(files: TokenizerFiles, filename: str) -> dict[str, int]:
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
    if files.model is not None and not files.model.unigram:
        return files.model.vocabulary()
    path = files.folder / filename
    if not path.exists():
        raise AssetError(f"{files.folder} has neither tokenizer.json nor {filename}")
    if path.suffix == ".json":
        return read_object(path)
    lines = read_text(path).split("\n")
    return {token: index for index, token in enumerate(lines[:-1] if lines[-1] == "" else lines)}


def _merges(files: TokenizerFiles) -> list[tuple[str, str]]:
    if files.filed:
        merges = files.filed["model"].get("merges", [])
        split = [merge.split(" ") if isinstance(merge, str) else merge for merge in merges]
        return [(left, right) for left, right in split]
    if files.model is not None:
        return merges_of([piece for piece, _, _ in files.model.pieces])
    path = files.folder / "merges.txt"
    if not path.exists():
        raise AssetError(f"{files.folder} has vocab.json and no merges.txt")
    lines = read_text(path).split("\n")
    pairs = [line.split(" ") for line in lines if line and not line.startswith("#version")]
    return [(left, right) for left, right in pairs]


def _defaults(files: TokenizerFiles, **tokens: str | None) -> None:
    for key, token in tokens.items():
        files.options.setdefault(key, token)


def _bert(files: TokenizerFiles) -> Tokenizer:
    _defaults(files, unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]", mask_token="[MASK]")
    strip = files.options.get("strip_accents")
    if strip is not None and not isinstance(strip, bool):
        raise AssetError(f"{files.config}: field 'strip_accents' is {strip!r}, not a bool or null")
    tokenizer = Tokenizer(
        models.WordPiece(_vocabulary(files, "vocab.txt"), unk_token=text_of(files.options["unk_token"]))
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


def _byte_level(files: TokenizerFiles) -> models.BPE:
    return models.BPE(
        vocab=_vocabulary(files, "vocab.json"),
        merges=_merges(files),
        dropout=None,
        continuing_subword_prefix="",
        end_of_word_suffix="",
        fuse_unk=False,
    )


def _gpt2(files: TokenizerFiles) -> Tokenizer:
    end = "<|endoftext|>"
    _defaults(files, unk_token=end, bos_token=end, eos_token=end, pad_token=None)
    tokenizer = Tokenizer(_byte_level(files))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=files.flag("add_prefix_space", False))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _roberta(files: TokenizerFiles) -> Tokenizer:
    _defaults(
        files, bos_token="<s>", eos_token="</s>", sep_token="</s>", cls_token="<s>", unk_token="<unk>",
        pad_token="<pad>", mask_token="<mask>",
    )  # fmt: skip
    tokenizer = Tokenizer(_byte_level(files))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=files.flag("add_prefix_space", False))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _qwen2(files: TokenizerFiles) -> Tokenizer:
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


def _llama(files: TokenizerFiles) -> Tokenizer:
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


def _gemma(files: TokenizerFiles) -> Tokenizer:
    _defaults(files, unk_token="<unk>", bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", mask_token="<mask>")
    tokenizer = Tokenizer(
        models.BPE(
            vocab=_vocabulary(files, "vocab.json"),
            merges=_merges(files),
            fuse_unk=True,
            unk_token=text_of(files.options["unk_token"]),
            dropout=None,
            byte_fallback=True,
        )
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous", invert=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def _unigram(files: TokenizerFiles, unk_id: int, pieces: list[tuple[str, float]] | None = None) -> Tokenizer:
    """Words by white space, each with a ▁ before it, cut by a Unigram model. `pieces` instead of the file's own."""
    if files.filed:
        vocabulary = files.filed.get("model", {}).get("vocab")
        if not isinstance(vocabulary, list):
            raise AssetError(f"{files.folder / 'tokenizer.json'}: the vocabulary is not that of a Unigram model")
        pieces = [(piece, score) for piece, score in vocabulary]
        charsmap = _charsmap(files.filed.get("normalizer"))
    elif files.model is not None and files.model.unigram:
        pieces, charsmap = pieces or files.model.scores(), files.model.charsmap
    else:
        raise AssetError(f"{files.folder} has neither tokenizer.json nor a SentencePiece model of type unigram")
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=unk_id, byte_fallback=False))
    if charsmap:
        tokenizer.normalizer = normalizers.Precompiled(charsmap)
    space = files.flag("add_prefix_space", True)
    metaspace: Mapping[str, Any] = {"replacement": "▁", "prepend_scheme": "always" if space else "never"}
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(**metaspace)
    ])  # fmt: skip
    tokenizer.decoder = decoders.Metaspace(**metaspace)
    return tokenizer


def _charsmap(normalizer: Any) -> bytes | None:
    """The compiled character map among the filed normalizers."""
    steps = normalizer.get("normalizers", [normalizer]) if isinstance(normalizer, dict) else []
    found = (step["precompiled_charsmap"] for step in steps if step.get("type") == "Precompiled")
    text = next(found, None)
    return None if text is None else base64.b64decode(text)


def _t5(files: TokenizerFiles) -> Tokenizer:
    _defaults(files, eos_token="</s>", unk_token="<unk>", pad_token="<pad>")
    extra = files.options.get("extra_special_tokens") or []
    if not any("<extra_id_" in text_of(token) for token in extra):
        count = files.options.get("extra_ids", _T5_SENTINELS)
        files.options["extra_special_tokens"] = [*extra, *(f"<extra_id_{index}>" for index in range(count))]
    files.options.pop("add_prefix_space", None)
    pieces = None
    if files.model is not None:  # the sentinels, which the model lacks, follow its pieces, the last first
        sentinels = [f"<extra_id_{index}>" for index in reversed(range(_T5_SENTINELS))]
        known = files.model.vocabulary()
        pieces = files.model.scores() + [(token, 0.0) for token in sentinels if token not in known]
    return _unigram(files, unk_id=2, pieces=pieces)


def _xlm_roberta(files: TokenizerFiles) -> Tokenizer:
    _defaults(
        files, bos_token="<s>", eos_token="</s>", sep_token="</s>", cls_token="<s>", unk_token="<unk>",
        pad_token="<pad>", mask_token="<mask>",
    )  # fmt: skip
    pieces = None
    if files.model is not None:  # fairseq's ids: four special tokens before the pieces, one after them
        special = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")]
        pieces = [*special, *files.model.scores()[3:], ("<mask>", 0.0)]
    return _unigram(files, unk_id=3, pieces=pieces)


CLASSES: dict[str, Callable[[TokenizerFiles], Tokenizer]] = {
    "BertTokenizer": _bert,
    "GPT2Tokenizer": _gpt2,
    "GemmaTokenizer": _gemma,
    "LlamaTokenizer": _llama,
    "Qwen2Tokenizer": _qwen2,
    "RobertaTokenizer": _roberta,
    "T5Tokenizer": _t5,
    "XLMRobertaTokenizer": _xlm_roberta,
}


def own_post_processor(tokenizer: Tokenizer, files: TokenizerFiles, name: str) -> Any:
    """The post-processor that the class fixes, whatever is filed; None for a class that fixes none."""

    def id_of(key: str) -> tuple[str, int]:
        token = text_of(files.options[key])
        index = tokenizer.token_to_id(token)
        if index is None:
            raise AssetError(f"{files.folder}: the vocabulary lacks the special token {token!r}")
        return token, index

    if name == "BertTokenizer":
        ids = [id_of("cls_token"), id_of("sep_token")]
        cls, sep = ids[0][0], ids[1][0]
        return processors.TemplateProcessing(
            single=f"{cls}:0 $A:0 {sep}:0", pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1", special_tokens=ids
        )
    if name == "RobertaTokenizer":
        return processors.RobertaProcessing(
            id_of("sep_token"),
            id_of("cls_token"),
            files.flag("trim_offsets", True),
            files.flag("add_prefix_space", False),
        )
    if name == "T5Tokenizer":
        end = ("</s>", id_of("eos_token")[1])
        return processors.TemplateProcessing(
            single=["$A", "</s>"], pair=["$A", "</s>", "$B", "</s>"], special_tokens=[end]
        )
    if name == "XLMRobertaTokenizer":
        bos, eos = id_of("bos_token"), id_of("eos_token")
        return processors.TemplateProcessing(
            single=[bos[0], "$A", eos[0]], pair=[bos[0], "$A", eos[0], eos[0], "$B", eos[0]], special_tokens=[bos, eos]
        )
    return None
