// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/formula_model.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace constrained_dynamics::detail
{
namespace
{

/// Calls f; if it throws, puts the place in front of the message.
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

FormulaProgram compile(
  const FormulaContext & context, const std::string & place, const std::string & formula)
{
  return in_place(place, [&] { return FormulaProgram(context, {formula}); });
}

/// Whether an output contains one of `count` variables from `first` on.
bool depends(const FormulaProgram & program, int output, std::size_t first, Eigen::Index count)
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

}  // namespace

FormulaModel::FormulaModel(const AnalyticDescription & d, std::vector<std::string> names)
: n(static_cast<Eigen::Index>(d.coordinates.size())), speed_names(std::move(names))
{
  const FormulaContext context = make_context(d);
  compile_energies(d, context);
  compile_speeds(d, context);
  compile_force(d, context);
  compile_inputs(d, context);
  if (speeds_are_rates)
  {
    group_rates();
  }
}

FormulaContext FormulaModel::make_context(const AnalyticDescription & d) const
{
  FormulaContext context;
  const auto add_variables = [&](const std::string & what, const std::string & prefix)
  {
    for (const std::string & name : d.coordinates)
    {
      in_place(what, [&] { context.add_variable(prefix + name); });
    }
  };
  const auto add_definition = [&](const std::string & what, const NamedFormula & formula)
  {
    in_place(
      what + " '" + formula.name + "'",
      [&] { context.add_definition(formula.name, formula.formula); });
  };
  add_variables("coordinate", "");
  add_variables("rate of a coordinate", "d");
  in_place("time", [&] { context.add_variable("t"); });
  add_variables("acceleration of a coordinate", "dd");
  for (const auto & parameter : d.parameters)
  {
    in_place(
      "parameter '" + parameter.first + "'",
      [&] { context.add_parameter(parameter.first, parameter.second); });
  }
  // Definitions may use speeds, and speeds may use definitions: definitions that cannot be compiled
  // yet are compiled after the speeds, in order.
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
    if (!context.find_variable(speed.name))  // otherwise a rate, or refused by compile_speeds()
    {
      add_definition("speed", speed);
    }
  }
  for (const NamedFormula * definition : postponed)
  {
    add_definition("definition", *definition);
  }
  return context;
}

void FormulaModel::compile_energies(const AnalyticDescription & d, const FormulaContext & context)
{
  kinetic = compile(context, "kinetic", d.kinetic);
  refuse_accelerations(kinetic, "kinetic");
  potential = compile(context, "potential", d.potential.empty() ? "0" : d.potential);
  refuse_accelerations(potential, "potential");
  if (depends(potential, 0, rate(0), n))
  {
    throw std::invalid_argument(
      "potential depends on a rate or speed; allowed: coordinates and time (use force)");
  }
  has_potential = !potential.variables_of(0).empty();
  time_in_kinetic = depends(kinetic, 0, time(), 1);
  constant_mass = !time_in_kinetic && !depends(kinetic, 0, 0, n);
  for (Eigen::Index i = 0; i < n; ++i)
  {
    kinetic_has_rate.push_back(depends(kinetic, 0, rate(i), 1));
  }
}

void FormulaModel::compile_speeds(const AnalyticDescription & d, const FormulaContext & context)
{
  std::vector<std::string> formulas;
  for (const NamedFormula & speed : d.speeds)
  {
    const std::string place = "speed '" + speed.name + "'";
    const FormulaProgram program = compile(context, place, speed.formula);
    refuse_accelerations(program, place);
    const auto variable = context.find_variable(speed.name);
    if (variable && !is_rate(program, *variable))
    {
      throw std::invalid_argument(
        place + " is '" + speed.formula + "', but its name means something else; allowed: '" +
        speed.name + "' if that is a rate, or another name");
    }
    const int own_rate = static_cast<int>(rate(static_cast<Eigen::Index>(formulas.size())));
    speeds_are_rates = speeds_are_rates && variable && *variable == own_rate;
    constant_kinematics =
      constant_kinematics && !depends(program, 0, 0, n) && !depends(program, 0, time(), 1);
    formulas.push_back(speed.formula);
  }
  speeds = FormulaProgram(context, formulas);
}

