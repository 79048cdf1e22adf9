"""cublasSgemm, float32 without TF32, through ctypes. Instruments: event_span, graph_time, kernel_time."""
import array
import ctypes

import pawl_cuda
import pawl_rival


class Cublas:
    """A handle on cuda's stream; each call checked."""

    def __init__(self, cuda):
        self.library = pawl_cuda.open_library(["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"])
        self.handle = ctypes.c_void_p()
        self("cublasCreate_v2", ctypes.byref(self.handle))
        self("cublasSetStream_v2", self.handle, cuda.stream)
        self("cublasSetMathMode", self.handle, 0)  # CUBLAS_DEFAULT_MATH: no TF32

    def __call__(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} gives {code}")

    def version(self):
        number = ctypes.c_int()
        self("cublasGetVersion_v2", self.handle, ctypes.byref(number))
        return str(number.value)


cublas = None


def prepare(problem):
    global cublas
    cuda = pawl_cuda.Cuda.of(problem)
    if cublas is None:
        cublas = Cublas(cuda)
    m, n, k = (problem.shape[letter] for letter in "mnk")
    if max(m, n, k) >= 1 << 31:
        raise pawl_rival.Absent("cublasSgemm takes 32-bit sizes")
    a, b = cuda.upload(problem.input("A")), cuda.upload(problem.input("B"))
    c = cuda.upload(array.array("f", [float("nan")]) * (m * n))
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    # cuBLAS is column major: C' = B' A' of the same memory.
    def call():
        cublas("cublasSgemm_v2", cublas.handle, 0, 0, n, m, k, ctypes.byref(one), b, n, a, k,
               ctypes.byref(zero), c, n)

    return cuda.prepared(call, lambda: {"C": cuda.download(c, 4 * m * n)},
                         {"cublas": cublas.version()})


pawl_rival.serve(prepare)
