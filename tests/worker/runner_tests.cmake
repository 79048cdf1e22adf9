# Tests of the host device, the runner child and what they keep on disk.

add_executable(runner_for_tests runner_for_tests.cc)
target_link_libraries(runner_for_tests PRIVATE pawl_runner)

pawl_test(pawl_child_test LABEL fault SOURCES child_test.cc frames_test.cc LINK pawl_runner)
add_dependencies(pawl_child_test runner_for_tests)
pawl_test(pawl_sandbox_test LABEL e2e SOURCES sandbox_test.cc worker_kill_test.cc LINK pawl_runner PkgConfig::ZMQ)
add_dependencies(pawl_sandbox_test runner_for_tests pawl-worker)
pawl_test(pawl_host_test LABEL fault SOURCES host_test.cc LINK pawl_runner pawl_host_device)
pawl_test(pawl_check_test LABEL unit SOURCES check_test.cc LINK pawl_host_device)
pawl_test(pawl_cache_test LABEL unit SOURCES cache_test.cc LINK pawl_host_device Threads::Threads)
pawl_test(pawl_evidence_test LABEL unit SOURCES evidence_test.cc
  LINK pawl_runner nlohmann_json::nlohmann_json)
