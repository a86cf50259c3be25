"""Arguments of Python as the words that the option table reads."""
import keyword


def parameter_of(option):
    """An option's name as that of a parameter: lambda_, since lambda is Python's."""
    return option + "_" if keyword.iskeyword(option) else option


def _option_of(parameter):
    return parameter[:-1] if keyword.iskeyword(parameter[:-1]) else parameter


def _word(value):
    if isinstance(value, str):
        return value
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def _has_parts(value):
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1  # an array of NumPy


def words_of(keywords):
    """[(name, [word])] of what is not None."""
    return [(_option_of(name), [_word(part) for part in value] if _has_parts(value) else [_word(value)])
            for name, value in keywords.items() if value is not None]
