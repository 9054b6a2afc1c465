// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_multipliers.hpp"

#include <regex>
#include <utility>
#include <vector>

#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

using Kind = MultiplierForceTarget::Kind;

/// Values by formulas of the state and of multipliers.
class FormulaMultiplierForces : public MultiplierForces
{
public:
  FormulaMultiplierForces(std::vector<MultiplierForceTarget> targets, SignalProgram program)
  : MultiplierForces(
      std::move(targets), program.multiplier_rows(), program.derivative_scratch_size()),
    program_(std::move(program))
  {
  }

protected:
  Status do_evaluate(
    const SystemData & data, const ConstVectorRef & multipliers, double * scratch, VectorRef values,
    MatrixRef derivatives) const noexcept CD_NONBLOCKING override
  {
    return program_.differentiate(data, rows(), multipliers, scratch, values, derivatives);
  }

private:
  SignalProgram program_;
};

MultiplierForceTarget target_of(const ScenarioMultiplierForce & force, const System & system)
{
  const int coordinate = find_name(system.coordinate_names(), force.target);
  if (coordinate >= 0)
  {
    return {Kind::kCoordinate, coordinate, 0, false};
  }
  const int speed = find_name(system.speed_names(), force.target);
  if (speed < 0)
  {
    force.reader.fail_here("no coordinate or speed '" + force.target + "'");
  }
  return {Kind::kSpeed, speed, 0, false};
}

}  // namespace

bool calls_lambda(const std::string & formula)
{
  static const std::regex call("(^|[^A-Za-z0-9_])lambda\\s*\\(");
  return std::regex_search(formula, call);
}

std::shared_ptr<const MultiplierForces> build_multiplier_forces(
  const ScenarioReader & root, const ScenarioSystem & system, const ConstraintSet & set,
  const SignalNames & names)
{
  std::vector<MultiplierForceTarget> targets;
  std::vector<std::string> formulas;
  for (const ScenarioMultiplierForce & force : system.multiplier_forces)
  {
    check_formula(names, force.reader, force.formula);
    targets.push_back(target_of(force, set.system()));
    formulas.push_back(force.formula);
  }
  if (const auto inputs = root.find("inputs"))
  {
    for (const auto & [name, formula] : inputs->entries())
    {
      check_formula(names, formula, formula.formula());
      const int input = find_name(set.system().input_names(), name);
      if (input >= 0 && names.uses_multipliers(formula.formula()))
      {
        targets.push_back({Kind::kInput, input, 0, false});
        formulas.push_back(formula.formula());
      }
    }
  }
  for (const ScenarioWrench & wrench : system.wrenches)
  {
    for (std::size_t k = 0; k < wrench.formulas.size(); ++k)
    {
      check_formula(names, wrench.reader, wrench.formulas[k]);
      if (names.uses_multipliers(wrench.formulas[k]))
      {
        const int frame = set.system().frame_index(wrench.frame);
        targets.push_back({Kind::kFrame, frame, static_cast<int>(k), wrench.in_frame_axes});
        formulas.push_back(wrench.formulas[k]);
      }
    }
  }
  if (targets.empty())
  {
    return nullptr;
  }
  return std::make_shared<FormulaMultiplierForces>(std::move(targets), names.compile(formulas));
}

}  // namespace constrained_dynamics
