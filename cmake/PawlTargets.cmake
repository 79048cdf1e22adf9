# One library a room, one flags target for all, every header compiled alone.

add_library(pawl_flags INTERFACE)
target_compile_options(pawl_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlaps in "literal" + std::string that are not there (PR 105651).
  target_compile_options(pawl_flags INTERFACE -Wno-restrict)
endif()
target_compile_definitions(pawl_flags INTERFACE PAWL_VERSION="${PROJECT_VERSION}")

set(PAWL_SANITIZE "" CACHE STRING "address, thread or fuzzer; set by the presets")
if(PAWL_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC's manual (-fsanitize): instrumented code makes this warning see what is not there. The release build keeps it.
  target_compile_options(pawl_flags INTERFACE -Wno-maybe-uninitialized)
endif()
if(PAWL_SANITIZE STREQUAL "address")
  # Not in tests and what they make their data with: the checks double the compile time of templates over templates.
  set(undefined $<$<NOT:$<BOOL:$<TARGET_PROPERTY:PAWL_TEST>>>:-fsanitize=undefined>)
  target_compile_options(pawl_flags INTERFACE -fsanitize=address ${undefined} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(pawl_flags INTERFACE -fsanitize=address,undefined)
elseif(PAWL_SANITIZE STREQUAL "thread")
  target_compile_options(pawl_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(pawl_flags INTERFACE -fsanitize=thread)
elseif(PAWL_SANITIZE STREQUAL "fuzzer")
  target_compile_options(pawl_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer)
  target_link_options(pawl_flags INTERFACE -fsanitize=address,undefined)
endif()

# The standard headers that nearly every file includes, and GoogleTest's for tests, parsed once. Headers are
# compiled alone without them (all_verify_interface_header_sets), so none can lean on this.
add_library(pawl_parsed STATIC ${CMAKE_SOURCE_DIR}/cmake/parsed.cc)
target_link_libraries(pawl_parsed PRIVATE pawl_flags)
target_precompile_headers(pawl_parsed PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory>
  <optional> <string> <string_view> <utility> <variant> <vector>)
# GCC 12's checks of array bounds see copies past the end of short literals, which tests are full of
# (PR 105329); the sanitizer builds watch the real ones. What is tested is optimized; the tests' own code at -Og
# and without debug information compiles in half the time.
set(PAWL_TEST_OPTIONS -Og -g0 $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
add_library(pawl_parsed_tests STATIC ${CMAKE_SOURCE_DIR}/cmake/parsed.cc)
target_link_libraries(pawl_parsed_tests PRIVATE pawl_flags GTest::gmock GTest::gtest_main)
set_target_properties(pawl_parsed_tests PROPERTIES PAWL_TEST ON)
target_compile_options(pawl_parsed_tests PRIVATE ${PAWL_TEST_OPTIONS})
target_precompile_headers(pawl_parsed_tests PRIVATE <gmock/gmock.h> <gtest/gtest.h> <map> <memory> <optional>
  <string> <variant> <vector>)

# pawl_library(NAME SOURCES a.cc ... HEADERS a.h ... LINK public... LINK_PRIVATE private...)
function(pawl_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;LINK;LINK_PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${ARG_HEADERS})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC pawl_flags ${ARG_LINK} PRIVATE ${ARG_LINK_PRIVATE})
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  target_precompile_headers(${name} REUSE_FROM pawl_parsed)
endfunction()

# pawl_test_library(NAME SOURCES ... LINK ...): what several tests share.
function(pawl_test_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC pawl_flags ${ARG_LINK} PRIVATE GTest::gmock)
  set_target_properties(${name} PROPERTIES PAWL_TEST ON)
  target_compile_options(${name} PRIVATE ${PAWL_TEST_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM pawl_parsed_tests)
endfunction()

# pawl_test(NAME LABEL unit SOURCES ... LINK ...): one GoogleTest binary, its cases found at build time.
# TIMEOUT seconds for each case. SERIAL: nothing else may run beside it.
function(pawl_test name)
  cmake_parse_arguments(ARG "SERIAL" "LABEL;TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE pawl_flags pawl_test_support ${ARG_LINK} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES PAWL_TEST ON)
  target_compile_options(${name} PRIVATE ${PAWL_TEST_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM pawl_parsed_tests)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${ARG_LABEL}" TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_SERIAL}
      ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/tsan.supp")
endfunction()

# pawl_text(TARGET FILE INCLUDE): FILE's text as a C++ string literal that TARGET's sources include as INCLUDE.
function(pawl_text target file include)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${file})
  file(READ ${CMAKE_SOURCE_DIR}/${file} text)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/texts/${include} CONTENT "R\"pawl_text(@text@)pawl_text\"\n" @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/texts)
endfunction()
