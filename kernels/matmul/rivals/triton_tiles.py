"""Triton: a tile of C a program, tiles in groups for the cache, products in IEEE float32."""
import pawl_torch

triton, tl = pawl_torch.need_triton()


@triton.autotune(
    configs=[
        triton.Config({"M_TILE": m, "N_TILE": n, "K_STEP": k}, num_warps=warps, num_stages=stages)
        for m, n, k, warps, stages in [(64, 64, 16, 4, 3), (128, 64, 16, 4, 3), (64, 128, 16, 4, 3),
                                       (128, 128, 16, 8, 3), (128, 128, 32, 8, 2), (32, 64, 32, 4, 3)]
    ],
    key=["m", "n", "k"])
@triton.jit
def tiles_kernel(a_pointer, b_pointer, c_pointer, m, n, k, M_TILE: tl.constexpr,
                 N_TILE: tl.constexpr, K_STEP: tl.constexpr):
    group = 8
    tiles_m = tl.cdiv(m, M_TILE)
    tiles_n = tl.cdiv(n, N_TILE)
    program = tl.program_id(0)
    first = program // (group * tiles_n) * group
    height = min(tiles_m - first, group)
    row = (first + program % (group * tiles_n) % height).to(tl.int64)
    column = (program % (group * tiles_n) // height).to(tl.int64)
    rows = row * M_TILE + tl.arange(0, M_TILE)
    columns = column * N_TILE + tl.arange(0, N_TILE)
    steps = tl.arange(0, K_STEP)
    sums = tl.zeros((M_TILE, N_TILE), dtype=tl.float32)
    for start in range(0, k, K_STEP):
        terms = start + steps
        a = tl.load(a_pointer + rows[:, None] * k + terms[None, :],
                    mask=(rows[:, None] < m) & (terms[None, :] < k), other=0.0)
        b = tl.load(b_pointer + terms[:, None] * n + columns[None, :],
                    mask=(terms[:, None] < k) & (columns[None, :] < n), other=0.0)
        sums = tl.dot(a, b, sums, input_precision="ieee")
    tl.store(c_pointer + rows[:, None] * n + columns[None, :], sums,
             mask=(rows[:, None] < m) & (columns[None, :] < n))


def run(torch, t):
    a, b = t["A"], t["B"]
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=torch.float32)
    tiles_kernel[lambda knobs: (triton.cdiv(m, knobs["M_TILE"]) * triton.cdiv(n, knobs["N_TILE"]),)](
        a, b, c, m, n, k)
    return {"C": c}


pawl_torch.serve(run, only_cuda="Triton")
