"""Data frames as arrays of numbers, and the names of their columns: pandas', and all others that speak the data frame
interchange protocol (`__dataframe__`: polars, Arrow, Modin, cuDF, ...)."""
import ctypes

from .errors import BadInput, NoNumber

# Of the protocol: kinds of elements, and ways to say which are missing.
_INT, _UINT, _FLOAT, _BOOL, _STRING, _CATEGORY = 0, 1, 2, 20, 21, 23
_BY_SENTINEL, _BY_BITS, _BY_BYTES = 2, 3, 4


def is_of(value, module, name):
    """Whether it is of that class, which need not be installed."""
    return any(cls.__module__.split(".")[0] == module and cls.__name__ == name for cls in type(value).__mro__)


def as_frame(value, name):
    """The data frame that `value` is, or None. What has Arrow's C interface alone is read through pyarrow."""
    if is_of(value, "pandas", "DataFrame") or hasattr(value, "__dataframe__"):
        return value
    if not hasattr(value, "__arrow_c_stream__") or getattr(value, "ndim", 2) != 2 or hasattr(value, "__array__"):
        return None
    try:
        import pyarrow
    except ImportError as error:
        raise BadInput(f"{name}: needs pyarrow, which is not installed, to be read through Arrow's C interface; install it, or pass an array "
                       "or a data frame") from error
    return pyarrow.table(value)


def _labels_of(frame):
    return list(frame.columns if is_of(frame, "pandas", "DataFrame") else frame.__dataframe__().column_names())


def labels_of_columns(value):
    """The labels of columns of a data frame, or that of a series; none of an array."""
    if is_of(value, "pandas", "DataFrame") or hasattr(value, "__dataframe__"):
        return _labels_of(value)
    return [value.name] if is_of(value, "pandas", "Series") or is_of(value, "polars", "Series") else []


def _columns_of(frame, name):
    """Each (label, column), one after the other: a pandas Series, or an array of NumPy with numbers, or with objects, of which
    None is missing."""
    is_of_pandas = is_of(frame, "pandas", "DataFrame")
    exchanged = None if is_of_pandas else frame.__dataframe__(allow_copy=True)
    for place, label in enumerate(_labels_of(frame)):
        yield label, frame.iloc[:, place] if is_of_pandas else _exchanged(exchanged.get_column(place), f"{name}: column {label!r}")


def names_of_columns(frame, name):
    """What its columns are called, or None where they have numbers. Throws BadInput where some have names alone."""
    labels = _labels_of(frame)
    words = [str(label) for label in labels if isinstance(label, str)]
    if not words:
        return None
    if len(words) < len(labels):
        other = next(label for label in labels if not isinstance(label, str))
        raise BadInput(f"{name}: column {words[0]!r} has a name, but {other!r} is not a string; name all columns by strings")
    return words


def features_of(frame, name):
    """Its numbers, n x d: where they lie, if all are integers and floats of NumPy and one is a float, else a copy in float32. What is
    missing is NaN. Throws BadInput naming a column and row that are no number."""
    import numpy as np
    if is_of(frame, "pandas", "DataFrame"):
        kinds = {getattr(dtype, "kind", "O") if isinstance(dtype, np.dtype) else "O" for dtype in frame.dtypes}
        if not len(kinds) or (kinds <= set("iuf") and "f" in kinds):  # truth values beside floats would all become objects
            return np.asarray(frame)
    rows, columns = np.empty((0, 0), np.float32), len(_labels_of(frame))
    with np.errstate(over="ignore"):  # what no float32 is near to becomes infinite, and is refused as that
        for place, (label, column) in enumerate(_columns_of(frame, name)):
            # As doubles first, as a column is where one number is missing or a fraction: else that moves others' large integers.
            numbers = numbers_of(_plain(column), f"{name}: column {label!r}").astype(np.float64)
            if place == 0:
                rows = np.empty((len(numbers), columns), np.float32, order="F")
            rows[:, place] = numbers
    return rows


def targets_of_frame(frame, name):
    """Its numbers as doubles, n x m. Throws BadInput naming a column and row that are no number."""
    import numpy as np
    return np.stack([numbers_of(_plain(column), f"{name}: column {label!r}").astype(np.float64)
                     for label, column in _columns_of(frame, name)], axis=1)


def _plain(column):
    """A pandas Series as an array of NumPy: numbers, NaN where they are missing, or objects."""
    import numpy as np
    if not is_of(column, "pandas", "Series") or isinstance(column.dtype, np.dtype):
        return np.asarray(column)
    if is_of(column.dtype, "pandas", "CategoricalDtype"):
        categories = np.asarray(column.cat.categories)
        if categories.dtype.kind in "biuf":
            return np.append(categories.astype(np.float64), np.nan)[column.cat.codes]
    elif getattr(column.dtype, "kind", "O") in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(column, dtype=object)


def is_missing(value):
    """None, NaN, and what pandas has in their place."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)


def numbers_of(column, place):
    """A column (n) of numbers, of Python's own, or of strings that say numbers, as an array of numbers. Messages begin with `place`."""
    import numpy as np
    if column.dtype.kind in "biuf":
        return column
    if column.dtype.kind not in "OUS":
        raise BadInput(f"{place} is {column.dtype}, which is not numeric; convert it to numbers, or leave it out")
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.array([_number(own, f"{place}, row {row}") for row, own in enumerate(column)], np.float64)


