"""Reading array-likes, labels, probabilities and logits, checked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from caltest.errors import InvalidInput, invalid, shown
from caltest.numerics.loops import blocks
from caltest.types import AnyArray, Codes, Floats

MISSING_WORDS = ("na", "nan", "n/a", "null", "none", "missing", "#n/a", "?", ".")
NUMBER = (Real, Decimal, np.bool_)
FLOAT32_SLACK = 1e-6  # per class: rows that were summed in single precision
ROUNDED_SLACK = 1e-2 * (1 + 1e-9)  # rows rounded for print; 0.99 itself is allowed
SEEMS_ROUNDED = 0.1  # sums of so many rounded classes that they are not corrected
ROUNDING = 4 * np.finfo(np.float64).eps  # per class: such rows are left as they are
HALF = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # what rounding to it moves a sum of 1, at most
LARGEST_WHOLE = 2.0**63
NAMED = (list, tuple, range, np.ndarray)
ONE = np.float64(1.0).view(np.uint64)
BLOCK = 1 << 14  # rows that stay in the cache while they are checked and copied


def as_array(values: object, name: str) -> AnyArray:
    """Read a list, a NumPy array, a table or a tensor as an array, without a copy if possible."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = np.argwhere(np.ma.getmaskarray(values))[0]
        got = f"a masked value at row {place[0]}" if place.size else "a masked value"
        raise invalid(f"{name} must be complete", got, "drop that row")
    if type(values).__module__.startswith("scipy.sparse"):
        got = f"a sparse {type(values).__name__}"
        raise invalid(f"{name} must be a dense array", got, "pass .toarray()")
    if type(values).__name__ == "ChunkedArray":  # of Arrow: in one, a missing word stays missing
        values = values.combine_chunks()  # type: ignore[attr-defined]
    if isinstance(values, (list, tuple)) and any(isinstance(value, str) for value in values):
        return np.array(values, dtype=object)  # as text, NumPy would turn 1 into '1'
    if isinstance(values, Mapping) and hasattr(values, "logits"):  # of transformers
        remedy = "pass .logits with from_logits=True"
        raise invalid(f"{name} must be an array", f"a {type(values).__name__}", remedy)
    try:
        lent = hasattr(values, "__dlpack__") and not hasattr(values, "__array__")
        array = np.from_dlpack(values) if lent else np.asarray(values)  # type: ignore[arg-type]  # asked
    except Exception as error:  # tensors and tables raise errors of their own
        if getattr(values, "requires_grad", False) and hasattr(values, "detach"):
            return as_array(values.detach(), name)
        if "bfloat16" in str(getattr(values, "dtype", "")) and hasattr(values, "float"):
            return as_array(values.float(), name)  # NumPy has no such type
        rows = isinstance(values, (list, tuple))
        got = "rows of unequal length" if rows else f"type {type(values).__name__}"
        remedy = "give each row as many entries" if rows else str(error).rstrip(".")
        raise invalid(f"{name} must be readable as an array", got, remedy) from error
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def read_only(array: AnyArray) -> AnyArray:
    """Lock an array that caltest owns, and return it."""
    array.flags.writeable = False
    return array


def as_numbers(values: object, name: str) -> AnyArray:
    """Read `values` as an array of booleans, integers or floats."""
    array = as_array(values, name)
    if array.dtype.kind in "biuf":
        return array
    if array.ndim == 1 and isinstance(next(iter(array), None), NAMED):  # a list in each row
        return as_numbers(array.tolist(), name)
    if array.dtype.kind in "mM":  # as objects some become whole numbers of nanoseconds
        raise invalid(f"{name} must be numbers", f"dtype {array.dtype}", "count days, for example")
    items = array.astype(object)
    if strange := [place for place, item in np.ndenumerate(items) if not isinstance(item, NUMBER)]:
        place = next((place for place in strange if not _is_numeral(items[place])), strange[0])
        got = f"{shown(items[place])} at row {place[0]}" if place else shown(items.item())
        if is_missing(items[place]) or str(items[place]).strip().lower() in MISSING_WORDS:
            raise missing(name, got)
        raise invalid(f"{name} must be numbers", got, _as_it_is_read(str(items[place])))
    try:
        return items.astype(np.float64)
    except OverflowError as error:
        got = "an integer of more than 300 digits"
        raise invalid(f"{name} must be numbers", got, "convert them to floats first") from error


