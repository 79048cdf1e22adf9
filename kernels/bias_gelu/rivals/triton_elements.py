"""Triton: a block of elements a program; tanh by way of the sigmoid, which Triton has everywhere."""
import pawl_torch

triton, tl = pawl_torch.need_triton()


@triton.jit
def elements_kernel(x_pointer, b_pointer, y_pointer, count, width, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    z = tl.load(x_pointer + at, mask=inside, other=0.0)
    z += tl.load(b_pointer + at % width, mask=inside, other=0.0)
    # z/2 (1 + tanh(u)) = z sigmoid(2 u)
    u = 0.7978845608028654 * (z + 0.044715 * z * z * z)
    tl.store(y_pointer + at, z * tl.sigmoid(2.0 * u), mask=inside)


def run(torch, t):
    x = t["X"]
    y = torch.empty_like(x)
    block = 1024
    elements_kernel[(triton.cdiv(x.numel(), block),)](x, t["b"], y, x.numel(), x.shape[1],
                                                      BLOCK=block)
    return {"Y": y}


pawl_torch.serve(run, only_cuda="Triton")
