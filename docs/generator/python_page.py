#!/usr/bin/python3
"""The reference of the Python package, from the signatures and docstrings of its modules. They are read, not run.

    python_page.py PACKAGE DOCS            writes DOCS/reference/python.md from the modules in PACKAGE
    python_page.py --check PACKAGE DOCS    exits with 1 where that differs, or where something public has no docstring

What is public: names of _NAMES in __init__.py, and what modules of MODULES define without an underscore. A class has the
public methods of its private bases.
"""
import ast
import functools
import os
import re
import sys

PAGE = "reference/python.md"
MODULES = ("privacy", "silos", "dask")
MADE_BY_CALLS = {"FittedRun", "Evaluation", "PartialSum", "PersonCounts", "Session", "Model"}  # nobody makes one by its class
HEAD = """<!-- written by docs/generator/python_page.py -->
# The Python package

This page lists every function and class of the package, from the docstrings. [Use dpreduce from
Python](../how-to/use-from-python.md) shows how they work together. Options of a fit are keywords of `DPClassifier`, `fit`
and `Plan`: [all of them](options.md), with `-` as `_`.
"""


class Undocumented(Exception):
    pass


@functools.cache
def tree_of(package, module):
    """A module's syntax tree and its source."""
    with open(os.path.join(package, module + ".py"), encoding="utf-8") as file:
        source = file.read()
    return ast.parse(source), source


def public_names(package):
    """{name: module}, in the order of _NAMES."""
    for node in tree_of(package, "__init__")[0].body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "_NAMES":
            return ast.literal_eval(node.value)
    sys.exit(f"{package}/__init__.py: has no _NAMES")


def docstring(node, name):
    if not ast.get_docstring(node):
        raise Undocumented(f"{name} has no docstring")
    expression = node.body[0]
    margin = " " * expression.col_offset
    return "\n".join(line.removeprefix(margin) for line in expression.value.value.strip().splitlines())


def as_markdown(text):
    """A docstring as Markdown: an underlined heading in bold, and what stands above a description as an item."""
    lines, out = text.splitlines(), []
    for place, line in enumerate(lines):
        following = lines[place + 1] if place + 1 < len(lines) else ""
        item = re.fullmatch(r"(\w+)( : .+)?", line)
        if re.fullmatch(r"-{3,}", line):
            continue
        if re.fullmatch(r"-{3,}", following):
            out += ["", f"**{line}**", ""]
        elif item and following.startswith("    "):
            out.append(f"- `{item[1]}`{item[2] or ''}:")
        elif item and item[2]:
            out += ["", f"`{item[1]}`{item[2]}"]
        else:
            out.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def parameters(arguments):
    """The parameters of a function, one word each, as they are written."""
    def word(argument, default=None, stars=""):
        kind = f": {ast.unparse(argument.annotation)}" if argument.annotation else ""
        return f"{stars}{argument.arg}{kind}" + (f" = {ast.unparse(default)}" if default else "")

    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    words = list(map(word, arguments.args, defaults))
    if arguments.vararg or arguments.kwonlyargs:
        words.append(word(arguments.vararg, stars="*") if arguments.vararg else "*")
    words += map(word, arguments.kwonlyargs, arguments.kw_defaults)
    return words + ([word(arguments.kwarg, stars="**")] if arguments.kwarg else [])


def signature(name, node, has_self=False):
    """The call, with types where they are given, and without self."""
    words = parameters(node.args)[has_self:]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    told = f"{name}({', '.join(words)}){returned}"
    if len(told) > 100:
        told = f"{name}(\n    " + ",\n    ".join(words) + f",\n){returned}"
    return "```python\n" + re.sub(r"\b(typing|os|numpy|np|_core)\.(?=[A-Z])", "", told) + "\n```"


def marks(node):
    return {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}


def is_public(node):
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")


def methods(node, classes):
    """{name: node} of a class with those of its private bases, its own first."""
    found = {child.name: child for child in node.body if isinstance(child, ast.FunctionDef)}
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes:
            found = {**methods(classes[base.id], classes), **found} if base.id.startswith("_") else found
    return found


def fields(node, source):
    """The fields of a data class, as they stand in its source."""
    own = [child for child in node.body if isinstance(child, ast.AnnAssign)]
    lines = source.splitlines()[own[0].lineno - 1:own[-1].end_lineno] if own and node.decorator_list else []
    return ["```python\n" + "\n".join(line[4:].replace("#:", "#") for line in lines) + "\n```"] if lines else []


def described(name, node, classes, source, shown, level=2):
    """The section of a function or a class, with its methods but for those that stand in `shown` already."""
    out = [f"{'#' * level} {name}"]
    if isinstance(node, ast.FunctionDef):
        return out + [signature(node.name, node), as_markdown(docstring(node, name))]
    own = methods(node, classes)
    if "__init__" in own and node.name not in MADE_BY_CALLS:
        out.append(signature(node.name, own["__init__"], has_self=True))
    out += [as_markdown(docstring(node, name)), *fields(node, source)]
    for method, child in own.items():
        if method.startswith("_") or child in shown:
            continue
        shown.add(child)
        out.append(f"{'#' * (level + 1)} {node.name}.{method}")
        if "property" not in marks(child):
            out.append(signature(method, child, has_self="staticmethod" not in marks(child)))
        out.append(as_markdown(docstring(child, f"{node.name}.{method}")))
    return out


def classes_of(package, module):
    """{name: node} of a module's classes, and of what it imports as private ones."""
    found = {}
    for node in tree_of(package, module)[0].body:
        if isinstance(node, ast.ImportFrom) and any(re.match("_[A-Z]", name.name) for name in node.names):
            found |= classes_of(package, node.module)
        if isinstance(node, ast.ClassDef):
            found[node.name] = node
    return found


def page(package):
    out, errors, shown = [HEAD.strip()], [], set()
    for name, module in public_names(package).items():
        tree, source = tree_of(package, module)
        classes = classes_of(package, module)
        node = next(node for node in tree.body if getattr(node, "name", None) == name)
        if module == "errors":
            errors.append((name, ", ".join(f"`{ast.unparse(base)}`" for base in node.bases), " ".join(docstring(node, name).split())))
        else:
            out += described(f"dpreduce.{name}", node, classes, source, shown)
    out += ["## Errors and warnings", "\n".join(["| name | is a | what |", "|---|---|---|"] +
                                                 [f"| `{name}` | {bases} | {told} |" for name, bases, told in errors])]
    for module in MODULES:
        tree, source = tree_of(package, module)
        out += [f"## dpreduce.{module}", as_markdown(docstring(tree, f"dpreduce.{module}"))]
        classes = classes_of(package, module)
        for node in filter(is_public, tree.body):
            out += described(f"dpreduce.{module}.{node.name}", node, classes, source, shown, 3)
    return "\n\n".join(out) + "\n"


def main(arguments):
    is_check = arguments[:1] == ["--check"]
    if len(arguments) != 2 + is_check:
        sys.exit(__doc__)
    package, docs = arguments[-2:]
    path = os.path.join(docs, PAGE)
    try:
        text = page(package)
    except Undocumented as fault:
        sys.exit(f"{package}: {fault}")
    now = None
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            now = file.read()
    if now == text:
        return 0
    if is_check:
        print(f"{path} is out of date: docs/generator/python_page.py python/dpreduce docs writes it anew")
        return 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
