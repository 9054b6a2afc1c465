// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The system of an AnalyticDescription: Lagrange's equations in generalized speeds by automatic
// differentiation of formulas.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

#include <Eigen/LU>

#include "constrained_dynamics/formula/formula.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "names.hpp"

namespace constrained_dynamics
{
namespace
{

/// W is singular where its reciprocal condition number (1-norm) is smaller.
constexpr double kSingularReciprocalCondition = 1e-12;
/// Relative size of what counts as equal in the checks of setup, some 1e5 roundings.
constexpr double kSetupTolerance = 1e-9;

std::size_t idx(Eigen::Index i) { return static_cast<std::size_t>(i); }

/// inverse = matrix⁻¹ by Gauss-Jordan with row pivoting; `matrix` is destroyed. Returns the
/// reciprocal condition number in the 1-norm: 0 where the matrix is singular, NaN where it is not
/// finite.
double invert(Eigen::MatrixXd & matrix, Eigen::MatrixXd & inverse) noexcept
{
  const Eigen::Index n = matrix.rows();
  if (!matrix.allFinite())
  {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double norm = matrix.cwiseAbs().colwise().sum().maxCoeff();
  inverse.setIdentity();
  for (Eigen::Index k = 0; k < n; ++k)
  {
    Eigen::Index pivot = k;
    for (Eigen::Index i = k + 1; i < n; ++i)
    {
      if (std::abs(matrix(i, k)) > std::abs(matrix(pivot, k)))
      {
        pivot = i;
      }
    }
    const double value = matrix(pivot, k);
    if (!(std::abs(value) > 0.0))
    {
      return 0.0;
    }
    for (Eigen::Index j = 0; j < n; ++j)
    {
      std::swap(matrix(pivot, j), matrix(k, j));
      std::swap(inverse(pivot, j), inverse(k, j));
    }
    for (Eigen::Index j = 0; j < n; ++j)
    {
      matrix(k, j) /= value;
      inverse(k, j) /= value;
    }
    for (Eigen::Index i = 0; i < n; ++i)
    {
      const double factor = matrix(i, k);
      if (i == k || factor == 0.0)
      {
        continue;
      }
      for (Eigen::Index j = 0; j < n; ++j)
      {
        matrix(i, j) -= factor * matrix(k, j);
        inverse(i, j) -= factor * inverse(k, j);
      }
    }
  }
  const double product = norm * inverse.cwiseAbs().colwise().sum().maxCoeff();
  return std::isfinite(product) ? 1.0 / product : 0.0;
}

/// Calls f; what it refuses is reported with the place in front.
template <class Function>
auto in_place(const std::string & place, Function && f)
{
  try
  {
    return f();
  }
  catch (const std::invalid_argument & error)
  {
    throw std::invalid_argument(place + ": " + error.what());
  }
}

class FormulaData final : public SystemData
{
public:
  FormulaData(
    int n, int input_count, std::size_t variables, std::size_t tape_size, std::size_t outputs)
  : SystemData(n, n, input_count),
    x(variables),
    tape(tape_size),
    adjoint(tape_size),
    gradient(variables),
    output(outputs),
    dual_x(variables),
    dual_tape(tape_size),
    dual_adjoint(tape_size),
    dual_gradient(variables),
    dual_output(outputs),
    work(n, n),
    mass_times_c(n, n),
    rate_force(Eigen::VectorXd::Zero(n)),
    speed_offset(Eigen::VectorXd::Zero(n)),
    row(Eigen::VectorXd::Zero(n)),
    row_times_c(Eigen::VectorXd::Zero(n))
  {
  }

  std::vector<double> x, tape, adjoint, gradient, output;
  std::vector<Dual> dual_x, dual_tape, dual_adjoint, dual_gradient, dual_output;
  Eigen::MatrixXd work;          // W, destroyed by its inversion
  Eigen::MatrixXd mass_times_c;  // M C
  Eigen::VectorXd rate_force;    // P_q − M q̈0
  Eigen::VectorXd speed_offset;  // w0, or u − w0
  Eigen::VectorXd row;           // ∂F/∂q̈ of one force, or d/dt of the speeds
  Eigen::VectorXd row_times_c;
  double kinetic_energy = 0.0;
  double potential_energy = 0.0;
  double potential_rate = 0.0;  // ∂V/∂t
};

/// Where a formula of a generalized force acts.
struct ForceTarget
{
  bool on_speed = false;       // conjugate to a speed, otherwise to a rate
  Eigen::Index index = 0;      // of the speed or coordinate
  Eigen::Index input = 0;      // of an input's coefficient
  bool accelerations = false;  // the formula contains q̈
};

class FormulaSystem final : public AnalyticSystem
{
public:
  explicit FormulaSystem(const AnalyticDescription & description);

protected:
  std::unique_ptr<SystemData> do_make_data() const override;
  Status do_update_kinematics(SystemData & data) const noexcept CD_NONBLOCKING override;
  Status do_update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING override;
  Eigen::VectorXd do_neutral_coordinates() const override { return neutral_; }
  double do_kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING override
  {
    return static_cast<const FormulaData &>(data).kinetic_energy;
  }
  double do_potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING override
  {
    return static_cast<const FormulaData &>(data).potential_energy;
  }
  bool do_power(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    const ConstVectorRef & constraint_force,
    SystemPower & out) const noexcept CD_NONBLOCKING override;
  Status do_speeds_from_rates(
    double time, const ConstVectorRef & q, const ConstVectorRef & qdot,
    Eigen::VectorXd & u) const override;
  bool do_differentiate(
    SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
    SystemDerivatives & out) const override;
  void do_add_coordinate_force_derivatives(
    const SystemData & data, const ConstVectorRef & y, MatrixRef out) const override;

private:
  // The variables of all programs: q, q̇, t, q̈.
  std::size_t rate(Eigen::Index i) const { return idx(n_ + i); }
  std::size_t time() const { return idx(2 * n_); }
  std::size_t acceleration(Eigen::Index i) const { return idx(2 * n_ + 1 + i); }

  // Setup.
  FormulaContext make_context(const AnalyticDescription & d) const;
  void parse(const AnalyticDescription & d);
  void group_rates();
  ForceTarget target(const AnalyticDescription & d, const std::string & name) const;
  bool is_rate(const FormulaProgram & program, int variable) const;
  bool depends(
    const FormulaProgram & program, int output, std::size_t first, Eigen::Index count) const;
  void refuse_accelerations(const FormulaProgram & program, const std::string & what) const;
  void check_samples(const AnalyticDescription & d);
  bool check_sample(const AnalyticDescription & d, FormulaData & data, bool & regular);
  void check_kinetic(FormulaData & data, const Eigen::VectorXd & rates);
  void check_speeds(
    const AnalyticDescription & d, FormulaData & data, const Eigen::VectorXd & rates) const;
  void check_force(const AnalyticDescription & d, FormulaData & data) const;
  bool all_finite(FormulaData & data) const;

  // Evaluation.
  std::unique_ptr<FormulaData> make_formula_data() const;
  double update_speed_matrix(FormulaData & data) const noexcept;
  void add_kinetic(FormulaData & data) const noexcept;
  void add_potential(FormulaData & data) const noexcept;
  void update_mass(FormulaData & data) const noexcept;
  void mass_times(FormulaData & data, Eigen::Index speed) const noexcept;
  void mass_of(const std::vector<int> & rates, FormulaData & data) const noexcept;
  void add_force(FormulaData & data) const noexcept;
  void update_inputs(FormulaData & data) const noexcept;
  double moving_frame_power(FormulaData & data) const noexcept;

  // Derivatives.
  struct Direction;
  void move_coordinates(const SystemTerms & terms, Direction & along) const;
  Eigen::MatrixXd speed_matrix_derivative(
    const SystemTerms & terms, const Eigen::VectorXd & q, const Eigen::VectorXd & rates,
    double t) const;
  void equations_along(
    const SystemData & base, const ConstVectorRef & inputs, Direction & along) const;

  Eigen::Index n_ = 0;
  FormulaProgram kinetic_;
  FormulaProgram potential_;
  FormulaProgram speeds_;
  FormulaProgram force_;
  FormulaProgram inputs_;
  std::vector<ForceTarget> force_targets_;
  std::vector<ForceTarget> input_targets_;
  bool speeds_are_rates_ = false;
  bool constant_kinematics_ = false;  // neither W nor w0 depends on q or t
  bool constant_mass_ = false;        // T does not depend on q or t
  bool constant_inputs_ = false;      // no coefficient depends on anything
  bool has_potential_ = false;        // V depends on something
  bool has_accelerations_ = false;    // some force contains accelerations
  bool is_scleronomic_ = true;        // T is homogeneous of degree 2 in the rates and free of t
  std::vector<bool> kinetic_has_rate_;
  // Where speeds are rates: which rows of M a column may have, and columns that share no row, which
  // one evaluation gives together.
  std::vector<std::vector<int>> mass_rows_;
  std::vector<std::vector<int>> rate_groups_;
  Eigen::MatrixXd mass_;  // M where it is constant
  Eigen::VectorXd neutral_;
};

// ---- setup --------------------------------------------------------------------------------------

FormulaContext FormulaSystem::make_context(const AnalyticDescription & d) const
{
  FormulaContext context;
  for (const char * prefix : {"", "d"})
  {
    for (const std::string & name : d.coordinates)
    {
      const std::string place = prefix[0] == '\0' ? "coordinate" : "rate of a coordinate";
      in_place(
        place,
        [&]
        {
          context.add_variable(prefix + name);
          return 0;
        });
    }
  }
  in_place(
    "time",
    [&]
    {
      context.add_variable("t");
      return 0;
    });
  for (const std::string & name : d.coordinates)
  {
    in_place(
      "acceleration of a coordinate",
      [&]
      {
        context.add_variable("dd" + name);
        return 0;
      });
  }
  for (const auto & [name, value] : d.parameters)
  {
    in_place(
      "parameter '" + name + "'",
      [&, &n = name, &v = value]
      {
        context.add_parameter(n, v);
        return 0;
      });
  }
  // Definitions may use speeds and speeds may use definitions: those that cannot be read at first
  // are read after the speeds, in order.
  std::vector<const NamedFormula *> postponed;
  for (const NamedFormula & definition : d.definitions)
  {
    try
    {
      context.add_definition(definition.name, definition.formula);
    }
    catch (const std::invalid_argument &)
    {
      postponed.push_back(&definition);
    }
  }
  for (const NamedFormula & speed : d.speeds)
  {
    if (!context.find_variable(speed.name))  // otherwise a rate, or refused by parse()
    {
      in_place(
        "speed '" + speed.name + "'",
        [&]
        {
          context.add_definition(speed.name, speed.formula);
          return 0;
        });
    }
  }
  for (const NamedFormula * definition : postponed)
  {
    in_place(
      "definition '" + definition->name + "'",
      [&]
      {
        context.add_definition(definition->name, definition->formula);
        return 0;
      });
  }
  return context;
}

ForceTarget FormulaSystem::target(const AnalyticDescription & d, const std::string & name) const
{
  ForceTarget result;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    if (d.coordinates[idx(i)] == name)
    {
      result.index = i;
      return result;
    }
  }
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    if (speed_names()[idx(i)] == name)
    {
      result.on_speed = true;
      result.index = i;
      return result;
    }
  }
  std::string message = "'" + name + "' is neither a coordinate nor a speed; allowed:";
  for (const auto * names : {&d.coordinates, &speed_names()})
  {
    for (const std::string & known : *names)
    {
      message += " " + known;
    }
  }
  throw std::invalid_argument(message);
}

/// Whether a program's only output is the rate that is variable number `variable`.
bool FormulaSystem::is_rate(const FormulaProgram & program, int variable) const
{
  if (program.variables_of(0) != std::vector<int>{variable} || variable < n_ || variable >= 2 * n_)
  {
    return false;
  }
  std::vector<double> x(static_cast<std::size_t>(program.variable_count()));
  std::vector<double> tape(static_cast<std::size_t>(program.tape_size()));
  for (const double value : {-1.7, 0.0, 0.3, 2.9})
  {
    double output = 0.0;
    x[static_cast<std::size_t>(variable)] = value;
    program.evaluate(x.data(), tape.data(), &output);
    if (output != value)
    {
      return false;
    }
  }
  return true;
}

bool FormulaSystem::depends(
  const FormulaProgram & program, int output, std::size_t first, Eigen::Index count) const
{
  for (Eigen::Index i = 0; i < count; ++i)
  {
    if (program.depends_on(output, static_cast<int>(first) + static_cast<int>(i)))
    {
      return true;
    }
  }
  return false;
}

void FormulaSystem::refuse_accelerations(
  const FormulaProgram & program, const std::string & what) const
{
  for (int output = 0; output < program.output_count(); ++output)
  {
    if (depends(program, output, acceleration(0), n_))
    {
      throw std::invalid_argument(what + " contains an acceleration; allowed in forces only");
    }
  }
}

void FormulaSystem::parse(const AnalyticDescription & d)
{
  const FormulaContext context = make_context(d);
  const auto compile = [&context](const std::string & place, const std::string & formula)
  { return in_place(place, [&] { return FormulaProgram(context, {formula}); }); };

  kinetic_ = compile("kinetic", d.kinetic);
  refuse_accelerations(kinetic_, "kinetic");
  potential_ = compile("potential", d.potential.empty() ? "0" : d.potential);
  refuse_accelerations(potential_, "potential");
  if (depends(potential_, 0, rate(0), n_))
  {
    throw std::invalid_argument(
      "potential depends on a rate or speed; allowed: coordinates and time (use force)");
  }

  std::vector<std::string> formulas;
  speeds_are_rates_ = true;
  constant_kinematics_ = true;
  for (Eigen::Index i = 0; i < static_cast<Eigen::Index>(d.speeds.size()); ++i)
  {
    const NamedFormula & speed = d.speeds[idx(i)];
    const std::string place = "speed '" + speed.name + "'";
    const FormulaProgram program = compile(place, speed.formula);
    refuse_accelerations(program, place);
    const auto variable = context.find_variable(speed.name);
    if (variable)
    {
      if (!is_rate(program, *variable))
      {
        throw std::invalid_argument(
          place + " is '" + speed.formula + "', but its name means something else; allowed: '" +
          speed.name + "' if that is a rate, or another name");
      }
    }
    speeds_are_rates_ = speeds_are_rates_ && variable && *variable == static_cast<int>(n_ + i);
    constant_kinematics_ =
      constant_kinematics_ && !depends(program, 0, 0, n_) && !depends(program, 0, time(), 1);
    formulas.push_back(speed.formula);
  }
  speeds_ = FormulaProgram(context, formulas);

  formulas.clear();
  for (const NamedFormula & force : d.force)
  {
    const std::string place = "force on '" + force.name + "'";
    force_targets_.push_back(in_place("force", [&] { return target(d, force.name); }));
    force_targets_.back().accelerations =
      depends(compile(place, force.formula), 0, acceleration(0), n_);
    has_accelerations_ = has_accelerations_ || force_targets_.back().accelerations;
    formulas.push_back(force.formula);
  }
  force_ = FormulaProgram(context, formulas);

  formulas.clear();
  constant_inputs_ = true;
  for (std::size_t k = 0; k < d.inputs.size(); ++k)
  {
    for (const NamedFormula & coefficient : d.inputs[k].coefficients)
    {
      const std::string place = "input '" + d.inputs[k].name + "' on '" + coefficient.name + "'";
      input_targets_.push_back(
        in_place("input '" + d.inputs[k].name + "'", [&] { return target(d, coefficient.name); }));
      input_targets_.back().input = static_cast<Eigen::Index>(k);
      const FormulaProgram program = compile(place, coefficient.formula);
      refuse_accelerations(program, place);
      constant_inputs_ = constant_inputs_ && program.variables_of(0).empty();
      formulas.push_back(coefficient.formula);
    }
  }
  inputs_ = FormulaProgram(context, formulas);

  has_potential_ = !potential_.variables_of(0).empty();
  is_scleronomic_ = !depends(kinetic_, 0, time(), 1);
  constant_mass_ = is_scleronomic_ && !depends(kinetic_, 0, 0, n_);
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    kinetic_has_rate_.push_back(depends(kinetic_, 0, rate(i), 1));
  }
}

