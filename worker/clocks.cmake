# Holding a GPU's clocks: the lease, the guardian that owns the lock, and the worker's side of it.

pawl_library(pawl_clocks
  SOURCES clocks/clock_lease.cc clocks/clocked_child.cc clocks/guardian.cc clocks/guardian_process.cc
    clocks/keeper.cc clocks/lease_folder.cc clocks/nvml_clocks.cc clocks/reset.cc
  HEADERS clocks/clock_lease.h clocks/clocked_child.h clocks/gpu_clocks.h clocks/guardian.h
    clocks/guardian_process.h clocks/keeper.h clocks/lease_folder.h clocks/nvml_clocks.h clocks/reset.h
  LINK pawl_schema pawl_cuda_device)
# As of device.cc: GCC 12 sees out-of-bounds copies in "literal" + std::string (PR 105329).
set_source_files_properties(clocks/guardian_process.cc PROPERTIES COMPILE_OPTIONS
  "-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread")
