"""Writes what chat_template_fuzz begins with, one input on each line: trees, conversations and options.

    chat_template_fuzz_seeds EXPRESSIONS OUT

EXPRESSIONS has an expression on each line; with the statements below, every kind of node and every function, filter and
test of the trees is reached.
"""

import json
import sys
from pathlib import Path

from tools.builder.assets.chat_template import compile_chat_template

TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
STATEMENTS = [
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}<|end|>{% endfor %}",
    "{% for m in messages if m.role != 'tool' %}{{ loop.index }}{{ m.content }}{% else %}none{% endfor %}",
    "{% for a, (b, c) in [(1, [2, 3])] %}{{ a + b * c }}{{ loop.last }}{{ loop.cycle('x', 'y') }}{% endfor %}",
    "{% for m in messages %}{% if loop.index > 2 %}{% break %}{% elif not m.content %}{% continue %}"
    "{% else %}.{% endif %}{{ loop.changed(m.role) }}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}",
    "{% macro show(v, deep=true) %}{% if v is mapping %}{% for k, i in v | dictsort %}{{ k }}:{{ show(i) }}{% endfor %}"
    "{% elif v is string %}{{ v }}{% elif v is iterable %}{% for i in v %}{{ show(i, deep) }}{% endfor %}"
    "{% else %}{{ v }}{% endif %}{% endmacro %}{{ show(messages) }}{{ show(tools) }}",
    "{% macro box(title, width=4) %}[{{ title }}:{{ caller(title ~ '!') }}:{{ varargs }}:{{ kwargs }}]{% endmacro %}"
    "{% call(text) box('t', 5, 6, k=7) %}{{ text }}{% endcall %}",
    "{% set ns = namespace(n=0, stop=false) %}{% for i in range(9) if not ns.stop %}{% set ns.n = i %}{% endfor %}"
    "{{ ns.n }}",
    "{% set block | trim | upper %} {{ messages[0].content }} {% endset %}{{ block | indent(2) }}",
    "{% filter upper %}abc{{ messages[0].role }}{% endfilter %}",
    "{% with q = 5, r = messages %}{{ q }}{{ r | length }}{% endwith %}{% set p, (s, t) = 1, [2, 3] %}{{ p + s + t }}",
    "{%- generation %}{{ messages[-1].content }}{%- endgeneration %}{{ strftime_now('%d %b %Y') }}",
    "{{ messages[::-1] | map(attribute='role') | join(',') }}"
    "{{ messages | selectattr('role', 'equalto', 'user') | list }}",
    "{{ raise_exception('roles must alternate, not ' ~ messages[0].role) }}",
    "{% for tool in tools or [] %}{{ tool | tojson(indent=2) }}{% endfor %}{{ messages | tojson }}",
    "{% for m in messages %}{{ m.content.split('</think>')[-1].lstrip('\\n') if m.content is string }}{% endfor %}",
]
MESSAGES = [
    [
        {"role": "user", "content": " hello <|end|> é\n"},
        {"role": "assistant", "content": "a</think>b", "thinking": "hm"},
    ],
    [
        {"role": "system", "content": None},
        {"role": "user", "content": [{"type": "text", "text": "世界 😀"}, {"type": "image"}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"n": [1, 2.5, {"k": None}]}}}]},
        {"role": "tool", "content": {"a": [1, True]}},
    ],
]
OPTIONS = [
    {"add_generation_prompt": True, "tools": [{"function": {"name": "weather", "parameters": {"required": ["city"]}}}]},
    {"continue_final_message": True, "variables": {"enable_thinking": False, "x": [1, "a", {"b": -3}]}},
]


def main(expressions: Path, out: Path) -> None:
    lines = expressions.read_text(encoding="utf-8").split("\n")[:-1]
    sources = STATEMENTS + ["{{ " + line + " }}" for line in lines]
    with out.open("wb") as file:
        for i, source in enumerate(sources):
            tree = compile_chat_template({"default": ("seed", source)}, TOKENS).rstrip(b"\n")
            rest = [json.dumps(choices[i % len(choices)]).encode() for choices in (MESSAGES, OPTIONS)]
            file.write(b"\xff".join([tree, *rest]) + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
