# Tests of the agent, its link and spool, and of the replay device.
pawl_test(pawl_spool_test LABEL unit SOURCES spool_test.cc LINK pawl_spool)
pawl_test(pawl_link_test LABEL unit SOURCES link_test.cc LINK pawl_link PkgConfig::ZMQ Threads::Threads)
pawl_test(pawl_replay_test LABEL unit SOURCES replay_test.cc replay_noise_test.cc LINK pawl_replay)
pawl_test(pawl_agent_test LABEL unit SOURCES agent_test.cc agent_work_test.cc LINK pawl_agent)
pawl_test(pawl_worker_program_test LABEL e2e SOURCES program_test.cc LINK pawl_schema PkgConfig::ZMQ)
add_dependencies(pawl_worker_program_test pawl-worker)
# GCC 12 sees members of a variant that holds something else (PR 105562).
set_source_files_properties(agent_test.cc agent_work_test.cc PROPERTIES COMPILE_OPTIONS -Wno-maybe-uninitialized)
