"""torch.einsum: a batched product, with what it transposes for that."""
import pawl_torch


def run(torch, t):
    return {"O": torch.einsum("ikc,jkc->ijc", t["A"], t["B"])}


if __name__ == "__main__":
    pawl_torch.serve(run)
