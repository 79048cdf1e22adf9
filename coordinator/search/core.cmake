# The state of a search and every decision about it.
pawl_library(pawl_search
  SOURCES answers.cc audit.cc core.cc core_grants.cc core_reports.cc core_search.cc core_workers.cc hints.cc
    orders.cc settle.cc track.cc track_follows.cc workshop.cc
  HEADERS answers.h audit.h core.h core_state.h orders.h settle.h track.h
  LINK pawl_rules pawl_kernels pawl_schema)
