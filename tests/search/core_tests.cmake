# Tests of the state of a search and of the decisions about it.
pawl_test_library(search_fakes SOURCES core_bench.cc search_fakes.cc LINK pawl_search GTest::gtest)
pawl_test(search_track_test LABEL unit SOURCES track_test.cc track_life_test.cc LINK pawl_search)
pawl_test(search_jobs_test LABEL unit SOURCES fair_share_test.cc job_board_test.cc LINK pawl_search)
pawl_test(search_orders_test LABEL unit SOURCES orders_test.cc LINK search_fakes)
pawl_test(search_audit_test LABEL unit SOURCES audit_test.cc errands_test.cc LINK search_fakes)
pawl_test(search_measure_test LABEL unit SOURCES capture_test.cc manifest_test.cc LINK pawl_job search_fakes)
pawl_test(search_core_test LABEL unit
  SOURCES core_confirm_test.cc core_cost_test.cc core_in_flight_test.cc core_jobs_test.cc core_reports_test.cc core_search_test.cc
    core_structures_test.cc
    core_workers_test.cc
  LINK search_fakes)
pawl_test(search_simulation_test LABEL property TIMEOUT 300 SOURCES core_simulation_test.cc
  LINK search_fakes)
