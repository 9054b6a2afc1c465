// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/jet_rotation.hpp"

#include <cmath>

#include "model/kinematic_tree.hpp"

namespace constrained_dynamics
{

namespace
{

/// f(x) with the derivatives d1 and d2 of f, along x.
Jet2 along(const Jet2 & x, double f, double d1, double d2) noexcept
{
  return {f, d1 * x.first, d2 * x.first * x.first + d1 * x.second};
}

/// sin(√x)/√x and cos(√x), both smooth at 0, where a power series takes over.
void sine_and_cosine_of_root(const Jet2 & x, Jet2 & sine, Jet2 & cosine) noexcept
{
  constexpr double kSeriesBelow = 1.0;
  constexpr int kTerms = 14;  // of size 1/27!
  double f = 0.0, f1 = 0.0, f2 = 0.0, g = 0.0;
  if (x.value < kSeriesBelow)
  {
    // f = Σ (−x)^k/(2k+1)!,  g = Σ (−x)^k/(2k)!, by Horner's rule.
    double coefficient_f[kTerms];
    double coefficient_g[kTerms];
    coefficient_f[0] = coefficient_g[0] = 1.0;
    for (int k = 1; k < kTerms; ++k)
    {
      coefficient_f[k] = -coefficient_f[k - 1] / (2.0 * k * (2.0 * k + 1.0));
      coefficient_g[k] = -coefficient_g[k - 1] / (2.0 * k * (2.0 * k - 1.0));
    }
    for (int k = kTerms - 1; k >= 0; --k)
    {
      f2 = f2 * x.value + 2.0 * f1;
      f1 = f1 * x.value + f;
      f = f * x.value + coefficient_f[k];
      g = g * x.value + coefficient_g[k];
    }
  }
  else
  {
    const double root = std::sqrt(x.value);
    f = std::sin(root) / root;
    g = std::cos(root);
    f1 = (g - f) / (2.0 * x.value);
    f2 = (-0.5 * f - 3.0 * f1) / (2.0 * x.value);
  }
  sine = along(x, f, f1, f2);
  cosine = along(x, g, -0.5 * f, -0.5 * f1);
}

/// k(w) = 2 acos(w)/√(1 − w²) for 0 ≤ w ≤ 1, smooth at 1, where a power series takes over.
Jet2 angle_over_sine(const Jet2 & w) noexcept
{
  constexpr double kSeriesBelow = 0.2;
  constexpr int kTerms = 30;  // of size 0.1^k
  const double x = 1.0 - w.value;
  if (x < kSeriesBelow)
  {
    // (1 − w²) k' = w k − 2 gives k = Σ c_i x^i,  c_0 = 2,  c_i = c_{i−1} i/(2i + 1).
    double coefficient[kTerms];
    coefficient[0] = 2.0;
    for (int i = 1; i < kTerms; ++i)
    {
      coefficient[i] = coefficient[i - 1] * i / (2.0 * i + 1.0);
    }
    double k = 0.0, k1 = 0.0, k2 = 0.0;  // derivatives by x
    for (int i = kTerms - 1; i >= 0; --i)
    {
      k2 = k2 * x + 2.0 * k1;
      k1 = k1 * x + k;
      k = k * x + coefficient[i];
    }
    return along(w, k, -k1, k2);
  }
  const double rest = 1.0 - w.value * w.value;
  const double k = 2.0 * std::acos(w.value) / std::sqrt(rest);
  const double k1 = (w.value * k - 2.0) / rest;
  return along(w, k, k1, (k + 3.0 * w.value * k1) / rest);
}

}  // namespace

void multiply_quaternions(const Jet2 * a, const Jet2 * b, Jet2 * out) noexcept CD_NONBLOCKING
{
  const Jet2 x = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1];
  const Jet2 y = a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2];
  const Jet2 z = a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0];
  const Jet2 w = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2];
  out[0] = x;
  out[1] = y;
  out[2] = z;
  out[3] = w;
}

bool normalise_quaternion(Jet2 * q) noexcept CD_NONBLOCKING
{
  const Jet2 squared = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
  if (!(squared.value >= kShortestQuaternion * kShortestQuaternion) || !isfinite(squared))
  {
    return false;
  }
  const Jet2 length = sqrt(squared);
  for (int i = 0; i < 4; ++i)
  {
    q[i] /= length;
  }
  return true;
}

void quaternion_of_roll_pitch_yaw(const Jet2 * rpy, Jet2 * out) noexcept CD_NONBLOCKING
{
  const Jet2 none(0.0);
  const Jet2 roll[4] = {sin(0.5 * rpy[0]), none, none, cos(0.5 * rpy[0])};
  const Jet2 pitch[4] = {none, sin(0.5 * rpy[1]), none, cos(0.5 * rpy[1])};
  const Jet2 yaw[4] = {none, none, sin(0.5 * rpy[2]), cos(0.5 * rpy[2])};
  multiply_quaternions(yaw, pitch, out);
  multiply_quaternions(out, roll, out);
}

void quaternion_of_rotation_vector(const Jet2 * r, Jet2 * out) noexcept CD_NONBLOCKING
{
  Jet2 sine;
  Jet2 cosine;
  sine_and_cosine_of_root(0.25 * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), sine, cosine);
  for (int i = 0; i < 3; ++i)
  {
    out[i] = 0.5 * r[i] * sine;
  }
  out[3] = cosine;
}

void rotation_vector_of_quaternion(const Jet2 * q, Jet2 * out) noexcept CD_NONBLOCKING
{
  // q and −q are one rotation.
  const double sign = q[3].value < 0.0 ? -1.0 : 1.0;
  const Jet2 factor = sign * angle_over_sine(sign * q[3]);
  for (int i = 0; i < 3; ++i)
  {
    out[i] = factor * q[i];
  }
}

void quaternion_from_rates(
  const double * q, const double * angular_velocity, const double * angular_acceleration,
  Jet2 * out) noexcept CD_NONBLOCKING
{
  const Jet2 value[4] = {q[0], q[1], q[2], q[3]};
  Jet2 velocity[4];
  Jet2 acceleration[4];
  for (int i = 0; i < 3; ++i)
  {
    velocity[i] = angular_velocity[i];
    acceleration[i] = angular_acceleration[i];
  }
  Jet2 first[4];
  Jet2 second[4];
  Jet2 second_of_velocity[4];
  multiply_quaternions(velocity, value, first);
  multiply_quaternions(acceleration, value, second);
  multiply_quaternions(velocity, first, second_of_velocity);
  for (int i = 0; i < 4; ++i)
  {
    out[i] =
      Jet2(q[i], 0.5 * first[i].value, 0.5 * second[i].value + 0.25 * second_of_velocity[i].value);
  }
}

void rates_of_quaternion(
  const Jet2 * q, double * angular_velocity, double * angular_acceleration) noexcept CD_NONBLOCKING
{
  const Jet2 conjugate[4] = {-q[0].value, -q[1].value, -q[2].value, q[3].value};
  Jet2 first[4];
  Jet2 second[4];
  for (int i = 0; i < 4; ++i)
  {
    first[i] = q[i].first;
    second[i] = q[i].second;
  }
  multiply_quaternions(first, conjugate, first);
  multiply_quaternions(second, conjugate, second);
  for (int i = 0; i < 3; ++i)
  {
    angular_velocity[i] = 2.0 * first[i].value;
    angular_acceleration[i] = 2.0 * second[i].value;
  }
}

}  // namespace constrained_dynamics
