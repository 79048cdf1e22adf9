"""cublasSgemm, float32 without TF32, through ctypes: the libraries are opened at run time and nothing
has to be installed beside them. Instruments: event_span, graph_time."""
import array
import ctypes
import ctypes.util
import glob
import os

import pawl_rival

_GRAPH_US = 5_000  # of unrolled calls in a graph


def open_first(names, folders=()):
    for folder in ("", *folders):
        for name in names:
            try:
                return ctypes.CDLL(os.path.join(folder, name))
            except OSError:
                continue
    raise pawl_rival.Absent(f"none of {', '.join(names)} can be opened")


def toolkit_folders():
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    roots += sorted(glob.glob("/usr/local/cuda*"), reverse=True)
    return [f"{root}/{sub}" for root in roots if root for sub in ("lib64", "lib")]


class Cuda:
    """The driver and cuBLAS, each call checked."""

    def __init__(self):
        self.driver = open_first(["libcuda.so.1"])
        self.blas = open_first(["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"],
                               toolkit_folders())
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)  # the first of CUDA_VISIBLE_DEVICES
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        self("cuStreamCreate", ctypes.byref(self.stream), 1)  # waits for no other stream
        self.handle = ctypes.c_void_p()
        self("cublasCreate_v2", ctypes.byref(self.handle))
        self("cublasSetStream_v2", self.handle, self.stream)
        self("cublasSetMathMode", self.handle, 0)  # CUBLAS_DEFAULT_MATH: no TF32

    def __call__(self, name, *arguments):
        library = self.blas if name.startswith("cublas") else self.driver
        code = getattr(library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} gives {code}")

    def version(self):
        number = ctypes.c_int()
        self("cublasGetVersion_v2", self.handle, ctypes.byref(number))
        return str(number.value)

    def memory(self, size):
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def upload(self, elements):
        size = len(elements) * elements.itemsize
        address = self.memory(size)
        host = (ctypes.c_char * size).from_buffer(elements)
        self("cuMemcpyHtoD_v2", address, host, ctypes.c_size_t(size))
        self("cuCtxSynchronize")  # our stream does not wait for it
        return address

    def free(self, address):
        self("cuMemFree_v2", address)

    def download(self, address, size):
        self("cuCtxSynchronize")
        host = ctypes.create_string_buffer(size)
        self("cuMemcpyDtoH_v2", host, address, ctypes.c_size_t(size))
        return host.raw

    def event(self):
        event = ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(event), 0)
        return event

    def times(self, call, warmup, events):
        """Of a call between each pair of events."""
        for _ in range(warmup):
            call()
        for start, end in events:
            self("cuEventRecord", start, self.stream)
            call()
            self("cuEventRecord", end, self.stream)
        self("cuCtxSynchronize")
        times, ms = [], ctypes.c_float()
        for start, end in events:
            self("cuEventElapsedTime", ctypes.byref(ms), start, end)
            times.append(ms.value * 1e3)
        return times

    def graph_of(self, call, calls):
        graph, launchable = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuStreamBeginCapture_v2", self.stream, 2)  # relaxed
        for _ in range(calls):
            call()
        self("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self("cuGraphInstantiateWithFlags", ctypes.byref(launchable), graph, ctypes.c_ulonglong(0))
        self("cuGraphDestroy", graph)
        return launchable


cuda = None
held = []  # memory of the input set before
events = []


def prepare(problem):
    global cuda
    if problem.backend != "cuda":
        raise pawl_rival.Absent("cuBLAS needs backend cuda")
    problem.need_instrument(["event_span", "graph_time"])
    if cuda is None:
        cuda = Cuda()
    while held:
        cuda.free(held.pop())
    m, n, k = (problem.shape[letter] for letter in "mnk")
    if max(m, n, k) >= 1 << 31:
        raise pawl_rival.Absent("cublasSgemm takes 32-bit sizes")
    a, b = cuda.upload(problem.input("A")), cuda.upload(problem.input("B"))
    c = cuda.upload(array.array("f", [float("nan")]) * (m * n))
    held.extend((a, b, c))
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    # cuBLAS is column major: C' = B' A' of the same memory.
    def call():
        cuda("cublasSgemm_v2", cuda.handle, 0, 0, n, m, k, ctypes.byref(one), b, n, a, k,
             ctypes.byref(zero), c, n)

    graphs = []

    def time(warmup, iterations):
        while len(events) < iterations:
            events.append((cuda.event(), cuda.event()))
        if problem.instrument == "event_span":
            return cuda.times(call, warmup, events[:iterations])
        if not graphs:
            once = min(cuda.times(call, 3, events[:1]))
            calls = max(1, min(1024, int(_GRAPH_US / max(once, 1e-3))))
            graphs.append((cuda.graph_of(call, calls), calls))
        graph, calls = graphs[0]
        replays = cuda.times(lambda: cuda("cuGraphLaunch", graph, cuda.stream),
                             -(-warmup // calls), events[:iterations])
        return [us / calls for us in replays]

    return pawl_rival.Prepared(call, lambda: {"C": cuda.download(c, 4 * m * n)},
                               {"cublas": cuda.version()}, time)


pawl_rival.serve(prepare)
