# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

# Installs the library, its headers and the package config constrained_dynamics_core.
include(CMakePackageConfigHelpers)

# A wheel has the library beside the Python module and nothing else of this; without links, which wheels do not know,
# and by another name than that of a ROS 2 workspace, which may be loaded in its place.
if(SKBUILD)
  set_target_properties(constrained_dynamics_core PROPERTIES
    OUTPUT_NAME constrained_dynamics_wheel
    VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "$ORIGIN;$ORIGIN/../cmeel.prefix/lib"
    INSTALL_RPATH_USE_LINK_PATH OFF
  )
  install(TARGETS constrained_dynamics_core
    LIBRARY DESTINATION constrained_dynamics COMPONENT python NAMELINK_SKIP)
  return()
endif()

set(cd_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/constrained_dynamics_core)

install(TARGETS constrained_dynamics_core EXPORT constrained_dynamics_coreTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
)
install(DIRECTORY include/constrained_dynamics DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/include/constrained_dynamics/export.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/constrained_dynamics)

install(EXPORT constrained_dynamics_coreTargets
  NAMESPACE constrained_dynamics:: DESTINATION ${cd_package_dir})
set(CD_TESTING_DIR ${CMAKE_INSTALL_DATADIR}/constrained_dynamics_core/testing)
configure_package_config_file(
  cmake/constrained_dynamics_coreConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/constrained_dynamics_coreConfig.cmake
  INSTALL_DESTINATION ${cd_package_dir}
  PATH_VARS CD_TESTING_DIR
)
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/constrained_dynamics_coreConfigVersion.cmake
  COMPATIBILITY SameMinorVersion
)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/constrained_dynamics_coreConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/constrained_dynamics_coreConfigVersion.cmake
  DESTINATION ${cd_package_dir}
)

# What the tests of packages on top share with those of the core, as sources (plant, counter of allocations, an arm):
# constrained_dynamics_core_TESTING_DIR of the package config.
install(FILES test/support/allocation_counter.cpp test/support/allocation_counter.hpp test/support/plant.hpp
  DESTINATION ${CD_TESTING_DIR}/support)
install(FILES test/data/arm_on_wall.yaml test/data/arm_on_wall.urdf DESTINATION ${CD_TESTING_DIR}/data)
install(DIRECTORY test/data/profiles DESTINATION ${CD_TESTING_DIR}/data)

# What ROS 2 tools look for: the manifest, and an entry of that name in the index of packages.
install(FILES package.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/constrained_dynamics_core)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/ament_index_entry "")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ament_index_entry
  DESTINATION ${CMAKE_INSTALL_DATADIR}/ament_index/resource_index/packages
  RENAME constrained_dynamics_core)
