"""Public docstrings are complete: every parameter, the return value, an example."""

from __future__ import annotations

import doctest
import inspect
import re
import types
import typing
from typing import Unpack

import caltest
from caltest.htests.run import CalibrationOptions
from caltest.predictions.options import ColumnOptions, Reading

OF_MEASURES = CalibrationOptions.__annotations__.keys() - Reading.__annotations__.keys()


def public_objects():
    """Public classes and functions of caltest and its public modules, by their public name."""
    for name in caltest.__all__:
        value = getattr(caltest, name)
        if isinstance(value, types.ModuleType):
            for inner in getattr(value, "__all__", ()):
                yield f"{name}.{inner}", getattr(value, inner)
        else:
            yield name, value


def is_documented_in_full(value):
    """Leave out errors, registries, and what is there for those who add a measure or a null."""
    if inspect.isclass(value):
        shared = inspect.isabstract(value) or value.__module__.endswith((".base", ".outcome"))
        return not (shared or issubclass(value, Exception))
    return inspect.isfunction(value)


PUBLIC = {name: value for name, value in public_objects() if is_documented_in_full(value)}
METHODS = {
    f"{name}.{attribute}": getattr(value, attribute)
    for name, value in PUBLIC.items()
    if inspect.isclass(value)
    for attribute in dir(value)
    if not attribute.startswith("_") and callable(getattr(value, attribute))
}


def documented_parameters(value):
    """Parameters that the docstring describes, or that of a base class; fields of a result too."""
    docs = [base.__doc__ for base in value.__mro__] if inspect.isclass(value) else [value.__doc__]
    return {name for doc in docs if doc for name in entries(inspect.cleandoc(doc))}


def entries(doc):
    """Names of the entries under Parameters, Other Parameters and Attributes."""
    text = described(doc)
    heads = re.findall(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) ?(?::|$)", text, flags=re.MULTILINE)
    return {name.strip("* ") for head in heads for name in head.split(",")}


def described(doc):
    """Return the text of the sections that have an entry for each parameter."""
    sections = re.split(r"^(\w[\w ]+)\n-{3,}\n", doc, flags=re.MULTILINE)
    bodies = dict(zip(sections[1::2], sections[2::2], strict=True))
    return "".join(
        bodies.get(name, "") for name in ("Parameters", "Other Parameters", "Attributes")
    )


def unpacked(value):
    """Options that a function takes as `**name: Unpack[TypedDict]`, but those of measures."""
    for parameter in inspect.signature(value).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD and "Unpack" in str(parameter.annotation):
            holder = type("Holder", (), {"__annotations__": {"kind": parameter.annotation}})
            (kind,) = typing.get_args(typing.get_type_hints(holder, value.__globals__)["kind"])
            return kind.__annotations__.keys() - OF_MEASURES
    return set()


def mentioned(value):
    """Options that the entry of `**name` lists, or that a function has which it refers to."""
    text = described(inspect.cleandoc(value.__doc__))
    words = re.search(r"^\*\*\w+\n((?: .*\n?)*)", text, flags=re.MULTILINE)
    names = set(re.findall(r"`([\w.]+)=?`", words[1])) if words else set()
    others = [PUBLIC[name] for n in names if (name := n.removeprefix("caltest.")) in PUBLIC]
    return names.union(*(documented_parameters(one) for one in others))


def test_docstring_is_complete(case):
    """A claim in a sentence, every parameter, and a call that runs.

    Of a function also what it returns, and the options that are taken together: listed here or
    where the docstring refers to.
    """
    for name, value in PUBLIC.items():
        doc, known = inspect.getdoc(value) or "", documented_parameters(value)
        with case(name):
            assert doc.split("\n\n")[0].endswith(".")
            assert doctest.DocTestParser().get_examples(doc)
            assert set(inspect.signature(value).parameters) <= known
            if inspect.isfunction(value):
                assert unpacked(value) <= known | mentioned(value)
                assert re.search(r"^Returns\n-{3,}$", doc, re.MULTILINE)


def test_option_without_a_description_is_found():
    """What a docstring leaves out is missed, an argument and a data option."""

    def function(data, own=None, **columns: Unpack[ColumnOptions]):
        """Do it.

        Parameters
        ----------
        data : object
            The data.
        **columns
            Data options: `label`, `features`, `probs`, `classes` and `from_logits`.
        """

    missed = set(inspect.signature(function).parameters) - documented_parameters(function)
    assert missed == {"own"}
    assert unpacked(function) - mentioned(function) == {"renormalize", "ordinal"}


def test_public_method_has_a_docstring():
    """A public method says what it does, itself or in its base class."""
    assert not [name for name, method in METHODS.items() if not inspect.getdoc(method)]
