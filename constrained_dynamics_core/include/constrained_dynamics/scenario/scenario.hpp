// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/robot_profile.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "constrained_dynamics/simulation/servo_input_law.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "constrained_dynamics/status.hpp"

/// @file
/// Scenario files: a system, its constraints, its inputs, its initial state and the run, in one
/// YAML file. doc/scenario.md describes every key.
///
///     const Scenario scenario = Scenario::load("four_bar.yaml", {"parameters.N=3"});
///     const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
///     simulation->run(scenario.run().until, scenario.run().output_interval, observer);

namespace constrained_dynamics
{

/// Options of reading a scenario.
struct ScenarioLoadOptions
{
  /// Whether the initial state is assembled and checked against the rows. If not, values that are
  /// not given keep their defaults (0, unit quaternions).
  bool assemble = true;
};

/// The section `run`.
struct RunSettings
{
  double until = 10.0;           ///< [s]
  double output_interval = 0.0;  ///< [s], positive
  SimulationOptions integration;
  LimitMode limits = LimitMode::kReport;  ///< of the robot descriptions
};

/// What a scenario was read from.
struct ScenarioSource
{
  std::string text;                    ///< the YAML document
  std::string path;                    ///< of the file, for messages and the default of the name
  std::string folder;                  ///< where relative file names in the text start
  std::vector<std::string> overrides;  ///< "path=value" each
  ScenarioLoadOptions options;
};

/// A scenario, read, checked and built. Constant; may be shared by threads.
class CONSTRAINED_DYNAMICS_EXPORT Scenario
{
public:
  /// Reads a file.
  /// @param overrides "path=value" each, as after `--set`, applied in order.
  /// @throw std::invalid_argument "<file>:<line>: <key path>: <value>: <what is allowed>".
  static Scenario load(
    const std::string & path, const std::vector<std::string> & overrides = {},
    const ScenarioLoadOptions & options = {});

  /// Reads a text; relative file names in it start at `folder`. Throws as `load`.
  static Scenario from_text(
    const std::string & text, const std::vector<std::string> & overrides = {},
    const std::string & folder = ".", const ScenarioLoadOptions & options = {});

  /// Reads what another scenario was read from once more. Throws as `load`.
  static Scenario from_source(const ScenarioSource & source);

  Scenario(const Scenario &);
  Scenario & operator=(const Scenario &);
  Scenario(Scenario &&) noexcept;
  Scenario & operator=(Scenario &&) noexcept;
  ~Scenario();

  /// What it was read from. The robot descriptions that the text names are not part of it.
  const ScenarioSource & source() const;
  const std::string & name() const;
  const std::string & description() const;
  /// Parameters with their values, in the order of the file.
  const std::vector<std::pair<std::string, double>> & parameters() const;

  const std::shared_ptr<const Dynamics> & dynamics() const;
  const System & system() const;
  /// Contacts and frictions, which switch constraints; never null.
  const std::shared_ptr<const ContactSet> & contacts() const;
  /// The section `events`.
  const std::vector<ScheduledChange> & scheduled_changes() const;
  /// The initial state. It satisfies the active rows unless ScenarioLoadOptions::assemble is off.
  const State & initial() const;
  const RunSettings & run() const;
  /// The robot profile that `system: profile` names; null: none.
  const RobotProfile * profile() const;
  /// Warnings about elements of the robot descriptions that the system does not apply.
  const std::vector<std::string> & warnings() const;

  /// Whether constraint i is active at the start.
  bool is_active(int constraint) const;
  /// Switches off the constraints in a workspace that are not active at the start.
  void switch_constraints(Workspace & workspace) const;
  /// The constraints that are active at the start, as a set of their own.
  ConstraintSet active_constraints() const;

  /// The law of `servo` and `servo_law`; null if the file has none.
  std::shared_ptr<const ServoLaw> servo_law() const;
  /// References of the tasks of the law; null if the file has none.
  const ServoDrive * servo_drive() const;

  /// Makes the law of `inputs` and `external`, or of `servo` (a ServoInputLaw, started at the
  /// initial state), with its own scratch memory; null if the file has none of them.
  /// Real-time safe: no (its evaluations are).
  std::shared_ptr<InputLaw> make_input_law() const;

  /// Makes a simulation at the initial state, with inputs and with constraints switched.
  std::unique_ptr<Simulation> make_simulation() const;

  /// Names of `observe`.
  const std::vector<std::string> & observable_names() const;
  /// Values of `observe` for the solution in a workspace and the inputs τ it was solved with; `out`
  /// has observable_names().size() elements and is untouched on failure.
  /// Statuses: kOk, kNonFiniteResult. Real-time safe: no.
  [[nodiscard]] Status observe(
    const Workspace & workspace, const Eigen::VectorXd & inputs, Eigen::VectorXd & out) const;

private:
  struct Impl;
  explicit Scenario(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace constrained_dynamics
