# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026 The constrained_dynamics contributors

# MuJoCo, a peer for tests and the bench: target cd_mujoco, where it is found. The library itself does
# not know it. Its wheel has headers and a library, but no package config.
set(CD_MUJOCO "" CACHE PATH
  "Folder of the Python package mujoco (default: that of the virtual environment with Pinocchio)")

if(NOT TARGET cd_mujoco)
  set(cd_mujoco_candidates ${CD_MUJOCO})
  if(NOT CD_MUJOCO)
    foreach(venv IN LISTS cd_venv_candidates)
      file(GLOB found LIST_DIRECTORIES true ${venv}/lib/python3*/site-packages/mujoco)
      list(APPEND cd_mujoco_candidates ${found})
    endforeach()
  endif()
  set(cd_mujoco_library "")
  foreach(candidate IN LISTS cd_mujoco_candidates)
    file(GLOB found ${candidate}/libmujoco.so.*)
    if(found AND NOT cd_mujoco_library)
      list(GET found 0 cd_mujoco_library)
      set(cd_mujoco_dir ${candidate})
    endif()
  endforeach()
  if(cd_mujoco_library)
    add_library(cd_mujoco SHARED IMPORTED)
    set_target_properties(cd_mujoco PROPERTIES
      IMPORTED_LOCATION ${cd_mujoco_library}
      INTERFACE_INCLUDE_DIRECTORIES ${cd_mujoco_dir}/include
      IMPORTED_GLOBAL TRUE
    )
  endif()
endif()
