# The seam to devices, the host device, and the child process that owns one.

pawl_library(pawl_host_device
  SOURCES object_cache.cc device/compare.cc device/fill.cc device/host/ahead.cc device/host/bench.cc
    device/host/clock.cc device/host/compiler.cc device/host/guarded.cc device/host/host_device.cc
    device/host/input_sets.cc device/host/machine.cc device/host/module.cc device/host/subprocess.cc
    device/host/thunk.cc
  HEADERS device.h object_cache.h device/compare.h device/fill.h device/median.h device/host/ahead.h
    device/host/bench.h device/host/clock.h device/host/compiler.h device/host/guarded.h
    device/host/host_device.h device/host/input_sets.h device/host/machine.h device/host/module.h
    device/host/subprocess.h device/host/thunk.h
  LINK pawl_schema LINK_PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
# What is timed, or touches every element, is not to be slow in a debug build. Parsed by itself: with a header
# precompiled at another level GCC 12 crashes in the sanitizer builds.
set_source_files_properties(device/compare.cc device/fill.cc device/host/clock.cc device/host/guarded.cc
  device/host/machine.cc PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)

pawl_library(pawl_runner
  SOURCES descendants.cc device.cc evidence.cc frames.cc process_child.cc runner.cc
  HEADERS child.h descendants.h evidence.h frames.h process_child.h runner.h
  LINK pawl_schema LINK_PRIVATE pawl_host_device pawl_replay PkgConfig::ZSTD nlohmann_json::nlohmann_json)
# GCC 12 sees out-of-bounds copies in "literal" + std::string that are not there (PR 105329).
set_source_files_properties(device.cc PROPERTIES COMPILE_OPTIONS
  "-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread")
