"""Every result of the runtime's tokenizer against the tokenizers library: no mismatch is allowed."""

import json
import os
import random
import struct
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenizers import (
    AddedToken,
    Encoding,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

HERE = Path(__file__).parent
PROBE = os.environ["TOKENIZER_PROBE"]
SENTENCES = (HERE / "testdata" / "sentences.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
FUZZED = 2000

GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def fuzzed_text(rng: random.Random, tokens: Sequence[str]) -> str:
    """Up to 12 fragments of the kinds that tokenizers get wrong."""
    kinds: list[Callable[[], str]] = [
        lambda: rng.choice(SENTENCES)[: rng.randrange(40)],
        lambda: "".join(
            chr(
                rng.choice(
                    (
                        0x300,
                        0x301,
                        0x308,
                        0x323,
                        0x327,
                        0x345,
                        0x5B0,
                        0x64B,
                        0x93C,
                        0x94D,
                        0xE38,
                        0x1D165,
                        0x302A,
                        0x3099,
                        0x1AB0,
                        0x20D0,
                        0xFE20,
                        0xF71,
                        0xF72,
                        0xF74,
                        0xF80,
                    )
                )
            )
            for _ in range(rng.randrange(1, 5))
        ),
        lambda: rng.choice("aAeEoOuUnNçÇşŞıİßſKÅΩΣσς") + chr(rng.randrange(0x300, 0x370)),
        lambda: rng.choice(("👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪🇫🇷", "☃️", "1️⃣", "😀😃")),
        lambda: chr(rng.randrange(0x20)) + chr(rng.randrange(0x7F, 0xA1)),
        lambda: rng.choice(
            (
                " ",
                "  ",
                "\t",
                "\n",
                "\r\n",
                "\n\n ",
                "\u00a0",
                "\u2003",
                "\u3000",
                "\u200b",
                "\u180e",
                "\ufeff",
                "\u2028",
                "\u0085",
                "\u202f",
                "   \n",
            )
        ),
        lambda: "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(rng.randrange(1, 6))),
        lambda: "".join(chr(rng.randrange(0x5D0, 0x700)) for _ in range(rng.randrange(1, 6))),
        lambda: "".join(chr(rng.randrange(0x900, 0xE80)) for _ in range(rng.randrange(1, 6))),
        lambda: "".join(chr(rng.randrange(0x1100, 0x1200)) for _ in range(rng.randrange(1, 4))),
        lambda: chr(rng.randrange(0xAC00, 0xD7A4)) + chr(rng.randrange(0x1160, 0x11FF)),
        lambda: rng.choice(("\\ud800", "\\uDFFF", "\ufffd", "\U0010ffff", "\ue000", "\x00")),
        lambda: str(rng.randrange(10**9)) + rng.choice(("", "½", "²", "٣", "Ⅷ", "𝟘")),
        lambda: rng.choice(("'s", "'S", "'ſ", "'LL", "'re", "n't", " 'm", " ' ", "’s", "'d'd")),
        lambda: rng.choice(("...", "!?", "--", "<|", "|>", "[", "##", "$€", "«»", "、。", "#@", "``", "_a_", "~^")),
        lambda: rng.choice(tokens),
        lambda: " " + rng.choice(tokens) + "  ",
        lambda: rng.choice("aЖ字") * rng.randrange(1, 180),
        lambda: "".join(chr(rng.choice((rng.randrange(1, 0xD800), rng.randrange(0xE000, 0x110000)))) for _ in range(4)),
        lambda: "".join(chr(rng.randrange(0xA0, 0x3400)) for _ in range(4)),
        lambda: "".join(chr(rng.randrange(0xA640, 0xABFF)) for _ in range(3)),
        lambda: "".join(chr(rng.randrange(0xF900, 0x10000)) for _ in range(3)),
        lambda: "".join(chr(rng.randrange(0x10000, 0x20000)) for _ in range(3)),
    ]
    return "".join(rng.choice(kinds)() for _ in range(rng.randrange(13)))


def train(pre_tokenizer: pre_tokenizers.PreTokenizer, *, vocab_size: int = 1500, **model: Any) -> Tokenizer:
    """A byte-level BPE tokenizer of the sentences."""
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return tokenizer


def split(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )


def gpt2() -> Tokenizer:
    tokenizer = train(pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return tokenizer


def roberta() -> Tokenizer:
    tokenizer = train(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_special_tokens(["<s>", "</s>", "<pad>", AddedToken("<mask>", lstrip=True, special=True)])
    ids = {t: tokenizer.token_to_id(t) for t in ("<s>", "</s>")}
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    tokenizer.enable_truncation(40)
    return tokenizer


def llama3() -> Tokenizer:
    tokenizer = train(split(LLAMA3), ignore_merges=True)
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>"])
    bos = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=True),
            processors.TemplateProcessing(
                single="<|begin_of_text|> $A",
                pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                special_tokens=[("<|begin_of_text|>", bos)],
            ),
        ]
    )
    return tokenizer


def qwen() -> Tokenizer:
    tokenizer = train(split(QWEN))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>", "<|endoftext|>"])
    tokenizer.add_tokens(
        [
            AddedToken("<think>", normalized=False),
            AddedToken("</think>", normalized=False),
            AddedToken("Tool", single_word=True, normalized=True),
            AddedToken("é", normalized=True),
            AddedToken("<r>", rstrip=True, normalized=False),
        ]
    )
    return tokenizer


def o200k() -> Tokenizer:
    return train(split(O200K), vocab_size=900)


def llama2() -> Tokenizer:
    """SentencePiece's BPE: spaces as U+2581, unknown characters as bytes."""
    fallback = {f"<0x{b:02X}>": 3 + b for b in range(256)}
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    trainer = trainers.BpeTrainer(
        vocab_size=1000, special_tokens=["<unk>", "<s>", "</s>", *fallback], limit_alphabet=150, show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer = Tokenizer.from_str(json.dumps(without_added(json.loads(tokenizer.to_str()), set(fallback))))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    return tokenizer


def bpe_unknown() -> Tokenizer:
    """SentencePiece's BPE where neighbours that are unknown become one token."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=["<unk>"], limit_alphabet=60, show_progress=False)
    tokenizer.train_from_iterator([s.replace(" ", "▁") for s in SENTENCES], trainer)
    return tokenizer


def without_added(tokenizer: dict[str, Any], tokens: set[str]) -> dict[str, Any]:
    tokenizer["added_tokens"] = [t for t in tokenizer["added_tokens"] if t["content"] not in tokens]
    return tokenizer


def wordpiece(normalizer: normalizers.Normalizer, pre_tokenizer: pre_tokenizers.PreTokenizer) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=60))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer.train_from_iterator(
        SENTENCES, trainers.WordPieceTrainer(vocab_size=1500, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = decoders.WordPiece(cleanup=True)
    return tokenizer


def bert_cased() -> Tokenizer:
    tokenizer = wordpiece(normalizers.BertNormalizer(lowercase=False), pre_tokenizers.BertPreTokenizer())
    tokenizer.enable_padding(direction="left", pad_id=0, pad_token="[PAD]", length=24)
    tokenizer.enable_truncation(30, strategy="longest_first", direction="left")
    return tokenizer


def nfkc_whitespace() -> Tokenizer:
    return wordpiece(
        normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase(), normalizers.Strip()]),
        pre_tokenizers.Whitespace(),
    )


def nfkd_digits() -> Tokenizer:
    return wordpiece(
        normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Replace(Regex(r"\d+"), "0")]),
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.WhitespaceSplit(),
                pre_tokenizers.Digits(individual_digits=False),
                pre_tokenizers.Punctuation("merged_with_previous"),
            ]
        ),
    )


def metaspace() -> Tokenizer:
    tokenizer = wordpiece(normalizers.NFD(), pre_tokenizers.Metaspace(prepend_scheme="first"))
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return tokenizer


def contiguous() -> Tokenizer:
    return wordpiece(
        normalizers.StripAccents(),
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(r"\s+|\w\b"), "contiguous"),
                pre_tokenizers.Split("e", "merged_with_next"),
                pre_tokenizers.Split(Regex(r"\w+"), "removed", invert=True),
                pre_tokenizers.ByteLevel(True),
            ]
        ),
    )


def unigram(*, byte_fallback: bool = False) -> Tokenizer:
    special = ["<pad>", "</s>", "<unk>", *([f"<0x{b:02X}>" for b in range(256)] if byte_fallback else [])]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=1200, unk_token="<unk>", special_tokens=special, shrinking_factor=0.5, show_progress=False
    )
    tokenizer.train_from_iterator(SENTENCES[::2], trainer)
    fields = json.loads(tokenizer.to_str())
    fields["model"]["byte_fallback"] = byte_fallback
    return Tokenizer.from_str(json.dumps(without_added(fields, set(special[3:]))))


def t5() -> Tokenizer:
    """SentencePiece's unigrams, with a normalizer of one cluster and one code point, and scripts apart."""
    tokenizer = unigram()
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), precompiled({"e\u0301": "E", "\u00a0": " ", "a": "aa", "\u0e33": "\u0e4d\u0e32"})]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.UnicodeScripts(), pre_tokenizers.Metaspace(prepend_scheme="first")]
    )
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))]
    )
    return tokenizer