/// Puts every rate into the first group with which its column of M shares no row.
void FormulaSystem::group_rates()
{
  const int n = static_cast<int>(n_);
  mass_rows_ = kinetic_.coupled_variables(0, n, n);
  std::vector<std::vector<bool>> taken;  // rows of each group
  for (int column = 0; column < n; ++column)
  {
    const std::vector<int> & rows = mass_rows_[idx(column)];
    std::size_t group = 0;
    const auto is_taken = [&](int row) { return taken[group][idx(row)]; };
    while (group < taken.size() && std::any_of(rows.begin(), rows.end(), is_taken))
    {
      ++group;
    }
    if (group == taken.size())
    {
      taken.emplace_back(idx(n_), false);
      rate_groups_.emplace_back();
    }
    rate_groups_[group].push_back(column);
    for (const int row : rows)
    {
      taken[group][idx(row)] = true;
    }
  }
}

FormulaSystem::FormulaSystem(const AnalyticDescription & d) : AnalyticSystem(d)
{
  n_ = static_cast<Eigen::Index>(d.coordinates.size());
  std::vector<std::string> speed_list;
  std::vector<std::string> input_list;
  for (const NamedFormula & speed : d.speeds)
  {
    speed_list.push_back(speed.name);
  }
  for (const AnalyticInput & input : d.inputs)
  {
    input_list.push_back(input.name);
  }
  if (d.speeds.empty())
  {
    for (const std::string & name : d.coordinates)
    {
      speed_list.push_back("d" + name);
    }
  }
  if (speed_list.size() != d.coordinates.size())
  {
    throw std::invalid_argument(
      "speeds: " + std::to_string(speed_list.size()) + " given; allowed: as many as coordinates, " +
      std::to_string(d.coordinates.size()) + ", or none");
  }
  set_names(d.coordinates, std::move(speed_list), std::move(input_list));
  if (d.kinetic.empty())
  {
    throw std::invalid_argument("kinetic is missing; a system needs its kinetic energy");
  }
  if (
    d.regular_coordinates.size() != 0 &&
    (d.regular_coordinates.size() != n_ || !d.regular_coordinates.allFinite()))
  {
    throw std::invalid_argument(
      "regular_coordinates has " + std::to_string(d.regular_coordinates.size()) +
      " values; allowed: none, or " + std::to_string(n_) + " finite ones");
  }
  parse(d);
  if (speeds_are_rates_)
  {
    group_rates();
  }
  if (constant_mass_)
  {
    const std::unique_ptr<FormulaData> data = make_formula_data();
    // M at rates that are not zero: the checks below see whether they matter.
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data->x[rate(i)] = 0.3 + 0.1 * static_cast<double>(i);
    }
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      mass_times(*data, i);
    }
    mass_ = 0.5 * (data->mass_times_c + data->mass_times_c.transpose());
  }
  check_samples(d);
}

