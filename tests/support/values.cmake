# Values for tests: samples, generators, damage.
pawl_test_library(pawl_test_values SOURCES
  ${CMAKE_SOURCE_DIR}/tests/support/generated_event.cc
  ${CMAKE_SOURCE_DIR}/tests/support/generated_message.cc
  ${CMAKE_SOURCE_DIR}/tests/support/generated_order.cc
  ${CMAKE_SOURCE_DIR}/tests/support/generated_report.cc
  ${CMAKE_SOURCE_DIR}/tests/support/generated_values.cc
  ${CMAKE_SOURCE_DIR}/tests/support/mutate.cc
  ${CMAKE_SOURCE_DIR}/tests/support/samples.cc
  LINK pawl_schema rapidcheck)
