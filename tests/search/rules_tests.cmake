# Tests of policies, proposers and job files.
pawl_test_library(pawl_test_recorded SOURCES recorded.cc LINK pawl_schema pawl_test_support nlohmann_json::nlohmann_json)
target_include_directories(pawl_test_recorded PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})

pawl_test(search_policy_test LABEL unit SOURCES policy_test.cc policy_signed_rank_test.cc
  LINK pawl_rules pawl_test_recorded rapidcheck rapidcheck_gtest)
pawl_test(search_policy_simulation_test LABEL property TIMEOUT 300 SOURCES policy_simulation_test.cc LINK pawl_rules)
pawl_test(search_proposer_test LABEL unit SOURCES proposer_test.cc proposer_compound_test.cc LINK pawl_rules pawl_test_recorded)
pawl_test(search_proposer_property_test LABEL property SOURCES proposer_property_test.cc
  LINK pawl_rules rapidcheck rapidcheck_gtest)
pawl_test(search_job_test LABEL unit SOURCES job_test.cc job_check_test.cc LINK pawl_job)
pawl_test(search_job_mutation_test LABEL fuzz SOURCES job_mutation_test.cc LINK pawl_job)
if(PAWL_SANITIZE STREQUAL "fuzzer")
  add_executable(job_fuzz job_fuzz.cc)
  target_link_libraries(job_fuzz PRIVATE pawl_job)
  target_link_options(job_fuzz PRIVATE -fsanitize=fuzzer)
endif()
