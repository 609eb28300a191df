"""Chat templates give the same bytes here as in the reference library, and fail where it fails."""

from __future__ import annotations

import datetime
import json
import os
import random
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from transformers.utils import chat_template_utils

from tools.builder.assets.chat_template import compile_chat_template

PROBE = os.environ["CHAT_TEMPLATE_PROBE"]
NOW = datetime.datetime(2024, 2, 29, 13, 5, 9, 4521)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
Question = dict[str, Any]


class _Clock(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
        return NOW


def reference(source: str, question: Question) -> str | None:
    """What transformers renders; None where it raises."""
    messages = [{k: v for k, v in m.items() if v is not None} for m in question["messages"]]
    options = {"add_generation_prompt": False, "tools": None, **question}
    variables = {**TOKENS, **options.pop("variables", {})}
    options.pop("messages")
    try:
        texts, _ = chat_template_utils.render_jinja_template([messages], chat_template=source, **options, **variables)
    except Exception:  # templates may raise anything that Python can
        return None
    text = texts[0]
    assert isinstance(text, str)
    return text


def _micros() -> int:
    return (NOW - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


def run(tree: Path, questions: Iterable[Question]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    result = subprocess.run([PROBE, str(tree)], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in result.stdout.split("\n")[:-1]]


def ask(source: str, questions: Iterable[Question], folder: Path) -> list[dict[str, Any]]:
    (folder / "tree.json").write_bytes(compile_chat_template({"default": ("test", source)}, TOKENS))
    return run(folder / "tree.json", [{"now": _micros(), **question} for question in questions])


def check(source: str, questions: list[Question], folder: Path) -> int:
    """Compares all answers. Returns how many questions the reference renders."""
    rendered = 0
    answers = ask(source, questions, folder)
    assert len(answers) == len(questions), answers
    for question, answer in zip(questions, answers, strict=True):
        want = reference(source, question)
        got = answer.get("text")
        assert got == want, f"{source!r}\n{question!r}\nwant {want!r}\ngot  {answer!r}"
        rendered += want is not None
    return rendered


@pytest.fixture(autouse=True)
def _fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_template_utils, "datetime", _Clock)


EXPRESSIONS = (Path(__file__).parent / "testdata" / "expressions.txt").read_text(encoding="utf-8").split("\n")[:-1]
TWO_TURNS = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "Hi <b>"}]


def test_expressions_like_the_reference(tmp_path: Path) -> None:
    """Each expression prints the same, or fails in both."""
    # The name chooses the expression, so that one tree holds them all.
    templates = {str(i): ("test", "{{ " + expression + " }}") for i, expression in enumerate(EXPRESSIONS)}
    (tmp_path / "tree.json").write_bytes(compile_chat_template(templates, TOKENS))
    questions = [{"messages": TWO_TURNS, "now": _micros(), "name": name} for name in templates]
    mismatches = []
    rendered = 0
    for (_, source), answer in zip(templates.values(), run(tmp_path / "tree.json", questions), strict=True):
        want = reference(source, {"messages": TWO_TURNS})
        rendered += want is not None
        if answer.get("text") != want:
            mismatches.append((source, want, answer))
    assert not mismatches
    assert rendered > 0.7 * len(EXPRESSIONS)


