# Values for tests: samples, generators, damage.
add_library(pawl_test_values STATIC
  ${CMAKE_SOURCE_DIR}/tests/support/generated_event.cc
  ${CMAKE_SOURCE_DIR}/tests/support/generated_message.cc
  ${CMAKE_SOURCE_DIR}/tests/support/generated_order.cc
  ${CMAKE_SOURCE_DIR}/tests/support/generated_report.cc
  ${CMAKE_SOURCE_DIR}/tests/support/generated_values.cc
  ${CMAKE_SOURCE_DIR}/tests/support/mutate.cc
  ${CMAKE_SOURCE_DIR}/tests/support/samples.cc)
target_compile_options(pawl_test_values PRIVATE -O1)
target_link_libraries(pawl_test_values PUBLIC pawl_flags pawl_schema rapidcheck)
