// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "commands.hpp"
#include "constrained_dynamics/analysis/linearisation.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "output.hpp"
#include "terminal.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

// Matrices with more columns are for programs: --json.
constexpr Eigen::Index kWidest = 16;

struct LinearizeReport
{
  cd::Status status = cd::Status::kOk;
  double time = 0.0;
  std::optional<cd::LinearModel> model;
  std::optional<cd::LinearStep> step;
  std::optional<cd::LyapunovResult> lyapunov;
};

void check_finite(const char * option, double value, bool positive)
{
  if (!std::isfinite(value) || (positive && !(value > 0.0)))
  {
    throw std::invalid_argument(
      std::string(option) + ": " + format(value) +
      (positive ? "; allowed: a finite number above 0" : "; allowed: a finite number"));
  }
}

LinearizeReport analyse(const cd::Scenario & scenario, const LinearizeArguments & arguments)
{
  LinearizeReport report;
  const std::unique_ptr<cd::Simulation> simulation = scenario.make_simulation();
  const std::shared_ptr<cd::InputLaw> law = scenario.make_input_law();
  report.time = simulation->state().time;
  if (arguments.at)
  {
    const double until = *arguments.at;
    check_finite("--at", until, false);
    const cd::RunResult run = simulation->run(
      until, std::max(until - report.time, scenario.run().integration.step),
      [](const cd::Simulation &) { return true; });
    report.time = run.time;
    if (!run.completed)
    {
      report.status = run.status;
      return report;
    }
  }
  if (simulation->has_law_forces())
  {
    throw std::invalid_argument(
      scenario.name() + ": sliding friction, Dahl's law or a force law of a contact acts at t = " +
      format(report.time) + " s; allowed: closed contacts and sticking frictions");
  }
  const cd::State state = simulation->state();
  cd::LinearModel model;
  report.status = cd::linearise(
    *scenario.dynamics(), state, simulation->inputs(), law.get(), simulation->workspace(), model);
  if (!cd::has_output(report.status))
  {
    return report;
  }
  report.model = std::move(model);
  cd::LinearStep step;
  const cd::Status step_status = cd::linear_step(
    *report.model, scenario.run().integration.step, arguments.size, *simulation, step);
  if (step_status == cd::Status::kOk)
  {
    report.step = step;
  }
  report.status = cd::worse(report.status, step_status);
  if (arguments.lyapunov)
  {
    simulation->start(state);
    report.lyapunov = cd::largest_lyapunov_exponent(*simulation, scenario.run().until, law.get());
    report.status = cd::worse(report.status, report.lyapunov->status);
  }
  return report;
}

std::vector<std::string> state_names(const cd::System & system)
{
  std::vector<std::string> names;
  for (const char * prefix : {"delta.", "u."})
  {
    for (const std::string & speed : system.speed_names())
    {
      names.push_back(prefix + speed);
    }
  }
  return names;
}

std::string matrix_text(const Eigen::MatrixXd & matrix, const std::vector<std::string> & rows)
{
  std::size_t width = 0;
  for (const std::string & name : rows)
  {
    width = std::max(width, name.size());
  }
  std::ostringstream text;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i)
  {
    text << "  " << std::left << std::setw(static_cast<int>(width))
         << rows[static_cast<std::size_t>(i)] << std::right;
    for (Eigen::Index j = 0; j < matrix.cols(); ++j)
    {
      text << " " << std::setw(12) << format(matrix(i, j), 6);
    }
    text << "\n";
  }
  return text.str();
}

std::string eigenvalue_text(const Eigen::VectorXcd & values)
{
  std::ostringstream text;
  // Rounding of the largest is no news.
  const double rounding = values.size() > 0 ? 1e-14 * values.cwiseAbs().maxCoeff() : 0.0;
  const auto clean = [&](double x) { return std::abs(x) > rounding ? x : 0.0; };
  for (Eigen::Index i = 0; i < values.size(); ++i)
  {
    const double real = clean(values(i).real());
    const double imaginary = clean(values(i).imag());
    if (imaginary < 0.0)
    {
      continue;  // of a pair the other was printed
    }
    text << "  " << std::setw(14) << format(real, 9);
    if (imaginary > 0.0)
    {
      text << " +- " << format(imaginary, 9) << " i";
    }
    text << "\n";
  }
  return text.str();
}

