// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/simulation/sensor_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace constrained_dynamics
{

namespace
{

/// Longest delay in steps: bounds the memory.
constexpr double kMostSteps = 100000.0;

[[noreturn]] void refuse(const std::string & name, double value, const std::string & allowed)
{
  throw std::invalid_argument(name + ": " + std::to_string(value) + "; allowed: " + allowed);
}

Eigen::Index column_count(const SensorOptions & options)
{
  const double steps = std::round(options.delay / options.step);
  if (!std::isfinite(options.delay) || options.delay < 0.0 || !(steps <= kMostSteps))
  {
    refuse("delay", options.delay, "0 to " + std::to_string(kMostSteps * options.step) + " s");
  }
  return static_cast<Eigen::Index>(steps) + 1;
}

}  // namespace

SensorModel::SensorModel(Eigen::Index size, SensorOptions options)
: options_(std::move(options)),
  history_(Eigen::MatrixXd::Zero(size, column_count(options_))),
  reading_(Eigen::VectorXd::Zero(size))
{
  if (options_.deviation.size() != size)
  {
    throw std::invalid_argument(
      "deviation: " + std::to_string(options_.deviation.size()) +
      " values; allowed: " + std::to_string(size));
  }
  for (const double deviation : options_.deviation)
  {
    if (!std::isfinite(deviation) || deviation < 0.0)
    {
      refuse("noise", deviation, "a number, 0 or above");
    }
  }
  if (!(options_.dropout_probability >= 0.0 && options_.dropout_probability <= 1.0))
  {
    refuse("dropout", options_.dropout_probability, "a probability, 0 to 1");
  }
  for (const auto & [begin, end] : options_.dropout_windows)
  {
    if (!std::isfinite(begin) || !std::isfinite(end) || !(begin < end))
    {
      refuse("dropout", end, "windows [begin, end] with begin < end");
    }
  }
}

void SensorModel::reset(const Eigen::VectorXd & values)
{
  history_.colwise() = values;
  next_ = 0;
  reading_ = values;
  random_.seed(options_.seed);
  normal_.reset();
  uniform_.reset();
}

void SensorModel::push(const Eigen::VectorXd & values) noexcept
{
  history_.col(next_) = values;
  next_ = (next_ + 1) % history_.cols();
}

bool SensorModel::drops_out(double time) noexcept
{
  const bool by_chance =
    options_.dropout_probability > 0.0 && uniform_(random_) < options_.dropout_probability;
  return by_chance ||
         std::any_of(
           options_.dropout_windows.begin(), options_.dropout_windows.end(),
           [&](const auto & window) { return time >= window.first && time < window.second; });
}

const Eigen::VectorXd & SensorModel::read(double time) noexcept
{
  if (drops_out(time))
  {
    if (!options_.freezes)
    {
      reading_.setConstant(std::numeric_limits<double>::quiet_NaN());
    }
    return reading_;
  }
  reading_ = history_.col(next_);
  for (Eigen::Index i = 0; i < reading_.size(); ++i)
  {
    if (options_.deviation(i) > 0.0)
    {
      reading_(i) += options_.deviation(i) * normal_(random_);
    }
  }
  return reading_;
}

}  // namespace constrained_dynamics