def unigram_bytes() -> Tokenizer:
    tokenizer = unigram(byte_fallback=True)
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(), decoders.Fuse()])
    return tokenizer


def precompiled(replacements: dict[str, str]) -> normalizers.Precompiled:
    """SentencePiece's format: a double-array trie of the keys, and the replacements."""
    text = b""
    units: dict[int, int] = {}
    children: dict[bytes, set[int]] = {}
    values: dict[bytes, int] = {}
    for key, replacement in replacements.items():
        raw = key.encode()
        values[raw] = len(text)
        text += replacement.encode() + b"\0"
        for i, byte in enumerate(raw):
            children.setdefault(raw[:i], set()).add(byte)
    bases = {prefix: 256 * (i + 1) for i, prefix in enumerate(sorted({*children, *values}))}
    units[0] = bases[b""] << 10
    for prefix, base in bases.items():
        if prefix in values:
            units[base] = 1 << 31 | values[prefix]
        for byte in children.get(prefix, ()):
            child = prefix + bytes([byte])
            units[base ^ byte] = (base ^ byte ^ bases[child]) << 10 | byte | (256 if child in values else 0)
    array = [units.get(i, 0) for i in range(256 * (len(bases) + 1))]
    trie = struct.pack(f"<{len(array)}I", *array)
    return normalizers.Precompiled(struct.pack("<I", len(trie)) + trie + text)


