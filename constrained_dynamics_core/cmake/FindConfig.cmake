# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

# The folder of scenarios and robots that examples and tests read: CD_CONFIG_DIR. It is config/ beside the core in the
# repository, else that of the installed package constrained_dynamics_config; empty where there is neither. Then
# `cdyn` knows no examples, and the tests that read them are skipped by name.
set(CD_CONFIG_DIR "" CACHE PATH "Folder of scenarios and robots (default: that of the repository, or the installed one)")
if(NOT CD_CONFIG_DIR)
  file(REAL_PATH ${PROJECT_SOURCE_DIR} cd_core_dir)
  cmake_path(GET cd_core_dir PARENT_PATH cd_top_dir)
  if(IS_DIRECTORY ${cd_top_dir}/config/scenarios)
    set(CD_CONFIG_DIR ${cd_top_dir}/config)
  else()
    find_package(constrained_dynamics_config CONFIG QUIET)
    set(CD_CONFIG_DIR ${constrained_dynamics_config_FOLDER})
  endif()
endif()
if(CD_CONFIG_DIR)
  message(STATUS "Scenarios: ${CD_CONFIG_DIR}/scenarios")
  # In the build tree programs find them as after an installation: relative to themselves.
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share)
  file(CREATE_LINK ${CD_CONFIG_DIR} ${CMAKE_BINARY_DIR}/share/constrained_dynamics_config SYMBOLIC)
else()
  message(STATUS "Scenarios: none (package constrained_dynamics_config is not installed)")
endif()