/// Whether all formulas and their derivatives have values at data.x.
bool FormulaSystem::all_finite(FormulaData & data) const
{
  for (const FormulaProgram * program : {&kinetic_, &potential_, &speeds_, &force_, &inputs_})
  {
    program->forward(data.x.data(), data.tape.data());
    for (int output = 0; output < program->output_count(); ++output)
    {
      if (!std::isfinite(program->output(data.tape.data(), output)))
      {
        return false;
      }
      program->reverse(data.tape.data(), data.adjoint.data(), output, data.gradient.data());
      for (const double derivative : data.gradient)
      {
        if (!std::isfinite(derivative))
        {
          return false;
        }
      }
    }
  }
  return true;
}

/// T is its own Taylor polynomial of degree 2 in the rates about zero.
void FormulaSystem::check_kinetic(FormulaData & data, const Eigen::VectorXd & rates)
{
  const auto value_at = [&](double factor)
  {
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.x[rate(i)] = factor * rates(i);
    }
    double value = 0.0;
    kinetic_.evaluate(data.x.data(), data.tape.data(), &value);
    return value;
  };
  // Along T(s q̇): value, slope and curvature at 0 by dual numbers of the gradient.
  value_at(0.0);
  for (std::size_t i = 0; i < data.x.size(); ++i)
  {
    data.dual_x[i] = data.x[i];
  }
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.dual_x[rate(i)].derivative = rates(i);
  }
  kinetic_.gradient(
    data.dual_x.data(), data.dual_tape.data(), data.dual_adjoint.data(), 0,
    data.dual_gradient.data());
  double slope = 0.0;
  double curvature = 0.0;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    slope += data.dual_gradient[rate(i)].value * rates(i);
    curvature += data.dual_gradient[rate(i)].derivative * rates(i);
  }
  const double at_zero = value_at(0.0);
  if (std::abs(at_zero) + std::abs(slope) > kSetupTolerance * std::abs(curvature))
  {
    is_scleronomic_ = false;
  }
  for (const double s : {1.0, -1.0, 2.0})
  {
    const double expected = at_zero + s * slope + 0.5 * s * s * curvature;
    const double size = std::abs(at_zero) + std::abs(slope) + std::abs(curvature);
    const double value = value_at(s);
    if (!(std::abs(value - expected) <= kSetupTolerance * (size + std::abs(value))))
    {
      throw std::invalid_argument(
        "kinetic is not a polynomial of degree 2 or less in the rates, so that the mass matrix "
        "depends on the rates; allowed: T = T0 + T1·q̇ + q̇ᵀ M q̇/2, with values at q̇ = 0");
    }
  }
}

