# The state of a search and every decision about it.
pawl_library(pawl_search
  SOURCES track.cc track_follows.cc
  HEADERS track.h
  LINK pawl_rules pawl_kernels pawl_schema)