def wordlevel() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.CharDelimiterSplit(" "), pre_tokenizers.FixedLength(length=4)]
    )
    trainer = trainers.WordLevelTrainer(vocab_size=900, special_tokens=["[UNK]", "<pad>", "|"], show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.decoder = decoders.CTC(pad_token="<pad>", word_delimiter_token="|", cleanup=True)
    return tokenizer


def minilm() -> Tokenizer:
    """The file of the real checkpoint all-MiniLM-L6-v2."""
    return Tokenizer.from_file(next(p for p in os.environ["CHECKPOINT"].split() if p.endswith("/tokenizer.json")))


def real() -> list[Callable[[], Tokenizer]]:
    """The tokenizer.json files that REAL_TOKENIZERS names, each after the second folder above it."""

    def reader(path: str) -> Callable[[], Tokenizer]:
        def read() -> Tokenizer:
            return Tokenizer.from_file(path)

        read.__name__ = Path(path).parent.parent.name.rpartition("tokenizer_")[2]
        return read

    return [reader(p) for p in os.environ.get("REAL_TOKENIZERS", "").split()]


FAMILIES = real() or [
    minilm,
    gpt2,
    roberta,
    llama3,
    qwen,
    o200k,
    llama2,
    bpe_unknown,
    bert_cased,
    nfkc_whitespace,
    nfkd_digits,
    metaspace,
    contiguous,
    t5,
    unigram_bytes,
    wordlevel,
]


def ask(tokenizer: Tokenizer, questions: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    (folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
    lines = "".join(json.dumps(q) + "\n" for q in questions)
    result = subprocess.run(
        [PROBE, str(folder / "tokenizer.json")], input=lines, capture_output=True, text=True, check=True
    )
    answers = [json.loads(line) for line in result.stdout.split("\n")[:-1]]
    assert len(answers) == len(questions), answers
    return answers


def fields(encoding: Encoding) -> dict[str, Any]:
    return {
        "ids": encoding.ids,
        "type_ids": encoding.type_ids,
        "attention_mask": encoding.attention_mask,
        "special_tokens_mask": encoding.special_tokens_mask,
        "char_offsets": [list(o) for o in encoding.offsets],
    }


def expected(tokenizer: Tokenizer, question: dict[str, Any]) -> dict[str, Any]:
    tokenizer.encode_special_tokens = question.get("plain", False)
    encoding = tokenizer.encode(question["encode"], question.get("pair"), add_special_tokens=question["special"])
    return fields(encoding)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_encodes_and_decodes_like_the_reference(family: Callable[[], Tokenizer], tmp_path: Path) -> None:
    tokenizer = family()
    added = [t.content for t in tokenizer.get_added_tokens_decoder().values()] or ["<s>"]
    rng = random.Random(20260101)
    texts = SENTENCES + [fuzzed_text(rng, added) for _ in range(FUZZED)]
    questions: list[dict[str, Any]] = [
        {"encode": text, "special": i % 3 != 0, **({"pair": texts[-i]} if i % 5 == 1 else {"plain": i % 5 == 2})}
        for i, text in enumerate(texts)
    ]
    mismatches = []
    ids = []
    for question, answer in zip(questions, ask(tokenizer, questions, tmp_path), strict=True):
        want = expected(tokenizer, question)
        ids.append(want["ids"])
        got = {key: answer.get(key) for key in want}
        if got != want:
            mismatches.append((question, {k: (got[k], want[k]) for k in want if got[k] != want[k]}))
    assert not mismatches, f"{len(mismatches)} of {len(questions)}: {mismatches[:3]!r}"

    size = tokenizer.get_vocab_size()
    ids += [[rng.randrange(size + 3) for _ in range(rng.randrange(30))] for _ in range(FUZZED)]
    questions = [{"decode": each, "skip": i % 2 == 0} for i, each in enumerate(ids)]
    for question, answer in zip(questions, ask(tokenizer, questions, tmp_path), strict=True):
        want_text = tokenizer.decode(question["decode"], skip_special_tokens=question["skip"])
        if answer["text"] != want_text:
            mismatches.append((question, answer["text"], want_text))
        assert "".join(answer["stream"]) == answer["text"]
    assert not mismatches, f"{len(mismatches)} of {len(questions)}: {mismatches[:3]!r}"


@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_the_windows_of_a_long_text_are_those_of_the_reference(
    family: Callable[[], Tokenizer], direction: str, tmp_path: Path
) -> None:
    tokenizer = family()
    tokenizer.encode_special_tokens = False
    tokenizer.enable_truncation(12, stride=3, direction=direction)
    rng = random.Random(20260101)
    texts = SENTENCES[:100] + [fuzzed_text(rng, ["<s>"]) for _ in range(100)]
    questions: list[dict[str, Any]] = [{"encode": text, "special": True, "stride": 3} for text in texts]
    windows = 0
    for question, answer in zip(questions, ask(tokenizer, questions, tmp_path), strict=True):
        want = tokenizer.encode(question["encode"])
        got = [{key: each[key] for key in fields(want)} for each in [answer, *answer["overflowing"]]]
        assert got == [fields(each) for each in [want, *want.overflowing]], question
        windows += len(want.overflowing)
    assert windows > 100