def as_number(found: object, name: str) -> float:
    """Read what a function of the caller's returned as a number."""
    value = as_array(found, f"what {name} returns")
    if value.size != 1 or value.dtype.kind not in "fiub":
        raise invalid(f"{name} must return a number", shown(found), "use float()")
    return float(value.item())


def _as_it_is_read(text: str) -> str:
    """Say how to write a number that is one to people: 70%, or 0,7."""
    if re.fullmatch(r"[0-9.]+ ?%", text) and _is_numeral(text.rstrip(" %")):
        return f"write {float(text.rstrip(' %')) / 100:.6g} for {text}"
    if re.fullmatch(r"[1-9][0-9]{0,2}(,[0-9]{3})+", text):
        other = f", or {text.replace(',', '.')} if it is decimal" * (text.count(",") == 1)
        return f"write {text.replace(',', '')}, without commas{other}"
    if re.fullmatch(r"[0-9]+,[0-9]+", text):
        return f"write decimal points, {text.replace(',', '.')}"
    return "convert them to floats first"


def _is_numeral(item: object) -> bool:
    try:
        return "_" not in str(item) and not math.isnan(float(str(item)))  # 1_000, to Python
    except ValueError:
        return False


def is_missing(item: object) -> bool:
    """Tell the markers of missing values: None, NaN and those of pandas."""
    return type(item).__name__ in ("NoneType", "NAType", "NaTType") or (
        isinstance(item, (Real, Decimal, np.generic)) and bool(item != item)  # noqa: PLR0124
    )


def missing(name: str, got: str) -> InvalidInput:
    """Word the error for a missing value."""
    return invalid(f"{name} must not be missing", got, "drop or fill that row")


def check_column(values: object, n: int, name: str) -> AnyArray:
    """Check that `values` has one entry per row, in one dimension."""
    array = in_one_dimension(as_array(values, name))
    if array.shape != (n,):
        got = f"{array.shape[0]} for {n} rows" if array.ndim == 1 else f"shape {array.shape}"
        flat = array.size == n and array.ndim == 2
        remedy = "pass one dimension, .ravel()" if flat else "take both from the same rows"
        raise invalid(f"{name} must have one entry per row", got, remedy)
    return array


def in_one_dimension(array: AnyArray) -> AnyArray:
    """Return the values of a single column, (n, 1), as (n,); others as they are."""
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def check_labels(
    labels: object, n: int, m: int, classes: object = None, *, name: str = "labels"
) -> tuple[Codes, AnyArray]:
    """Check labels and return them as codes 0 to m - 1, with the names of the classes.

    Parameters
    ----------
    labels : array_like, shape (n,) or (n, m)
        Integers, whole floats, booleans, strings, or one-hot rows.
    n, m : int
        Rows and columns of probs.
    classes : sequence of length m, optional
        Name of each column. Without it, integers are codes, booleans stand for (False, True) and
        m distinct strings for the columns in sorted order. Numbers that come with classes of text
        are codes too.
    name : str
        Name of the argument, for messages.

    Returns
    -------
    codes : ndarray, shape (n,), int64
        Column of each label; read-only.
    classes : ndarray, shape (m,)
        Names of the columns; read-only.

    Raises
    ------
    InvalidInput
        If the labels are too many or too few, missing, or of no class.
    """
    values = label_values(labels, name)
    known = None if classes is None else check_classes(classes, m)
    if values.ndim == 2:
        if values.shape != (n, m):
            rule = f"{name} must have shape (n,), or (n, m) for one-hot rows"
            got = f"shape {values.shape} for probs of shape {(n, m)}"
            raise invalid(rule, got, "pass one label per row of probs")
        good = (np.count_nonzero(values, axis=1) == 1) & (values.max(axis=1) == 1)
        if not good.all():
            row = int(np.argmin(good))
            got = f"{listing(values[row].tolist())} at row {row}"
            remedy = "pass one label per row, shape (n,), or several as Predictions.multilabel"
            raise invalid(f"{name} of shape (n, m) must be one-hot rows", got, remedy)
        named = read_only(np.arange(m)) if known is None else known
        return read_only(values.argmax(axis=1)), named
    check_column(values, n, name)
    if values.dtype.kind == "f" and (known is None or known.dtype.kind != "f"):
        values = _whole(values, name)
    if known is None:
        known = _default_classes(values, m, name)
    return read_only(_codes(values, known, name)), known


