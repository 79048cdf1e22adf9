# Tests of the host device, the runner child and what they keep on disk.

add_executable(runner_for_tests runner_for_tests.cc)
target_link_libraries(runner_for_tests PRIVATE pawl_runner)

function(pawl_runner_test name)
  pawl_test(${name} ${ARGN})
  target_compile_definitions(${name} PRIVATE PAWL_TESTS_DATA="${CMAKE_SOURCE_DIR}/tests/data")
endfunction()

pawl_runner_test(pawl_child_test LABEL fault SOURCES child_test.cc LINK pawl_runner)
add_dependencies(pawl_child_test runner_for_tests)
pawl_runner_test(pawl_host_test LABEL fault SOURCES host_test.cc LINK pawl_runner pawl_host_device)
pawl_runner_test(pawl_check_test LABEL unit SOURCES check_test.cc LINK pawl_host_device)
pawl_runner_test(pawl_cache_test LABEL unit SOURCES cache_test.cc LINK pawl_host_device Threads::Threads)
pawl_runner_test(pawl_evidence_test LABEL unit SOURCES evidence_test.cc
  LINK pawl_runner nlohmann_json::nlohmann_json)
