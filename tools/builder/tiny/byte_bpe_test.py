import functools
import json

import pytest
import tokenizers

from tools.builder.tiny import byte_bpe
from tools.builder.tiny.text import TEXT

STRINGS = ["The river rises", "  two  spaces\n\nand lines", "12345 tickets, isn't it?", "Река 川は 🚢 e\u0301", ""]


@functools.cache
def load(dialect: str, size: int = 512) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(json.dumps(byte_bpe.make(dialect, size, TEXT)))


@pytest.mark.parametrize("dialect", byte_bpe.DIALECTS)
@pytest.mark.parametrize("text", STRINGS)
def test_DecodesWhatItEncodes(dialect: str, text: str) -> None:
    tokenizer = load(dialect)
    want = tokenizers.normalizers.NFC().normalize_str(text) if dialect == "qwen2" else text
    assert tokenizer.decode(tokenizer.encode(text).ids) == want


@pytest.mark.parametrize("dialect", byte_bpe.DIALECTS)
def test_FillsTheVocabularyAndEndsWithTheSpecialTokens(dialect: str) -> None:
    tokenizer = load(dialect)
    special = byte_bpe.SPECIAL[dialect]
    assert tokenizer.get_vocab_size() == 512
    assert [tokenizer.token_to_id(name) for name in special] == list(range(512 - len(special), 512))


@pytest.mark.parametrize("dialect", byte_bpe.DIALECTS)
def test_WordsOfTheTextBecomeLongTokens(dialect: str) -> None:
    assert "Ġriver" in load(dialect).get_vocab()


def test_DialectsSplitDigitsTheirOwnWay() -> None:
    pieces = {d: [p for p, _ in load(d).pre_tokenizer.pre_tokenize_str("x 12345")] for d in byte_bpe.DIALECTS}
    assert pieces["gpt2"] == ["x", "Ġ12345"]
    assert pieces["qwen2"] == ["x", "Ġ", "1", "2", "3", "4", "5"]
    assert pieces["llama3"] == ["x", "Ġ", "123", "45"]


def test_Llama3BeginsEveryText() -> None:
    tokenizer = load("llama3")
    assert tokenizer.encode("a").tokens[0] == "<|begin_of_text|>"
    assert tokenizer.encode("a", add_special_tokens=False).tokens == ["a"]


def test_RefusesAVocabularyWithoutRoomForBytes() -> None:
    with pytest.raises(ValueError, match="vocab_size is 258; qwen2 needs at least 259"):
        byte_bpe.make("qwen2", 258, TEXT)
    assert load("qwen2", 259).get_vocab_size() == 259


def test_MergesOfASmallTextAreTheMostFrequentPairs() -> None:
    merges = byte_bpe.make("gpt2", 256 + 1 + 2, "aab aab ab")["model"]["merges"]
    assert merges == [["a", "b"], ["a", "ab"]]