def check_classes(classes: object, m: int) -> AnyArray:
    """Check that `classes` names each of the m columns once, and return a read-only copy."""
    values = np.array(label_values(classes, "classes"))
    remedy = "pass one name per column of probs, in their order"
    if values.shape != (m,):
        rule = "classes must name each column of probs"
        raise invalid(rule, f"shape {values.shape} for {m} columns", remedy)
    names = check_not_blank(values.tolist())
    if len(set(names)) < m:
        twice = next(value for value in names if names.count(value) > 1)
        raise invalid("classes must differ from each other", f"{twice!r} twice", remedy)
    return read_only(values)


def check_not_blank(names: list[Any]) -> list[Any]:
    """Check that names of classes can be seen: a blank one is as good as missing."""
    if blank := [one for one in names if isinstance(one, str) and not one.strip()]:
        remedy = "drop rows without a label, or name their class"
        raise invalid("labels and classes must not be blank", repr(blank[0]), remedy)
    return names


def check_class(k: object, classes: AnyArray, name: str = "k") -> int:
    """Find the column of class `k`, given by its name, as text or not, or by its code."""
    if type(k) in {"i": (int, np.int64), "U": (str, np.str_)}.get(classes.dtype.kind, ()):
        same = np.flatnonzero(classes == k)
        if same.size:  # of very many classes, in no time
            return int(same[0])
    names = [str(each) for each in classes.tolist()]
    if str(k) in names:
        return names.index(str(k))
    if isinstance(k, (int, np.integer)) and 0 <= k < len(names):
        return int(k)
    raise invalid(f"{name} must be one of the classes", shown(k), f"pass one of {listing(names)}")


def listing(values: Iterable[object], limit: int = 8) -> str:
    """List values for a message, at most `limit` of them."""
    words = [repr(value) for value in values]
    if len(words) > limit:
        words = [*words[: limit - 2], "...", words[-1]]
    return ", ".join(words)


def label_values(values: object, name: str) -> AnyArray:
    """Read labels as an array of booleans, integers, floats or text."""
    array = in_one_dimension(as_array(values, name))
    if array.dtype.kind == "S":
        array = array.astype(str)
    rule = f"{name} must be a sequence of integers, strings or booleans"
    if array.ndim == 0:
        raise invalid(rule, shown(array.item()), "pass a list or an array")
    if array.ndim != 1:
        return as_numbers(array, name)
    if array.dtype.kind in "OT":
        items = array.tolist()
        kind = str if items and isinstance(items[0], str) else NUMBER
        of_kind = (isinstance(one, kind) and (kind is str or not is_missing(one)) for one in items)
        if odd := [row for row, good in enumerate(of_kind) if not good]:
            row = next((row for row in odd if is_missing(items[row])), odd[0])
            if is_missing(items[row]):
                raise missing(name, f"{items[row]!r} at row {row}")
            one_kind = f"{name} must be all strings, all integers or all booleans"
            raise invalid(one_kind, f"{items[row]!r} at row {row}", "drop or convert that row")
        array = np.array(items)
        if array.dtype == object:  # of decimals, or whole numbers that another must not equal
            array = as_numbers(array, name)
            read = zip(items, array.tolist(), strict=True)
            same = np.array([one == number or one % 1 != 0 for one, number in read])
            check_all(same, array, f"{name} must be whole numbers of 64 bits", "pass strings")
    if array.dtype.kind not in "biufU":
        raise invalid(rule, f"dtype {array.dtype}", "convert them to strings")
    return check_not_missing(array, name)


def check_not_missing(array: AnyArray, name: str) -> AnyArray:
    """Check that no number and no time (n,) is missing."""
    gone = np.isnan(array) if array.dtype.kind in "fmM" else np.zeros(0, bool)
    if gone.any():
        row = int(np.argmax(gone))
        raise missing(name, f"{array[row]} at row {row}")
    return array


def check_all(good: AnyArray, values: AnyArray, rule: str, remedy: str) -> None:
    """Raise an error that names the first row whose value is not good."""
    if not good.all():
        first = tuple(np.argwhere(~good)[0].tolist())
        raise invalid(rule, f"{values[first]:.8g} at row {first[0]}", remedy)


def _whole(values: AnyArray, name: str) -> AnyArray:
    rule = f"{name} must be whole numbers"
    whole = np.isfinite(values) & (values == np.floor(values))
    check_all(whole, values, rule, "pass integers, strings, booleans or one-hot rows")
    small = np.abs(values, dtype=np.float64) < LARGEST_WHOLE
    check_all(small, values, f"{rule} of 64 bits", "pass strings")
    return values.astype(np.int64)


