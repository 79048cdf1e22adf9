# Tests of the host device, the runner child and what they keep on disk.
