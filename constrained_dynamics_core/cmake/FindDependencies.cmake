# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

# Finds what the core is built on.
#
# Pinocchio comes from wherever CMAKE_PREFIX_PATH (or pinocchio_DIR) points to, for instance a ROS 2
# installation; where those know none, from the virtual environment that setup/setup.sh makes.

set(CD_VENV "" CACHE PATH
  "Virtual environment with libpinocchio (default: .venv beside the core or in the top folder)")

set(cd_venv_candidates ${CD_VENV})
if(NOT CD_VENV)
  set(cd_venv_candidates ${PROJECT_SOURCE_DIR}/.venv ${PROJECT_SOURCE_DIR}/../.venv)
endif()
set(cd_cmeel_prefix "")
foreach(candidate IN LISTS cd_venv_candidates)
  file(GLOB found LIST_DIRECTORIES true ${candidate}/lib/python3*/site-packages/cmeel.prefix)
  if(found AND NOT cd_cmeel_prefix)
    list(GET found 0 cd_cmeel_prefix)
    file(REAL_PATH ${cd_cmeel_prefix} cd_cmeel_prefix)
  endif()
endforeach()
if(CD_VENV AND NOT cd_cmeel_prefix)
  message(FATAL_ERROR "CD_VENV is ${CD_VENV}, which holds no lib/python3*/site-packages/cmeel.prefix; "
    "setup/setup.sh makes such an environment.")
endif()

# A place named by the user wins over the default environment; CD_VENV wins over everything.
set(cd_given_pinocchio "")
if(NOT CD_VENV)
  if(pinocchio_DIR AND NOT pinocchio_DIR MATCHES "cmeel\\.prefix")
    set(cd_given_pinocchio ${pinocchio_DIR})
  else()
    set(prefixes ${CMAKE_PREFIX_PATH})
    cmake_path(CONVERT "$ENV{CMAKE_PREFIX_PATH}:$ENV{AMENT_PREFIX_PATH}" TO_CMAKE_PATH_LIST from_env)
    list(APPEND prefixes ${from_env})
    find_path(cd_given_pinocchio pinocchioConfig.cmake NO_CACHE NO_DEFAULT_PATH PATHS ${prefixes}
      PATH_SUFFIXES lib/cmake/pinocchio share/pinocchio/cmake lib/${CMAKE_LIBRARY_ARCHITECTURE}/cmake/pinocchio)
  endif()
endif()
# The system's tinyxml2, not that of the virtual environment: ROS 2 uses it, and two in one process would mix
# their symbols. (A wheel brings its own.)
if(NOT SKBUILD)
  find_package(tinyxml2 CONFIG QUIET)
endif()
if(NOT cd_given_pinocchio AND cd_cmeel_prefix)
  list(PREPEND CMAKE_PREFIX_PATH ${cd_cmeel_prefix})
endif()

# The FindBoost module of CMake does not know the newest Boost releases by name.
set(Boost_NO_WARN_NEW_VERSIONS ON)

find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(pinocchio 4.1 CONFIG)
if(NOT pinocchio_FOUND)
  message(FATAL_ERROR "Pinocchio 4.1 or newer was not found. Run setup/setup.sh (which fills .venv), "
    "or name its place in CMAKE_PREFIX_PATH or CD_VENV.")
endif()
find_package(eiquadprog 1.2 CONFIG)
if(NOT eiquadprog_FOUND)
  message(FATAL_ERROR "eiquadprog 1.2 or newer was not found. Run setup/setup.sh (which fills .venv), "
    "or name its place in CMAKE_PREFIX_PATH; a ROS 2 installation has it as package eiquadprog.")
endif()
find_package(tinyxml2 REQUIRED CONFIG)
# Its header must be that of its library, although Pinocchio's folder, which may have another one, is
# searched before the system's: this folder comes first.
get_target_property(cd_tinyxml2_include tinyxml2::tinyxml2 INTERFACE_INCLUDE_DIRECTORIES)
set(CD_TINYXML2_INCLUDE ${PROJECT_BINARY_DIR}/tinyxml2)
file(CONFIGURE OUTPUT ${CD_TINYXML2_INCLUDE}/tinyxml2.h
  CONTENT "#pragma GCC system_header\n#include \"@cd_tinyxml2_include@/tinyxml2.h\"\n" @ONLY)
find_package(yaml-cpp REQUIRED CONFIG)
if(TARGET yaml-cpp::yaml-cpp)
  set(CD_YAML_CPP yaml-cpp::yaml-cpp)
else()
  set(CD_YAML_CPP yaml-cpp)
endif()

# The compiled Pinocchio with its parsers, and the Boost headers that come with it.
set(CD_PINOCCHIO pinocchio::pinocchio_default pinocchio::pinocchio_parsers Boost::headers)
add_library(cd_pinocchio INTERFACE)  # the same as one name, for tests
target_link_libraries(cd_pinocchio INTERFACE ${CD_PINOCCHIO})
# Pinocchio includes the headers that Coal warns about.
target_compile_definitions(cd_pinocchio INTERFACE COAL_DISABLE_HPP_FCL_WARNINGS)

# Installed binaries find Pinocchio where the build found it. (CMake would leave the place out by itself,
# because the virtual environment lies inside the source folder.)
get_target_property(cd_pinocchio_library pinocchio::pinocchio_default LOCATION)
cmake_path(GET cd_pinocchio_library PARENT_PATH cd_pinocchio_library_dir)
if(NOT SKBUILD AND NOT cd_pinocchio_library_dir IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
  list(APPEND CMAKE_INSTALL_RPATH ${cd_pinocchio_library_dir})
endif()

# Robot descriptions for tests and examples: those of the package example-robot-data.
set(cd_robot_data_default "$ENV{EXAMPLE_ROBOT_DATA}")
cmake_path(CONVERT "$ENV{CMAKE_PREFIX_PATH}:$ENV{AMENT_PREFIX_PATH}" TO_CMAKE_PATH_LIST cd_prefixes)
foreach(prefix IN LISTS CMAKE_PREFIX_PATH cd_prefixes cd_cmeel_prefix)
  if(NOT cd_robot_data_default AND IS_DIRECTORY ${prefix}/share/example-robot-data/robots)
    set(cd_robot_data_default ${prefix}/share/example-robot-data/robots)
  endif()
endforeach()
if(SKBUILD)  # a wheel finds them at run time
  set(cd_robot_data_default "")
endif()
set(CD_EXAMPLE_ROBOT_DATA "${cd_robot_data_default}" CACHE PATH
  "Folder 'robots' of example-robot-data; empty where there is none")

message(STATUS "Pinocchio ${pinocchio_VERSION}: ${pinocchio_DIR}")
message(STATUS "Robots: ${CD_EXAMPLE_ROBOT_DATA}")
