"""The named tests, as the measures declare them."""

from __future__ import annotations

from caltest.htests.base import NamedTest
from caltest.measures import REGISTRY as MEASURES

REGISTRY: dict[str, NamedTest] = {
    key: NamedTest(key, measure, fixed)
    for measure in MEASURES.values()
    for key, fixed in measure.declared_tests().items()
}
