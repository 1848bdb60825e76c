"""Threads give the results of a loop, in order."""

import importlib
import threading
import time

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info

import caltest
from caltest.numerics.loops import map_threads, one_blas_thread, threads

pytestmark = pytest.mark.loops

TASKS = [(k,) for k in range(8)]


def thread_name(k):
    """Wait a little, so that one thread cannot do all, and say which thread this is."""
    time.sleep(0.01)
    return threading.current_thread().name


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
def test_map_threads_keeps_the_order(n_jobs):

    def slow_first(k):
        time.sleep(0.01 if k == 0 else 0.0)
        return k

    assert list(map_threads(slow_first, TASKS, n_jobs)) == list(range(8))


def test_map_threads_uses_threads_where_jobs_are_several():
    """With one job it is lazy."""
    seen = []
    results = map_threads(seen.append, TASKS, 1)
    assert seen == []
    next(iter(results))
    assert seen == [0]
    assert set(map_threads(thread_name, TASKS, None)) == {threading.current_thread().name}
    assert len(set(map_threads(thread_name, TASKS, 2))) == 2


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_map_threads_honours_parallel_config(backend):
    """`n_jobs=None` takes the number of jobs of `joblib.parallel_config`, as threads always."""
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert len(set(map_threads(thread_name, TASKS, None))) == 2


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_map_threads_gives_blas_one_thread_inside(n_jobs):
    """The last bits of a product depend on its threads, and must not depend on n_jobs."""

    def blas_threads(k):
        return max((pool["num_threads"] for pool in _blas_pools()), default=1)

    before = [pool["num_threads"] for pool in _blas_pools()]
    assert set(map_threads(blas_threads, TASKS, n_jobs)) == {1}
    assert [pool["num_threads"] for pool in _blas_pools()] == before


def test_map_threads_passes_errors_on():

    def fail(k):
        raise RuntimeError(f"task {k}")

    with pytest.raises(RuntimeError, match=r"task \d"):
        list(map_threads(fail, TASKS, 2))


def test_who_leaves_last_gives_blas_its_threads_back():
    """Of two that overlap, as tests in two threads of a process do, the first leaves first."""
    before = [pool["num_threads"] for pool in _blas_pools()]
    one, other = one_blas_thread(), threads(None)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert {pool["num_threads"] for pool in _blas_pools()} == {1}
    other.__exit__(None, None, None)
    assert [pool["num_threads"] for pool in _blas_pools()] == before


def test_a_model_predicts_with_all_threads_that_blas_has():
    """And the test of its predictions runs with one."""
    importlib.import_module("scipy.linalg")  # has a BLAS of its own
    before, found = {pool["num_threads"] for pool in _blas_pools()}, []

    class Model:
        def predict_proba(self, X):
            found.append({pool["num_threads"] for pool in _blas_pools()})
            return np.full((len(X), 2), 0.5)

    def half(probs, labels):
        found.append({pool["num_threads"] for pool in _blas_pools()})
        return 0.5

    caltest.test_calibration(Model(), np.zeros((9, 1)), [0, 1] * 4 + [0], test=half, n_resamples=9)
    assert found[0] == before
    assert all(some == {1} for some in found[1:])


def _blas_pools():
    return [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
