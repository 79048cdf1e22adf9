"""Rivals on PyTorch and Triton: inputs as tensors on the device, float32 without TF32, and its
instruments. A rival is then one function over tensors:

    import pawl_torch

    def run(torch, t):                  # t: name -> tensor; gives name -> tensor
        return {"C": torch.mm(t["A"], t["B"])}

    if __name__ == "__main__":
        pawl_torch.serve(run)           # compiled=True: through torch.compile

Instruments: event_span (CUDA events around each call), graph_time (a CUDA graph of unrolled calls,
replayed) and kernel_time (pawl_cupti.py) on a GPU, wall_time and cpu_time on the host.
"""
import ctypes
import functools
import sys

import pawl_cupti
import pawl_rival

_GRAPH_US = 5_000  # of unrolled calls in a graph


def event_times(torch, call, warmup, iterations):
    for _ in range(warmup):
        call()
    starts = [torch.cuda.Event(enable_timing=True) for _ in range(iterations)]
    ends = [torch.cuda.Event(enable_timing=True) for _ in range(iterations)]
    for start, end in zip(starts, ends):
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in zip(starts, ends)]


class GraphTimer:
    """A graph of about 5 ms of calls, made at the first visit; a replay's time over its calls is a
    sample."""

    def __init__(self, torch, call):
        self.torch, self.call, self.graph, self.calls = torch, call, None, 0

    def _capture(self):
        torch = self.torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):  # what is allocated or tuned at a first call is not captured
            for _ in range(3):
                self.call()
        torch.cuda.current_stream().wait_stream(side)
        one = min(event_times(torch, self.call, 3, 5))
        self.calls = max(1, min(1024, int(_GRAPH_US / max(one, 1e-3))))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(self.calls):
                self.call()

    def __call__(self, warmup, iterations):
        if self.graph is None:
            self._capture()
        times = event_times(self.torch, self.graph.replay, -(-warmup // self.calls), iterations)
        return [time / self.calls for time in times]


@functools.cache
def kernel_timer():
    return pawl_cupti.KernelTimer()


def load(torch, problem, device):
    kinds = {"f32": torch.float32, "f64": torch.float64, "i32": torch.int32, "u32": torch.int32}
    tensors = {}
    for tensor in problem.inputs():
        flat = torch.frombuffer(problem.input(tensor.name), dtype=kinds[tensor.dtype])
        if tensor.dtype == "u32":
            flat = flat.to(torch.int64) & 0xFFFFFFFF
        tensors[tensor.name] = flat.reshape(tensor.extents).to(device)
    return tensors


def need_triton():
    """triton and triton.language; where there are none the rival says so and ends."""
    try:
        import triton
        import triton.language
    except ImportError as why:
        reason = str(why)

        def absent(problem):
            raise pawl_rival.Absent(reason)

        pawl_rival.serve(absent)
        sys.exit(0)
    return triton, triton.language


def serve(run, compiled=False, only_cuda="", setup=None):
    """`setup(torch, t)`: before the first call, for what is no part of one (index conversions); what
    it gives is added to the tensors. `only_cuda`: what needs backend cuda, for the message."""

    def prepare(problem):
        if only_cuda and problem.backend != "cuda":
            raise pawl_rival.Absent(f"{only_cuda} needs backend cuda")
        import torch
        on_gpu = problem.backend == "cuda"
        problem.need_instrument(["event_span", "graph_time", "kernel_time"] if on_gpu
                                else ["wall_time", "cpu_time"])
        if on_gpu and not torch.cuda.is_available():
            raise pawl_rival.Absent(f"torch {torch.__version__} sees no GPU")
        if compiled and not hasattr(torch, "compile"):
            raise pawl_rival.Absent(f"torch {torch.__version__} has no torch.compile")
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
        torch.set_grad_enabled(False)
        versions = {"torch": torch.__version__}
        if on_gpu:
            versions["cuda"] = str(torch.version.cuda)
        if only_cuda or (compiled and on_gpu):
            import triton
            versions["triton"] = triton.__version__
        tensors = load(torch, problem, "cuda" if on_gpu else "cpu")
        if setup is not None:
            tensors.update(setup(torch, tensors))

        def function(t):
            return run(torch, t)

        if compiled:
            function = torch.compile(function, dynamic=False)
        last = {}

        def call():
            last.update(function(tensors))

        def outputs():
            if on_gpu:
                torch.cuda.synchronize()
            written = {}
            for tensor in problem.outputs():
                result = last[tensor.name].to(torch.float32).contiguous().cpu()
                written[tensor.name] = ctypes.string_at(result.data_ptr(), 4 * result.numel())
            return written

        if not on_gpu:
            return pawl_rival.Prepared(call, outputs, versions)
        call()  # compiles, chooses an algorithm
        times = {"event_span": lambda: functools.partial(event_times, torch, call),
                 "graph_time": lambda: GraphTimer(torch, call),
                 "kernel_time": lambda: functools.partial(kernel_timer().times, call,
                                                          torch.cuda.synchronize)}
        return pawl_rival.Prepared(call, outputs, versions, times[problem.instrument]())

    pawl_rival.serve(prepare)
