pawl_library(pawl_rules
  SOURCES parameters.cc policy.cc seed.cc policy/field_note.cc policy/signed_rank.cc
  HEADERS parameters.h policy.h proposer.h seed.h policy/field_note.h policy/signed_rank.h
  LINK pawl_schema pawl_kernels)
