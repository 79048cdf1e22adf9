# The state of a search and every decision about it.
pawl_library(pawl_search
  SOURCES hints.cc orders.cc settle.cc track.cc track_follows.cc workshop.cc
  HEADERS orders.h settle.h track.h
  LINK pawl_rules pawl_kernels pawl_schema)