/// Speeds are affine in the rates.
void FormulaSystem::check_speeds(
  const AnalyticDescription & d, FormulaData & data, const Eigen::VectorXd & rates) const
{
  for (int i = 0; i < speeds_.output_count(); ++i)
  {
    double value[2] = {0.0, 0.0};
    Eigen::VectorXd row[2] = {rates, rates};
    for (int pass = 0; pass < 2; ++pass)
    {
      for (Eigen::Index j = 0; j < n_; ++j)
      {
        data.x[rate(j)] = pass * rates(j);
      }
      speeds_.gradient(
        data.x.data(), data.tape.data(), data.adjoint.data(), i, data.gradient.data());
      value[pass] = speeds_.output(data.tape.data(), i);
      for (Eigen::Index j = 0; j < n_; ++j)
      {
        row[pass](j) = data.gradient[rate(j)];
      }
    }
    const double size = std::abs(value[0]) + std::abs(value[1]) + row[0].norm() * rates.norm();
    const double error =
      std::abs(value[1] - value[0] - row[0].dot(rates)) + (row[1] - row[0]).norm() * rates.norm();
    if (!(error <= kSetupTolerance * size))
    {
      throw std::invalid_argument(
        "speed '" + speed_names()[static_cast<std::size_t>(i)] + "' is '" +
        d.speeds[static_cast<std::size_t>(i)].formula +
        "', which is not affine in the rates; allowed: formulas linear in the rates, with values "
        "at zero rates");
    }
  }
}

/// Forces are affine in the accelerations.
void FormulaSystem::check_force(const AnalyticDescription & d, FormulaData & data) const
{
  for (std::size_t k = 0; k < force_targets_.size(); ++k)
  {
    if (!force_targets_[k].accelerations)
    {
      continue;
    }
    double value[2] = {0.0, 0.0};
    Eigen::VectorXd row[2] = {Eigen::VectorXd(n_), Eigen::VectorXd(n_)};
    Eigen::VectorXd accelerations(n_);
    for (int pass = 0; pass < 2; ++pass)
    {
      for (Eigen::Index j = 0; j < n_; ++j)
      {
        accelerations(j) = 1.3 * std::cos(1.0 + 2.0 * static_cast<double>(j));
        data.x[acceleration(j)] = pass * accelerations(j);
      }
      const int output = static_cast<int>(k);
      force_.gradient(
        data.x.data(), data.tape.data(), data.adjoint.data(), output, data.gradient.data());
      value[pass] = force_.output(data.tape.data(), output);
      for (Eigen::Index j = 0; j < n_; ++j)
      {
        row[pass](j) = data.gradient[acceleration(j)];
      }
    }
    const double size =
      std::abs(value[0]) + std::abs(value[1]) + row[0].norm() * accelerations.norm();
    const double error = std::abs(value[1] - value[0] - row[0].dot(accelerations)) +
                         (row[1] - row[0]).norm() * accelerations.norm();
    if (!(error <= kSetupTolerance * size))
    {
      throw std::invalid_argument(
        "force on '" + d.force[k].name + "' is '" + d.force[k].formula +
        "', which is not affine in the accelerations; allowed: forces linear in them");
    }
  }
}

/// Checks at the coordinates, rates and time in data.x; false where formulas have no values.
bool FormulaSystem::check_sample(const AnalyticDescription & d, FormulaData & data, bool & regular)
{
  if (!all_finite(data))
  {
    return false;
  }
  Eigen::VectorXd rates(n_);
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    rates(i) = data.x[rate(i)];
  }
  check_kinetic(data, rates);
  check_speeds(d, data, rates);
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.x[rate(i)] = rates(i);
  }
  check_force(d, data);
  regular = speeds_are_rates_ || update_speed_matrix(data) >= kSingularReciprocalCondition;
  return true;
}

