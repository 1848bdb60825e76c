"""The law of the statistic of the calibration belt against the formulas of givitiR."""

import math

import pytest
from scipy.integrate import quad
from scipy.stats import chi2

from caltest.measures.recalibration.belt_fit import Selection

pytestmark = pytest.mark.loops

Q = 0.05
K = chi2.ppf(0.95, 1)


def integral(function, low, high):
    """Integrate to twelve digits."""
    return quad(function, low, high, epsabs=1e-13, epsrel=1e-12)[0]


def cone4(r):
    """Return the solid angle of givitiR's integrand for external data and degree 4."""
    s, part = r * r / K, 2 * math.sqrt(K) / r
    value = -math.pi * math.sqrt(K) / (2 * r) + part * math.asin((s - 1) ** -0.5)
    value += part * math.atan((s - 2) ** -0.5) - 2 * math.atan((1 - 2 / s) ** -0.5)
    value += 2 * math.atan(r / math.sqrt(K) * math.sqrt(s - 2))
    return value - part * math.atan(math.sqrt(s - 2))


def external(t, m):
    """Return the distribution function of givitiStatCdf(t, m, "external", .95)."""
    if m == 1:
        return chi2.cdf(t, 2)
    if m == 2:
        root = math.sqrt(t) - math.sqrt(K)
        return (chi2.cdf(t, 1) - 1 + Q - math.sqrt(2 / math.pi) * math.exp(-t / 2) * root) / Q
    if m == 3:
        first = integral(lambda y: (chi2.cdf(t - y, 1) - 1 + Q) * chi2.pdf(y, 1), K, t - K)
        other = integral(lambda y: (math.sqrt(t - y) - math.sqrt(K)) / math.sqrt(y), K, t - K)
        return (first - math.exp(-t / 2) / math.pi * other) / Q**2
    value = integral(
        lambda r: r * r * (math.exp(-r * r / 2) - math.exp(-t / 2)) * cone4(r),
        math.sqrt(3 * K),
        math.sqrt(t),
    )
    return (2 / (math.pi * Q**2)) ** 1.5 * value


def internal(t, m):
    """Return the distribution function of givitiStatCdf(t, m, "internal", .95)."""
    if m == 2:
        return chi2.cdf(t, 1)
    if m == 3:
        angle = integral(
            lambda r: r * math.exp(-r * r / 2) * math.acos(math.sqrt(K) / r),
            math.sqrt(K),
            math.sqrt(t),
        )
        return 2 / (math.pi * Q) * angle

    def cone(r):
        s, part = r * r / K, math.sqrt(K) / r
        value = math.atan(math.sqrt(s * (s - 2))) - part * math.atan(math.sqrt(s - 2))
        return r * r * math.exp(-r * r / 2) * (value - part * math.acos((s - 1) ** -0.5))

    return (2 / math.pi) ** 1.5 / Q**2 * integral(cone, math.sqrt(2 * K), math.sqrt(t))


@pytest.mark.parametrize("t", [0.5, 4.0, 8.0, 12.0, 20.0, 30.0])
@pytest.mark.parametrize(("first", "law"), [(1, external), (2, internal)])
def test_tail_is_one_minus_the_formulas_of_givitir(t, first, law):
    """For all degrees, to the digits that the difference leaves."""
    for degree in range(first, 5):
        expected = 1 - law(t, degree) if t > (degree - first) * K else 1.0
        assert Selection(first, 4, 0.95).sf(t, degree) == pytest.approx(expected, abs=2e-13)


@pytest.mark.parametrize(("first", "degree"), [(1, 1), (1, 2), (1, 4), (2, 2), (2, 4)])
def test_far_tail_keeps_its_digits(first, degree):
    """Where 1 - cdf is 0: the ratio to the next point is close to exp(-1/2)."""
    near, far = (Selection(first, 4, 0.95).sf(t, degree) for t in (400.0, 401.0))
    assert 0 < far < near < 1e-75
    assert far / near == pytest.approx(math.exp(-0.5), rel=0.01)


@pytest.mark.parametrize("level", [0.001, 0.5, 0.8, 0.95, 0.999])
def test_quantile_inverts_the_tail(level):
    for first in (1, 2):
        for degree in range(first, 5):
            t = Selection(first, 4, 0.9).quantile(level, degree)
            assert Selection(first, 4, 0.9).sf(t, degree) == pytest.approx(1 - level, rel=1e-9)
