"""What a rival in Python needs: the conversation with `pawl bench`, and the host's two clocks.

A rival is a file like this; docs/bench.md has the protocol, for rivals in other languages.

    import pawl_rival

    def prepare(problem):                       # once for each input set
        x = problem.input("X")                  # an array.array of the tensor's elements, row major
        def call(): ...                         # one call of what is measured
        return pawl_rival.Prepared(call, lambda: {"Y": y}, {"mylib": "1.2"})

    pawl_rival.serve(prepare)

Standard library only.
"""
import array
import json
import os
import sys
import time

PROTOCOL = 1

_CODES = {"f32": "f", "f64": "d", "i32": "i", "u32": "I"}
# An iteration is as many calls as take this long, as for pawl's own arms on the host.
_SHORTEST_NS = {"wall_time": 20_000, "cpu_time": 200_000}


class Absent(Exception):
    """Raised by prepare(): this rival cannot take part here. Its text says why, in a line."""


class Tensor:
    def __init__(self, json_object):
        self.name = json_object["name"]
        self.role = json_object["role"]
        self.dtype = json_object["dtype"]
        self.extents = json_object["extents"]
        self.file = json_object.get("file")

    @property
    def elements(self):
        product = 1
        for extent in self.extents:
            product *= extent
        return product


class Problem:
    """What is computed, on what, and how time is to be read."""

    def __init__(self, request):
        self.operation = request["operation"]
        self.backend = request["backend"]        # "cuda", "host"
        self.instrument = request["instrument"]  # "event_span", "graph_time", "wall_time", ...
        self.shape = request["shape"]            # letter -> value
        self.tensors = [Tensor(one) for one in request["tensors"]]

    def tensor(self, name):
        return next(one for one in self.tensors if one.name == name)

    def inputs(self):
        return [one for one in self.tensors if one.role == "input"]

    def outputs(self):
        return [one for one in self.tensors if one.role == "output"]

    def input(self, name):
        """The elements of an input, row major."""
        tensor = self.tensor(name)
        elements = array.array(_CODES[tensor.dtype])
        with open(tensor.file, "rb") as file:
            elements.fromfile(file, tensor.elements)
        if sys.byteorder != "little":
            elements.byteswap()
        return elements

    def need_instrument(self, have):
        if self.instrument not in have:
            raise Absent(f"has no instrument {self.instrument} (have: {', '.join(have) or 'none'})")


class Prepared:
    """call(): one call. outputs(): name -> bytes-like, little-endian, of the last call.
    time(warmup, iterations): microseconds of one call, an iteration each; left out, the host's
    wall_time and cpu_time around calls."""

    def __init__(self, call, outputs, versions, time=None):
        self.call = call
        self.outputs = outputs
        self.versions = versions
        self.time = time


def host_times(call, instrument, warmup, iterations):
    """Of call(), by wall_time or cpu_time; an iteration is as many calls as are long enough."""
    read = {"wall_time": time.perf_counter_ns, "cpu_time": time.process_time_ns}[instrument]
    for _ in range(warmup):
        call()
    calls = 1
    while True:
        start = read()
        for _ in range(calls):
            call()
        if read() - start >= _SHORTEST_NS[instrument] or calls >= 1 << 20:
            break
        calls *= 2
    times = []
    for _ in range(iterations):
        start = read()
        for _ in range(calls):
            call()
        # A clock may stand still for a moment; no call takes no time.
        times.append(max(read() - start, 1) / calls / 1e3)
    return times


def one_line(why):
    """Of an exception: its kind, and what it says; of many lines the first and the last."""
    lines = [line.strip() for line in str(why).splitlines() if line.strip()]
    said = " ... ".join([lines[0], lines[-1]] if len(lines) > 1 else lines)
    return f"{type(why).__name__}: {said}" if said else type(why).__name__


def serve(prepare):
    """Answers requests until `quit` or the end of stdin."""
    # What libraries print goes to the log: stdout is for answers alone.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(what):
        out.write(json.dumps(what, allow_nan=False) + "\n")
        out.flush()

    prepared = problem = None
    for line in sys.stdin:
        try:
            request = json.loads(line)
            do = request["do"]
            if do == "quit":
                return
            if do == "prepare":
                if request["protocol"] != PROTOCOL:
                    answer({"error": f"speaks protocol {PROTOCOL}, not {request['protocol']}"})
                    continue
                prepared = None  # frees what the set before has taken
                problem = Problem(request)
                prepared = prepare(problem)
                if prepared.time is None:
                    problem.need_instrument(["wall_time", "cpu_time"])
                answer({"ok": True, "protocol": PROTOCOL, "versions": prepared.versions})
            elif do == "run":
                warmup, iterations = request["warmup"], request["iterations"]
                if prepared.time is not None:
                    times = prepared.time(warmup, iterations)
                else:
                    times = host_times(prepared.call, problem.instrument, warmup, iterations)
                answer({"us": list(times)})
            elif do == "write":
                outputs = prepared.outputs()
                for one in request["outputs"]:
                    with open(one["file"], "wb") as file:
                        file.write(outputs[one["name"]])
                answer({"ok": True})
            else:
                answer({"error": f"knows no request {do!r}"})
        except Absent as why:
            answer({"absent": str(why)})
        except ImportError as why:
            answer({"absent": str(why)})
        except Exception as why:  # one line for people; the whole of it is in the log
            import traceback
            traceback.print_exc()
            answer({"error": one_line(why)})
