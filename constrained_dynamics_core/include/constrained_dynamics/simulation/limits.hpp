// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/system.hpp"

/// @file
/// Position and velocity limits of robot descriptions in simulations.

namespace constrained_dynamics
{

/// Effect of limits in a simulation.
enum class LimitMode : std::uint8_t
{
  kReport,  ///< no effect; runs report those that were exceeded
  kStop,    ///< position limits are stops (add_limit_stops); velocity limits are reported
  kIgnore,  ///< no effect and no report
};

/// Stable name: "report", "stop", "ignore".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(LimitMode mode) noexcept;

enum class LimitKind : std::uint8_t
{
  kLower,     ///< of a coordinate
  kUpper,     ///< of a coordinate
  kVelocity,  ///< of its rate, in both directions
};

/// Stable name: "lower", "upper", "velocity".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(LimitKind kind) noexcept;

/// A limit that a run exceeded.
struct ExceededLimit
{
  int coordinate = 0;
  LimitKind kind = LimitKind::kLower;
  double limit = 0.0;       ///< as the description states it
  double value = 0.0;       ///< the value furthest beyond the limit
  double first_time = 0.0;  ///< [s]
};

/// Checks states for coordinates beyond their limits.
class CONSTRAINED_DYNAMICS_EXPORT LimitWatch
{
public:
  explicit LimitWatch(const System & system);

  /// Whether the system has no limits.
  bool is_empty() const { return watched_.empty(); }
  void start();
  /// Real-time safe: yes.
  void look(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
    CD_NONBLOCKING;
  /// The limits that were exceeded, in the order of the coordinates.
  std::vector<ExceededLimit> exceeded() const;

private:
  struct Watched
  {
    ExceededLimit limit;
    int speed = 0;  // the rate of the coordinate
    bool is_exceeded = false;
  };
  std::vector<Watched> watched_;
};

/// Adds a stop for every position limit of a system: a constraint of type "joint" named
/// `<coordinate>_lower_stop` or `<coordinate>_upper_stop`, and the contact that makes it
/// unilateral. Systems without robots and joints moved by a drive get none.
/// @param restitution e of the stops, 0 to 1.
CONSTRAINED_DYNAMICS_EXPORT void add_limit_stops(
  const System & system, double restitution,
  std::vector<std::shared_ptr<const Constraint>> & constraints, std::vector<Contact> & contacts);

}  // namespace constrained_dynamics
