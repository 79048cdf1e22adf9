"""A rival of passes that is right but for one thing, which its file's name says."""
import array
import json
import os
import pathlib
import subprocess
import sys
import time

fault = pathlib.Path(__file__).stem
x = array.array("f")
prepares = runs = writes = 0


def answer(what):
    print(what if isinstance(what, str) else json.dumps(what), flush=True)


def hang():
    # Not alone: what it has started must go with it.
    child = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(60)"],
                             stdout=sys.stdout)
    with open(os.environ["PAWL_TEST_PIDS"], "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n{child.pid}\n")
    while True:
        time.sleep(60)


def output():
    y = array.array("f", [value * 1.5 + 1 for value in x])
    if fault == "wrong":
        y[len(y) // 2] += 1
    if fault == "wrong_at_last" and writes == 3:
        y[0] = float("nan")
    if fault == "short":
        y = y[:-1]
    return y


for line in sys.stdin:
    request = json.loads(line)
    do = request["do"]
    if do == "quit":
        break
    if do == "prepare":
        prepares += 1
        if fault == "remembers" and prepares > 1:
            pass  # the inputs of the first time
        else:
            tensor = next(one for one in request["tensors"] if one["name"] == "X")
            x = array.array("f")
            with open(tensor["file"], "rb") as file:
                x.fromfile(file, tensor["extents"][0])
        if fault == "absent":
            answer({"absent": "no module named torch"})
        elif fault == "protocol":
            answer({"ok": True, "protocol": 9})
        elif fault == "garbage":
            answer("Segmentation fault (not really)")
        elif fault == "dies":
            print("the last thing it said", file=sys.stderr, flush=True)
            os._exit(7)
        elif fault == "hangs":
            hang()
        elif fault == "endless":
            while True:
                sys.stdout.write("x" * 65536)
        else:
            answer({"ok": True, "protocol": 1})
    elif do == "run":
        runs += 1
        times = [1.0] * request["iterations"]
        if fault == "killed" and runs == 3:
            os.kill(os.getpid(), 9)
        if fault == "nan":
            times[0] = float("nan")
        if fault == "chatty":
            print("one line too many", flush=True)
        answer({"us": times})
    elif do == "write":
        writes += 1
        for one in request["outputs"]:
            if fault != "unwritten":
                with open(one["file"], "wb") as file:
                    output().tofile(file)
        answer({"ok": True})
