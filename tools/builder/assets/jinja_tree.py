"""Jinja2 templates as a closed JSON tree whose names are resolved: what `runtime/text/template` interprets.

The template is parsed by Jinja2 itself, in the environment of transformers' `apply_chat_template`, and its scopes are
computed by Jinja2's own symbol tables, in the order in which its compiler does it (jinja2/compiler.py, 3.1): a loop's
variables die with the iteration, an `if` shares the scope around it, a macro sees its definer's variables as they are
when it runs. The tree therefore holds numbered slots in place of names. docs/chat-templates.md describes it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeVar

import jinja2
from jinja2 import nodes
from jinja2.compiler import find_undeclared
from jinja2.ext import Extension, loopcontrols
from jinja2.idtracking import Symbols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tools.builder.assets.jinja_vocabulary import (
    BLOCKED_METHODS,
    FILTERS,
    GLOBALS,
    METHODS,
    REFERENCE_GLOBALS,
    REFERENCE_METHODS,
    TESTS,
)

Tree = dict[str, Any]
Node = TypeVar("Node", bound=nodes.Node)
_BINARY = {
    nodes.Add: "add", nodes.Sub: "sub", nodes.Mul: "mul", nodes.Div: "div", nodes.FloorDiv: "floordiv",
    nodes.Mod: "mod", nodes.Pow: "pow", nodes.And: "and", nodes.Or: "or",
}  # fmt: skip
_UNARY = {nodes.Not: "not", nodes.Neg: "neg", nodes.Pos: "pos"}
_MAX_INT = 2**63


class TemplateError(ValueError):
    """A template that Jinja2 or the runtime cannot take: names the line and the construct."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")


class _Generation(Extension):
    """`{% generation %}`, which marks what the assistant wrote: a call block, as in transformers."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("render"), [], [], body).set_lineno(line)


def environment() -> jinja2.Environment:
    """The environment in which transformers parses chat templates."""
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
    for name in REFERENCE_GLOBALS:
        env.globals.setdefault(name, None)
    return env


def compile_template(source: str) -> Tree:
    """The tree of one template. Raises TemplateError."""
    env = environment()
    try:
        template = env.parse(source)
        env.compile(source)  # finds what only Jinja2's compiler refuses
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(error.lineno, error.message or "is no template") from None
    except SyntaxError as error:  # of the Python that Jinja2 makes: a break outside of a loop
        raise TemplateError(0, f"Jinja2 cannot compile the template: {error.msg}") from None
    except RecursionError:
        raise TemplateError(0, "the template is nested too deeply for Jinja2") from None
    return _Compiler().template(template)


@dataclasses.dataclass(eq=False)
class _Function:
    """What has variables of its own at run time: the template, a macro, a call block, a loop's condition."""

    parent: _Function | None
    slots: dict[str, int] = dataclasses.field(default_factory=dict)

    def slot(self, identifier: str) -> int:
        return self.slots.setdefault(identifier, len(self.slots))


class _Scope:
    """One of Jinja2's frames: its symbols, and the function that holds their slots."""

    def __init__(self, function: _Function, parent: _Scope | None = None) -> None:
        self.function = function
        self.parent = parent
        self.symbols: Symbols = Symbols(parent.symbols if parent else None)

    def inner(self, function: _Function | None = None) -> _Scope:
        return _Scope(function or self.function, self)

    def reference(self, name: str) -> Tree:
        """{"slot": n, "up": functions between here and the slot's, where there are any}"""
        scope: _Scope | None = self
        while scope is not None and name not in scope.symbols.refs:
            scope = scope.parent
        assert scope is not None, f"{name} was not analysed"
        return self._place(scope, scope.symbols.refs[name])

    def _place(self, owner: _Scope, identifier: str) -> Tree:
        up, function = 0, self.function
        while function is not owner.function:
            assert function.parent is not None
            up, function = up + 1, function.parent
        slot = {"slot": function.slot(identifier)}
        return {**slot, "up": up} if up else slot

    def loads(self) -> list[Tree]:
        """What the scope's variables are when it is entered."""
        loads: list[Tree] = []
        for identifier, (action, source) in self.symbols.loads.items():
            load: Tree = {"slot": self.function.slot(identifier)}
            if action == "resolve":
                if source in REFERENCE_GLOBALS and source not in GLOBALS:
                    raise TemplateError(0, f"the function {source!r} is not supported")
                load["context"] = source
            elif action == "alias":
                load["copy"] = self._place_of_identifier(source)
            elif action == "param":
                load["parameter"] = True
            loads.append(load)
        return loads

    def _place_of_identifier(self, identifier: str) -> Tree:
        scope = self.parent
        while scope is not None and identifier not in scope.symbols.refs.values():
            scope = scope.parent
        assert scope is not None
        return self._place(scope, identifier)


