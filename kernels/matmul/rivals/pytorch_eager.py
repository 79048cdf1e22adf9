"""torch.mm, float32 without TF32: cuBLAS on a GPU, MKL or OpenBLAS on the host."""
import pawl_torch


def run(torch, t):
    return {"C": torch.mm(t["A"], t["B"])}


if __name__ == "__main__":
    pawl_torch.serve(run)
