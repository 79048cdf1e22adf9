"""doubled by two launches of the stand-in driver's kernel `right`, through kernels/pawl_cuda.py."""
import ctypes

import pawl_cuda
import pawl_rival


def prepare(problem):
    cuda = pawl_cuda.Cuda.of(problem)
    n = problem.shape["n"]
    x, y = cuda.upload(problem.input("in")), cuda.fresh(4 * n)
    module, kernel, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int64(n)
    cuda("cuModuleLoadData", ctypes.byref(module), b"right")
    cuda("cuModuleGetFunction", ctypes.byref(kernel), module, b"right")
    values = (x, y, count)
    arguments = (ctypes.c_void_p * 3)(*(ctypes.addressof(one) for one in values))

    def call(values=values):  # held: `arguments` says only where they lie
        for _ in range(2):
            cuda("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, cuda.stream, arguments, None)

    def outputs():
        return {"out": cuda.download(values[1], 4 * n)}

    return cuda.prepared(call, outputs, {"kernel": "right"})


pawl_rival.serve(prepare)
