// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/reference_trajectory.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// How a ServoLaw drives a simulation.
struct ServoDrive : TaskTrajectories
{
  /// Controls are held for this time [s]; 0: a continuous law. Only for fixed-step integrators.
  double period = 0.0;
  /// Sets external wrenches and the like, which the servo law does not know. Its inputs are
  /// ignored. May be null.
  std::shared_ptr<InputLaw> outside;
  /// Constraints (indices in the law's passive set) that the law does not know: it never counts on
  /// their forces. Stops at the ends of joints belong here. A law that yielded while a stop acts
  /// would leave it at once and press against it again.
  std::vector<int> unknown;
};

/// A servo law as the inputs of a simulation. Like a controller, it has its own workspace. It knows
/// which passive constraints are active, except those of ServoDrive::unknown.
class CONSTRAINED_DYNAMICS_EXPORT ServoInputLaw : public InputLaw
{
public:
  /// Number of evaluations in which the law could not realise the tasks.
  struct Counts
  {
    long evaluations = 0;
    long singular = 0;
    long inconsistent = 0;
    long limited = 0;
    long stopped = 0;  ///< of the limited ones: position or velocity limits could not be kept
  };

  /// @throw std::invalid_argument for a null law, a wrong number of references, a time that is
  /// negative or not finite, or an unknown constraint that the passive set does not have.
  explicit ServoInputLaw(std::shared_ptr<const ServoLaw> law, ServoDrive drive = {});
  ~ServoInputLaw() override;

  void start(const State & state) override;
  void begin_step(double time) noexcept CD_NONBLOCKING override;
  void observe(const Workspace & workspace) noexcept CD_NONBLOCKING override;
  [[nodiscard]] Status evaluate(const System & system, SystemData & data, VectorRef inputs) noexcept
    CD_NONBLOCKING override;
  const ServoInputLaw * as_servo() const noexcept override { return this; }

  const ServoLaw & law() const { return *law_; }
  /// Result of the last evaluation of the law.
  const ServoWorkspace & servo() const { return workspace_; }
  ServoWorkspace & servo() { return workspace_; }
  /// Status of the last evaluation of the law.
  Status last_status() const { return last_status_; }
  const Counts & counts() const { return counts_; }

private:
  Status follow(double time) noexcept CD_NONBLOCKING;

  std::shared_ptr<const ServoLaw> law_;
  ServoDrive drive_;
  ServoWorkspace workspace_;
  std::vector<int> known_;                            // constraints whose activity is observed
  std::vector<std::unique_ptr<SmoothStart>> starts_;  // null: at once
  Counts counts_;
  Status last_status_ = Status::kOk;
  double start_time_ = 0.0;
  long samples_ = 0;  // periods that have begun
  bool due_ = true;
};

}  // namespace constrained_dynamics