def _default_classes(values: AnyArray, m: int, name: str) -> AnyArray:
    names: Iterable[object] = range(m)
    if values.dtype.kind == "b":
        if m != 2:
            rule = f"{name} must not be booleans beyond two classes"
            raise invalid(rule, f"{m} columns of probs", "pass integers or strings")
        names = False, True
    elif values.dtype.kind == "U":
        names = check_not_blank(sorted(set(values.tolist())))
        if len(names) != m:
            rule = f"classes must be given where {name} do not show each class"
            got = f"{len(names)} distinct labels, {listing(names)}, for {m} columns"
            raise invalid(rule, got, "pass classes=[...], the names of the columns in their order")
    return read_only(np.array(names))


def _codes(values: AnyArray, classes: AnyArray, name: str) -> Codes:
    m, text = len(classes), values.dtype.kind == "U"
    if text and classes.dtype.kind != "U":  # "0" for 0, as a text file has it
        written = classes.astype(str)
        unknown = ~np.isin(values, written)
        if unknown.any():
            raise _unknown_label(values, int(np.argmax(unknown)), classes, name)
        classes = written
    known = np.arange(m) if classes.dtype.kind == "U" and not text else classes
    if np.array_equal(known, np.arange(m)):  # the usual case, one pass
        codes = np.empty(len(values), np.int64)
        binary = m == 2 and values.dtype.kind == "i"  # then all bits but the last are 0
        for rows in blocks(len(values), BLOCK):
            block = values[rows]
            if binary:
                are_codes = int(np.bitwise_or.reduce(block)) in (0, 1)
            else:
                are_codes = block.min() >= 0 and block.max() < m
            if not are_codes:
                row = rows.start + int(np.argmax((block < 0) | (block >= m)))
                raise _unknown_label(values, row, known, name)
            codes[rows] = block
        return codes
    order = np.argsort(known)
    codes = order[np.minimum(np.searchsorted(known, values, sorter=order), m - 1)]
    wrong = known[codes] != values
    if wrong.any():
        raise _unknown_label(values, int(np.argmax(wrong)), classes, name)
    return codes


def _unknown_label(values: AnyArray, row: int, classes: AnyArray, name: str) -> InvalidInput:
    m, distinct = len(classes), np.unique(values).tolist()
    remedy = "drop that row, or pass classes=[...] with one name per column"
    if values.dtype.kind in "iu" and distinct[0] > 0 and distinct[-1] == m:
        remedy = f"pass classes=range(1, {m + 1}) if the columns are numbered from 1"
    elif len(distinct) == m <= 8:
        remedy = f"pass classes={distinct} if the columns stand in that order"
    got = f"{values[row].item()!r} at row {row}"
    return invalid(f"{name} must be among the classes {listing(classes.tolist())}", got, remedy)


def check_probs(
    probs: object,
    *,
    from_logits: bool = False,
    renormalize: bool | None = None,
    classes: object = None,
    name: str = "probs",
) -> Floats:
    """Check probabilities and return them as an owned, read-only (n, m) matrix.

    Values outside [0, 1] and row sums away from 1 by at most 1e-6 m come from single precision and
    are corrected silently, as are sums off by at most 0.001 where all values are numbers of the
    type float16, and 0.008 where they are of bfloat16, whatever type they came in. Sums off by at
    most 0.01 are rescaled where `renormalize` is true.

    Parameters
    ----------
    probs : array_like, shape (n, m) or (n,)
        Probabilities of the classes; in one dimension, of class 1 of two. With `from_logits`,
        the logarithms of unnormalised probabilities; in one dimension, the log odds of class 1.
    from_logits : bool
        Whether `probs` are logits. Never guessed.
    renormalize : bool, optional
        Whether rows of rounded probabilities may be rescaled. None is False where the caller has
        no such option, which messages then do not name.
    classes : sequence, optional
        Names of the columns, for messages.
    name : str
        Name of the argument, for messages.

    Returns
    -------
    ndarray, shape (n, m), float64
        Probabilities whose rows sum to 1 within rounding; C-contiguous.

    Raises
    ------
    InvalidInput
        If the shape, a value or the sum of a row is not that of probabilities.
    """
    values = _numbers_of_probs(probs, name)
    if from_logits:
        _check_values_of_logits(values, classes, name)
        if values.ndim == 1:
            return read_only(_sigmoid(values))
        from caltest.numerics.softmax import softmax  # loads SciPy

        return read_only(softmax(np.ascontiguousarray(values, np.float64), 1.0))
    matrix = _owned(values, classes, name)
    if values.ndim == 1:
        return both_columns(matrix)
    m = matrix.shape[1]
    sums = matrix @ np.ones(m)
    error = np.abs(sums - 1)
    worst = error.max()
    limit = max(ROUNDED_SLACK, FLOAT32_SLACK * m) if renormalize else FLOAT32_SLACK * m
    if limit < worst <= ROUNDED_SLACK:
        limit = max(limit, _rounding_of_type(matrix))
    if worst > limit:
        raise _sum_not_one(sums, error, limit, name, renormalize=renormalize)
    if worst > ROUNDING * m:
        sums[error <= ROUNDING * m] = 1.0  # so that checking twice changes nothing
        matrix /= sums[:, np.newaxis]
    return read_only(matrix)