std::string describe_motion(const cd::LinearModel & model)
{
  if (model.is_equilibrium)
  {
    return "an equilibrium";
  }
  if (model.is_steady)
  {
    return "a steady motion: the speeds and the model are constant";
  }
  return "neither an equilibrium nor a steady motion: max |udot| = " +
         format(model.largest_acceleration, 3) + ", the model changes by " +
         format(model.variation, 3) +
         " of its size per second; the eigenvalues belong to this instant";
}

std::string describe_derivatives(const cd::ConstraintSet & set, const cd::LinearModel & model)
{
  std::string by_differences = model.derivatives.system_is_analytic ? "" : " the system";
  for (int i = 0; i < set.size(); ++i)
  {
    if (!model.derivatives.constraint_is_analytic[static_cast<std::size_t>(i)])
    {
      by_differences += " " + set[i].name();
    }
  }
  return by_differences.empty() ? "analytic" : "analytic but for" + by_differences;
}

std::string describe(const cd::Scenario & scenario, const LinearizeReport & report)
{
  const cd::LinearModel & model = *report.model;
  const cd::System & system = scenario.system();
  const std::vector<std::string> names = state_names(system);
  std::ostringstream text;
  text << scenario.name() << " at t = " << format(model.state.time)
       << " s: " << describe_motion(model) << "\n"
       << "nonminimal form: " << model.state_matrix.rows() << " states, on the manifold "
       << model.basis.cols() << "; " << system.input_count() << " inputs\n"
       << "derivatives: " << describe_derivatives(scenario.dynamics()->constraints(), model)
       << "\n";
  if (model.state_matrix.cols() <= kWidest)
  {
    text << "state matrix F (columns as rows)\n" << matrix_text(model.state_matrix, names);
    if (model.input_matrix.cols() > 0 && model.input_matrix.cols() <= kWidest)
    {
      text << "input matrix B (";
      for (std::size_t i = 0; i < system.input_names().size(); ++i)
      {
        text << (i == 0 ? "" : ", ") << system.input_names()[i];
      }
      text << ")\n" << matrix_text(model.input_matrix, names);
    }
  }
  else
  {
    text << "matrices: with --json\n";
  }
  text << "eigenvalues on the manifold [1/s]\n"
       << eigenvalue_text(model.reduced_eigenvalues) << "eigenvalues of the nonminimal form [1/s]\n"
       << eigenvalue_text(model.eigenvalues);
  if (report.step && model.constraint_matrix.rows() > 0)
  {
    const cd::LinearStep & step = *report.step;
    text << "a linear step of " << format(step.step) << " s from a deviation of "
         << format(step.size) << " violates rows by " << format(step.position, 3) << " (position), "
         << format(step.velocity, 3) << " (velocity); half of both by "
         << format(step.position_of_half, 3) << ", " << format(step.velocity_of_half, 3)
         << " (second order: a quarter or less)\n";
  }
  if (report.lyapunov)
  {
    const cd::LyapunovResult & result = *report.lyapunov;
    text << "largest Lyapunov exponent until t = " << format(result.time)
         << " s: " << format(result.exponent) << " 1/s (first half " << format(result.first_half)
         << ", second half " << format(result.second_half) << ")\n";
  }
  return text.str();
}

void write_eigenvalues(cd::JsonWriter & json, const char * key, const Eigen::VectorXcd & values)
{
  json.key(key).begin_array();
  for (Eigen::Index i = 0; i < values.size(); ++i)
  {
    json.begin_object()
      .entry("real", values(i).real())
      .entry("imag", values(i).imag())
      .end_object();
  }
  json.end_array();
}

void write_vector(cd::JsonWriter & json, const char * key, const std::vector<double> & values)
{
  json.key(key).begin_array();
  for (const double value : values)
  {
    json.value(value);
  }
  json.end_array();
}

