// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constrained_dynamics/constraints/joint_constraint.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formula/formula.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "constrained_dynamics/status.hpp"
#include "scenario/scenario_reader.hpp"

namespace constrained_dynamics
{

/// A quantity that signals are made of.
struct SignalSource
{
  enum class Kind
  {
    kTime,
    kCoordinate,
    kRate,
    kSpeed,
    kCoordinateAcceleration,
    kSpeedAcceleration,
    kFramePosition,
    kFrameVelocity,
    kFrameAngularVelocity,
    kGravity,
    kMultiplier,
    kJointCoordinate,
    kInput,
    kKineticEnergy,
    kPotentialEnergy,
  };
  Kind kind = Kind::kTime;
  int index = 0;
  int component = 0;

  /// Whether it is known only after a solve.
  bool needs_solution() const;
};

/// What formulas may use besides parameters, definitions and the state.
enum class SignalScope
{
  kState,     ///< nothing
  kForces,    ///< multipliers, on which forces may depend
  kSolution,  ///< accelerations, multipliers, inputs and energies
};

/// Formulas of the state and, given a solution, of the results of the solve.
class SignalProgram
{
public:
  /// Everything that an evaluation changes.
  struct Scratch
  {
    Eigen::VectorXd variables;
    Eigen::VectorXd tape;
    Eigen::VectorXd values;
    Eigen::VectorXd gravity;
  };

  SignalProgram() = default;
  SignalProgram(
    const ConstraintSet & set, FormulaProgram program, std::vector<SignalSource> sources);

  int size() const { return program_.output_count(); }
  Scratch make_scratch() const;

  /// Values at the state of the last update_kinematics, into scratch.values.
  /// @param solution, inputs null where signals use neither.
  /// Statuses: kOk, kNonFiniteResult. Real-time safe: yes.
  [[nodiscard]] Status evaluate(
    const SystemData & data, const Solution * solution, const Eigen::VectorXd * inputs,
    Scratch & scratch) const noexcept CD_NONBLOCKING;

  /// Rows whose multipliers the formulas use, ascending.
  std::vector<int> multiplier_rows() const;
  int derivative_scratch_size() const;
  /// Values and derivatives by the multipliers of `multiplier_rows`, of formulas of the scope
  /// kForces. Statuses: kOk, kNonFiniteResult. Real-time safe: yes.
  /// @param rows multiplier_rows(). @param multipliers of these rows.
  [[nodiscard]] Status differentiate(
    const SystemData & data, const std::vector<int> & rows, const ConstVectorRef & multipliers,
    double * scratch, VectorRef values, MatrixRef derivatives) const noexcept CD_NONBLOCKING;

private:
  double value_of(
    const SignalSource & source, const SystemData & data, const Solution * solution,
    const Eigen::VectorXd * inputs, const double * gravity) const noexcept CD_NONBLOCKING;

  const System * system_ = nullptr;
  std::vector<const JointCoordinates *> joints_;  // of the constraints; null for other types
  const RigidBodySystem * robot_ = nullptr;
  bool robot_is_wrapped_ = false;
  FormulaProgram program_;
  std::vector<SignalSource> sources_;
  std::vector<int> used_;
  bool uses_gravity_ = false;
};

/// The names that signals may use.
class SignalNames
{
public:
  /// @throw std::invalid_argument for parameters whose name is taken.
  SignalNames(const ConstraintSet & set, const FormulaNames & names, SignalScope scope);
  SignalNames(const SignalNames &) = delete;
  SignalNames & operator=(const SignalNames &) = delete;

  /// @throw std::invalid_argument for a name that is taken or a formula that cannot be read.
  void add_definition(const std::string & name, const std::string & formula);
  /// Refuses a formula that cannot be read or uses what is not known. @throw std::invalid_argument
  void check(const std::string & formula) const;
  /// Whether a formula that was checked uses multipliers.
  bool uses_multipliers(const std::string & formula) const;
  SignalProgram compile(const std::vector<std::string> & formulas) const;

private:
  std::optional<int> resolve(const std::string & function, const std::string & argument);
  std::optional<int> joint_coordinate(const std::string & argument);
  int multiplier(const std::string & argument);
  int place(SignalSource source);

  const System & system_;
  const ConstraintSet & set_;
  SignalScope scope_;
  FormulaContext context_;
  std::vector<SignalSource> sources_;
  std::map<std::tuple<int, int, int>, int> places_;
};

/// The names for signals of a scenario, with its definitions, over the rows of `set`, which must
/// outlive them.
std::unique_ptr<const SignalNames> signal_names(
  const ScenarioReader & root, const ConstraintSet & set, SignalScope scope);

/// SignalNames::check for a formula at a place of the file.
void check_formula(
  const SignalNames & names, const ScenarioReader & reader, const std::string & formula);

/// Inputs and external wrenches by formulas.
class FormulaInputLaw : public InputLaw
{
public:
  /// @param program the inputs, then six components for each of `wrenches`, which are indices of
  /// external wrenches.
  FormulaInputLaw(std::shared_ptr<const SignalProgram> program, std::vector<int> wrenches);

  [[nodiscard]] Status evaluate(const System & system, SystemData & data, VectorRef inputs) noexcept
    CD_NONBLOCKING override;

private:
  std::shared_ptr<const SignalProgram> program_;
  std::vector<int> wrenches_;
  SignalProgram::Scratch scratch_;
};

}  // namespace constrained_dynamics
