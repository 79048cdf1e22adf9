# The state of a search and every decision about it.
pawl_library(pawl_search
  SOURCES answers.cc audit.cc capture.cc core.cc core_grants.cc core_reports.cc core_search.cc core_jobs.cc core_workers.cc errands.cc fair_share.cc
    hints.cc job_board.cc orders.cc outlook.cc problem.cc settle.cc sitting.cc timed_arms.cc track.cc track_follows.cc workshop.cc
  HEADERS answers.h audit.h capture.h core.h core_state.h errands.h fair_share.h job_board.h orders.h outlook.h problem.h settle.h sitting.h timed_arms.h track.h
  LINK pawl_rules pawl_kernels pawl_schema)
