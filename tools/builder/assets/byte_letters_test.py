"""The letters are those of the tokenizers library."""

from tokenizers.pre_tokenizers import ByteLevel

from tools.builder.assets.byte_letters import byte_letters, spelled


def test_TheyAreTheByteLevelsAlphabet() -> None:
    assert sorted(byte_letters()) == sorted(ByteLevel.alphabet())


def test_ATextIsSpelledAsTheByteLevelSpellsIt() -> None:
    text = "a b\n\u00e9\u65e5\U0001f600~\u00ad"
    (want,) = (piece for piece, _ in ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text))
    assert spelled(text.encode(), byte_letters()) == want
