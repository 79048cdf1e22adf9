"""A CSR matrix times X: cuSPARSE on a GPU, MKL on the host. The matrix is made before the first call,
over the arrays as they are."""
import pawl_torch


def setup(torch, t):
    nodes = t["X"].shape[0]
    return {"matrix": torch.sparse_csr_tensor(t["p"], t["s"], t["w"], size=(nodes, nodes))}


def run(torch, t):
    return {"Y": torch.sparse.mm(t["matrix"], t["X"])}


pawl_torch.serve(run, setup=setup)
