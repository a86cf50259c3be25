"""What a caller passes as rows, as NumPy arrays that are not copied; refused with what to do where it is none."""
from . import _library
from .errors import BadInput, UsageError
from .frames import as_frame, features_of, is_of, labels_of_columns, labels_of_frame, names_of_columns, numbers_of, plain_labels, targets_of_frame


def as_rows(value, name):
    """Features, n x d, and the names of columns, or None: a NumPy array where it lies, or a copy where a data frame or an array
    has Python's own objects. `name` begins the message of BadInput."""
    import numpy as np
    frame = as_frame(value, name)
    if frame is not None:
        return features_of(frame, name), names_of_columns(frame, name)
    array = _as_array(value, name)
    if array.dtype != object:
        return array, None
    if array.ndim != 2:
        raise BadInput(f"{name}: elements are Python objects, or rows differ in length; convert them with .astype(numpy.float32)")
    columns = [numbers_of(array[:, place], f"{name}: column {place}") for place in range(array.shape[1])]
    return np.stack(columns, axis=1).astype(np.float32) if columns else array.astype(np.float32), None


def rows_like(expected, where, value, name, need_names=False):
    """Features of `value`. Where names of columns are expected, those `where` says ("in X"), and `value` has or needs some, they
    must be the same: throws BadInput naming the first that differs."""
    array, names = as_rows(value, name)
    if expected and (names or need_names):
        _library.core().require_same_features(names or [], expected, name, where)
    return array


def require_apart(training, others, may_be_view=False):
    """Throws BadInput where an object of `others` ({name: value or None}) is one of `training`, or one is a view of the other: what
    has to be converted is a copy, which nobody finds; and where labels or targets are a column of X, by name, and unless
    `may_be_view` by memory."""
    for name in ("y", "targets"):
        _require_no_column(training["X"], training.get(name), name, may_be_view)
    for name, value in others.items():
        for own_name, own in training.items():
            if value is not None and own is not None and (_is_view_of(value, own) or _is_view_of(own, value)):
                raise BadInput(f"{name} and {own_name} are the same rows: training rows are private, but {name.split('_')[0]} rows are used "
                               "without noise; give public rows, and none of these")


def _require_no_column(X, y, name, may_be_view):
    """By memory and by name: whether two columns hold the same values must not be told."""
    import numpy as np
    advice = "a model would be given what it is to predict; leave the column out of X"
    names = [str(label) for label in labels_of_columns(y) if isinstance(label, str) and label]
    shared = [label for label in labels_of_columns(X) if label in names]
    if shared:
        raise BadInput(f"X: column {shared[0]!r} is also {name}: {advice}, as in X.drop(columns={shared[0]!r}), or rename it if it is "
                       "something else")
    if may_be_view or not isinstance(X, np.ndarray) or not isinstance(y, np.ndarray):  # others are copied
        return
    try:
        is_column = np.shares_memory(X, y, max_work=100_000)
    except RuntimeError:  # np.exceptions.TooHardError
        is_column = False
    if is_column:
        raise BadInput(f"{name}: is X, or a column of it: {advice}")


def _is_view_of(value, whole):
    import numpy as np
    while value is not whole and isinstance(value, np.ndarray):
        value = value.base
    return value is whole


def _as_array(value, name):
    """`value` as a NumPy array, where it lies. `name` begins the message of BadInput."""
    import numpy as np
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise BadInput(f"{name}: is a sparse matrix; make it dense with .toarray(), in parts if it is large")
    if is_of(value, "torch", "Tensor"):
        if str(getattr(value, "layout", "torch.strided")) != "torch.strided":
            raise BadInput(f"{name}: is a sparse tensor; make it dense with .to_dense(), in parts if it is large")
        if value.device.type != "cpu":
            raise BadInput(f"{name}: is a tensor on {value.device.type}; bring it to memory with .detach().cpu().numpy()")
        if value.requires_grad:
            raise BadInput(f"{name}: is a tensor with a gradient; take its values with .detach().cpu().numpy()")
        if str(value.dtype) == "torch.bfloat16":
            raise BadInput(f"{name}: elements are bfloat16, which NumPy does not have; convert them with .float()")
    elif hasattr(value, "__cuda_array_interface__"):
        raise BadInput(f"{name}: is an array on a GPU; bring it to memory with .get() or numpy.asarray of a copy on the CPU")
    if np.ma.isMaskedArray(value):
        raise BadInput(f"{name}: is a masked array; fill masked elements with .filled(), or leave those rows out")
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadInput(f"{name}: is not an array ({error}); pass one that numpy.asarray accepts") from error


def as_persons(value, name):
    """The same of identifiers of persons, integers or strings. What are Python's own, as data frames have them, is copied;
    BadInput names the row where one is missing or something else."""
    import numpy as np
    has_elements_of_python = not hasattr(value, "dtype") or np.asarray(value).dtype == object
    array = None if has_elements_of_python else _as_array(value, name)
    if array is not None and array.dtype.kind not in "mMcV":
        return array
    if array is not None:
        raise BadInput(f"{name}: identifiers are {array.dtype}; give integers or strings, one a row")
    if getattr(value, "ndim", 1) != 1 or isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        return _as_array(value, name)
    words = []
    for row, own in enumerate(value):
        is_word = isinstance(own, (str, int, np.integer)) and not isinstance(own, bool)
        if not is_word or own == "":
            raise BadInput(f"{name}: row {row} has the identifier {own!r}; give each row a person, as an integer or a string "
                           "(for the data's owner only)")
        words.append(str(own))
    return np.asarray(words, dtype=None if words else np.int64)


