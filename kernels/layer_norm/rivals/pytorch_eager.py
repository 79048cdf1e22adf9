"""torch.nn.functional.layer_norm."""
import pawl_torch


def run(torch, t):
    x = t["X"]
    y = torch.nn.functional.layer_norm(x, (x.shape[1],), t["gamma"], t["beta"], 1e-5)
    return {"Y": y}


if __name__ == "__main__":
    pawl_torch.serve(run)
