// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "constrained_dynamics/scenario/scenario.hpp"

/// The commands of `cdyn`. They return exit codes and throw std::invalid_argument for bad input.
namespace cdyn
{

constexpr int kSuccess = 0;
constexpr int kBadInput = 2;
constexpr int kNotCompleted = 3;
constexpr int kSignalled = 128;  ///< and the number of the signal

/// What all commands that read a scenario have in common.
struct ScenarioArguments
{
  std::string scenario;                ///< a file, or the id of an example
  std::vector<std::string> overrides;  ///< of --set, and of --until and the like
  std::string json;                    ///< file, "-" or empty
};

struct RunArguments : ScenarioArguments
{
  std::string csv;
  std::string events;
  bool reactions = false;  ///< whether the results have the reactions of the joints
  bool quiet = false;
};

struct CompareArguments : ScenarioArguments
{
  bool quiet = false;
};

struct SolveArguments : ScenarioArguments
{
  bool raw_state = false;
};

struct LinearizeArguments : ScenarioArguments
{
  std::optional<double> at;  ///< time up to which the scenario runs first [s]
  double size = 1e-3;        ///< of the deviations whose step is tried
  bool lyapunov = false;
};

struct ExamplesArguments
{
  std::string name;
  bool show = false;
};

int run(const RunArguments & arguments);
int solve(const SolveArguments & arguments);
int check(const ScenarioArguments & arguments);
int compare(const CompareArguments & arguments);
int bench(const ScenarioArguments & arguments);
int linearize(const LinearizeArguments & arguments);
int examples(const ExamplesArguments & arguments);
/// Prints the keys of a type, of all types (doc/types.md) for an empty name.
int types(const std::string & type);

/// The file that an argument names: an existing file, else an example.
/// @throw std::invalid_argument if it is neither.
std::string find_scenario(const std::string & argument);

}  // namespace cdyn
