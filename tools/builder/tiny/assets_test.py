from typing import Any

import pytest

from tools.builder.tiny import assets


def decoder(tokenizer: str) -> dict[str, Any]:
    return assets.make(tokenizer, 512, 64, 256)


@pytest.mark.parametrize("tokenizer", ["gpt2", "qwen2", "llama3"])
def test_SpecialTokensHaveTheirRoles(tokenizer: str) -> None:
    files = decoder(tokenizer)
    names = {token["id"]: token["content"] for token in files["tokenizer.json"]["added_tokens"]}
    generation, settings = files["generation_config.json"], files["tokenizer_config.json"]
    ends = generation["eos_token_id"]
    assert names[ends[0] if isinstance(ends, list) else ends] == settings["eos_token"]
    assert names[generation["pad_token_id"]] == settings["pad_token"]
    assert ("bos_token_id" in generation) == ("bos_token" in settings) == (tokenizer != "qwen2")
    assert settings["model_max_length"] == 256


def test_ChatModelsHaveATemplateAndTheBaseModelNone() -> None:
    assert "<|im_start|>" in decoder("qwen2")["tokenizer_config.json"]["chat_template"]
    assert "<|eot_id|>" in decoder("llama3")["tokenizer_config.json"]["chat_template"]
    assert "chat_template" not in decoder("gpt2")["tokenizer_config.json"]


def test_EmbeddingModelsSayHowTheyPool() -> None:
    files = assets.make("wordpiece", 512, 48, 64)
    assert files["1_Pooling/config.json"]["word_embedding_dimension"] == 48
    assert [m["type"].rsplit(".")[-1] for m in files["modules.json"]] == ["Transformer", "Pooling", "Normalize"]
    assert files["sentence_bert_config.json"]["max_seq_length"] == 64
