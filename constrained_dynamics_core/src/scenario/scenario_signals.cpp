// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_signals.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "formula/formula_text.hpp"

namespace constrained_dynamics
{

bool SignalSource::needs_solution() const
{
  switch (kind)
  {
    case Kind::kCoordinateAcceleration:
    case Kind::kSpeedAcceleration:
    case Kind::kMultiplier:
    case Kind::kInput:
    case Kind::kKineticEnergy:
    case Kind::kPotentialEnergy:
      return true;
    default:
      return false;
  }
}

SignalProgram::SignalProgram(
  const ConstraintSet & set, FormulaProgram program, std::vector<SignalSource> sources)
: system_(&set.system()),
  robot_(system_->underlying().as_robot()),
  robot_is_wrapped_(robot_ != system_),
  program_(std::move(program)),
  sources_(std::move(sources))
{
  for (int i = 0; i < set.size(); ++i)
  {
    joints_.push_back(JointCoordinates::of(set[i]));
  }
  std::set<int> used;
  for (int output = 0; output < program_.output_count(); ++output)
  {
    used.insert(program_.variables_of(output).begin(), program_.variables_of(output).end());
  }
  used_.assign(used.begin(), used.end());
  uses_gravity_ = std::any_of(
    used_.begin(), used_.end(),
    [&](int i)
    { return sources_[static_cast<std::size_t>(i)].kind == SignalSource::Kind::kGravity; });
}

SignalProgram::Scratch SignalProgram::make_scratch() const
{
  Scratch scratch;
  scratch.variables.setZero(program_.variable_count());
  scratch.tape.setZero(program_.tape_size());
  scratch.values.setZero(program_.output_count());
  scratch.gravity.setZero(robot_ != nullptr ? robot_->speed_count() : 0);
  return scratch;
}

double SignalProgram::value_of(
  const SignalSource & source, const SystemData & data, const Solution * solution,
  const Eigen::VectorXd * inputs, const double * gravity) const noexcept CD_NONBLOCKING
{
  const SystemTerms & terms = data.terms;
  FrameKinematics frame;
  switch (source.kind)
  {
    case SignalSource::Kind::kTime:
      return terms.time;
    case SignalSource::Kind::kCoordinate:
      return terms.coordinates(source.index);
    case SignalSource::Kind::kRate:
      return terms.rates(source.index);
    case SignalSource::Kind::kSpeed:
      return terms.speeds(source.index);
    case SignalSource::Kind::kCoordinateAcceleration:
      // q̈ = C u̇ + (q̈ at u̇ = 0)
      return terms.kinematic_matrix.row(source.index).dot(solution->acceleration) +
             terms.acceleration_bias(source.index);
    case SignalSource::Kind::kSpeedAcceleration:
      return solution->acceleration(source.index);
    case SignalSource::Kind::kFramePosition:
      system_->frame_kinematics(data, source.index, frame);
      return frame.position(source.component);
    case SignalSource::Kind::kFrameVelocity:
      system_->frame_kinematics(data, source.index, frame);
      return frame.velocity(source.component);
    case SignalSource::Kind::kFrameAngularVelocity:
      system_->frame_kinematics(data, source.index, frame);
      return frame.angular_velocity(source.component);
    case SignalSource::Kind::kGravity:
      return gravity[source.index];
    case SignalSource::Kind::kMultiplier:
      return solution->multipliers(source.index);
    case SignalSource::Kind::kJointCoordinate:
      return joints_[static_cast<std::size_t>(source.index)]->coordinate(data, source.component);
    case SignalSource::Kind::kInput:
      return (*inputs)(source.index);
    case SignalSource::Kind::kKineticEnergy:
      return system_->kinetic_energy(data);
    case SignalSource::Kind::kPotentialEnergy:
      return system_->potential_energy(data);
  }
  return 0.0;
}

Status SignalProgram::evaluate(
  const SystemData & data, const Solution * solution, const Eigen::VectorXd * inputs,
  Scratch & scratch) const noexcept CD_NONBLOCKING
{
  if (uses_gravity_)
  {
    robot_->gravity_torque(
      robot_is_wrapped_ ? ControlStateSystem::wrapped_data(data) : data, scratch.gravity);
  }
  for (const int i : used_)
  {
    scratch.variables(i) = value_of(
      sources_[static_cast<std::size_t>(i)], data, solution, inputs, scratch.gravity.data());
  }
  program_.evaluate(scratch.variables.data(), scratch.tape.data(), scratch.values.data());
  return scratch.values.allFinite() ? Status::kOk : Status::kNonFiniteResult;
}

std::vector<int> SignalProgram::multiplier_rows() const
{
  std::set<int> rows;
  for (const int i : used_)
  {
    const SignalSource & source = sources_[static_cast<std::size_t>(i)];
    if (source.kind == SignalSource::Kind::kMultiplier)
    {
      rows.insert(source.index);
    }
  }
  return {rows.begin(), rows.end()};
}

int SignalProgram::derivative_scratch_size() const
{
  // Variables, gradient, tape, adjoint, gravity.
  const int gravity = robot_ != nullptr ? robot_->speed_count() : 0;
  return 2 * program_.variable_count() + 2 * program_.tape_size() + gravity;
}

Status SignalProgram::differentiate(
  const SystemData & data, const std::vector<int> & rows, const ConstVectorRef & multipliers,
  double * scratch, VectorRef values, MatrixRef derivatives) const noexcept CD_NONBLOCKING
{
  double * const variables = scratch;
  double * const gradient = variables + program_.variable_count();
  double * const tape = gradient + program_.variable_count();
  double * const adjoint = tape + program_.tape_size();
  double * const gravity = adjoint + program_.tape_size();
  if (uses_gravity_)
  {
    robot_->gravity_torque(
      robot_is_wrapped_ ? ControlStateSystem::wrapped_data(data) : data,
      Eigen::Map<Eigen::VectorXd>(gravity, robot_->speed_count()));
  }
  const auto place = [&](const SignalSource & source)
  { return std::lower_bound(rows.begin(), rows.end(), source.index) - rows.begin(); };
  for (const int i : used_)
  {
    const SignalSource & source = sources_[static_cast<std::size_t>(i)];
    variables[i] = source.kind == SignalSource::Kind::kMultiplier
                     ? multipliers(place(source))
                     : value_of(source, data, nullptr, nullptr, gravity);
  }
  program_.forward(variables, tape);
  derivatives.setZero();
  for (int output = 0; output < program_.output_count(); ++output)
  {
    values(output) = program_.output(tape, output);
    program_.reverse(tape, adjoint, output, gradient);
    for (const int i : program_.variables_of(output))
    {
      const SignalSource & source = sources_[static_cast<std::size_t>(i)];
      if (source.kind == SignalSource::Kind::kMultiplier)
      {
        derivatives(output, place(source)) = gradient[i];
      }
    }
  }
  return values.allFinite() && derivatives.allFinite() ? Status::kOk : Status::kNonFiniteResult;
}

SignalNames::SignalNames(const ConstraintSet & set, const FormulaNames & names, SignalScope scope)
: system_(set.system()), set_(set), scope_(scope)
{
  using Kind = SignalSource::Kind;
  const System & system = system_;
  const auto add = [&](const std::string & name, Kind kind, int index)
  {
    if (!context_.contains(name))
    {
      context_.add_variable(name, place({kind, index, 0}));
    }
  };
  const auto add_all = [&](const std::vector<std::string> & all, const char * prefix, Kind kind)
  {
    for (std::size_t i = 0; i < all.size(); ++i)
    {
      add(prefix + all[i], kind, static_cast<int>(i));
    }
  };
  // If two quantities share a name, the first one wins, as in FormulaBinding.
  add("t", Kind::kTime, 0);
  add_all(system.coordinate_names(), "", Kind::kCoordinate);
  add_all(system.speed_names(), "", Kind::kSpeed);
  add_all(system.coordinate_names(), "d", Kind::kRate);
  add_all(system.speed_names(), "d", Kind::kSpeedAcceleration);
  add_all(system.coordinate_names(), "dd", Kind::kCoordinateAcceleration);
  for (const auto & parameter : names.parameters)
  {
    context_.add_parameter(parameter.first, parameter.second);
  }

  std::vector<std::string> functions;
  if (!system.frame_names().empty())
  {
    functions = {"px", "py", "pz", "vx", "vy", "vz", "wx", "wy", "wz", "joint"};
  }
  if (system.underlying().as_robot() != nullptr)
  {
    functions.emplace_back("gravity");
  }
  if (scope != SignalScope::kState)
  {
    functions.emplace_back("lambda");
  }
  if (scope == SignalScope::kSolution)
  {
    functions.emplace_back("input");
    add("kinetic_energy", Kind::kKineticEnergy, 0);
    add("potential_energy", Kind::kPotentialEnergy, 0);
  }
  for (const std::string & function : functions)
  {
    if (!context_.contains(function))
    {
      context_.add_indexed_function(
        function, [this](const std::string & f, const std::string & argument)
        { return resolve(f, argument); });
    }
  }
}

int SignalNames::place(SignalSource source)
{
  const auto inserted = places_.insert(
    {{static_cast<int>(source.kind), source.index, source.component},
     static_cast<int>(sources_.size())});
  if (inserted.second)
  {
    sources_.push_back(source);
  }
  return inserted.first->second;
}

std::optional<int> SignalNames::resolve(const std::string & function, const std::string & argument)
{
  using Kind = SignalSource::Kind;
  const auto find = [](const std::vector<std::string> & names, const std::string & name)
  {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? -1 : static_cast<int>(found - names.begin());
  };
  if (function == "gravity")
  {
    const std::vector<std::string> & speeds = system_.underlying().as_robot()->speed_names();
    int index = find(speeds, "d" + argument);
    index = index >= 0 ? index : find(speeds, argument);
    return index < 0 ? std::nullopt : std::optional<int>(place({Kind::kGravity, index, 0}));
  }
  if (function == "input")
  {
    const int index = find(system_.input_names(), argument);
    return index < 0 ? std::nullopt : std::optional<int>(place({Kind::kInput, index, 0}));
  }
  if (function == "lambda")
  {
    return multiplier(argument);
  }
  if (function == "joint")
  {
    return joint_coordinate(argument);
  }
  const int frame = find(system_.frame_names(), argument);
  if (frame < 0)
  {
    throw std::invalid_argument(
      "'" + function + "' knows no frame '" + argument + "'" +
      detail::suggestion(argument, system_.frame_names()));
  }
  const Kind kind = function[0] == 'p'   ? Kind::kFramePosition
                    : function[0] == 'v' ? Kind::kFrameVelocity
                                         : Kind::kFrameAngularVelocity;
  return place({kind, frame, function[1] - 'x'});
}

/// `<constraint>/<coordinate>` of a joint that is stated as a constraint.
std::optional<int> SignalNames::joint_coordinate(const std::string & argument)
{
  for (int i = 0; i < set_.size(); ++i)
  {
    const JointCoordinates * joint = JointCoordinates::of(set_[i]);
    for (std::size_t k = 0; joint != nullptr && k < joint->coordinate_names().size(); ++k)
    {
      if (set_[i].name() + "/" + joint->coordinate_names()[k] == argument)
      {
        return place({SignalSource::Kind::kJointCoordinate, i, static_cast<int>(k)});
      }
    }
  }
  return std::nullopt;
}

/// `<constraint>/<row>`, or the name of a constraint of one row.
int SignalNames::multiplier(const std::string & argument)
{
  std::vector<std::string> names;
  for (int row = 0; row < set_.row_count(); ++row)
  {
    names.push_back(set_.row_name(row));
    if (names.back() == argument)
    {
      return place({SignalSource::Kind::kMultiplier, row, 0});
    }
  }
  for (int i = 0; i < set_.size(); ++i)
  {
    if (set_[i].name() == argument && set_[i].row_count() == 1)
    {
      return place({SignalSource::Kind::kMultiplier, set_.row_offset(i), 0});
    }
    if (set_[i].name() == argument)
    {
      throw std::invalid_argument(
        "constraint '" + argument + "' has " + std::to_string(set_[i].row_count()) +
        " rows; allowed: one of them, such as lambda(" + argument + ", " +
        set_[i].rows().front().label + ")");
    }
    names.push_back(set_[i].name());
  }
  throw std::invalid_argument(
    "'lambda' knows no row '" + argument + "'" + detail::suggestion(argument, names));
}

void SignalNames::add_definition(const std::string & name, const std::string & formula)
{
  context_.add_definition(name, formula);
}

void SignalNames::check(const std::string & formula) const
{
  const FormulaProgram program(context_, {formula});
  for (const int i : program.variables_of(0))
  {
    const SignalSource & source = sources_[static_cast<std::size_t>(i)];
    const bool is_allowed =
      scope_ == SignalScope::kSolution || !source.needs_solution() ||
      (scope_ == SignalScope::kForces && source.kind == SignalSource::Kind::kMultiplier);
    if (!is_allowed)
    {
      throw std::invalid_argument(
        "it uses accelerations; allowed: time, coordinates, rates, speeds, frames, gravity");
    }
  }
}

bool SignalNames::uses_multipliers(const std::string & formula) const
{
  const FormulaProgram program(context_, {formula});
  const std::vector<int> & used = program.variables_of(0);
  return std::any_of(
    used.begin(), used.end(),
    [&](int i)
    { return sources_[static_cast<std::size_t>(i)].kind == SignalSource::Kind::kMultiplier; });
}

SignalProgram SignalNames::compile(const std::vector<std::string> & formulas) const
{
  FormulaProgram program(context_, formulas);
  return SignalProgram(set_, std::move(program), sources_);
}

namespace
{

void add_definitions(const ScenarioReader & root, SignalNames & names)
{
  const auto add = [&](const ScenarioReader & map)
  {
    for (const auto & [name, formula] : map.entries())
    {
      try
      {
        names.add_definition(name, formula.formula());
      }
      catch (const ScenarioError &)
      {
        throw;
      }
      catch (const std::exception & error)
      {
        formula.fail(std::string("allowed: a formula; ") + error.what());
      }
    }
  };
  if (const auto map = root.find("definitions"))
  {
    add(*map);
  }
  if (const auto map = root.at("system").find("definitions"))
  {
    add(*map);
  }
}

}  // namespace

std::unique_ptr<const SignalNames> signal_names(
  const ScenarioReader & root, const ConstraintSet & set, SignalScope scope)
{
  std::unique_ptr<SignalNames> names;
  try
  {
    names = std::make_unique<SignalNames>(set, root.scope().names, scope);
  }
  catch (const std::exception & error)
  {
    root.fail_here(std::string("parameters: ") + error.what());
  }
  add_definitions(root, *names);
  return names;
}

void check_formula(
  const SignalNames & names, const ScenarioReader & reader, const std::string & formula)
{
  try
  {
    names.check(formula);
  }
  catch (const std::exception & error)
  {
    reader.fail(std::string("allowed: a formula; ") + error.what());
  }
}

FormulaInputLaw::FormulaInputLaw(
  std::shared_ptr<const SignalProgram> program, std::vector<int> wrenches)
: program_(std::move(program)), wrenches_(std::move(wrenches)), scratch_(program_->make_scratch())
{
}

Status FormulaInputLaw::evaluate(
  const System & system, SystemData & data, VectorRef inputs) noexcept CD_NONBLOCKING
{
  const Status status = program_->evaluate(data, nullptr, nullptr, scratch_);
  if (status != Status::kOk)
  {
    return status;
  }
  inputs = scratch_.values.head(inputs.size());
  const RigidBodySystem * robot = wrenches_.empty() ? nullptr : system.underlying().as_robot();
  Eigen::Index offset = inputs.size();
  for (const int wrench : wrenches_)
  {
    const Eigen::Vector3d force = scratch_.values.segment<3>(offset);
    const Eigen::Vector3d torque = scratch_.values.segment<3>(offset + 3);
    if (robot != nullptr)
    {
      robot->set_external_wrench(
        robot != &system ? ControlStateSystem::wrapped_data(data) : data, wrench, force, torque);
    }
    offset += 6;
  }
  return Status::kOk;
}

}  // namespace constrained_dynamics