void FormulaSystem::check_samples(const AnalyticDescription & d)
{
  constexpr int kWanted = 8;
  constexpr int kMost = 600;
  std::mt19937 random(20021u);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const bool given = d.regular_coordinates.size() != 0;
  const Eigen::VectorXd centre =
    given ? Eigen::VectorXd(d.regular_coordinates) : Eigen::VectorXd(Eigen::VectorXd::Zero(n_));
  const std::unique_ptr<FormulaData> data = make_formula_data();
  int found = 0;
  int regular_count = 0;
  for (int sample = 0; sample < kMost && (found < kWanted || regular_count == 0); ++sample)
  {
    // First the centre itself, then boxes about it that grow from 0.1 to 1000.
    const double width = sample == 0 ? 0.0 : std::pow(10.0, -1.0 + (sample % 30) / 6.0);
    Eigen::VectorXd q = centre;
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      q(i) += width * uniform(random);
      data->x[idx(i)] = q(i);
      data->x[rate(i)] = 1.5 * uniform(random);
      data->x[acceleration(i)] = 0.0;
    }
    data->x[time()] = sample == 0 ? 0.0 : 0.5 * (1.0 + uniform(random));
    bool regular = false;
    if (!check_sample(d, *data, regular))
    {
      continue;
    }
    ++found;
    if (regular && ++regular_count == 1)
    {
      neutral_ = q;
    }
  }
  if (found == 0)
  {
    throw std::invalid_argument(
      "the formulas have no finite value and derivatives at any of " + std::to_string(kMost) +
      " samples; allowed: systems that have, near zero or near regular_coordinates");
  }
  if (regular_count == 0)
  {
    throw std::invalid_argument(
      "speeds do not determine the rates: they are dependent at all of " + std::to_string(found) +
      " samples; allowed: as many independent speeds as coordinates");
  }
  if (given)
  {
    neutral_ = d.regular_coordinates;
  }
}

// ---- evaluation ---------------------------------------------------------------------------------

std::unique_ptr<FormulaData> FormulaSystem::make_formula_data() const
{
  int tape = 1;
  int outputs = 1;
  for (const FormulaProgram * program : {&kinetic_, &potential_, &speeds_, &force_, &inputs_})
  {
    tape = std::max(tape, program->tape_size());
    outputs = std::max(outputs, program->output_count());
  }
  auto data = std::make_unique<FormulaData>(
    static_cast<int>(n_), input_count(), idx(3 * n_ + 1), static_cast<std::size_t>(tape),
    static_cast<std::size_t>(outputs));
  data->terms.kinematic_matrix.setIdentity();
  return data;
}

std::unique_ptr<SystemData> FormulaSystem::do_make_data() const
{
  std::unique_ptr<FormulaData> data = make_formula_data();
  if (constant_kinematics_ && !speeds_are_rates_)
  {
    update_speed_matrix(*data);
  }
  if (constant_inputs_)
  {
    update_inputs(*data);
  }
  if (constant_mass_ && constant_kinematics_)
  {
    update_mass(*data);
  }
  return data;
}

/// W and w0 at zero rates, C = W⁻¹ and D = −C w0; returns the reciprocal condition of W.
double FormulaSystem::update_speed_matrix(FormulaData & data) const noexcept
{
  SystemTerms & terms = data.terms;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.x[rate(i)] = 0.0;
  }
  speeds_.forward(data.x.data(), data.tape.data());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    const int output = static_cast<int>(i);
    data.speed_offset(i) = speeds_.output(data.tape.data(), output);
    speeds_.reverse(data.tape.data(), data.adjoint.data(), output, data.gradient.data());
    for (Eigen::Index j = 0; j < n_; ++j)
    {
      data.work(i, j) = data.gradient[rate(j)];
    }
  }
  const double reciprocal_condition = invert(data.work, terms.kinematic_matrix);
  terms.kinematic_drift = -terms.kinematic_matrix.lazyProduct(data.speed_offset);
  return reciprocal_condition;
}

Status FormulaSystem::do_update_kinematics(SystemData & base) const noexcept CD_NONBLOCKING
{
  FormulaData & data = static_cast<FormulaData &>(base);
  SystemTerms & terms = data.terms;
  if (speeds_are_rates_)
  {
    terms.rates = terms.speeds;
    return Status::kOk;
  }
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.x[idx(i)] = terms.coordinates(i);
    data.x[acceleration(i)] = 0.0;
  }
  data.x[time()] = terms.time;
  if (!constant_kinematics_)
  {
    const double reciprocal_condition = update_speed_matrix(data);
    if (std::isnan(reciprocal_condition))
    {
      return Status::kNonFiniteResult;
    }
    if (reciprocal_condition < kSingularReciprocalCondition)
    {
      return Status::kSingularKinematics;
    }
  }
  data.row = terms.speeds - data.speed_offset;
  terms.rates = terms.kinematic_matrix.lazyProduct(data.row);
  if (!constant_kinematics_)
  {
    // 0 = u̇ = W q̈0 + ds/dt at q̈ = 0.
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.dual_x[idx(i)] = Dual(terms.coordinates(i), terms.rates(i));
      data.dual_x[rate(i)] = terms.rates(i);
      data.dual_x[acceleration(i)] = 0.0;
    }
    data.dual_x[time()] = Dual(terms.time, 1.0);
    speeds_.evaluate(data.dual_x.data(), data.dual_tape.data(), data.dual_output.data());
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.row(i) = -data.dual_output[idx(i)].derivative;
    }
    terms.acceleration_bias = terms.kinematic_matrix.lazyProduct(data.row);
  }
  return has_finite_kinematics(terms) ? Status::kOk : Status::kNonFiniteResult;
}

/// rate_force = ∂T/∂q − d/dt ∂T/∂q̇ at u̇ = 0, that is along (q̇, q̈0, 1).
void FormulaSystem::add_kinetic(FormulaData & data) const noexcept
{
  const SystemTerms & terms = data.terms;
  if (constant_mass_)
  {
    kinetic_.evaluate(data.x.data(), data.tape.data(), &data.kinetic_energy);
    data.rate_force = -mass_.lazyProduct(terms.acceleration_bias);
    return;
  }
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.dual_x[idx(i)] = Dual(data.x[idx(i)], data.x[rate(i)]);
    data.dual_x[rate(i)] = Dual(data.x[rate(i)], terms.acceleration_bias(i));
    data.dual_x[acceleration(i)] = 0.0;
  }
  data.dual_x[time()] = Dual(data.x[time()], 1.0);
  kinetic_.gradient(
    data.dual_x.data(), data.dual_tape.data(), data.dual_adjoint.data(), 0,
    data.dual_gradient.data());
  data.kinetic_energy = kinetic_.output(data.dual_tape.data(), 0).value;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.rate_force(i) = data.dual_gradient[idx(i)].value - data.dual_gradient[rate(i)].derivative;
  }
}

