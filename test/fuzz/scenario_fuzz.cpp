// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Fuzz target for libFuzzer: scenario files are untrusted text.
//
//   clang++ -std=c++17 -g -O1 -fsanitize=fuzzer,address,undefined -DEIGEN_MALLOC_ALREADY_ALIGNED=1
//     scenario_fuzz.cpp and the core's src/scenario*.cpp, with the include folders of the core,
//     linked with the core's library and yaml-cpp
//
// scenario.dict is its dictionary; config/scenarios is a good start. The input is a file and, after
// a byte 1, an assignment of --set. Whatever the text, it is refused with std::invalid_argument
// that says where, or builds a system that can be started and evaluated without touching foreign
// memory.

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "constrained_dynamics/scenario/scenario.hpp"

using constrained_dynamics::has_output;
using constrained_dynamics::Scenario;
using constrained_dynamics::Status;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  std::string text(reinterpret_cast<const char *>(data), size);
  std::vector<std::string> overrides;
  const std::size_t separator = text.find('\1');
  if (separator != std::string::npos)
  {
    overrides.push_back(text.substr(separator + 1));
    text.resize(separator);
  }
  try
  {
    const Scenario scenario = Scenario::from_text(text, overrides, "/nonexistent");
    const auto simulation = scenario.make_simulation();
    const Status status = simulation->evaluate();
    if (has_output(status) && !simulation->workspace().solution().acceleration.allFinite())
    {
      std::abort();
    }
    if (!has_output(simulation->step()))
    {
      return 0;
    }
    Eigen::VectorXd observed;
    const Status after = simulation->evaluate();
    if (
      has_output(after) &&
      scenario.observe(simulation->workspace(), simulation->inputs(), observed) == Status::kOk &&
      !observed.allFinite())
    {
      std::abort();
    }
  }
  catch (const std::invalid_argument & error)
  {
    if (std::string(error.what()).empty())
    {
      std::abort();
    }
  }
  return 0;
}
