// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "result.hpp"
#include "scenario_edit.hpp"

namespace invariance
{

/// Replaces the state of the scenario by that of a result.
void set_state(YAML::Node scenario, const Result & result);

/// The command under test: a scenario file in, JSON out. Each call is a separate process.
/// @param path what is run. @param name what commands that repeat a case say.
class Cdyn
{
public:
  Cdyn(std::string path, std::string name) : path_(std::move(path)), name_(std::move(name)) {}

  const std::string & path() const { return path_; }

  /// Writes the scenario to the file and solves it.
  Result solve(const Case & c, const std::string & file) const;

  /// Writes the scenario to the file and runs it: the state at the end, with the run's status and
  /// `completed`. Options that only `cdyn solve` has (--raw-state) are omitted.
  Result run(const Case & c, const std::string & file) const;

  /// The names that `cdyn check` lists: "coordinates", "speeds", "frames"; empty if it rejects the
  /// file.
  std::vector<std::string> names(const Case & c, const std::string & file, const char * key) const;

  /// The command that repeats it.
  std::string command(const std::string & verb, const Case & c, const std::string & file) const;

private:
  std::vector<std::string> words(
    const std::string & verb, const Case & c, const std::string & file) const;

  std::string path_;
  std::string name_;
};

}  // namespace invariance
