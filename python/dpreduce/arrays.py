"""What a caller passes as rows, as NumPy arrays that are not copied; refused with what to do where it is none."""
from .errors import BadInput


def _is_of(value, module, name):
    return any(cls.__module__.split(".")[0] == module and cls.__name__ == name for cls in type(value).__mro__)


def as_array(value, name):
    """`value` as a NumPy array, where it lies. `name` begins the message of BadInput."""
    import numpy as np
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise BadInput(f"{name}: is a sparse matrix; make it dense with .toarray(), in parts if it is large")
    if _is_of(value, "torch", "Tensor"):
        if str(getattr(value, "layout", "torch.strided")) != "torch.strided":
            raise BadInput(f"{name}: is a sparse tensor; make it dense with .to_dense(), in parts if it is large")
        if value.device.type != "cpu":
            raise BadInput(f"{name}: is a tensor on {value.device.type}; bring it to memory with .detach().cpu().numpy()")
        if value.requires_grad:
            raise BadInput(f"{name}: is a tensor with a gradient; take its values with .detach().cpu().numpy()")
        if str(value.dtype) == "torch.bfloat16":
            raise BadInput(f"{name}: elements are bfloat16, which NumPy has not; convert them with .float()")
    elif hasattr(value, "__cuda_array_interface__"):
        raise BadInput(f"{name}: is an array on a GPU; bring it to memory with .get() or numpy.asarray of a copy on the CPU")
    if np.ma.isMaskedArray(value):
        raise BadInput(f"{name}: is a masked array; fill what is masked with .filled(), or leave those rows out")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadInput(f"{name}: is no array ({error}); pass one that numpy.asarray takes") from error
    if array.dtype == object:
        raise BadInput(f"{name}: elements are Python objects, or rows differ in length; convert them with "
                       ".astype(numpy.float32) for features, or to class indices for labels")
    return array


def as_persons(value, name):
    """The same of identifiers of persons, integers or strings. What are Python's own, as data frames have them, is copied;
    BadInput names the row where one is missing or something else."""
    import numpy as np
    has_elements_of_python = not hasattr(value, "dtype") or np.asarray(value).dtype == object
    array = None if has_elements_of_python else as_array(value, name)
    if array is not None and array.dtype.kind not in "mMcV":
        return array
    if array is not None:
        raise BadInput(f"{name}: identifiers are {array.dtype}; give integers or strings, one a row")
    if getattr(value, "ndim", 1) != 1 or isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        return as_array(value, name)
    words = []
    for row, own in enumerate(value):
        is_word = isinstance(own, (str, int, np.integer)) and not isinstance(own, bool)
        if not is_word or own == "":
            raise BadInput(f"{name}: row {row} has the identifier {own!r}; give each row a person, as an integer or a string "
                           "(for the data's owner only)")
        words.append(str(own))
    return np.asarray(words, dtype=None if words else np.int64)


def as_labels(value, name):
    """The same of labels, which may be Python's own strings or numbers, as data frames have them: these are copied."""
    import numpy as np
    if getattr(value, "dtype", None) == object and getattr(value, "ndim", 0) == 1:
        value = np.asarray(list(value))
    return as_array(value, name)


def indices_of(labels, classes, name):
    """Which of `classes` (sorted, a NumPy array) each label is. Throws BadInput where one is none of them."""
    import numpy as np
    if labels.dtype.kind != classes.dtype.kind and {labels.dtype.kind, classes.dtype.kind} - set("biuf"):
        raise BadInput(f"{name}: labels are {labels.dtype}, but classes are {classes.dtype}; give both alike")
    if {labels.dtype.kind, classes.dtype.kind} == {"u", "i"}:  # as one type they would be floats, which merge large ones
        beyond = np.iinfo(np.int64).max
        for unsigned in (labels, classes):
            if unsigned.dtype.kind == "u" and unsigned.size and unsigned.max() > beyond:
                raise BadInput(f"{name}: labels or classes are above {beyond}, beside others with a sign; give both one type")
        labels, classes = labels.astype(np.int64), classes.astype(np.int64)
    places = np.searchsorted(classes, labels)
    places[places == len(classes)] = 0
    strange = classes[places] != labels
    if strange.any():
        row = int(np.argmax(strange))
        raise BadInput(f"{name}: row {row} has label {labels[row]!r}, which is not among the {len(classes)} classes; correct it, "
                       "or list it in classes= (for the data's owner only)")
    return places
