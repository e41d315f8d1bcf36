"""Lines of a few numbers, four at once, where a compiled loop over the labels of a row is too short to be spread.

The compiler lays a loop out on vector registers only from sixteen turns or so on; private columns have two to a dozen
labels.  So what such loops do is written here as instructions on vectors, which every processor has in one form or
another: as many fours as there are, then two, then one.  Each number goes through what the plain loop did to it, in
the same precision and order: results are equal to the last bit.

``add_line(to, i, row, j, n)`` in a compiled loop adds the ``n`` numbers of ``row`` from ``j`` on to those of ``to``
from ``i`` on.  All arrays are flat and contiguous, all places and lengths unsigned; nothing here checks its input.
"""

from collections.abc import Callable
from typing import Any, final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hedgerow.counting.kernel import compiled

_WHOLE = ir.IntType(32)
_UNROLLED = 16  # numbers, in fours


def dividing(loop: Any) -> Any:
    """``compiled`` for loops in which no divisor is 0.

    To test each of them would keep the compiler from dividing several numbers at once.
    """
    return compiled(loop, error_model="numpy")


@final
class _Lanes:
    """The numbers of a line from ``k`` on, ``lanes`` of them, in the code that is being made."""

    def __init__(self, emitted: tuple[Any, Any, Any, Any], lanes: int, k: Any) -> None:
        self.context, self.build, signature, self.args = emitted
        self.kinds, self.lanes, self.k = signature.args, lanes, k
        self.f32, self.f64 = (ir.VectorType(t, lanes) for t in (ir.FloatType(), ir.DoubleType()))

    def _at(self, array: int, place: int, kind: Any) -> Any:
        data = self.context.make_array(self.kinds[array])(self.context, self.build, self.args[array]).data
        first = self.build.gep(data, [self.build.add(self.args[place], self.k)])
        return self.build.bitcast(first, kind.as_pointer())

    def singles(self, array: int, place: int) -> tuple[Any, Any]:
        """Where numbers of four bytes stand in one argument, by the place in another; and the numbers."""
        pointer = self._at(array, place, self.f32)
        return pointer, self.build.load(pointer, align=4)

    def doubles(self, array: int, place: int) -> tuple[Any, Any]:
        """The same of eight bytes."""
        pointer = self._at(array, place, self.f64)
        return pointer, self.build.load(pointer, align=8)

    def wide(self, numbers: Any) -> Any:
        """Eight bytes each, of four."""
        return self.build.fpext(numbers, self.f64)

    def every(self, one: Any) -> Any:
        """The same number in all lanes."""
        none = ir.Constant(ir.VectorType(one.type, self.lanes), ir.Undefined)
        first = self.build.insert_element(none, one, ir.Constant(_WHOLE, 0))
        zeros = ir.Constant(ir.VectorType(_WHOLE, self.lanes), [0] * self.lanes)
        return self.build.shuffle_vector(first, none, zeros)

    def spread(self, share: Any) -> Any:
        """The product s (1 - s)."""
        return self.build.fmul(share, self.build.fsub(ir.Constant(self.f64, [1.0] * self.lanes), share))

    def put(self, place: Any, numbers: Any) -> None:
        """Write numbers of four bytes."""
        self.build.store(numbers, place, align=4)

    def add(self, to: tuple[Any, Any], numbers: Any) -> None:
        """Add to numbers of eight bytes where they stand."""
        self.build.store(self.build.fadd(to[1], numbers), to[0], align=8)

    def add_up(self, share: Any, many: Any, fitted: tuple[Any, Any], spread: tuple[Any, Any]) -> None:
        """Add shares to one line, s (1 - s) to another, both so many times."""
        times = self.every(many)
        self.add(fitted, self.build.fmul(times, share))
        self.add(spread, self.build.fmul(times, self.spread(share)))