void FormulaModel::compile_force(const AnalyticDescription & d, const FormulaContext & context)
{
  std::vector<std::string> formulas;
  for (const NamedFormula & entry : d.force)
  {
    ForceTarget to = in_place("force", [&] { return target(d, entry.name); });
    const FormulaProgram program = compile(context, "force on '" + entry.name + "'", entry.formula);
    to.accelerations = depends(program, 0, acceleration(0), n);
    has_accelerations = has_accelerations || to.accelerations;
    force_targets.push_back(to);
    formulas.push_back(entry.formula);
  }
  force = FormulaProgram(context, formulas);
}

void FormulaModel::compile_inputs(const AnalyticDescription & d, const FormulaContext & context)
{
  std::vector<std::string> formulas;
  for (std::size_t k = 0; k < d.inputs.size(); ++k)
  {
    const std::string input = "input '" + d.inputs[k].name + "'";
    for (const NamedFormula & coefficient : d.inputs[k].coefficients)
    {
      ForceTarget to = in_place(input, [&] { return target(d, coefficient.name); });
      to.input = static_cast<Eigen::Index>(k);
      input_targets.push_back(to);
      const std::string place = input + " on '" + coefficient.name + "'";
      const FormulaProgram program = compile(context, place, coefficient.formula);
      refuse_accelerations(program, place);
      constant_inputs = constant_inputs && program.variables_of(0).empty();
      formulas.push_back(coefficient.formula);
    }
  }
  inputs = FormulaProgram(context, formulas);
}

/// Puts every rate into the first group with which its column of M shares no row.
void FormulaModel::group_rates()
{
  const int count = static_cast<int>(n);
  mass_rows = kinetic.coupled_variables(0, count, count);
  std::vector<std::vector<bool>> taken;  // rows of each group
  for (int column = 0; column < count; ++column)
  {
    const std::vector<int> & rows = mass_rows[idx(column)];
    std::size_t group = 0;
    const auto is_taken = [&](int row) { return taken[group][idx(row)]; };
    while (group < taken.size() && std::any_of(rows.begin(), rows.end(), is_taken))
    {
      ++group;
    }
    if (group == taken.size())
    {
      taken.emplace_back(idx(n), false);
      rate_groups.emplace_back();
    }
    rate_groups[group].push_back(column);
    for (const int row : rows)
    {
      taken[group][idx(row)] = true;
    }
  }
}

ForceTarget FormulaModel::target(const AnalyticDescription & d, const std::string & name) const
{
  ForceTarget result;
  for (const auto * names : {&d.coordinates, &speed_names})
  {
    const auto found = std::find(names->begin(), names->end(), name);
    if (found != names->end())
    {
      result.on_speed = names == &speed_names;
      result.index = found - names->begin();
      return result;
    }
  }
  std::string message = "'" + name + "' is neither a coordinate nor a speed; allowed:";
  for (const auto * names : {&d.coordinates, &speed_names})
  {
    for (const std::string & known : *names)
    {
      message += " " + known;
    }
  }
  throw std::invalid_argument(message);
}

/// Whether a program's only output is the rate that is variable number `variable`.
bool FormulaModel::is_rate(const FormulaProgram & program, int variable) const
{
  if (program.variables_of(0) != std::vector<int>{variable} || variable < n || variable >= 2 * n)
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

void FormulaModel::refuse_accelerations(
  const FormulaProgram & program, const std::string & what) const
{
  for (int output = 0; output < program.output_count(); ++output)
  {
    if (depends(program, output, acceleration(0), n))
    {
      throw std::invalid_argument(what + " contains an acceleration; allowed only in forces");
    }
  }
}

}  // namespace constrained_dynamics::detail
