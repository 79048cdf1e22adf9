"""Rivals on CUDA libraries, without PyTorch: the driver through ctypes, and the instruments
event_span, graph_time and kernel_time of a call that works on one stream. Opened at run time; nothing has
to be installed beside the libraries.

    import pawl_cuda

    def prepare(problem):
        cuda = pawl_cuda.Cuda.of(problem)       # absent where it cannot be
        x, y = cuda.upload(problem.input("X")), cuda.fresh(4 * n)
        return cuda.prepared(call, lambda: {"Y": cuda.download(y, 4 * n)}, versions)
"""
import ctypes
import glob
import os

import pawl_cupti
import pawl_rival

_GRAPH_US = 5_000  # of unrolled calls in a graph
INSTRUMENTS = ["event_span", "graph_time", "kernel_time"]


def open_library(names, variable=""):
    """The first of the names that can be opened: as it is, then in CUDA's folders; or what the
    environment's variable says."""
    chosen = os.environ.get(variable)
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    roots += sorted(glob.glob("/usr/local/cuda*"), reverse=True)
    folders = ["", *(f"{root}/{sub}" for root in roots if root for sub in ("lib64", "lib"))]
    for path in [chosen] if chosen else [os.path.join(f, name) for f in folders for name in names]:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise pawl_rival.Absent(f"none of {chosen or ', '.join(names)} can be opened")


class Cuda:
    """A context, a stream, memory; each call checked."""

    _one = None

    @classmethod
    def of(cls, problem):
        """The process's own, without what the problem before held."""
        if problem.backend != "cuda":
            raise pawl_rival.Absent(f"needs backend cuda, not {problem.backend}")
        problem.need_instrument(INSTRUMENTS)
        if cls._one is None:
            cls._one = cls()
        cls._one._begin(problem.instrument)
        return cls._one

    def __init__(self):
        self.driver = open_library(["libcuda.so.1"], "PAWL_LIBCUDA")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDeviceGet", ctypes.byref(device), 0)  # the first of CUDA_VISIBLE_DEVICES
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        self("cuStreamCreate", ctypes.byref(self.stream), 1)  # waits for no other stream
        self._held, self._events = [], []
        self._instrument, self._graph, self._timer = "", None, None

    def __call__(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} gives {code}")

    def _begin(self, instrument):
        while self._held:
            self("cuMemFree_v2", self._held.pop())
        if self._graph is not None:
            self("cuGraphExecDestroy", self._graph[0])
        self._graph = None
        self._instrument = instrument
        if instrument == "kernel_time" and self._timer is None:
            self._timer = pawl_cupti.KernelTimer()

    def synchronize(self):
        self("cuStreamSynchronize", self.stream)

    def fresh(self, size):
        """Bytes that the next problem gives back."""
        address = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        self._held.append(address)
        return address

    def upload(self, elements):
        size = len(elements) * elements.itemsize
        address = self.fresh(size)
        host = (ctypes.c_char * size).from_buffer(elements)
        self("cuMemcpyHtoDAsync_v2", address, host, ctypes.c_size_t(size), self.stream)
        self.synchronize()
        return address

    def download(self, address, size):
        host = ctypes.create_string_buffer(size)
        self("cuMemcpyDtoHAsync_v2", host, address, ctypes.c_size_t(size), self.stream)
        self.synchronize()
        return host.raw

    def prepared(self, call, outputs, versions):
        """What prepare() answers, with the problem's instrument. call(): works on `stream` alone."""

        def time(warmup, iterations):
            if self._instrument == "event_span":
                return self._spans(call, warmup, iterations)
            if self._instrument == "kernel_time":
                return self._timer.times(call, self.synchronize, warmup, iterations)
            if self._graph is None:
                once = min(self._spans(call, 3, 1))
                calls = max(1, min(1024, int(_GRAPH_US / max(once, 1e-3))))
                self._graph = self._graph_of(call, calls), calls
            graph, calls = self._graph
            replays = self._spans(lambda: self("cuGraphLaunch", graph, self.stream),
                                  -(-warmup // calls), iterations)
            return [us / calls for us in replays]

        return pawl_rival.Prepared(call, outputs, versions, time)

    def _event(self):
        event = ctypes.c_void_p()
        self("cuEventCreate", ctypes.byref(event), 0)
        return event

    def _spans(self, call, warmup, iterations):
        """Microseconds between events around each call."""
        while len(self._events) < iterations:
            self._events.append((self._event(), self._event()))
        events = self._events[:iterations]
        for _ in range(warmup):
            call()
        for start, end in events:
            self("cuEventRecord", start, self.stream)
            call()
            self("cuEventRecord", end, self.stream)
        self.synchronize()
        times, ms = [], ctypes.c_float()
        for start, end in events:
            self("cuEventElapsedTime", ctypes.byref(ms), start, end)
            times.append(ms.value * 1e3)
        return times

    def _graph_of(self, call, calls):
        graph, launchable = ctypes.c_void_p(), ctypes.c_void_p()
        self("cuStreamBeginCapture_v2", self.stream, 2)  # relaxed
        try:
            for _ in range(calls):
                call()
        finally:
            self("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        try:
            self("cuGraphInstantiateWithFlags", ctypes.byref(launchable), graph, ctypes.c_ulonglong(0))
        finally:
            self("cuGraphDestroy", graph)
        return launchable