void FormulaSystem::add_potential(FormulaData & data) const noexcept
{
  potential_.forward(data.x.data(), data.tape.data());
  data.potential_energy = potential_.output(data.tape.data(), 0);
  if (has_potential_)
  {
    potential_.reverse(data.tape.data(), data.adjoint.data(), 0, data.gradient.data());
    data.potential_rate = data.gradient[time()];
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.rate_force(i) -= data.gradient[idx(i)];
    }
  }
}

/// Column `speed` of M C: the derivative of ∂T/∂q̇ along C's column, at the state in data.x.
void FormulaSystem::mass_times(FormulaData & data, Eigen::Index speed) const noexcept
{
  const SystemTerms & terms = data.terms;
  bool moves = false;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    const double direction = terms.kinematic_matrix(i, speed);
    moves = moves || (direction != 0.0 && kinetic_has_rate_[idx(i)]);
    data.dual_x[idx(i)] = data.x[idx(i)];
    data.dual_x[rate(i)] = Dual(data.x[rate(i)], direction);
    data.dual_x[acceleration(i)] = 0.0;
  }
  data.dual_x[time()] = data.x[time()];
  if (!moves)
  {
    data.mass_times_c.col(speed).setZero();
    return;
  }
  kinetic_.gradient(
    data.dual_x.data(), data.dual_tape.data(), data.dual_adjoint.data(), 0,
    data.dual_gradient.data());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.mass_times_c(i, speed) = data.dual_gradient[rate(i)].derivative;
  }
}

/// Columns of M that share no row, at the state in data.x.
void FormulaSystem::mass_of(const std::vector<int> & rates, FormulaData & data) const noexcept
{
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.dual_x[idx(i)] = data.x[idx(i)];
    data.dual_x[rate(i)] = data.x[rate(i)];
    data.dual_x[acceleration(i)] = 0.0;
  }
  data.dual_x[time()] = data.x[time()];
  for (const int column : rates)
  {
    data.dual_x[rate(column)].derivative = 1.0;
  }
  kinetic_.gradient(
    data.dual_x.data(), data.dual_tape.data(), data.dual_adjoint.data(), 0,
    data.dual_gradient.data());
  for (const int column : rates)
  {
    data.mass_times_c.col(column).setZero();
    for (const int row : mass_rows_[idx(column)])
    {
      data.mass_times_c(row, column) = data.dual_gradient[rate(row)].derivative;
    }
  }
}

/// Q = Cᵀ M C, symmetric to the last bit.
void FormulaSystem::update_mass(FormulaData & data) const noexcept
{
  SystemTerms & terms = data.terms;
  if (constant_mass_)
  {
    data.mass_times_c = mass_.lazyProduct(terms.kinematic_matrix);
  }
  else if (speeds_are_rates_)
  {
    for (const std::vector<int> & group : rate_groups_)
    {
      mass_of(group, data);
    }
  }
  else
  {
    for (Eigen::Index j = 0; j < n_; ++j)
    {
      mass_times(data, j);
    }
  }
  if (speeds_are_rates_)
  {
    terms.mass_matrix = data.mass_times_c;
  }
  else
  {
    terms.mass_matrix = terms.kinematic_matrix.transpose().lazyProduct(data.mass_times_c);
  }
  for (Eigen::Index j = 0; j < n_; ++j)
  {
    for (Eigen::Index i = 0; i < j; ++i)
    {
      const double mean = 0.5 * (terms.mass_matrix(i, j) + terms.mass_matrix(j, i));
      terms.mass_matrix(i, j) = mean;
      terms.mass_matrix(j, i) = mean;
    }
  }
}

/// Adds the active forces; their accelerations are C u̇ + q̈0: the second part is in data.x, the
/// first moves into Q.
void FormulaSystem::add_force(FormulaData & data) const noexcept
{
  SystemTerms & terms = data.terms;
  force_.forward(data.x.data(), data.tape.data());
  for (std::size_t k = 0; k < force_targets_.size(); ++k)
  {
    const ForceTarget & to = force_targets_[k];
    const int output = static_cast<int>(k);
    const double value = force_.output(data.tape.data(), output);
    if (to.on_speed)
    {
      terms.force(to.index) += value;
    }
    else
    {
      terms.force += value * terms.kinematic_matrix.row(to.index).transpose();
    }
    if (!to.accelerations)
    {
      continue;
    }
    force_.reverse(data.tape.data(), data.adjoint.data(), output, data.gradient.data());
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      data.row(i) = data.gradient[acceleration(i)];
    }
    data.row_times_c = terms.kinematic_matrix.transpose().lazyProduct(data.row);
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      const double weight =
        to.on_speed ? (i == to.index ? 1.0 : 0.0) : terms.kinematic_matrix(to.index, i);
      terms.mass_matrix.row(i) -= weight * data.row_times_c.transpose();
    }
  }
}

void FormulaSystem::update_inputs(FormulaData & data) const noexcept
{
  SystemTerms & terms = data.terms;
  terms.input_matrix.setZero();
  inputs_.evaluate(data.x.data(), data.tape.data(), data.output.data());
  for (std::size_t k = 0; k < input_targets_.size(); ++k)
  {
    const ForceTarget & to = input_targets_[k];
    if (to.on_speed)
    {
      terms.input_matrix(to.index, to.input) += data.output[k];
    }
    else
    {
      terms.input_matrix.col(to.input) +=
        data.output[k] * terms.kinematic_matrix.row(to.index).transpose();
    }
  }
}

Status FormulaSystem::do_update_dynamics(SystemData & base) const noexcept CD_NONBLOCKING
{
  FormulaData & data = static_cast<FormulaData &>(base);
  SystemTerms & terms = data.terms;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.x[idx(i)] = terms.coordinates(i);
    data.x[rate(i)] = terms.rates(i);
    data.x[acceleration(i)] = terms.acceleration_bias(i);
  }
  data.x[time()] = terms.time;
  add_kinetic(data);
  add_potential(data);
  terms.force = terms.kinematic_matrix.transpose().lazyProduct(data.rate_force);
  if (!(constant_mass_ && constant_kinematics_) || has_accelerations_)
  {
    update_mass(data);
  }
  add_force(data);
  if (!(constant_inputs_ && constant_kinematics_))
  {
    update_inputs(data);
  }
  return Status::kOk;
}

// ---- power (E30) --------------------------------------------------------------------------------