void write_model(
  cd::JsonWriter & json, const cd::Scenario & scenario, const cd::LinearModel & model)
{
  const cd::System & system = scenario.system();
  const cd::ConstraintSet & set = scenario.dynamics()->constraints();
  json.entry("q", system.coordinate_names(), model.state.q)
    .entry("u", system.speed_names(), model.state.u)
    .entry("udot", system.speed_names(), model.acceleration)
    .entry("inputs", system.input_names(), model.inputs)
    .entry("equilibrium", model.is_equilibrium)
    .entry("steady", model.is_steady)
    .entry("variation", model.variation);
  json.key("derivatives").begin_object();
  json.entry("system", model.derivatives.system_is_analytic ? "analytic" : "differences");
  json.key("constraints").begin_object();
  std::vector<std::string> rows;
  for (int i = 0; i < set.size(); ++i)
  {
    const bool analytic = model.derivatives.constraint_is_analytic[static_cast<std::size_t>(i)];
    json.entry(set[i].name(), analytic ? "analytic" : "differences");
  }
  json.end_object().end_object();
  for (int row = 0; row < set.row_count(); ++row)
  {
    rows.push_back(set.row_name(row));
  }
  json.entry("states", state_names(system))
    .entry("input_names", system.input_names())
    .entry("rows", rows)
    .entry("state_matrix", model.state_matrix)
    .entry("input_matrix", model.input_matrix)
    .entry("constraint_matrix", model.constraint_matrix)
    .entry("basis", model.basis)
    .entry("reduced_matrix", model.reduced_matrix)
    .entry("reduced_input_matrix", model.reduced_input_matrix);
  json.key("multipliers").begin_object();
  json.entry("by_delta", model.derivatives.multipliers_q)
    .entry("by_u", model.derivatives.multipliers_u)
    .entry("by_input", model.derivatives.multipliers_input)
    .end_object();
  write_eigenvalues(json, "eigenvalues", model.eigenvalues);
  write_eigenvalues(json, "reduced_eigenvalues", model.reduced_eigenvalues);
}

std::string to_json(const cd::Scenario & scenario, const LinearizeReport & report)
{
  cd::JsonWriter json;
  json.begin_object()
    .entry("scenario", scenario.name())
    .entry("formulation", scenario.dynamics()->formulation().name())
    .entry("status", cd::to_string(report.status))
    .entry("time", report.time);
  if (report.model)
  {
    write_model(json, scenario, *report.model);
  }
  if (report.step)
  {
    json.key("linear_step").begin_object();
    json.entry("step", report.step->step)
      .entry("size", report.step->size)
      .entry("position", report.step->position)
      .entry("velocity", report.step->velocity)
      .entry("position_of_half", report.step->position_of_half)
      .entry("velocity_of_half", report.step->velocity_of_half)
      .end_object();
  }
  if (report.lyapunov)
  {
    const cd::LyapunovResult & result = *report.lyapunov;
    json.key("lyapunov").begin_object();
    json.entry("exponent", result.exponent)
      .entry("first_half", result.first_half)
      .entry("second_half", result.second_half)
      .entry("completed", result.completed)
      .entry("time", result.time);
    write_vector(json, "sample_time", result.sample_time);
    write_vector(json, "sample_exponent", result.sample_exponent);
    json.end_object();
  }
  json.end_object();
  return json.text();
}

}  // namespace

int linearize(const LinearizeArguments & arguments)
{
  check_finite("--size", arguments.size, true);
  const std::string path = find_scenario(arguments.scenario);
  const cd::Scenario scenario = cd::Scenario::load(path, arguments.overrides);
  OutputFile file(arguments.json, "--json", path);
  warn(scenario.warnings());
  const LinearizeReport report = analyse(scenario, arguments);
  if (arguments.json != "-" && report.model)
  {
    write_report(describe(scenario, report));
  }
  if (file.is_open())
  {
    file.write(to_json(scenario, report));
    file.close();
  }
  if (report.status != cd::Status::kOk)
  {
    complain(
      scenario.name() + ": status " + cd::to_string(report.status) +
      " at t = " + format(report.time) + " s");
    return kNotCompleted;
  }
  return kSuccess;
}

}  // namespace cdyn
