"""Y = X * 1.5 + 1: passes, by the standard library."""
import array
import platform

import pawl_rival


def prepare(problem):
    x = problem.input("X")
    y = array.array("f", bytes(4 * len(x)))

    def call():
        y[:] = array.array("f", [value * 1.5 + 1 for value in x])

    return pawl_rival.Prepared(call, lambda: {"Y": y}, {"python": platform.python_version()})


pawl_rival.serve(prepare)