/// What keeps up the motion that T contains as a function of time: T − q̇ᵀ∂T/∂q̇ + T and t do not
/// vanish then. @pre q, q̇, t and q̈ in data.x.
double FormulaSystem::moving_frame_power(FormulaData & data) const noexcept
{
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.dual_x[idx(i)] = Dual(data.x[idx(i)], data.x[rate(i)]);
    data.dual_x[rate(i)] = Dual(data.x[rate(i)], data.x[acceleration(i)]);
    data.dual_x[acceleration(i)] = 0.0;
  }
  data.dual_x[time()] = Dual(data.x[time()], 1.0);
  kinetic_.gradient(
    data.dual_x.data(), data.dual_tape.data(), data.dual_adjoint.data(), 0,
    data.dual_gradient.data());
  // dT/dt − q̇ᵀ (d/dt ∂T/∂q̇ − ∂T/∂q)
  double power = kinetic_.output(data.dual_tape.data(), 0).derivative;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    power -=
      data.x[rate(i)] * (data.dual_gradient[rate(i)].derivative - data.dual_gradient[idx(i)].value);
  }
  return power;
}

bool FormulaSystem::do_power(
  SystemData & base, const ConstVectorRef & accelerations, const ConstVectorRef & inputs,
  const ConstVectorRef & constraint_force, SystemPower & out) const noexcept CD_NONBLOCKING
{
  FormulaData & data = static_cast<FormulaData &>(base);
  const SystemTerms & terms = data.terms;
  out = SystemPower{};
  data.row = terms.acceleration_bias;
  data.row += terms.kinematic_matrix.lazyProduct(accelerations);
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data.x[idx(i)] = terms.coordinates(i);
    data.x[rate(i)] = terms.rates(i);
    data.x[acceleration(i)] = data.row(i);
  }
  data.x[time()] = terms.time;
  // W q̇ = u − w0 is what forces on the speeds work along.
  data.row = terms.speeds;
  if (!speeds_are_rates_)
  {
    data.row -= data.speed_offset;
  }
  force_.evaluate(data.x.data(), data.tape.data(), data.output.data());
  for (std::size_t k = 0; k < force_targets_.size(); ++k)
  {
    const ForceTarget & to = force_targets_[k];
    out.forces += data.output[k] * (to.on_speed ? data.row(to.index) : terms.rates(to.index));
  }
  for (Eigen::Index k = 0; k < inputs.size(); ++k)
  {
    out.inputs += inputs(k) * terms.input_matrix.col(k).dot(data.row);
  }
  out.potential = data.potential_rate;
  out.constraints = constraint_force.dot(data.row);
  out.driven = is_scleronomic_ ? 0.0 : moving_frame_power(data);
  return true;
}

// ---- derivatives (E17, E18) ---------------------------------------------------------------------

/// A direction in which the state is moved, u̇ and τ kept: changes of q, q̇ and q̈.
struct FormulaSystem::Direction
{
  Eigen::VectorXd acceleration;        // q̈ itself
  Eigen::VectorXd q;                   // δq
  Eigen::VectorXd u;                   // δu
  Eigen::VectorXd rates;               // δq̇
  Eigen::VectorXd accelerations;       // δq̈
  Eigen::VectorXd force;               // r, the equations of motion before Cᵀ
  Eigen::VectorXd force_change;        // δr
  Eigen::VectorXd speed_force_change;  // of forces conjugate to speeds
};

// From δu = W δq̇ + ∂s/∂q δq, and from u̇ = ds/dt along (q̇, q̈, 1), both with s the speeds.
void FormulaSystem::move_coordinates(const SystemTerms & terms, Direction & along) const
{
  along.rates = along.u;
  along.accelerations = Eigen::VectorXd::Zero(n_);
  if (speeds_are_rates_)
  {
    return;
  }
  const std::size_t tape_size = static_cast<std::size_t>(speeds_.tape_size());
  std::vector<HyperDual> x(idx(3 * n_ + 1));
  std::vector<HyperDual> tape(tape_size);
  std::vector<HyperDual> output(idx(n_));
  const auto evaluate = [&]
  {
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      x[idx(i)] = {terms.coordinates(i), terms.rates(i), along.q(i), along.rates(i)};
      x[rate(i)] = {terms.rates(i), along.acceleration(i), along.rates(i), 0.0};
    }
    x[time()] = {terms.time, 1.0, 0.0, 0.0};
    speeds_.evaluate(x.data(), tape.data(), output.data());
  };
  along.rates.setZero();
  evaluate();
  Eigen::VectorXd change(n_);
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    change(i) = along.u(i) - output[idx(i)].second;
  }
  along.rates = terms.kinematic_matrix * change;
  evaluate();
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    change(i) = -output[idx(i)].mixed;
  }
  along.accelerations = terms.kinematic_matrix * change;
}

/// δW along (δq, δq̇, δt).
Eigen::MatrixXd FormulaSystem::speed_matrix_derivative(
  const SystemTerms & terms, const Eigen::VectorXd & q, const Eigen::VectorXd & rates,
  double t) const
{
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(n_, n_);
  if (speeds_are_rates_)
  {
    return result;
  }
  const std::size_t tape_size = static_cast<std::size_t>(speeds_.tape_size());
  std::vector<Dual> x(idx(3 * n_ + 1));
  std::vector<Dual> tape(tape_size);
  std::vector<Dual> adjoint(tape_size);
  std::vector<Dual> gradient(idx(3 * n_ + 1));
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    x[idx(i)] = Dual(terms.coordinates(i), q(i));
    x[rate(i)] = Dual(terms.rates(i), rates(i));
  }
  x[time()] = Dual(terms.time, t);
  speeds_.forward(x.data(), tape.data());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    speeds_.reverse(tape.data(), adjoint.data(), static_cast<int>(i), gradient.data());
    for (Eigen::Index j = 0; j < n_; ++j)
    {
      result(i, j) = gradient[rate(j)].derivative;
    }
  }
  return result;
}

