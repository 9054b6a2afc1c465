// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include "simulation/event_search.hpp"
#include "simulation/output_times.hpp"
#include "simulation/phase_motion.hpp"
#include "simulation/phase_stepper.hpp"
#include "simulation/simulation_core.hpp"

namespace constrained_dynamics
{

/// Adaptive steps of a run, phase by phase: with dense output, on which outputs and ends of modes
/// are found. At ends of modes and at scheduled changes the integration is restarted.
class AdaptiveStepper
{
public:
  /// @param until end of the run [s].
  AdaptiveStepper(SimulationCore & of, double until);

  double limit(double until, double next_change) const;
  bool reaches(double time, double due) const { return time >= due; }

  /// One step, up to the first end of a mode and no farther than `limit`; the state does not
  /// change.
  Advance make(double limit);
  /// Advances to the end of the step and records it.
  Status arrive(const Advance & made);
  /// Restarts the integration at an instant; enforced rows are satisfied exactly there.
  Status depart(const Advance & made);

  /// Outputs within the step.
  double next_output(const OutputTimes & output, double /*end*/) const { return output.next(); }
  Status go_to(double time);
  Status book_until(double time);

private:
  void book(double time);
  void book_samples(double time);
  bool ends_slip_in_plane() const noexcept;
  void begin_phase();
  void accept(double time);
  Status check_progress(double time, bool is_event);
  template <typename Function>
  Status guarded(const Function & function);

  SimulationCore & of_;
  PhaseMotion motion_;
  PhaseStepper stepper_;
  EventSearch search_;
  bool is_smooth_;           // no contacts, no changes: the dense output is exact enough
  bool starts_anew_ = true;  // before the next step
  double start_ = 0.0;       // of the step
  double step_end_ = 0.0;    // where it would lead to
  StateVector x_;
  StateVector begin_;
  StateVector slope_;
  int at_once_ = 0;       // events without time passing
  int steps_ = 0;         // since the last check
  int events_ = 0;        // likewise
  double least_advance_;  // of kManyEvents [s]
  double stepped_from_;   // [s]
  double advanced_from_;  // [s]
};

}  // namespace constrained_dynamics
