// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/system.hpp"

namespace constrained_dynamics
{

/// A message of joint states: any subset of the joints, in any order.
struct JointSample
{
  std::int64_t time = 0;          ///< stamp [ns]; 0: now
  std::vector<std::string> name;  ///< of coordinates, speeds or inputs
  std::vector<double> position;   ///< as many as names, or none
  std::vector<double> velocity;   ///< likewise
  std::vector<double> effort;     ///< likewise
};

/// Collects messages of joint states for a system. They may come from several sources, each with a
/// subset of the joints in any order. Names are those of coordinates (joints). The speeds of
/// planar, floating and ball joints are given by their own names (such as "base_wz") or are
/// computed from the rates of all of their coordinates. Efforts belong to inputs of the same name.
class CONSTRAINED_DYNAMICS_EXPORT JointReadings
{
public:
  /// @param timeout age [s] from which a message or value is too old.
  JointReadings(const System & system, double timeout);

  /// A time on the clock of the stamps [ns].
  using Time = std::int64_t;

  /// Stores the values of a message.
  /// @return empty, or why the whole message was rejected.
  std::string add(const JointSample & message, Time now);

  /// Coordinates that were read since the last `clear`, and the speeds known from them.
  const std::vector<bool> & measured_coordinates() const { return has_position_; }
  std::vector<bool> measured_speeds() const;
  /// Writes the known values into q and u; the others are unchanged.
  /// @return empty, or the name of a coordinate whose last value is too old at `now`.
  std::string read(Time now, Eigen::VectorXd & q, Eigen::VectorXd & u) const;
  /// Writes the efforts. @return whether all inputs have one that is not too old.
  bool read_effort(Time now, Eigen::VectorXd & effort) const;

  /// Time stamp of the newest value; valid if has_values().
  Time newest() const { return newest_; }
  bool has_values() const { return has_values_; }
  /// Number that changes with each accepted message.
  long count() const { return count_; }
  long refused_count() const { return refused_; }       ///< rejected messages, e.g. too old ones
  long bad_value_count() const { return bad_values_; }  ///< rejected values (not finite)
  /// Names that are unknown to the system; at most kMostUnknown are kept.
  const std::vector<std::string> & unknown_names() const { return unknown_; }
  /// Discards everything, e.g. after time jumped backwards.
  void clear();

  static constexpr std::size_t kMostNames = 10000;
  static constexpr std::size_t kMostUnknown = 10;

private:
  struct Reading
  {
    double value = 0.0;
    Time time = 0;  // stamp
  };

  std::string check(const JointSample & message, Time stamp, Time now) const;
  void add_joint(
    const std::string & name, Time stamp, const double * position, const double * velocity,
    const double * effort);
  void add_position(std::size_t coordinate, Time stamp, double value, const double * velocity);
  bool is_good(const double * value);
  /// Speeds of coordinates whose rates are several speeds, from all of these rates.
  void add_speeds_of_rates(Eigen::VectorXd & q, Eigen::VectorXd & u) const;

  const System & system_;
  Time timeout_;
  std::vector<int> speed_of_coordinate_;  // "dx" of coordinate x; −1: it has none of its own
  // Speeds that have no coordinate of their own, and the coordinates whose rates they are.
  std::vector<int> joint_speeds_;
  std::vector<int> joint_coordinates_;

  std::vector<Reading> positions_;
  std::vector<Reading> rates_;
  std::vector<Reading> speeds_;
  std::vector<Reading> efforts_;
  std::vector<bool> has_position_;
  std::vector<bool> has_rate_;
  std::vector<bool> has_speed_;
  std::vector<bool> has_effort_;
  Time newest_ = 0;
  bool has_values_ = false;
  long count_ = 0;
  long refused_ = 0;
  long bad_values_ = 0;
  std::vector<std::string> unknown_;
};

}  // namespace constrained_dynamics
