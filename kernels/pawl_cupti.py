"""The instrument kernel_time for rivals in Python: what the GPU was busy with during calls, from
CUPTI's activity records, through ctypes. As for pawl's own arms (worker/device/cuda/cupti.h): kernels,
copies and fills by their own durations, traced in a pass of its own, void where a record is lost.
"""
import ctypes
import glob
import os

import pawl_rival

_KERNEL, _COPY, _FILL, _CONCURRENT_KERNEL = 3, 1, 2, 10  # CUpti_ActivityKind
_TRACED = (_CONCURRENT_KERNEL, _COPY, _FILL)
_START = 16  # of start and end, 64-bit nanoseconds, in all three records (CUPTI 8 and newer)
_FORCED = 1  # CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
_BUFFER = 1 << 20
_NAMES = ("libcupti.so.13", "libcupti.so.12", "libcupti.so")

_Request = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t),
                            ctypes.POINTER(ctypes.c_size_t))
_Complete = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p,
                             ctypes.c_size_t, ctypes.c_size_t)


def _mapped():
    """The CUPTI that is in the process already (PyTorch brings one): a second would see nothing."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            path = line.split(maxsplit=5)[-1].strip()
            if os.path.basename(path).startswith("libcupti.so"):
                return [path]
    return []


def _open():
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    roots += sorted(glob.glob("/usr/local/cuda-*"), reverse=True)
    folders = [f"{root}/{sub}" for root in roots if root
               for sub in ("lib64", "lib", "extras/CUPTI/lib64")]
    chosen = os.environ.get("PAWL_LIBCUPTI")
    candidates = _mapped() or ([chosen] if chosen else [
        os.path.join(folder, name) for folder in ("", *folders) for name in _NAMES])
    for path in candidates:
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise pawl_rival.Absent("has no instrument kernel_time: no libcupti can be opened "
                            "(PAWL_LIBCUPTI can name the file)")


class KernelTimer:
    """times(call, synchronize, warmup, iterations): of each call, the microseconds that its kernels,
    copies and fills took, summed. One at a time in a process."""

    def __init__(self):
        self._library = _open()
        self._buffers = {}
        self._spans, self._lost = [], 0
        # Held, since CUPTI keeps them.
        self._request, self._complete = _Request(self._give), _Complete(self._take)
        self._do("cuptiActivityRegisterCallbacks", self._request, self._complete)

    def _do(self, name, *arguments):
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise RuntimeError(f"{name} gives {code}")

    def _give(self, buffer, size, most):
        memory = ctypes.create_string_buffer(_BUFFER + 8)
        address = (ctypes.addressof(memory) + 7) & ~7
        self._buffers[address] = memory
        buffer[0], size[0], most[0] = address, _BUFFER, 0

    def _take(self, context, stream, buffer, size, valid):
        record = ctypes.c_void_p()
        while self._library.cuptiActivityGetNextRecord(
                ctypes.c_void_p(buffer), ctypes.c_size_t(valid), ctypes.byref(record)) == 0:
            if ctypes.c_int32.from_address(record.value).value in (_KERNEL, *_TRACED):
                start, end = (ctypes.c_uint64 * 2).from_address(record.value + _START)
                if start == 0 or end < start:
                    self._lost += 1
                else:
                    self._spans.append((start, end))
        dropped = ctypes.c_size_t()
        if self._library.cuptiActivityGetNumDroppedRecords(
                ctypes.c_void_p(context), ctypes.c_uint32(stream), ctypes.byref(dropped)) == 0:
            self._lost += dropped.value
        self._buffers.pop(buffer, None)

    def times(self, call, synchronize, warmup, iterations):
        for _ in range(warmup):
            call()
        synchronize()
        self._spans, self._lost = [], 0
        try:
            for kind in _TRACED:
                self._do("cuptiActivityEnable", kind)
            for _ in range(iterations):
                call()
            synchronize()
        finally:  # also of a pass that failed: its records are not the next one's
            flushed = self._library.cuptiActivityFlushAll(ctypes.c_uint32(_FORCED))
            for kind in _TRACED:
                self._library.cuptiActivityDisable(kind)
        if flushed != 0:
            raise RuntimeError(f"cuptiActivityFlushAll gives {flushed}")
        records = len(self._spans)
        if self._lost or records == 0 or records % iterations != 0:
            raise RuntimeError(f"kernel_time: {records} records of {iterations} calls, "
                               f"{self._lost} lost; as many for each call are wanted, and none lost")
        self._spans.sort()
        each = records // iterations
        return [sum(end - start for start, end in self._spans[i:i + each]) / 1e3
                for i in range(0, records, each)]
