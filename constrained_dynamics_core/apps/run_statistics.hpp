// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "json_writer.hpp"

namespace cdyn
{

/// Smallest, largest and root mean square of a number over the output times.
struct Range
{
  double first = std::nan("");
  double last = std::nan("");
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double squares = 0.0;
  long count = 0;

  void add(double value);
  double rms() const { return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0.0; }
  /// An entry of that name. @param ends with the values at start and end, too.
  void write(constrained_dynamics::JsonWriter & json, const std::string & name, bool ends) const;
};

/// Heading and line of a table of ranges. @param width of the names.
std::string range_heading(const std::string & title, std::size_t width);
std::string range_line(const std::string & name, const Range & range, std::size_t width);

/// Largest size of a residual, and whose it is.
struct Violation
{
  double size = 0.0;
  int row = -1;

  void add(double value, int of_row);
};

/// What a run collects at its output times.
class Statistics
{
public:
  explicit Statistics(const constrained_dynamics::Scenario & scenario);

  /// The solution that an observer of the run sees. @param observed values of `observe`.
  void add(const constrained_dynamics::Simulation & simulation, const Eigen::VectorXd & observed);

  double energy_change() const;
  std::string row_name(int row) const { return row >= 0 ? set_.row_name(row) : std::string(); }

  /// The entry `energy`.
  void write_energy(constrained_dynamics::JsonWriter & json) const;
  /// The entry `violation`.
  void write_violation(constrained_dynamics::JsonWriter & json) const;

private:
  void add_open_contacts(const constrained_dynamics::Workspace & workspace);

  const constrained_dynamics::ConstraintSet & set_;
  std::shared_ptr<const constrained_dynamics::ContactSet> contacts_;

public:
  std::vector<Range> multipliers;
  std::vector<Range> forces;
  std::vector<Range> torques;
  std::vector<Range> observables;
  std::vector<Range> inputs;
  Range energy;
  Violation position;
  Violation velocity;
  long outputs = 0;
  bool has_limits = false;  ///< whether descriptions state limits of positions or velocities
};

}  // namespace cdyn
