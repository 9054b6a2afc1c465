// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Imperfections of sensors.
struct SensorOptions
{
  Eigen::VectorXd deviation;         ///< standard deviation of the noise of each value, 0: none
  double delay = 0.0;                ///< [s]
  double step = 1e-3;                ///< time between calls of `push`, needed for a delay [s]
  double dropout_probability = 0.0;  ///< of a reading
  std::vector<std::pair<double, double>> dropout_windows;  ///< [begin, end) [s]
  bool freezes = false;  ///< a dropped reading repeats the last values; otherwise it is NaN
  std::uint64_t seed = 1;
};

/// Sensor readings with delay, noise and dropouts. Allocates only in the constructor.
class CONSTRAINED_DYNAMICS_EXPORT SensorModel
{
public:
  /// @throw std::invalid_argument for options out of range.
  SensorModel(Eigen::Index size, SensorOptions options);

  /// Discards the history; until the delay has passed, readings are of these values.
  void reset(const Eigen::VectorXd & values);
  /// Stores true values; call it every `step` seconds if there is a delay, otherwise before each
  /// reading.
  void push(const Eigen::VectorXd & values) noexcept;
  /// Readings of the sensors at a time [s]. Real-time safe: yes.
  const Eigen::VectorXd & read(double time) noexcept;

private:
  bool drops_out(double time) noexcept;

  SensorOptions options_;
  Eigen::MatrixXd history_;  // one column per push
  Eigen::Index next_ = 0;    // the oldest column, to be written next
  Eigen::VectorXd reading_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

}  // namespace constrained_dynamics