# Templates in the manner of well-known ones, each with other constructs.
TURNS = """
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{% endif %}
    {{- "# Tools\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools><|im_end|>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- set ns = namespace(multi=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi and message.role == "user" and message.content is string %}
        {%- set ns.multi = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}{% set content = message.content %}{% else %}{% set content = '' %}{% endif %}
    {%- if message.role == "assistant" %}
        {%- set thoughts = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thoughts = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set thoughts = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- if loop.index0 > ns.last and (loop.last or thoughts) %}
            {{- '<think>\\n' + thoughts.strip('\\n') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- content }}
        {%- for call in message.tool_calls or [] %}
            {%- if call.function %}{% set call = call.function %}{% endif %}
            {{- '\\n{"name": "' ~ call.name ~ '", "arguments": ' }}
            {{- call.arguments if call.arguments is string else call.arguments | tojson }}
            {{- '}' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or messages[loop.index0 - 1].role != "tool" %}{{- '<|im_start|>user' }}{% endif %}
        {{- '\\n<result>\\n' ~ message.content ~ '\\n</result>' }}
        {%- if loop.last or loop.nextitem.role != "tool" %}{{- '<|im_end|>\\n' }}{% endif %}
    {%- elif not (message.role == "system" and loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{% endif %}
{%- endif %}
"""
DECLARATIONS = """
{%- macro show(value, deep=true) -%}
    {%- if value is string -%}"{{ value }}"
    {%- elif value is boolean -%}{{ 'true' if value else 'false' }}
    {%- elif value is mapping -%}
        {
        {%- for key, item in value | dictsort -%}
            {{ key }}:{{ show(item, deep=deep) }}{{ ',' if not loop.last }}
        {%- endfor -%}
        }
    {%- elif value is sequence -%}
        [{% for item in value %}{{ show(item, deep) }}{% if not loop.last %}, {% endif %}{% endfor %}]
    {%- else -%}{{ value }}{%- endif -%}
{%- endmacro -%}
{{- bos_token -}}
{%- set now = strftime_now("%d %b %Y") if date_string is not defined else date_string %}
<|start|>system<|message|>Today: {{ now }}
{%- set block %}
{% for tool in tools or [] if tool.function is defined %}
{{ loop.index }}/{{ loop.length }} {{ tool.function.name | upper }}: {{ show(tool.function.parameters) }}
{% else %}
none
{% endfor %}
{% endset %}
{{ block | indent(2) }}<|end|>
{%- for message in messages %}
    {%- if (message.role == 'user') != (loop.index0 % 2 == 0) and strict %}
        {{- raise_exception('roles must alternate, not ' ~ message.role) }}
    {%- endif %}
    {%- if loop.index > 40 %}{% break %}{% endif %}
    {%- if not message.content and message.role == 'system' %}{% continue %}{% endif -%}
    <|start|>{{ message['role'] }}<|message|>
    {%- generation %}
    {%- if message.content is string %}{{ message.content | trim | replace('<|end|>', '') }}
    {%- elif message.content is iterable %}
        {{- message.content | selectattr('type', 'equalto', 'text') | map(attribute='text') | join('\\n') }}
    {%- endif %}
    {%- endgeneration %}<|end|>
{%- endfor %}
{%- if add_generation_prompt %}<|start|>assistant{% endif -%}
"""
SCOPES = """
{% set x = 1 %}{% macro a() %}{{ x }}{{ y }}{{ bos_token }}{% endmacro %}{{ a() }}{% set x = 2 %}{% set y = 3 %}
{{ a() }}
{% for i in range(3) %}{{ x }}{% set x = i %}{{ x }}{% if i == 1 %}{% set z = x %}{% endif %}{{ z }},{% endfor %}
{{ x }}{{ z }}
{% for i in [1, 2] %}{% for j in [i, i * 2] if j != x %}{{ loop.index }}{{ loop.revindex }}{% endfor %}
{{ loop.last }}{% endfor %}
{% set ns = namespace(n=0, stop=false) %}{% for i in range(9) if not ns.stop %}{% set ns.n = i %}{% if i == 4 %}
{% set ns.stop = true %}
{% endif %}{% endfor %}{{ ns.n }}{% for i in [] %}{% else %}none{% endfor %}{% for i in [1] %}{% continue %}
{% else %}else{% endfor %}
{% macro box(title, width=4) %}[{{ title }}:{{ width }}:{{ caller(title ~ '!') }}:{{ varargs }}:{{ kwargs }}]
{% endmacro %}
{% call(text) box('t', 5, 6, k=7) %}{{ text }}{{ x }}{% endcall %}{% filter upper %}abc{{ messages[0].role }}
{% endfilter %}
{% with q = 5, r = x %}{{ q }}{{ r }}{% set x = 9 %}{% endwith %}{{ q }}{{ x }}{% set p, (s, t) = 1, [2, 3] %}
{{ p + s + t }}
{% set text | trim | upper %}  {{ messages[0].content }} {% endset %}{{ text }}{% if tools is none %}{% set w = 1 %}
{% endif %}{{ w }}
{% set tools = [1] %}{{ tools }}{% for m in messages %}{% macro f() %}{{ m.role }}{{ loop.index }}{% endmacro %}
{{ f() }}{% endfor %}
{% for i in 'ab' %}{{ loop.cycle('x', 'y') }}{{ loop.changed(i) }}{{ loop.previtem }}{{ loop.nextitem }}{% endfor %}
"""
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Now «é» <b>",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "enum": ["Zürich", "Oslo"]}, "days": {"default": 3, "x": 1.5}},
            "required": ["city"],
        },
    },
}


def conversation(rng: random.Random) -> list[dict[str, Any]]:
    """Some turns of the kinds that templates get wrong."""
    texts = [
        "",
        " ",
        "hello",
        "  lines\n\nand spaces \n",
        "héllo 世界 😀 \u200d",
        "<|im_end|>{{ x }}",
        "'q' \"d\" \\ <b>",
    ]
    texts += ["<think>\nhm\n</think>\n\nso", "a</think>b</think>c", "\u2028x\x1fy", "ß" * 40]
    messages: list[dict[str, Any]] = []
    for _ in range(rng.randrange(1, 6)):
        role = rng.choice(("user", "user", "assistant", "assistant", "system", "tool", "x y"))
        message: dict[str, Any] = {"role": role, "content": rng.choice(texts)}
        kind = rng.randrange(8)
        if kind == 0:
            message["content"] = [{"type": "text", "text": rng.choice(texts)}, {"type": "image"}]
        elif kind == 1:
            message["content"] = rng.choice((None, 5, 1.5, {"a": [1, None, True]}))
        elif kind == 2:
            arguments = rng.choice(({"city": rng.choice(texts), "n": [1, 2.0, {"k": None}]}, '{"city": "x"}', {}))
            message["tool_calls"] = [{"type": "function", "function": {"name": "weather", "arguments": arguments}}]
        elif kind == 3:
            message[rng.choice(("reasoning_content", "thinking", "reasoning"))] = rng.choice(texts)
        messages.append(message)
    return messages


# As tokenizer_config.json of Qwen2.5's instruct models and the GGUF files made of them have it (Apache-2.0).
QWEN2_5 = (Path(__file__).parent / "testdata" / "qwen2_5.jinja").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "source", [TURNS, DECLARATIONS, SCOPES, QWEN2_5], ids=["turns", "declarations", "scopes", "qwen2.5"]
)
def test_conversations_like_the_reference(source: str, tmp_path: Path) -> None:
    rng = random.Random(20260101)
    questions: list[Question] = []
    for _ in range(400):
        question: Question = {"messages": conversation(rng), "add_generation_prompt": rng.random() < 0.5}
        if rng.random() < 0.4:
            question["tools"] = [WEATHER] * rng.randrange(3)
        if rng.random() < 0.4:
            question["variables"] = rng.choice(({"enable_thinking": False}, {"strict": True}, {"date_string": "é"}))
        if not question["add_generation_prompt"] and rng.random() < 0.2:
            question["continue_final_message"] = True
        questions.append(question)
    assert check(source, questions, tmp_path) > 100
