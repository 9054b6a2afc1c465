# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

# Installs the build tree into a prefix of its own, then configures, builds and runs the consumer there.
# Given: build, work, source, readme, compiler, config, generator, pinocchio (its pinocchio_DIR), sanitize (may be
# empty).
set(prefix ${work}/prefix)
set(consumer ${work}/build)

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message("${output}")
    message(FATAL_ERROR "${what} failed (${result}); its output is above")
  endif()
  message(STATUS "${what}: done")
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${work})
run("installation" ${CMAKE_COMMAND} --install ${build} --config ${config} --prefix ${prefix})

# The consumer must not find the core's private dependencies by accident.
set(ENV{CMAKE_PREFIX_PATH} "")
set(ENV{LD_LIBRARY_PATH} "")
set(flags "")
if(sanitize)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${sanitize})
endif()
run("configuring" ${CMAKE_COMMAND} -S ${source} -B ${consumer} -G ${generator}
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${compiler} -Dreadme=${readme} ${flags})
file(STRINGS ${consumer}/CMakeCache.txt leaked REGEX "^(pinocchio|tinyxml2|yaml-cpp)_DIR")
if(leaked)
  message(FATAL_ERROR "the consumer had to find private dependencies of the core: ${leaked}")
endif()
run("building" ${CMAKE_COMMAND} --build ${consumer} --parallel 2)
run("running" ${consumer}/consumer)
message("${output}")
# The README's program names a robot relative to the top folder.
get_filename_component(top ${readme} DIRECTORY)
run("the README's C++" ${CMAKE_COMMAND} -E chdir ${top} ${consumer}/readme)
if(NOT output MATCHES "^ok\n")
  message(FATAL_ERROR "the README's C++ does not end with status ok: ${output}")
endif()
# A consumer that has Pinocchio, and hands a Model over.
cmake_path(SET pinocchio_prefix NORMALIZE ${pinocchio}/../../..)
set(ENV{CMAKE_PREFIX_PATH} ${prefix}:${pinocchio_prefix})
run("configuring with Pinocchio" ${CMAKE_COMMAND} -S ${source}/pinocchio -B ${consumer}_pinocchio
  -G ${generator} -DCMAKE_CXX_COMPILER=${compiler} -Dpinocchio_DIR=${pinocchio} ${flags})
run("building with Pinocchio" ${CMAKE_COMMAND} --build ${consumer}_pinocchio)
run("running with Pinocchio" ${consumer}_pinocchio/pinocchio_consumer)
message("${output}")
if(EXISTS ${prefix}/bin/cdyn)
  run("the installed cdyn" ${prefix}/bin/cdyn --help)
endif()
