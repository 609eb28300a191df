import functools
import json

import pytest
import tokenizers

from tools.builder.tiny import wordpiece
from tools.builder.tiny.text import TEXT


@functools.cache
def load(size: int = 512) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(json.dumps(wordpiece.make(size, TEXT)))


def test_TextsStandBetweenClsAndSep() -> None:
    encoding = load().encode("The river", "RISES")
    assert encoding.tokens[0] == "[CLS]" and encoding.tokens.count("[SEP]") == 2
    assert encoding.tokens[1] == "the" and encoding.type_ids[-1] == 1


def test_KnownWordsAreWholeAndOthersInPieces() -> None:
    assert load().encode("the", add_special_tokens=False).tokens == ["the"]
    pieces = load().encode("theriver", add_special_tokens=False).tokens
    assert len(pieces) > 1 and all(p.startswith("##") for p in pieces[1:]) and "[UNK]" not in pieces


def test_UnknownCharactersAreUnk() -> None:
    assert load().encode("☃", add_special_tokens=False).tokens == ["[UNK]"]


def test_PaddingIsTokenZero() -> None:
    assert [load().token_to_id(name) for name in wordpiece.SPECIAL] == [0, 1, 2, 3, 4]


def test_StaysWithinTheVocabulary() -> None:
    assert load(400).get_vocab_size() == 400
    with pytest.raises(ValueError, match="vocab_size is 50; the characters of the text need"):
        wordpiece.make(50, TEXT)
