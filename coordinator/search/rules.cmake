# Policies and proposers: what to make of reports, what to try next.
pawl_library(pawl_rules
  SOURCES figures.cc parameters.cc policy.cc proposer.cc seed.cc policy/field_note.cc policy/signed_rank.cc
    proposer/coordinate.cc proposer/exhaustive.cc proposer/random.cc proposer/same.cc proposer/tried.cc
  HEADERS figures.h parameters.h policy.h proposer.h seed.h policy/field_note.h policy/signed_rank.h
    proposer/coordinate.h proposer/exhaustive.h proposer/random.h proposer/same.h proposer/tried.h
  LINK pawl_schema pawl_kernels)
