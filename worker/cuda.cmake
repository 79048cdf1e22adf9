# The device cuda. It links nothing of NVIDIA's and needs none of its headers: all is opened at run time.

pawl_library(pawl_cuda_device
  SOURCES device/cuda/builder.cc device/cuda/builder_process.cc device/cuda/core_share.cc device/cuda/cuda_device.cc
    device/cuda/cuda_facts.cc device/cuda/cupti.cc device/cuda/driver.cc device/cuda/gpu.cc
    device/cuda/gpu_arm.cc device/cuda/gpu_bench.cc device/cuda/gpu_input_sets.cc device/cuda/gpu_tools.cc
    device/cuda/gpu_visits.cc device/cuda/gpu_watch.cc device/cuda/library.cc device/cuda/nvml.cc device/cuda/nvrtc.cc
    device/cuda/order_rules.cc
    device/cuda/source_text.cc device/cuda/standard_headers.cc
  HEADERS device/cuda/builder.h device/cuda/builder_process.h device/cuda/core_share.h device/cuda/cuda_device.h
    device/cuda/cuda_facts.h device/cuda/cupti.h device/cuda/driver.h device/cuda/driver_api.h
    device/cuda/gpu.h device/cuda/gpu_arm.h device/cuda/gpu_bench.h device/cuda/gpu_input_sets.h
    device/cuda/gpu_tools.h device/cuda/gpu_watch.h device/cuda/library.h device/cuda/nvml.h device/cuda/nvrtc.h device/cuda/order_rules.h
    device/cuda/source_text.h device/cuda/standard_headers.h
  LINK pawl_schema LINK_PRIVATE pawl_host_device Threads::Threads ${CMAKE_DL_LIBS})
