// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <Eigen/Geometry>

namespace invariance
{

/// Random numbers that are the same with every standard library (std::mt19937_64 is; its
/// distributions are not).
class Random
{
public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}

  /// In [0, 1).
  double unit() { return static_cast<double>(generator_() >> 11U) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * unit(); }
  /// Uniform in the logarithm.
  double magnitude(double low, double high)
  {
    return std::exp(uniform(std::log(low), std::log(high)));
  }
  /// In {low, …, high}.
  int integer(int low, int high)
  {
    return low + static_cast<int>(generator_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(double probability) { return unit() < probability; }
  double sign() { return chance(0.5) ? 1.0 : -1.0; }

  template <class T>
  const T & pick(const std::vector<T> & values)
  {
    return values[static_cast<std::size_t>(integer(0, static_cast<int>(values.size()) - 1))];
  }

  template <class T>
  void shuffle(std::vector<T> & values)
  {
    for (std::size_t i = values.size(); i > 1; --i)
    {
      std::swap(
        values[i - 1], values[static_cast<std::size_t>(integer(0, static_cast<int>(i) - 1))]);
    }
  }

  Eigen::Vector3d vector(double size)
  {
    const double x = uniform(-size, size);
    const double y = uniform(-size, size);
    return {x, y, uniform(-size, size)};
  }

  Eigen::Vector3d direction()
  {
    Eigen::Vector3d v = vector(1.0);
    while (v.norm() < 0.1)
    {
      v = vector(1.0);
    }
    return v.normalized();
  }

  Eigen::Matrix3d rotation()
  {
    const Eigen::Vector3d axis = direction();
    return Eigen::AngleAxisd(uniform(-3.0, 3.0), axis).toRotationMatrix();
  }

private:
  std::mt19937_64 generator_;
};

/// Seed of the case `index` of a suite with `seed`.
inline std::uint64_t seed_of(std::uint64_t seed, std::uint64_t index)
{
  std::uint64_t z = seed * 0x9E3779B97F4A7C15ULL + index + 1;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

}  // namespace invariance
