"""text-embedding.json says what sentence-transformers' files say, or the build fails naming the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools.builder.assets.reading import AssetError
from tools.builder.assets.text_embedding import text_embedding

TRANSFORMER = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
POOLING = {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
NORMALIZE = {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}
MEAN = {"word_embedding_dimension": 8, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}


def _folder(folder: Path, **changes: Any) -> Path:
    """A sentence-transformers checkpoint; a change of None removes the file."""
    files: dict[str, Any] = {
        "config.json": {"model_type": "bert", "max_position_embeddings": 512},
        "modules.json": [TRANSFORMER, POOLING, NORMALIZE],
        "1_Pooling/config.json": MEAN,
        "sentence_bert_config.json": {"max_seq_length": 256, "do_lower_case": False},
        **changes,
    }
    for name, content in files.items():
        if content is not None:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(json.dumps(content))
    return folder


def test_mean_pooling_and_normalisation(tmp_path: Path) -> None:
    assert text_embedding(_folder(tmp_path)) == {"max_tokens": 256, "normalize": True, "pooling": "mean"}


def test_no_normalize_module_means_no_normalisation(tmp_path: Path) -> None:
    assert text_embedding(_folder(tmp_path, **{"modules.json": [TRANSFORMER, POOLING]}))["normalize"] is False


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True, "include_prompt": True}, "last"),
        ({"embedding_dimension": 8, "pooling_mode": "mean"}, "mean"),
    ],
)
def test_pooling_modes(tmp_path: Path, config: dict[str, Any], pooling: str) -> None:
    assert text_embedding(_folder(tmp_path, **{"1_Pooling/config.json": config}))["pooling"] == pooling


def test_defaults_of_a_plain_checkpoint(tmp_path: Path) -> None:
    plain = {"modules.json": None, "1_Pooling/config.json": None, "sentence_bert_config.json": None}
    folder = _folder(tmp_path, **plain, **{"tokenizer_config.json": {"model_max_length": 128}})
    assert text_embedding(folder) == {"max_tokens": 128, "normalize": True, "pooling": "mean"}


@pytest.mark.parametrize("limit", [1e30, 10**30, float("inf"), float("nan"), -1, "512"])
def test_an_absurd_tokenizer_limit_leaves_the_position_table(tmp_path: Path, limit: Any) -> None:
    folder = _folder(
        tmp_path, **{"sentence_bert_config.json": None, "tokenizer_config.json": {"model_max_length": limit}}
    )
    assert text_embedding(folder)["max_tokens"] == 512


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "'pooling_mode_max_tokens' is true"),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}, "exactly one of"),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False}, "no field is true"),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": 1}, "'pooling_mode_mean_tokens' is 1, not of type bool"),
        ("1_Pooling/config.json", {**MEAN, "layers": 3}, "'layers' is not known"),
        ("1_Pooling/config.json", {"pooling_mode": "max"}, "'pooling_mode' is 'max'"),
        ("modules.json", [TRANSFORMER, POOLING, {"type": "sentence_transformers.models.Dense"}], "Dense"),
        ("modules.json", {"a": 1}, "not a list of modules"),
        ("modules.json", [TRANSFORMER, {**POOLING, "path": "../x"}], "outside the checkpoint"),
        (
            "sentence_bert_config.json",
            {"max_seq_length": 1024},
            "'max_seq_length' is 1024, beyond the model's 512 positions",
        ),
        ("sentence_bert_config.json", {"max_seq_len": 1}, "'max_seq_len' is not known"),
        (
            "config_sentence_transformers.json",
            {"prompts": {"q": "query: "}, "default_prompt_name": "q"},
            "'default_prompt_name' is 'q'",
        ),
    ],
)
def test_refuses_what_it_cannot_express(tmp_path: Path, file: str, content: Any, reason: str) -> None:
    with pytest.raises(AssetError, match=reason) as caught:
        text_embedding(_folder(tmp_path, **{file: content}))
    assert file in str(caught.value)


def test_refuses_a_checkpoint_that_states_no_limit(tmp_path: Path) -> None:
    folder = _folder(tmp_path, **{"config.json": {}, "sentence_bert_config.json": None})
    with pytest.raises(AssetError, match="no file states the longest input"):
        text_embedding(folder)
