# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

set(CD_TEST_DIR ${PROJECT_SOURCE_DIR}/test)
set(CD_TEST_ROBOTS_DIR ${CD_TEST_DIR}/robots)
# The library is what must be fast: tests are compiled at -O1, which takes a quarter less time, and under a sanitizer
# not optimised at all.
if(CD_SANITIZE)
  set(CD_TEST_OPTIMISATION -O0)
else()
  set(CD_TEST_OPTIMISATION $<$<CONFIG:Release>:-O1>)
endif()

# cd_skip_test(name reason): a test of ctest that is always skipped, and says why.
function(cd_skip_test name reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

# cd_reads_config(variable source|library...): whether a test program reads the folder of scenarios.
function(cd_reads_config variable)
  set(reads FALSE)
  foreach(item IN LISTS ARGN)
    if(item STREQUAL cd_reference_data)
      set(reads TRUE)
    elseif(item MATCHES "\\.cpp$")
      cmake_path(ABSOLUTE_PATH item BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      file(STRINGS ${item} mentions REGEX "CD_CONFIG|\"config/" LIMIT_COUNT 1)
      if(mentions)
        set(reads TRUE)
      endif()
    endif()
  endforeach()
  set(${variable} ${reads} PARENT_SCOPE)
endfunction()

# cd_add_test(name source... [CAMPAIGN] [SERIAL] [WHOLE] [NO_PCH] [TIMEOUT seconds] [LIBRARIES target...])
#
# One GoogleTest program; each of its tests becomes a test of ctest, with the program's name in front.
#   CAMPAIGN   the program runs once more, as a whole, under `make campaign`, with CD_CAMPAIGN=1 in its
#              environment, which asks for large counts; otherwise it runs with small ones like any other
#   SERIAL     its tests measure time: nothing else runs beside them
#   WHOLE      its tests are many and short: one test of ctest runs them all
#   NO_PCH     its sources define Eigen's or GoogleTest's macros themselves
#   TIMEOUT    seconds that one test may take; 120 unless given, and ten times as long under a sanitizer
#   LIBRARIES  what it links besides the core and GoogleMock: cd_pinocchio, or what support/ offers
#
# Internals that a test calls are exported by the library (their headers are not installed): compiled into a test as
# well, they would exist twice.
#
# Tests find their data by the definitions CD_TEST_DATA (the folder test/data/ of the core), CD_CONFIG (the folder of
# scenarios and robots, FindConfig.cmake), CD_TEST_ROBOTS (the folder test/robots/), CD_EXAMPLE_ROBOT_DATA (the robots
# of example-robot-data; may be empty) and write, if they must, below CD_TEST_OUTPUT. Programs that read CD_CONFIG are
# not built where there is none; each is then one test of ctest that is skipped.
function(cd_add_test name)
  cmake_parse_arguments(arg "CAMPAIGN;SERIAL;WHOLE;NO_PCH" "TIMEOUT" "LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(CD_SANITIZE)
    math(EXPR arg_TIMEOUT "10 * ${arg_TIMEOUT}")
  endif()
  if(NOT CD_CONFIG_DIR)
    cd_reads_config(reads_config ${arg_UNPARSED_ARGUMENTS} ${arg_LIBRARIES})
    if(reads_config)
      cd_skip_test(${name} "package constrained_dynamics_config is not installed")
      return()
    endif()
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  cd_target_defaults(${name})
  target_include_directories(${name} PRIVATE ${CD_TEST_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${name} PRIVATE ${CD_TEST_OPTIMISATION})
  target_link_libraries(${name} PRIVATE
    constrained_dynamics::core GTest::gmock GTest::gtest_main cd_dense_algebra ${arg_LIBRARIES})
  if(CD_PRECOMPILED_HEADERS AND NOT arg_NO_PCH)
    target_precompile_headers(${name} REUSE_FROM cd_test_common)
  endif()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/test_output)
  target_compile_definitions(${name} PRIVATE
    CD_TEST_DATA="${CD_TEST_DIR}/data"
    CD_CONFIG="${CD_CONFIG_DIR}"
    CD_TEST_ROBOTS="${CD_TEST_ROBOTS_DIR}"
    CD_EXAMPLE_ROBOT_DATA="${CD_EXAMPLE_ROBOT_DATA}"
    CD_TEST_OUTPUT="${PROJECT_BINARY_DIR}/test_output"
  )
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES
      TIMEOUT ${arg_TIMEOUT} LABELS core RUN_SERIAL $<BOOL:${arg_SERIAL}>)
  else()
    gtest_discover_tests(${name}
      TEST_PREFIX ${name}:
      DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS core RUN_SERIAL $<BOOL:${arg_SERIAL}>
    )
  endif()
  if(arg_CAMPAIGN)
    add_test(NAME ${name}_campaign COMMAND ${name} CONFIGURATIONS Campaign)
    set_tests_properties(${name}_campaign PROPERTIES
      TIMEOUT 14400 LABELS campaign ENVIRONMENT CD_CAMPAIGN=1)
  endif()
endfunction()