bool FormulaSystem::do_differentiate(
  SystemData & base, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
  SystemDerivatives & out) const
{
  const SystemTerms & terms = base.terms;
  const Eigen::MatrixXd & C = terms.kinematic_matrix;
  out.resize(n_, n_);
  out.acceleration = acceleration;
  out.coordinate_acceleration = C * acceleration + terms.acceleration_bias;
  Direction along;
  along.acceleration = out.coordinate_acceleration;
  for (Eigen::Index k = 0; k < 2 * n_; ++k)
  {
    const bool by_q = k < n_;
    const Eigen::VectorXd unit = Eigen::VectorXd::Unit(n_, by_q ? k : k - n_);
    along.q = by_q ? Eigen::VectorXd(C * unit) : Eigen::VectorXd(Eigen::VectorXd::Zero(n_));
    along.u = by_q ? Eigen::VectorXd(Eigen::VectorXd::Zero(n_)) : unit;
    move_coordinates(terms, along);
    equations_along(base, inputs, along);
    // δ(Cᵀ r) = Cᵀ (δr − δWᵀ Cᵀ r), because δC = −C δW C.
    const Eigen::MatrixXd dW = speed_matrix_derivative(terms, along.q, along.rates, 0.0);
    const Eigen::VectorXd turned = dW.transpose() * (C.transpose() * along.force);
    const Eigen::VectorXd change =
      C.transpose() * (along.force_change - turned) + along.speed_force_change;
    if (by_q)
    {
      out.residual_q.col(k) = change;
      out.rate_q.col(k) = along.rates;
      out.coordinate_acceleration_q.col(k) = along.accelerations;
    }
    else
    {
      out.residual_u.col(k - n_) = change;
      out.coordinate_acceleration_u.col(k - n_) = along.accelerations;
    }
  }
  // δq̇ = C (T δ + δu) + Ċ δ with Ċ = −C Ẇ C, and δq̇ at δu = 0 is rate_q.
  if (!speeds_are_rates_)
  {
    const Eigen::VectorXd still = Eigen::VectorXd::Zero(n_);
    const Eigen::MatrixXd W_dot = speed_matrix_derivative(terms, terms.rates, still, 1.0);
    // W rate_q is −∂s/∂q C.
    const Eigen::PartialPivLU<Eigen::MatrixXd> lu(C);
    out.transport = lu.solve(out.rate_q) + W_dot * C;
  }
  return true;
}

/// r and its change along a direction: Lagrange's equations with q̈, forces and inputs in them.
void FormulaSystem::equations_along(
  const SystemData & base, const ConstVectorRef & inputs, Direction & along) const
{
  const SystemTerms & terms = base.terms;
  along.force.setZero(n_);
  along.force_change.setZero(n_);
  along.speed_force_change.setZero(n_);

  // d/dt ∂T/∂q̇ − ∂T/∂q: first along the motion (q̇, q̈, 1), second along the direction.
  std::vector<HyperDual> x(idx(3 * n_ + 1));
  std::vector<Dual> y(idx(3 * n_ + 1));
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    x[idx(i)] = {terms.coordinates(i), terms.rates(i), along.q(i), along.rates(i)};
    x[rate(i)] = {terms.rates(i), along.acceleration(i), along.rates(i), along.accelerations(i)};
    y[idx(i)] = Dual(terms.coordinates(i), along.q(i));
    y[rate(i)] = Dual(terms.rates(i), along.rates(i));
    y[acceleration(i)] = Dual(along.acceleration(i), along.accelerations(i));
  }
  x[time()] = {terms.time, 1.0, 0.0, 0.0};
  y[time()] = terms.time;
  {
    const std::size_t size = static_cast<std::size_t>(kinetic_.tape_size());
    std::vector<HyperDual> tape(size);
    std::vector<HyperDual> adjoint(size);
    std::vector<HyperDual> gradient(x.size());
    kinetic_.gradient(x.data(), tape.data(), adjoint.data(), 0, gradient.data());
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      along.force(i) += gradient[rate(i)].first - gradient[idx(i)].value;
      along.force_change(i) += gradient[rate(i)].mixed - gradient[idx(i)].second;
    }
  }
  if (has_potential_)
  {
    const std::size_t size = static_cast<std::size_t>(potential_.tape_size());
    std::vector<Dual> tape(size);
    std::vector<Dual> adjoint(size);
    std::vector<Dual> gradient(y.size());
    potential_.gradient(y.data(), tape.data(), adjoint.data(), 0, gradient.data());
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      along.force(i) += gradient[idx(i)].value;
      along.force_change(i) += gradient[idx(i)].derivative;
    }
  }
  const auto subtract =
    [&](
      const FormulaProgram & program, const std::vector<ForceTarget> & targets, const auto & weight)
  {
    std::vector<Dual> tape(static_cast<std::size_t>(program.tape_size()));
    std::vector<Dual> output(targets.size());
    program.evaluate(y.data(), tape.data(), output.data());
    for (std::size_t k = 0; k < targets.size(); ++k)
    {
      const Dual value = weight(targets[k]) * output[k];
      if (targets[k].on_speed)
      {
        along.speed_force_change(targets[k].index) -= value.derivative;
      }
      else
      {
        along.force(targets[k].index) -= value.value;
        along.force_change(targets[k].index) -= value.derivative;
      }
    }
  };
  subtract(force_, force_targets_, [](const ForceTarget &) { return 1.0; });
  subtract(inputs_, input_targets_, [&](const ForceTarget & to) { return inputs(to.input); });
}

// δ(Cᵀ y) = −Cᵀ δWᵀ Cᵀ y.
void FormulaSystem::do_add_coordinate_force_derivatives(
  const SystemData & data, const ConstVectorRef & y, MatrixRef out) const
{
  if (constant_kinematics_)
  {
    return;
  }
  const Eigen::MatrixXd & C = data.terms.kinematic_matrix;
  const Eigen::VectorXd force = C.transpose() * y;
  for (Eigen::Index k = 0; k < n_; ++k)
  {
    // W does not depend on the rates.
    const Eigen::MatrixXd dW =
      speed_matrix_derivative(data.terms, C.col(k), Eigen::VectorXd::Zero(n_), 0.0);
    out.col(k) -= C.transpose() * (dW.transpose() * force);
  }
}

Status FormulaSystem::do_speeds_from_rates(
  double at_time, const ConstVectorRef & q, const ConstVectorRef & qdot, Eigen::VectorXd & u) const
{
  if (speeds_are_rates_)
  {
    u = qdot;
    return Status::kOk;
  }
  const std::unique_ptr<FormulaData> data = make_formula_data();
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    data->x[idx(i)] = q(i);
    data->x[rate(i)] = qdot(i);
  }
  data->x[time()] = at_time;
  speeds_.evaluate(data->x.data(), data->tape.data(), data->output.data());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    u(i) = data->output[idx(i)];
  }
  return Status::kOk;
}

}  // namespace

std::shared_ptr<const AnalyticSystem> make_analytic_system(const AnalyticDescription & description)
{
  return std::make_shared<const FormulaSystem>(description);
}

}  // namespace constrained_dynamics