def as_weights(value, name, bound):
    """What each row weighs, n floats. Throws UsageError where no bound is stated."""
    import numpy as np
    if bound is None:
        raise UsageError(f"{name}: give weight_bound=W, the largest weight of a row; the noise is sized for a row of weight W. W is "
                         "public, and each weight may depend on its own row alone. For equal weights of classes use objective='balanced'")
    weights = _as_array(value, name)
    try:
        return np.asarray(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name}: weights are {weights.dtype}; give one number a row") from error


def as_targets(value, name):
    """Numbers to predict, n or n x m: an array where it lies, or doubles where a data frame or an array has Python's own objects."""
    import numpy as np
    frame = as_frame(value, name)
    if frame is not None:
        return targets_of_frame(frame, name)
    targets = _as_array(value, name)
    if targets.dtype != object:
        return targets
    if targets.ndim == 1:
        return numbers_of(targets, name)
    try:
        return targets.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name}: targets are not numbers ({error}); give one number per row, or an array n x m") from error


def as_labels(value, name):
    """The same of labels, which may be Python's own strings or numbers, as data frames have them: these are copied."""
    import numpy as np
    frame = as_frame(value, name)
    if frame is not None:
        return labels_of_frame(frame, name)
    labels = _as_array(value, name)
    if labels.ndim != 1:
        return labels
    if not hasattr(value, "__array__"):  # a list: one label must not change the type of all others
        own = list(value)
        labels = np.empty(len(own), object)
        labels[:] = own
    return plain_labels(labels, name)


def indices_of(labels, classes, name, unlisted=None):
    """Which of `classes` (sorted, a NumPy array) each label is. One that is none of them is `unlisted`; without it throws BadInput."""
    import numpy as np
    if labels.dtype.kind != classes.dtype.kind and {labels.dtype.kind, classes.dtype.kind} - set("biuf"):
        raise BadInput(f"{name}: labels are {labels.dtype}, but classes are {classes.dtype}; give both the same type")
    if unlisted is not None and labels.dtype.kind != classes.dtype.kind:  # no label ends the run; Python compares numbers exactly
        index = {own: place for place, own in enumerate(classes.tolist())}
        return np.array([index.get(own, unlisted) for own in labels.ravel().tolist()], np.int64).reshape(labels.shape)
    if {labels.dtype.kind, classes.dtype.kind} == {"u", "i"}:  # as one type they would be floats, which merge large ones
        beyond = np.iinfo(np.int64).max
        for unsigned in (labels, classes):
            if unsigned.dtype.kind == "u" and unsigned.size and unsigned.max() > beyond:
                raise BadInput(f"{name}: labels or classes mix signed integers with values above {beyond}; give both one integer type")
        labels, classes = labels.astype(np.int64), classes.astype(np.int64)
    if "f" in {labels.dtype.kind, classes.dtype.kind} and labels.dtype.kind != classes.dtype.kind:
        if any(side.dtype.kind in "iu" and side.size and max(-int(side.min()), int(side.max())) > 2**53 for side in (labels, classes)):
            raise BadInput(f"{name}: labels are {labels.dtype} and classes {classes.dtype}, which would merge integers above 2^53; give "
                           "both as integers")
    places = np.searchsorted(classes, labels)
    places[places == len(classes)] = 0
    strange = classes[places] != labels
    if unlisted is not None:
        places[strange] = unlisted
    elif strange.any():
        row = int(np.argmax(strange))
        raise BadInput(f"{name}: row {row} has label {labels[row]!r}, which is not among the {len(classes)} classes; correct it, "
                       "or list it in classes= (for the data's owner only)")
    return places


def rows_to_score(classifier, value):
    """Features for a classifier of the core, whose names of columns must be those that it was trained on, if both have some."""
    return rows_like(classifier.feature_names, "in the model", value, "X")


def names_of(class_names):
    """`class_names` as a list, or None. Throws UsageError where they are no strings: numbers would be taken for indices."""
    if class_names is None:
        return None
    names = [] if isinstance(class_names, (str, bytes)) else list(class_names)
    if not names or not all(isinstance(name, str) for name in names):
        raise UsageError("class_names: give the names of all classes, a list of strings; labels that are numbers are indices, "
                         "0 to K-1, and need classes=K alone")
    return [str(name) for name in names]


def labels_of(value, name, class_names, unlisted=None):
    """Labels as fit() takes them: indices, or names that `class_names` lists. Of one that they do not list as indices_of."""
    import numpy as np
    labels = as_labels(value, name)
    if class_names is None or labels.dtype.kind not in "US":
        return labels
    order = np.argsort(class_names)
    names = np.asarray(class_names)[order]
    try:
        strange = "strict" if unlisted is None else "replace"
        words = labels if labels.dtype.kind == "U" else np.char.decode(labels, "ascii", strange)
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}: labels are bytes that are not ASCII text; decode them to strings first") from error
    places = indices_of(words.reshape(-1), names, name, unlisted)
    return np.where(places < 0, places, order[places])
