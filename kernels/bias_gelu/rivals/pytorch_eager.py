"""A sum and torch.nn.functional.gelu in its tanh form."""
import pawl_torch


def run(torch, t):
    return {"Y": torch.nn.functional.gelu(t["X"] + t["b"], approximate="tanh")}


if __name__ == "__main__":
    pawl_torch.serve(run)