class _Compiler:
    """Statements and expressions as JSON. Methods are named after Jinja2's nodes."""

    def __init__(self) -> None:
        self.line = 1

    def template(self, template: nodes.Template) -> Tree:
        if "self" in find_undeclared(template.body, ("self",)):
            raise TemplateError(self._line_of(template, "self"), "the variable 'self' is not supported")
        function = _Function(None)
        scope = _Scope(function)
        scope.symbols.analyze_node(template)
        try:
            loads = scope.loads()
            body = self._body(template.body, scope)
        except TemplateError as error:
            if str(error).startswith("line 0: "):  # a scope knows no line: find the name's
                what = str(error).removeprefix("line 0: ")
                raise TemplateError(self._line_of(template, what.split("'")[1]), what) from None
            raise
        return {"loads": loads, "body": body, "slots": len(function.slots)}

    @staticmethod
    def _line_of(template: nodes.Template, name: str) -> int:
        return next((n.lineno for n in template.find_all(nodes.Name) if n.name == name), template.lineno)

    def _fail(self, what: str) -> NoReturn:
        raise TemplateError(self.line, what)

    # Statements

    def _body(self, statements: Iterable[nodes.Node], scope: _Scope) -> list[Tree]:
        return [self._statement(statement, scope) for statement in statements]

    def _statement(self, node: nodes.Node, scope: _Scope) -> Tree:
        self.line = node.lineno
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None or not isinstance(node, nodes.Stmt):
            self._fail(f"the statement {type(node).__name__!r} is not supported")
        tree: Tree = method(node, scope)
        return {"line": node.lineno, **tree}

    def _Output(self, node: nodes.Output, scope: _Scope) -> Tree:
        return {"do": "output", "items": self._expressions(node.nodes, scope)}

    def _If(self, node: nodes.If, scope: _Scope) -> Tree:
        branches = [
            {"test": self._expression(each.test, scope), "body": self._body(each.body, scope)}
            for each in (node, *node.elif_)
        ]
        return {"do": "if", "branches": branches, "else": self._body(node.else_, scope)}

    def _For(self, node: nodes.For, scope: _Scope) -> Tree:
        if node.recursive:
            self._fail("a recursive loop is not supported")
        inner, otherwise = scope.inner(), scope.inner()
        tree: Tree = {"do": "for"}
        if "loop" in find_undeclared(node.iter_child_nodes(only=("body",)), ("loop",)):
            inner.symbols.declare_parameter("loop")
            tree["loop"] = inner.reference("loop")["slot"]
        inner.symbols.analyze_node(node, for_branch="body")
        otherwise.symbols.analyze_node(node, for_branch="else")
        if node.test is not None:
            function = _Function(scope.function)
            test = scope.inner(function)
            test.symbols.analyze_node(node, for_branch="test")
            tree["filter"] = {
                "loads": test.loads(),
                "target": self._target(node.target, test),
                "test": self._expression(node.test, test),
                "slots": len(function.slots),
            }
        tree["items"] = self._expression(node.iter, scope)
        tree["target"] = self._target(node.target, inner)
        tree["loads"], tree["body"] = inner.loads(), self._body(node.body, inner)
        tree["else_loads"], tree["else"] = otherwise.loads(), self._body(node.else_, otherwise)
        return tree

    def _Macro(self, node: nodes.Macro, scope: _Scope) -> Tree:
        return {"do": "macro", "target": scope.reference(node.name)["slot"], "macro": self._function(node, scope)}

    def _CallBlock(self, node: nodes.CallBlock, scope: _Scope) -> Tree:
        block = self._function(node, scope)
        if isinstance(node.call.node, nodes.ExtensionAttribute):
            return {"do": "generation", "macro": block}
        return {"do": "call", "macro": block, "call": self._expression(node.call, scope)}

    def _function(self, node: nodes.Macro | nodes.CallBlock, scope: _Scope) -> Tree:
        """CodeGenerator.macro_body."""
        function = _Function(scope.function)
        inner = scope.inner(function)
        inner.symbols.analyze_node(node)
        names = [argument.name for argument in node.args]
        undeclared = find_undeclared(node.body, ("caller", "kwargs", "varargs"))
        tree: Tree = {"name": getattr(node, "name", None)}
        for special in ("caller", "kwargs", "varargs"):
            if special in undeclared and special not in names:
                inner.symbols.declare_parameter(special)
                tree[special] = inner.reference(special)["slot"]
        if "caller" in undeclared and "caller" in names:
            self._fail("a macro's parameter named 'caller' is not supported")
        inner.symbols.analyze_node(node)
        tree["loads"] = inner.loads()
        first = len(names) - len(node.defaults)
        tree["parameters"] = [
            {"name": name, "slot": inner.reference(name)["slot"]}
            | ({"default": self._expression(node.defaults[i - first], inner)} if i >= first else {})
            for i, name in enumerate(names)
        ]
        tree["body"] = self._body(node.body, inner)
        tree["slots"] = len(function.slots)
        return tree

    def _FilterBlock(self, node: nodes.FilterBlock, scope: _Scope) -> Tree:
        inner = scope.inner()
        inner.symbols.analyze_node(node)
        tree = {"do": "filter", "loads": inner.loads(), "body": self._body(node.body, inner)}
        return {**tree, "filter": self._expression(node.filter, inner)}

    def _With(self, node: nodes.With, scope: _Scope) -> Tree:
        inner = scope.inner()
        inner.symbols.analyze_node(node)
        bindings = [
            {"target": self._target(target, inner), "value": self._expression(value, scope)}
            for target, value in zip(node.targets, node.values, strict=True)
        ]
        return {"do": "with", "loads": inner.loads(), "bindings": bindings, "body": self._body(node.body, inner)}

    def _Assign(self, node: nodes.Assign, scope: _Scope) -> Tree:
        return {"do": "set", "target": self._target(node.target, scope), "value": self._expression(node.node, scope)}

    def _AssignBlock(self, node: nodes.AssignBlock, scope: _Scope) -> Tree:
        inner = scope.inner()
        inner.symbols.analyze_node(node)
        tree: Tree = {"do": "set_block", "loads": inner.loads(), "body": self._body(node.body, inner)}
        if node.filter is not None:
            tree["filter"] = self._expression(node.filter, inner)
        return {**tree, "target": self._target(node.target, scope)}

    def _Break(self, node: nodes.Break, scope: _Scope) -> Tree:
        return {"do": "break"}

    def _Continue(self, node: nodes.Continue, scope: _Scope) -> Tree:
        return {"do": "continue"}

    def _target(self, node: nodes.Node, scope: _Scope) -> Tree:
        if isinstance(node, nodes.Name):
            return {"slot": scope.reference(node.name)["slot"]}
        if isinstance(node, nodes.NSRef):
            return {"namespace": scope.reference(node.name), "attribute": node.attr}
        if isinstance(node, nodes.Tuple):
            return {"items": [self._target(item, scope) for item in node.items]}
        self._fail(f"assigning to {type(node).__name__!r} is not supported")

    # Expressions

    def _expressions(self, expressions: Iterable[nodes.Node], scope: _Scope) -> list[Tree]:
        return [self._expression(expression, scope) for expression in expressions]

    def _expression(self, node: nodes.Node | None, scope: _Scope) -> Tree:
        if node is None:
            return {"op": "captured"}  # the text of a filter block or of a set block with a filter
        if node.lineno:
            self.line = node.lineno
        if type(node) in _BINARY and isinstance(node, nodes.BinExpr):
            left, right = self._expressions((node.left, node.right), scope)
            return {"op": _BINARY[type(node)], "left": left, "right": right}
        if type(node) in _UNARY and isinstance(node, nodes.UnaryExpr):
            return {"op": _UNARY[type(node)], "value": self._expression(node.node, scope)}
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None or isinstance(node, nodes.Stmt):
            self._fail(f"the expression {type(node).__name__!r} is not supported")
        tree: Tree = method(node, scope)
        return tree

    def _TemplateData(self, node: nodes.TemplateData, scope: _Scope) -> Tree:
        return {"op": "const", "value": node.data}

    def _Const(self, node: nodes.Const, scope: _Scope) -> Tree:
        value = node.value
        if isinstance(value, float) and not math.isfinite(value):
            self._fail("an infinite number is not supported")
        if isinstance(value, int) and not -_MAX_INT <= value < _MAX_INT:
            self._fail(f"the number {value} does not fit into 64 bits")
        if isinstance(value, str) and any("\ud800" <= c < "\ue000" for c in value):
            self._fail("a string with a lone surrogate is not supported")
        return {"op": "const", "value": value}

    def _Name(self, node: nodes.Name, scope: _Scope) -> Tree:
        return {"op": "name", "name": node.name, **scope.reference(node.name)}

    def _Tuple(self, node: nodes.Tuple, scope: _Scope) -> Tree:
        return {"op": "tuple", "items": self._expressions(node.items, scope)}

    def _List(self, node: nodes.List, scope: _Scope) -> Tree:
        return {"op": "list", "items": self._expressions(node.items, scope)}

    def _Dict(self, node: nodes.Dict, scope: _Scope) -> Tree:
        pairs = [self._expressions((pair.key, pair.value), scope) for pair in node.items]
        return {"op": "dict", "items": pairs}

    def _CondExpr(self, node: nodes.CondExpr, scope: _Scope) -> Tree:
        tree = {"op": "if", "test": self._expression(node.test, scope), "then": self._expression(node.expr1, scope)}
        return tree if node.expr2 is None else {**tree, "else": self._expression(node.expr2, scope)}

    def _Concat(self, node: nodes.Concat, scope: _Scope) -> Tree:
        return {"op": "concat", "items": self._expressions(node.nodes, scope)}

    def _Compare(self, node: nodes.Compare, scope: _Scope) -> Tree:
        rest = [{"by": operand.op, "value": self._expression(operand.expr, scope)} for operand in node.ops]
        return {"op": "compare", "value": self._expression(node.expr, scope), "rest": rest}

    def _Getattr(self, node: nodes.Getattr, scope: _Scope) -> Tree:
        return {"op": "attribute", "value": self._expression(node.node, scope), "name": node.attr}

    def _Getitem(self, node: nodes.Getitem, scope: _Scope) -> Tree:
        value = self._expression(node.node, scope)
        if isinstance(node.arg, nodes.Slice):
            parts = {"start": node.arg.start, "stop": node.arg.stop, "step": node.arg.step}
            given = {key: self._expression(part, scope) for key, part in parts.items() if part is not None}
            return {"op": "slice", "value": value, **given}
        return {"op": "item", "value": value, "key": self._expression(node.arg, scope)}

    def _Call(self, node: nodes.Call, scope: _Scope) -> Tree:
        if isinstance(node.node, nodes.Getattr):
            name = node.node.attr
            if name in REFERENCE_METHODS and name not in METHODS and name not in BLOCKED_METHODS:
                self._fail(f"the method {name!r} is not supported")
        return {"op": "call", "value": self._expression(node.node, scope), **self._arguments(node, scope)}

    def _Filter(self, node: nodes.Filter, scope: _Scope) -> Tree:
        self._known("filter", node.name, FILTERS)
        self._function_named_by(node, ("map",), 0, "filter", FILTERS)
        self._function_named_by(node, ("select", "reject"), 0, "test", TESTS)
        self._function_named_by(node, ("selectattr", "rejectattr"), 1, "test", TESTS)
        value = self._expression(node.node, scope)
        return {"op": "filter", "name": node.name, "value": value, **self._arguments(node, scope)}

    def _function_named_by(
        self, node: nodes.Filter, filters: Sequence[str], index: int, kind: str, known: Iterable[str]
    ) -> None:
        if node.name in filters and len(node.args) > index and isinstance(name := node.args[index], nodes.Const):
            self._known(kind, name.value, known)

    def _Test(self, node: nodes.Test, scope: _Scope) -> Tree:
        self._known("test", node.name, TESTS)
        value = self._expression(node.node, scope)
        return {"op": "test", "name": node.name, "value": value, **self._arguments(node, scope)}

    def _known(self, kind: str, name: Any, known: Iterable[str]) -> None:
        if name not in known:
            self._fail(f"the {kind} {name!r} is not supported; supported are {', '.join(sorted(known))}")

    def _arguments(self, node: nodes.Call | nodes.Filter | nodes.Test, scope: _Scope) -> Tree:
        tree: Tree = {}
        if node.args:
            tree["positional"] = self._expressions(node.args, scope)
        if node.kwargs:
            tree["named"] = [{"name": k.key, "value": self._expression(k.value, scope)} for k in node.kwargs]
        if node.dyn_args is not None:
            tree["more_positional"] = self._expression(node.dyn_args, scope)
        if node.dyn_kwargs is not None:
            tree["more_named"] = self._expression(node.dyn_kwargs, scope)
        return tree
