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

/// Joint states as they arrive: any of the joints, in any order.
struct JointSample
{
  std::int64_t time = 0;          ///< stamp [ns]; 0: now
  std::vector<std::string> name;  ///< of coordinates, speeds or inputs
  std::vector<double> position;   ///< as many as names, or none
  std::vector<double> velocity;   ///< likewise
  std::vector<double> effort;     ///< likewise
};

/// What messages of joint states tell about a system: they may come from several sources, each with
/// some of the joints, in any order. Names are those of coordinates (joints); the speeds of planar,
/// floating and ball joints are known by their own names (such as "base_wz") or follow from the
/// rates of all of their coordinates; efforts belong to inputs of the same name.
class CONSTRAINED_DYNAMICS_EXPORT JointReadings
{
public:
  /// @param timeout age [s] from which a message or value is too old.
  JointReadings(const System & system, double timeout);

  /// A time on the clock of the stamps [ns].
  using Time = std::int64_t;

  /// Takes a message over.
  /// @return empty, or what is wrong with the message as a whole; then nothing of it was taken.
  std::string add(const JointSample & message, Time now);

  /// Coordinates that were read since the last `clear`, and speeds that are known with them.
  const std::vector<bool> & measured_coordinates() const { return has_position_; }
  std::vector<bool> measured_speeds() const;
  /// Writes what is known into q and u; the rest is left alone.
  /// @return empty, or the name of a coordinate whose last value is too old at `now`.
  std::string read(Time now, Eigen::VectorXd & q, Eigen::VectorXd & u) const;
  /// Writes the efforts. @return whether all inputs have one that is not too old.
  bool read_effort(Time now, Eigen::VectorXd & effort) const;

  /// Stamp of the newest value. Whether there is one: has_values().
  Time newest() const { return newest_; }
  bool has_values() const { return has_values_; }
  /// Changes with each message that was taken.
  long count() const { return count_; }
  long refused_count() const { return refused_; }       ///< messages, e.g. too old
  long bad_value_count() const { return bad_values_; }  ///< values that are not finite
  /// Names that the system does not know; at most kMostUnknown are kept.
  const std::vector<std::string> & unknown_names() const { return unknown_; }
  /// Forgets everything, as where time jumps back.
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
