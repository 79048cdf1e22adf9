# The seam to devices, the host device, and the child process that owns one.

pawl_library(pawl_host_device
  SOURCES cgroups.cc memory_limit.cc object_cache.cc device/compare.cc device/fill.cc device/generated_text.cc device/order_rules.cc
    device/host/ahead.cc device/host/bench.cc
    device/host/clock.cc device/host/compiler.cc device/host/guarded.cc device/host/host_device.cc
    device/host/input_sets.cc device/host/machine.cc device/host/module.cc device/host/subprocess.cc
    device/host/thunk.cc
  HEADERS cgroups.h device.h memory_limit.h object_cache.h device/compare.h device/fill.h device/generated_text.h device/median.h device/order_rules.h
    device/stopwatch.h device/host/ahead.h
    device/host/bench.h device/host/clock.h device/host/compiler.h device/host/guarded.h
    device/host/host_device.h device/host/input_sets.h device/host/machine.h device/host/module.h
    device/host/subprocess.h device/host/thunk.h
  LINK pawl_schema LINK_PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
# What is timed, or touches every element, is not to be slow in a debug build. Parsed by itself: with a header
# precompiled at another level GCC 12 crashes in the sanitizer builds.
set_source_files_properties(device/compare.cc device/fill.cc device/host/clock.cc device/host/guarded.cc
  device/host/machine.cc PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)

# CUDA kernels on the CPU. The texts are what a kernel is compiled with.
pawl_library(pawl_emulated_device
  SOURCES device/emulated/emulated_device.cc device/emulated/emulator.cc device/emulated/emulator_hooks.cc
    device/emulated/emulator_memory.cc device/emulated/emulator_sync.cc device/emulated/gpu_compile.cc
    device/emulated/arm_memory.cc device/emulated/cuda_text.cc device/emulated/displaced.cc device/emulated/kernel_object.cc
    device/emulated/limits.cc device/emulated/object_file.cc device/emulated/publication.cc
    device/emulated/unit_text.cc device/emulated/warp_clock.cc device/emulated/watch.cc device/emulated/watch_text.cc
  HEADERS device/emulated/emulated_device.h device/emulated/emulator.h device/emulated/emulator_state.h
    device/emulated/gpu_compile.h
    device/emulated/kernel_abi.h
    device/emulated/arm_memory.h device/emulated/cuda_text.h device/emulated/displaced.h
    device/emulated/kernel_object.h device/emulated/limits.h device/emulated/object_file.h device/emulated/publication.h
    device/emulated/unit_text.h device/emulated/warp_clock.h device/emulated/watch.h device/emulated/who.h
  LINK pawl_schema pawl_host_device pawl_cuda_device LINK_PRIVATE Boost::context ${CMAKE_DL_LIBS})
pawl_text(pawl_emulated_device worker/device/emulated/kernel_abi.h emulated/kernel_abi.inc)
pawl_text(pawl_emulated_device worker/device/emulated/shim/cuda.h emulated/cuda.inc)
pawl_text(pawl_emulated_device worker/device/emulated/shim/arithmetic.h emulated/arithmetic.inc)
pawl_text(pawl_emulated_device worker/device/emulated/shim/pawl_emulated.h emulated/pawl_emulated.inc)
# Every access of a kernel comes here. Parsed by themselves, as above.
set_source_files_properties(device/emulated/watch.cc device/emulated/warp_clock.cc device/emulated/emulator.cc device/emulated/emulator_hooks.cc
  device/emulated/emulator_memory.cc device/emulated/emulator_sync.cc PROPERTIES COMPILE_OPTIONS -O3
  SKIP_PRECOMPILE_HEADERS ON)

pawl_library(pawl_runner
  SOURCES descendants.cc device.cc evidence.cc frames.cc outside.cc process_child.cc runner.cc
    sandbox/calls.cc sandbox/files.cc sandbox/process_limit.cc sandbox/sandbox.cc
  HEADERS child.h descendants.h evidence.h frames.h outside.h process_child.h runner.h
    sandbox/calls.h sandbox/files.h sandbox/process_limit.h sandbox/sandbox.h
  LINK pawl_schema LINK_PRIVATE pawl_cuda_device pawl_emulated_device pawl_host_device pawl_replay PkgConfig::ZSTD
    nlohmann_json::nlohmann_json)
# GCC 12 sees out-of-bounds copies in "literal" + std::string that are not there (PR 105329).
set_source_files_properties(device.cc PROPERTIES COMPILE_OPTIONS
  "-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread")
