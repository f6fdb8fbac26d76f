"""When index expressions determine the iteration that they are evaluated in.

`tvm.sym.detect_iter_map` and `iter_map_simplify` answer this too, and wrongly at times: that
`i + (i * 2 + 2) % 6` takes three values for `i < 3`, or that `(i + j * 2 + 3) // 6` is
`(i + j * 2 + 2) // 6`. Here no rule goes beyond sums of digits.
"""

from dataclasses import dataclass

from tvm import ir, sym, tirx

from .expressions import variables


@dataclass(frozen=True)
class _Digit:
    """`floormod(floordiv(var, lower), modulus)`, or without the floormod."""

    var: ir.Var
    lower: int
    modulus: int | None


def determine(numbers, domain):
    """Whether the values of some expressions are had at one point of a domain only.

    Parameters
    ----------
    numbers : list of Expr
        Simplified.
    domain : dict of Var to Range
        Loop variables, outermost first, whose ranges may depend on those before. All others are
        constants.

    Returns
    -------
    bool
        True only when proved.
    """
    analyzer = sym.Analyzer()
    for var, extent in domain.items():
        analyzer.bind(var, extent)
    digits = {digit for number in numbers for digit in _digits(number, domain, analyzer)}
    return all(_is_determined(var, extent, digits) for var, extent in domain.items())


def _digits(number, domain, analyzer):
    """The digits that a number determines, because each weighs more than all below it can."""
    terms = _terms(number, 1, domain)
    if terms is None:
        return []
    below = 0
    for scale, _, expression in sorted(terms, key=lambda term: abs(term[0])):
        if abs(scale) <= below:
            return []
        bound = analyzer.const_int_bound(expression)
        below += abs(scale) * (bound.max_value - bound.min_value)
    return [digit for _, digit, _ in terms]


def _terms(number, scale, domain):
    """A number as a sum of digits: (scale, digit, its expression) of each, or None."""
    if not any(var in domain for var in variables(number)):
        return []
    if isinstance(number, tirx.Add | tirx.Sub):
        sign = 1 if isinstance(number, tirx.Add) else -1
        parts = _terms(number.a, scale, domain), _terms(number.b, sign * scale, domain)
        return None if None in parts else parts[0] + parts[1]
    if isinstance(number, tirx.Mul) and isinstance(number.b, tirx.IntImm):
        return _terms(number.a, scale * number.b.value, domain)
    digit = _digit(number)
    return None if digit is None else [(scale, digit, number)]


def _digit(number):
    if isinstance(number, ir.Var):
        return _Digit(number, 1, None)
    if not isinstance(number, tirx.FloorDiv | tirx.FloorMod):
        return None
    digit, factor = _digit(number.a), number.b
    if digit is None or not isinstance(factor, tirx.IntImm) or factor.value <= 0:
        return None
    if digit.modulus is not None and digit.modulus % factor.value:
        return None
    if isinstance(number, tirx.FloorMod):
        return _Digit(digit.var, digit.lower, factor.value)
    modulus = None if digit.modulus is None else digit.modulus // factor.value
    return _Digit(digit.var, digit.lower * factor.value, modulus)


def _is_determined(var, extent, digits):
    """Whether digits of a variable leave it one value in a range."""
    known = 1  # the variable is known up to multiples of this
    for digit in sorted((d for d in digits if d.var.same_as(var)), key=lambda d: d.lower):
        if known % digit.lower:
            continue
        if digit.modulus is None:
            return True
        known = max(known, digit.lower * digit.modulus)
    return isinstance(extent.extent, tirx.IntImm) and extent.extent.value <= known
