pawl_library(pawl_rules
  SOURCES policy.cc
  HEADERS policy.h proposer.h
  LINK pawl_schema pawl_kernels)
