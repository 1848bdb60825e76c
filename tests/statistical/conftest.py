"""Fixtures of the tests of rates."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Give BLAS one thread: the matrices are small, and the machine may be busy."""
    with threadpool_limits(1):
        yield
