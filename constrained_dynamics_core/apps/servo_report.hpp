// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/simulation/servo_input_law.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "json_writer.hpp"
#include "run_statistics.hpp"

namespace cdyn
{

/// What a run reports of its servo law; nothing where it has none.
class ServoReport
{
public:
  explicit ServoReport(const constrained_dynamics::Simulation & simulation);

  bool is_empty() const { return law_ == nullptr; }
  /// Names of the columns of a line, and their values at the state that an observer sees.
  std::vector<std::string> column_names() const;
  std::string csv_values() const;
  void add();

  std::string describe(std::size_t width) const;
  /// The entry `servo`.
  void write(constrained_dynamics::JsonWriter & json) const;

private:
  /// Coordinates whose limit of position or velocity was reached.
  std::vector<std::string> limited_coordinates() const;

  const constrained_dynamics::ServoInputLaw * law_;
  std::vector<Range> errors_;
  std::vector<Range> residuals_;
  std::vector<bool> relaxed_;
  std::vector<bool> at_limit_;  // of each coordinate: a limit of position or velocity was reached
};

}  // namespace cdyn
