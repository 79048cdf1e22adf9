# The agent and what it stands on: the link, the spool, the replay device; and the program itself.
pawl_library(pawl_link SOURCES link.cc HEADERS link.h LINK pawl_schema LINK_PRIVATE PkgConfig::ZMQ)
pawl_library(pawl_spool SOURCES spool.cc HEADERS spool.h LINK pawl_schema)
pawl_library(pawl_replay
  SOURCES device/replay/ledger_recording.cc device/replay/noise.cc device/replay/replay.cc
    device/replay/table_recording.cc
  HEADERS device/replay/noise.h device/replay/recording.h device/replay/replay.h
  LINK pawl_schema LINK_PRIVATE nlohmann_json::nlohmann_json ZLIB::ZLIB)
# A runner reads its table anew at each start: not to be slow in a debug build.
# (Parsed by itself, as runner.cmake says of its own.)
set_source_files_properties(device/replay/table_recording.cc PROPERTIES COMPILE_OPTIONS -O2
  SKIP_PRECOMPILE_HEADERS ON)
pawl_library(pawl_agent SOURCES agent.cc agent_work.cc HEADERS agent.h agent_state.h
  LINK pawl_link pawl_spool pawl_runner LINK_PRIVATE spdlog::spdlog)

# Links neither RocksDB nor a TOML parser.
add_executable(pawl-worker main.cc)
target_link_libraries(pawl-worker PRIVATE pawl_agent pawl_clocks pawl_runner pawl_cuda_device CLI11::CLI11 spdlog::spdlog
  nlohmann_json::nlohmann_json)
