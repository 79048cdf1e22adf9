"""Gather, scale, and index_add over edges. The row of each edge is found before the first call."""
import pawl_torch


def setup(torch, t):
    counts = (t["p"][1:] - t["p"][:-1]).long()
    nodes = torch.arange(counts.shape[0], device=counts.device)
    return {"row": torch.repeat_interleave(nodes, counts), "source": t["s"].long()}


def run(torch, t):
    terms = t["X"].index_select(0, t["source"]) * t["w"].unsqueeze(1)
    return {"Y": torch.zeros_like(t["X"]).index_add(0, t["row"], terms)}


if __name__ == "__main__":
    pawl_torch.serve(run, setup=setup)