def _line(work: Callable[[_Lanes], None]) -> Callable[[Any, Any, Any, Any], Any]:
    """The code of an instruction whose last argument is how many numbers a line has."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        emitted, n = (context, builder, signature, args), args[-1]

        def bit(which: int) -> Any:
            return builder.and_(n, ir.Constant(n.type, which))

        for k in range(0, _UNROLLED, 4):  # one after another: a loop of so few turns is mostly its own bookkeeping
            with builder.if_then(builder.icmp_unsigned(">=", n, ir.Constant(n.type, k + 4)), likely=k == 0):
                work(_Lanes(emitted, 4, ir.Constant(n.type, k)))
        with builder.if_then(builder.icmp_unsigned(">=", n, ir.Constant(n.type, _UNROLLED + 4)), likely=False):
            fours = builder.lshr(n, ir.Constant(n.type, 2))
            with cgutils.for_range(builder, fours, ir.Constant(n.type, _UNROLLED // 4)) as loop:
                work(_Lanes(emitted, 4, builder.shl(loop.index, ir.Constant(n.type, 2))))
        with builder.if_then(builder.icmp_unsigned("!=", bit(2), ir.Constant(n.type, 0))):
            work(_Lanes(emitted, 2, bit(~3)))
        with builder.if_then(builder.icmp_unsigned("!=", bit(1), ir.Constant(n.type, 0))):
            work(_Lanes(emitted, 1, bit(~1)))
        return context.get_dummy_value()

    return code


def _add_line(_: Any, to: Any, i: Any, row: Any, j: Any, n: Any) -> Any:
    """Add numbers of four bytes to as many of eight."""
    return types.void(to, i, row, j, n), _line(lambda v: v.add(v.doubles(0, 1), v.wide(v.singles(2, 3)[1])))


def _step_line(_: Any, scores: Any, i: Any, steps: Any, j: Any, n: Any) -> Any:
    """Add numbers of four bytes to others."""

    def work(v: _Lanes) -> None:
        place, old = v.singles(0, 1)
        v.put(place, v.build.fadd(old, v.singles(2, 3)[1]))

    return types.void(scores, i, steps, j, n), _line(work)


def _scale_line(_: Any, row: Any, j: Any, factor: Any, i: Any, n: Any) -> Any:
    """Multiply shares of four bytes by factors of eight."""

    def work(v: _Lanes) -> None:
        place, share = v.singles(0, 1)
        v.put(place, v.build.fptrunc(v.build.fmul(v.wide(share), v.doubles(2, 3)[1]), v.f32))

    return types.void(row, j, factor, i, n), _line(work)


def _settle_line(_: Any, row: Any, j: Any, one: Any, many: Any, fitted: Any, spread: Any, i: Any, n: Any) -> Any:
    """Multiply shares s by ``one``; then add them to ``fitted`` and s (1 - s) to ``spread``, ``many`` times."""

    def work(v: _Lanes) -> None:
        place, share = v.singles(0, 1)
        made = v.build.fptrunc(v.build.fmul(v.wide(share), v.every(v.args[2])), v.f32)
        v.put(place, made)
        v.add_up(v.wide(made), v.args[3], v.doubles(4, 6), v.doubles(5, 6))

    return types.void(row, j, one, many, fitted, spread, i, n), _line(work)


def _sum_line(_: Any, row: Any, j: Any, many: Any, fitted: Any, spread: Any, i: Any, n: Any) -> Any:
    """Add shares s to ``fitted`` and s (1 - s) to ``spread``, ``many`` times."""

    def work(v: _Lanes) -> None:
        v.add_up(v.wide(v.singles(0, 1)[1]), v.args[2], v.doubles(3, 5), v.doubles(4, 5))

    return types.void(row, j, many, fitted, spread, i, n), _line(work)


def _curve_line(_: Any, to: Any, i: Any, rest: Any, j: Any, label: Any, own: Any, n: Any) -> Any:
    """Add s (1 - s) to ``to``, of shares whose negatives are in ``rest``; number ``label`` has the share ``own``."""

    def work(v: _Lanes) -> None:
        kind = v.args[4].type
        numbers = v.build.add(v.every(v.k), ir.Constant(ir.VectorType(kind, v.lanes), list(range(v.lanes))))
        here = v.build.icmp_unsigned("==", v.every(v.args[4]), numbers)
        share = v.build.select(here, v.every(v.args[5]), v.build.fneg(v.singles(2, 3)[1]))
        v.add(v.doubles(0, 1), v.spread(v.wide(share)))

    return types.void(to, i, rest, j, label, own, n), _line(work)


def _lowest_bit(_: Any, bits: Any) -> Any:
    """The place of the lowest bit that is set; one is."""

    def code(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return bits(bits), code


# not as decorators: what watches types in tests would put itself between these and the compiler
add_line = intrinsic(_add_line)
step_line = intrinsic(_step_line)
scale_line = intrinsic(_scale_line)
settle_line = intrinsic(_settle_line)
sum_line = intrinsic(_sum_line)
curve_line = intrinsic(_curve_line)
lowest_bit = intrinsic(_lowest_bit)
