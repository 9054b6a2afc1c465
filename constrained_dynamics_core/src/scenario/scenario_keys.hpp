// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <exception>
#include <string>
#include <vector>

#include "constrained_dynamics/key_description.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "scenario/scenario_reader.hpp"

namespace constrained_dynamics
{

/// The names of described keys, followed by `more`: what ScenarioReader::allow_keys takes.
std::vector<std::string> key_names(
  const std::vector<KeyDescription> & keys, const std::vector<std::string> & more = {});

/// Reads the described keys of a map and adds the defaults. Other keys are ignored: see
/// ScenarioReader::allow_keys.
/// @param system whose frames and coordinates keys may name.
KeyValues read_keys(
  const ScenarioReader & item, const std::vector<KeyDescription> & keys, const System & system);
/// The same before there is a system: names of frames are not checked.
KeyValues read_keys(const ScenarioReader & item, const std::vector<KeyDescription> & keys);

/// Refuses a name that is no frame of the system. @return the name.
std::string read_frame(const ScenarioReader & reader, const System & system);

/// Refuses a coordinate that does not exist. @param place where it is named.
void check_coordinate(
  const ScenarioReader & place, const std::string & coordinate, const System & system);

/// Calls `make`; if it throws, adds the place in the file: of the key for a KeyError, otherwise of
/// the item.
template <class Make>
auto make_at(const ScenarioReader & item, const Make & make)
{
  try
  {
    return make();
  }
  catch (const ScenarioError &)
  {
    throw;  // names its place already
  }
  catch (const KeyError & error)
  {
    (error.key().empty() ? item : item.at(error.key())).fail_here(error.what());
  }
  catch (const std::exception & error)
  {
    item.fail_here(error.what());
  }
}

}  // namespace constrained_dynamics
