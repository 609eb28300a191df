"""Which template a checkpoint has follows transformers, and what the runtime lacks fails the build by line and name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tools.builder.assets.chat_template import chat_template, compile_chat_template
from tools.builder.assets.jinja_tree import compile_template, environment
from tools.builder.assets.jinja_vocabulary import BLOCKED_METHODS, FILTERS, METHODS, REFERENCE_METHODS, TESTS
from tools.builder.assets.reading import AssetError


def _write(folder: Path, **files: Any) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def _texts(asset: bytes | None) -> dict[str, str]:
    """The literal text of templates that are nothing else."""
    assert asset is not None
    return {name: tree["body"][0]["items"][0]["value"] for name, tree in json.loads(asset)["templates"].items()}


def test_no_template_gives_no_asset(tmp_path: Path) -> None:
    assert chat_template(_write(tmp_path, tokenizer_config_DOT_json={"eos_token": "x"}), {}) is None


def test_a_text_in_the_tokenizer_config(tmp_path: Path) -> None:
    folder = _write(tmp_path, tokenizer_config_DOT_json={"chat_template": "a"})
    assert _texts(chat_template(folder, {})) == {"default": "a"}


def test_a_list_in_the_tokenizer_config(tmp_path: Path) -> None:
    templates = [{"name": "default", "template": "a"}, {"name": "tool_use", "template": "b"}]
    asset = chat_template(_write(tmp_path, tokenizer_config_DOT_json={"chat_template": templates}), {})
    assert _texts(asset) == {"default": "a", "tool_use": "b"}


def test_files_go_before_the_tokenizer_config(tmp_path: Path) -> None:
    folder = _write(
        tmp_path,
        tokenizer_config_DOT_json={"chat_template": "a"},
        chat_template_DOT_jinja="b",
        additional_chat_templates__rag_DOT_jinja="c",
    )
    assert _texts(chat_template(folder, {})) == {"default": "b", "rag": "c"}


def test_the_file_of_a_processor_comes_last(tmp_path: Path) -> None:
    folder = _write(tmp_path, chat_template_DOT_json={"chat_template": "p"})
    assert _texts(chat_template(folder, {})) == {"default": "p"}
    _write(tmp_path, tokenizer_config_DOT_json={"chat_template": "a"})
    assert _texts(chat_template(folder, {})) == {"default": "a"}


def test_the_special_tokens_are_variables(tmp_path: Path) -> None:
    folder = _write(tmp_path, tokenizer_config_DOT_json={"chat_template": "a"})
    asset = chat_template(folder, {"bos_token": "<s>", "image_token": "<i>"})
    assert asset is not None
    assert json.loads(asset)["tokens"] == {"bos_token": "<s>", "image_token": "<i>"}


def test_same_template_same_bytes() -> None:
    source = (
        "{% for m in messages %}{% set x = m.role %}{% macro f(a) %}{{ a }}{{ x }}{% endmacro %}{{ f(1) }}{% endfor %}"
    )
    first, second = (compile_chat_template({"default": ("f", source)}, {"b": "1", "a": "2"}) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("\n{{ 'a'|urlize }}", r"line 2: the filter 'urlize' is not supported; supported are abs, "),
        ("\n\n{{ messages|map('pprint')|list }}", "line 3: the filter 'pprint' is not supported"),
        ("{{ messages|select('odder')|list }}", "line 1: the test 'odder' is not supported"),
        ("{% if 1 is odder %}{% endif %}", "line 1: the test 'odder' is not supported"),
        ("a\n{{ 'x'.encode('utf-8') }}", "line 2: the method 'encode' is not supported"),
        ("a\nb\n{{ cycler('a') }}", "line 3: the function 'cycler' is not supported"),
        ("{% for x in y recursive %}{% endfor %}", "line 1: a recursive loop is not supported"),
        ("{% include 'x' %}", "line 1: the statement 'Include' is not supported"),
        ("\n{% block a %}{% endblock %}", "line 2: the statement 'Block' is not supported"),
        ("{{ self.x }}", "line 1: the variable 'self' is not supported"),
        ("{{ 99999999999999999999 }}", "line 1: the number 99999999999999999999 does not fit into 64 bits"),
        ("{{ 1e999 }}", "line 1: an infinite number is not supported"),
        ("a\n{% if x %}", "line 2: Unexpected end of template"),
        ("{% break %}", "Jinja2 cannot compile the template: 'break' outside loop"),
        ("{{ " + "(" * 3000 + ")" * 3000 + " }}", "nested too deeply"),
    ],
)
def test_refuses_what_the_runtime_lacks(source: str, reason: str) -> None:
    with pytest.raises(AssetError, match=reason):
        compile_chat_template({"default": ("tokenizer_config.json", source)}, {})


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (5, "neither text nor templates by name"),
        ([{"name": "a"}], "items lack 'name' or 'template'"),
        ({"a": 1}, "neither text nor templates by name"),
    ],
)
def test_refuses_a_field_that_holds_no_template(tmp_path: Path, value: Any, reason: str) -> None:
    with pytest.raises(AssetError, match=reason):
        chat_template(_write(tmp_path, tokenizer_config_DOT_json={"chat_template": value}), {})


def test_scopes_are_those_of_jinja() -> None:
    """A macro's variable of an outer function is found by how far out it is; a loop's own is not the outer one."""
    tree = compile_template(
        "{% set x = 1 %}{% macro f() %}{{ x }}{% endmacro %}{% for i in y %}{% set x = 2 %}{% endfor %}"
    )
    macro, loop = tree["body"][1]["macro"], tree["body"][2]
    assert macro["body"][0]["items"][0] == {
        "op": "name",
        "name": "x",
        "slot": tree["body"][0]["target"]["slot"],
        "up": 1,
    }
    assert loop["body"][0]["target"]["slot"] != tree["body"][0]["target"]["slot"]
    assert {"slot": loop["body"][0]["target"]["slot"], "copy": tree["body"][0]["target"]} in loop["loads"]


def test_the_vocabulary_names_what_jinja_and_python_have() -> None:
    assert environment().filters.keys() >= FILTERS
    assert environment().tests.keys() >= TESTS
    assert METHODS <= REFERENCE_METHODS
    assert not METHODS & BLOCKED_METHODS
