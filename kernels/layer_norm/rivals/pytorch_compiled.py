"""What pytorch_eager.py computes, through torch.compile."""
import pawl_torch
from pytorch_eager import run

pawl_torch.serve(run, compiled=True)
