"""Each rule of the layering catches its breach and lets its neighbour pass."""

import pytest

from tools.lint import layers

_PUBLIC = {
    "mconnect/tensor.h": "runtime/base/include/mconnect/tensor.h",
    "mconnect/model.h": "runtime/api/include/mconnect/model.h",
}


@pytest.mark.parametrize(
    ("path", "layer"),
    [
        ("runtime/base/file.h", "base"),
        ("runtime/base/include/mconnect/tensor.h", "base"),
        ("runtime/engine/openvino/core.cc", "engine/openvino"),
        ("runtime/engine/testing/fake.h", "engine"),
        ("tools/x.cc", None),
        ("runtime/x.cc", None),
    ],
)
def test_layer_of_path(path: str, layer: str | None) -> None:
    assert layers.layer_of(path) == layer


@pytest.mark.parametrize(
    ("path", "include", "breach"),
    [
        ("runtime/base/file.cc", "runtime/bundle/bundle.h", True),
        ("runtime/engine/engine.h", "runtime/engine/openvino/core.h", True),
        ("runtime/text/tokenizer.cc", "mconnect/model.h", True),
        ("runtime/text/tokenizer.cc", "mconnect/tensor.h", False),
        ("runtime/bundle/bundle.cc", "runtime/base/file.h", False),
        ("runtime/cli/main.cc", "mconnect/model.h", False),
        ("examples/main.cc", "runtime/cli/console.h", False),
        ("runtime/base/json.cc", "nlohmann/json.hpp", False),
    ],
)
def test_include_of_a_higher_layer_is_a_breach(path: str, include: str, breach: bool) -> None:
    assert bool(list(layers.includes(path, f'#include "{include}"\n', _PUBLIC))) is breach


@pytest.mark.parametrize(
    ("path", "line", "breach"),
    [
        ("families/bert/bert.py", "from families.gpt2 import gpt2", True),
        ("families/bert/bert.py", "import tools.mconnect.main", True),
        ("families/bert/bert.py", "from tools import mconnect", True),
        ("families/bert/bert.py", "from . import helper", True),
        ("families/bert/bert.py", "from tools.builder import graph", False),
        ("families/bert/bert.py", "from tools import builder", False),
        ("families/bert/bert.py", "import numpy", False),
        ("families/bert/bert_test.py", "from families.bert import bert", False),
        ("families/bert/bert_test.py", "from families.gpt2 import gpt2", True),
        ("tools/builder/graph.py", "from families.bert import bert", True),
        ("tools/builder/graph.py", "from tools.mconnect import main", True),
        ("tools/mconnect/main.py", "from tools.builder import graph", False),
    ],
)
def test_import_outside_the_rules_is_a_breach(path: str, line: str, breach: bool) -> None:
    assert bool(list(layers.imports(path, line + "\n"))) is breach


def test_check_resolves_public_headers_by_their_owner() -> None:
    files = {
        "runtime/api/include/mconnect/model.h": "",
        "runtime/text/tokenizer.cc": '#include "mconnect/model.h"\n',
        "families/a/a.py": "import families.b.b\n",
    }
    breaches = layers.check(list(files), files.__getitem__)
    assert len(breaches) == 2
    assert "runtime/text/tokenizer.cc" in breaches[0]
    assert "families/a/a.py:1" in breaches[1]