def check_event_probs(
    probs: object, *, classes: object = None, name: str = "probs", has_logits: bool = True
) -> Floats:
    """Check probabilities (n,) of the second of two classes, and return an owned, read-only array.

    `both_columns` gives what `check_probs` returns for them. Parameters and errors are as there;
    `has_logits` is whether the caller has an option from_logits, which messages then name.
    """
    return read_only(_owned(_numbers_of_probs(probs, name), classes, name, has_logits=has_logits))


def check_logits(logits: object, *, name: str = "logits") -> Floats:
    """Check logits and return them as an owned, read-only (n, m) matrix.

    Parameters
    ----------
    logits : array_like, shape (n, m) or (n,)
        Logarithms of unnormalised probabilities, -inf for a probability of 0; in one dimension,
        the log odds of class 1 of two, which may be infinite.
    name : str
        Name of the argument, for messages.

    Returns
    -------
    ndarray, shape (n, m), float64
        The logits; those of class 0 are 0 where log odds were given (-inf for infinite ones).

    Raises
    ------
    InvalidInput
        If the shape or a value is not that of logits.
    """
    values = _numbers_of_probs(logits, name)
    _check_values_of_logits(values, None, name)
    if values.ndim == 2:
        return read_only(np.array(values, dtype=np.float64, order="C"))
    matrix = np.zeros((len(values), 2))
    matrix[:, 1] = values
    matrix[values == np.inf] = -np.inf, 0.0
    return read_only(matrix)


def _numbers_of_probs(probs: object, name: str) -> AnyArray:
    values = as_numbers(probs, name)
    rule = f"{name} must have shape (n, m), or (n,) for two classes"
    if values.ndim not in (1, 2):
        raise invalid(rule, f"shape {values.shape}", "pass one row per prediction")
    if values.shape[0] == 0:
        raise invalid(f"{name} must have at least one row", f"shape {values.shape}", "pass data")
    if values.ndim == 2 and values.shape[1] < 2:
        raise invalid(rule, f"shape {values.shape}", "pass P(class 1) as one dimension, .ravel()")
    return values


def _seem_percentages(values: AnyArray) -> bool:
    """Whether all lie in [0, 100], and most are above 1 or most rows of a matrix sum to 100."""
    if not (values.min() >= 0 and values.max() <= 100):  # this way round, NaN fails too
        return False
    if values.ndim == 1:
        return bool(np.median(values) > 1)
    return bool(np.median(np.abs(values.sum(axis=1) - 100)) <= 1)


def _place(place: AnyArray, classes: object) -> str:
    row = f"at row {place[0]}"
    if len(place) == 1:
        return row
    column = int(place[1])
    names = as_array(classes, "classes").tolist() if isinstance(classes, NAMED) else []
    return f"{row}, class {names[column] if column < len(names) else column!r}"


def both_columns(event: Floats) -> Floats:
    """Return 1 - p beside p (n,), as a read-only (n, 2) matrix."""
    matrix = np.empty((event.size, 2))
    for rows in blocks(event.size, BLOCK):
        matrix[rows, 1] = event[rows]
        np.subtract(1, event[rows], out=matrix[rows, 0])
    return read_only(matrix)


