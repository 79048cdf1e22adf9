# The seam to devices, the host device, and the child process that owns one.
