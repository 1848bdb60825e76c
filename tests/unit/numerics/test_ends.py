"""Ends of ranges: short decimals that separate what they stand between."""

import numpy as np

from caltest.numerics.ends import between_words, even_ends


def ends_of(values, parts=20):
    """Cut values of the same mass each."""
    values, counts = np.unique(values, return_counts=True)
    return even_ends(values, values, counts.astype(float), parts)


def test_ends_are_short_and_split_no_ties():
    """The shortest decimals between values; constants have none."""
    assert ends_of(np.linspace(0.0001, 0.9999, 400), 4).tolist() == [0.25, 0.5, 0.75]
    crowded = ends_of(0.9998 + 1e-6 * (np.arange(100) + 0.5), 2)
    assert crowded.tolist() == [0.99985]
    values = np.repeat(np.arange(1, 10) / 10, 50)
    ends = ends_of(values)
    assert len(ends) == 8
    assert not np.isin(ends, values).any()
    assert ends_of(np.full(50, 0.3)).size == 0
    assert ends_of(np.repeat([0.3, np.nextafter(0.3, 1)], 50)).size == 0


def test_ends_in_words_keep_all_digits():
    """Never as 100 %, and small ones not in powers of ten."""
    assert between_words(0.359, 0.999985) == "between 35.9 % and 99.9985 %"
    assert between_words(1e-7, None) == "above 0.00001 %"
    assert between_words(None, 0.2) == "below 20 %"
    assert between_words(None, None) == ""