def _number(own, place):
    if is_missing(own):
        return float("nan")
    try:
        return float(own)
    except (TypeError, ValueError, OverflowError) as error:
        said = f" ({error})" if isinstance(error, TypeError) else ""
        raise (NoNumber if said else BadInput)(
            f"{place} is {own!r}, which is not a number{said}; leave the column out, or encode its values by a public list of "
            "them (for the data's owner only)") from error


def _exchanged(column, place):
    """A column of the protocol as an array of NumPy."""
    import numpy as np
    parts = [_chunk(chunk, place) for chunk in column.get_chunks()]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0)


def _memory(buffer, place):
    """The bytes of a buffer of the protocol, where they lie."""
    import numpy as np
    if hasattr(buffer, "__dlpack_device__") and int(buffer.__dlpack_device__()[0]) != 1:
        raise BadInput(f"{place} is not in the memory of the CPU; bring it there first")
    if buffer.bufsize == 0:
        return np.empty(0, np.uint8)
    return np.frombuffer((ctypes.c_uint8 * buffer.bufsize).from_address(buffer.ptr), np.uint8)


def _elements(buffer_and_type, first, count, place):
    """Elements first .. first + count - 1 of a buffer with numbers or truth values."""
    import numpy as np
    buffer, (kind, bits, _, order) = buffer_and_type
    memory = _memory(buffer, place)
    if bits == 1:
        return np.unpackbits(memory, bitorder="little")[first:first + count].astype(bool)
    letter = {_INT: "i", _UINT: "u", _FLOAT: "f", _BOOL: "u", _STRING: "u", _CATEGORY: "i"}.get(kind)
    if letter is None or bits not in (8, 16, 32, 64):
        raise BadInput(f"{place} is not numeric (kind {kind} of the data frame interchange protocol); convert it to numbers, or leave it out")
    dtype = np.dtype(f"{'>' if order == '>' else '<'}{letter}{bits // 8}")
    if memory.size == 0:
        return np.empty(0, dtype)
    return np.frombuffer(memory, dtype, count, first * dtype.itemsize).copy()  # the buffer may go with the column


def _missing(column, buffers, values, place):
    """Which elements are missing, or None."""
    import numpy as np
    how, sign = column.describe_null
    if how == _BY_SENTINEL:
        return values == sign
    if how not in (_BY_BITS, _BY_BYTES) or buffers["validity"] is None:
        return None
    buffer, (kind, _, form, order) = buffers["validity"]
    marks = _elements((buffer, (kind, 1 if how == _BY_BITS else 8, form, order)), column.offset, column.size(), place)
    return marks.astype(np.uint8) == sign


def _chunk(column, place):
    import numpy as np
    kind = int(column.dtype[0])
    buffers, first, count = column.get_buffers(), column.offset, column.size()
    if kind == _STRING:
        offsets = _elements(buffers["offsets"], first, count + 1, place)
        text = _memory(buffers["data"][0], place).tobytes()
        values = np.array([text[a:b].decode() for a, b in zip(offsets, offsets[1:])], object)
    else:
        _, (own_kind, bits, form, order) = buffers["data"]
        signed = kind if kind != _CATEGORY else _UINT if int(own_kind) == _UINT else _INT
        values = _elements((buffers["data"][0], (signed, bits, form, order)), first, count, place)
        if kind == _BOOL:
            values = values.astype(bool)
    missing = _missing(column, buffers, values, place)
    if kind == _CATEGORY:
        categories = _exchanged(column.describe_categorical["categories"], place)
        missing = values < 0 if missing is None else missing | (values < 0)
        values = categories.astype(object)[np.where(missing, 0, values)] if len(categories) else np.full(count, None)
    if missing is not None and missing.any():
        values = values.astype(object)
        values[missing] = None
    return values


def labels_of_frame(frame, name):
    """Columns as an array of labels: n, or n x K."""
    import numpy as np
    columns = [plain_labels(column, f"{name}: column {label!r}") for label, column in _columns_of(frame, name)]
    if not columns:
        raise BadInput(f"{name}: is a data frame without columns; give one label a row")
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def plain_labels(labels, name):
    """Labels (n), which may be Python's own, as an array of integers, strings, truth values or floats. Throws BadInput naming a row
    that has none."""
    import numpy as np
    labels = np.asarray(labels)
    if labels.dtype.kind not in "fO":
        return labels
    own = labels.tolist() if labels.dtype == object else None
    missing = np.isnan(labels) if own is None else np.fromiter(map(is_missing, own), bool, len(own))
    if missing.any():
        raise BadInput(f"{name}: row {int(np.argmax(missing))} has no label; leave out rows without one (for the data's owner only)")
    if own is None:
        return labels
    if any(isinstance(each, str) for each in own) and not all(isinstance(each, str) for each in own):
        row = next(row for row, each in enumerate(own) if not isinstance(each, str))
        raise BadInput(f"{name}: row {row} has the label {own[row]!r}, and other labels are strings; give all of one type (for the "
                       "data's owner only)")
    plain = np.asarray(own)
    if plain.dtype.kind == "f" and not all(isinstance(each, (float, np.floating)) for each in own):
        row = next(row for row, each in enumerate(own) if not isinstance(each, (float, np.floating)))
        raise BadInput(f"{name}: row {row} has the label {own[row]!r}, and all labels together would be floats, which merge large "
                       "integers; give all of one type (for the data's owner only)")
    return plain
