# What a person asks for: job files, and their tracks bound to a device.
pawl_library(pawl_job
  SOURCES binding.cc job.cc job_check.cc job_keys.cc job_layer.cc manifest.cc measurement.cc
  HEADERS binding.h job.h job_check.h job_keys.h job_layer.h manifest.h measurement.h
  LINK pawl_search pawl_rules pawl_kernels pawl_schema)