def _owned(values: AnyArray, classes: object, name: str, *, has_logits: bool = True) -> Floats:
    """Return a copy within [0, 1], if no value is further from it than single precision is."""
    slack = FLOAT32_SLACK * (2 if values.ndim == 1 else values.shape[1])
    copy, within = np.empty(values.shape), True
    for rows in blocks(len(values), BLOCK):
        copy[rows] = values[rows]
        # As whole numbers, doubles from 0 to 1 keep their order, and all others are larger.
        within = within and bool(copy[rows].view(np.uint64).max() <= ONE)
    if not within:
        if not (copy.min() >= -slack and copy.max() <= 1 + slack):  # this way round, NaN fails too
            place = np.argwhere(~((values >= -slack) & (values <= 1 + slack)))[0]
            value = values[tuple(place)]
            got = f"{value:.8g} {_place(place, classes)}"
            if np.isnan(value):
                raise missing(name, got)
            remedy = "pass probabilities" + ", or from_logits=True" * has_logits
            if _seem_percentages(values):
                others = ", or pass from_logits=True" * (has_logits and values.ndim == 1)
                remedy = f"divide by 100 if they are percentages{others}"
            raise invalid(f"{name} must lie in [0, 1]", got, remedy)
        np.clip(copy, 0, 1, out=copy)
    return copy


def _rounding_of_type(matrix: Floats) -> float:
    """Return what a sum of 1 loses in the type of half precision of which all values are, or 0."""
    single = matrix.astype(np.float32)
    # A bfloat16 is the first half of a float32.
    if np.array_equal(single, matrix) and not (single.view(np.uint32) & 0xFFFF).any():
        return HALF["bfloat16"]
    return HALF["float16"] if np.array_equal(matrix.astype(np.float16), matrix) else 0.0


def _sum_not_one(
    sums: Floats, error: Floats, limit: float, name: str, *, renormalize: bool | None
) -> InvalidInput:
    rounded, named = error.max() <= ROUNDED_SLACK, renormalize is not None
    row = int(np.argmax(error > (limit if rounded else ROUNDED_SLACK)))
    got = f"a sum of {sums[row]:.8g} at row {row}"
    below, above = sums.min() < 1 - limit, sums.max() > 1 + limit
    remedy = "pass one column per class" if below else ""
    if above:  # as of one-vs-rest classifiers
        some = "if these are scores of one class against the rest, divide each row by its sum"
        remedy = f"{remedy}; {some}" if remedy else some
    if rounded:
        remedy = "divide each row by its sum if the probabilities were rounded"
        if named:
            remedy = "pass renormalize=True to rescale rows that are off by at most 0.01"
    elif error.max() <= SEEMS_ROUNDED:
        got += ", off by more than renormalize=True corrects (0.01)" if named else ""
        remedy = "write more decimals, or pass one column per class"
    return invalid(f"{name} must sum to 1 in each row", got, remedy)


def _check_values_of_logits(values: AnyArray, classes: object, name: str) -> None:
    if values.ndim == 1:
        bad = np.isnan(values)
    else:
        bad = ~(values < np.inf)  # NaN or inf; a logit of -inf is a probability of 0
        bad[:, 0] |= values.max(axis=1) == -np.inf
    if bad.any():
        place = np.argwhere(bad)[0]
        got = f"{values[tuple(place)]:.8g} {_place(place, classes)}"
        rule = f"{name} must be logits, below inf and above -inf for some class"
        raise invalid(rule, got, "drop or correct that row")


def _sigmoid(log_odds: AnyArray) -> Floats:
    matrix = np.empty((len(log_odds), 2))
    with np.errstate(over="ignore"):  # exp overflows to inf, and 1 / inf is the limit
        matrix[:, 0] = 1 / (1 + np.exp(log_odds.astype(np.float64)))
        matrix[:, 1] = 1 / (1 + np.exp(-log_odds.astype(np.float64)))
    return matrix


def check_design(design: object, name: str = "design") -> Floats:
    """Check the features (rows, k) that a model was fitted to, finite; (rows,) for one feature."""
    given = as_numbers(design, name)
    array = given[:, None] if given.ndim == 1 else given
    if array.ndim != 2 or array.size == 0:
        rule = f"{name} must have a row for each observation and a column for each feature"
        raise invalid(rule, f"shape {array.shape}", "pass the features of the model, (n, k)")
    values = array.astype(np.float64)
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = (int(at) for at in np.argwhere(bad)[0])
        got = f"{values[row, column]} at row {row}, column {column}"
        raise invalid(f"{name} must be finite", got, "pass the features as the model saw them")
    return read_only(values)


def check_rows_of_design(design: Mapping[str, Floats], n: int) -> None:
    """Check that each column has the rows of the predictions that are tested."""
    for wrong in (len(column) for column in design.values() if len(column) != n):
        rule = "design must have one row per row of probs"
        raise invalid(rule, f"{wrong} for {n} rows", "take both from the same rows, without by=")
