"""What is public, and the page of each name and key; tests/contract/test_docs.py reads it too."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import caltest
from caltest import calibrators, comparison, htests, lenses, measures, nulls, planning, results
from caltest.testing import strategies

# Modules that give public objects to users, though they are not in `caltest.__all__`.
MORE_MODULES = (results, comparison, planning, strategies)


METHODS = (classmethod, staticmethod)


@dataclass(frozen=True)
class Entry:
    """A public name: `module` is where users find it."""

    module: str
    name: str
    value: object

    @property
    def path(self) -> str:
        """The name as users write it, and that of the page."""
        return f"{self.module}.{self.name}"

    @property
    def directive(self) -> str:
        """The directive of autodoc that documents it."""
        if isinstance(self.value, nulls.Null):
            return "null"
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, Exception) else "class"
        return "function" if inspect.isroutine(self.value) else "data"

    @cached_property
    def claim(self) -> str:
        """The first sentence of the docstring, or the title of a null."""
        if isinstance(self.value, nulls.Null):
            return f"{self.value.title[0].upper()}{self.value.title[1:]}."
        return " ".join((inspect.getdoc(self.value) or "").split("\n\n")[0].split())

    @cached_property
    def owners(self) -> dict[str, type]:
        """Public methods and properties of a class, with the class of caltest that defines each."""
        found: dict[str, type] = {}
        for base in self.value.__mro__ if inspect.isclass(self.value) else ():
            if base.__module__.startswith("caltest"):
                for name in vars(base):
                    if name not in found and _is_member(base, name):
                        found[name] = base
        return dict(sorted(found.items()))

    @property
    def own_members(self) -> list[str]:
        """The members that the class itself defines."""
        return [name for name, owner in self.owners.items() if owner is self.value]

    def kind_of(self, member: str) -> str:
        """The directive of autodoc for a member."""
        value = inspect.getattr_static(self.value, member)
        if isinstance(value, (property, cached_property)):
            return "property"
        return "method" if callable(value) or isinstance(value, METHODS) else "attribute"


def _is_member(owner: type, name: str) -> bool:
    value = inspect.getattr_static(owner, name)
    kinds = (types.FunctionType, classmethod, staticmethod, property, cached_property)
    if name.startswith("_") or not isinstance(value, kinds):
        return False
    return bool(inspect.getdoc(getattr(owner, name)))


def entries() -> Iterator[Entry]:
    """Yield every public object once, under the shortest name."""
    own = [name for name in caltest.__all__ if name != "__version__"]
    modules = {name: getattr(caltest, name) for name in own}
    modules = {name: value for name, value in modules.items() if inspect.ismodule(value)}
    seen = set()
    for name in own:
        if name not in modules:
            seen.add(id(getattr(caltest, name)))
            yield Entry("caltest", name, getattr(caltest, name))
    for module in (*modules.values(), *MORE_MODULES):
        for name in names_of(module):
            null = nulls.REGISTRY.get(name.replace("_", "-")) if module is nulls else None
            value = getattr(module, name) if null is None else null
            if id(value) not in seen:
                seen.add(id(value))
                yield Entry(module.__name__, name, value)


def names_of(module: types.ModuleType) -> list[str]:
    """Public names of a module but its registry; with what has no public name but a key."""
    names = [name for name in module.__all__ if name not in {"REGISTRY", "strategies"}]
    if module is measures:
        names += [cls.__name__ for cls in without_function()]
    if module is nulls:
        names += [key.replace("-", "_") for key in nulls.REGISTRY]
    return names


def without_function() -> list[type]:
    """Return the measures that are known by their key alone, such as that of the test "vasicek"."""
    return [cls for cls in measures.REGISTRY.values() if not hasattr(measures, cls.function_name())]


def page_of_key(kind: str, key: str) -> str:
    """Return the API page of a registry's key, as in `page_of_key("lenses", "strong")`."""
    if kind == "lenses":
        return f"caltest.lenses.{lenses.REGISTRY[key].__name__}"
    if kind == "calibrators":
        return f"caltest.calibrators.{calibrators.REGISTRY[key].__name__}"
    if kind == "nulls":
        return f"caltest.nulls.{key.replace('-', '_')}"
    cls = htests.REGISTRY[key].measure if kind == "tests" else measures.REGISTRY[key]
    if cls in without_function():
        return f"caltest.measures.{cls.__name__}"
    return f"caltest.measures.{cls.function_name()}"
