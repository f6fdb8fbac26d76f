"""Small questions about index expressions."""

import tvm_ffi
from tvm import ir, tirx


def divides_backwards(expression):
    """Whether something falls below a division: there TVM's iteration maps come out wrong.

    With `v < 24` they make `18 - v` of `(23 - v) // 6 * 6 + (23 - v) % 6`.
    """
    found = []

    def see_division(division):
        tvm_ffi.structural_walk(division, ((tirx.Sub, see_difference), (tirx.IntImm, see_number)))

    def see_difference(difference):
        found.extend(variables(difference.b))

    def see_number(number):
        found.extend([number] if number.value < 0 else [])

    divisions = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)
    tvm_ffi.structural_walk(expression, [(kind, see_division) for kind in divisions])
    return bool(found)


def variables(expression):
    """Every variable in an expression, as often as it occurs."""
    found = []
    tvm_ffi.structural_walk(expression, (ir.Var, found.append))
    return found
