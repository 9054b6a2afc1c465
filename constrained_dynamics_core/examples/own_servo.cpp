// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// A servo-constraint of one's own, by formula: the tip of a chain of three links goes round a
// circle, and the joint that this leaves open is drawn towards a posture.
#include <cmath>
#include <iostream>

#include <constrained_dynamics/constraints/formula_constraint.hpp>
#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics/simulation/servo_input_law.hpp>

namespace cd = constrained_dynamics;

int main()
{
  const auto scenario = cd::Scenario::from_text(
    "system: {coordinates: [a, b, c], kinetic: da^2 + db^2 + dc^2 + 0.5*da*db*cos(b),"
    " potential: 5*sin(a), inputs: {ta: {a: 1}, tb: {b: 1}, tc: {c: 1}}}");
  const std::vector<std::string> tip = {
    "cos(a) + cos(a + b) + cos(a + b + c)", "sin(a) + sin(a + b) + sin(a + b + c)"};
  const auto servo = std::make_shared<cd::RowServo>(std::make_shared<cd::FormulaConstraint>(
    "tip", scenario.system(), cd::RowLevel::kPosition, tip));
  cd::ServoOptions options;
  options.null_space = {std::make_shared<cd::Posture>(
    scenario.system(), std::vector<std::pair<std::string, double>>{{"c", 1.0}}, 20.0, 10.0)};
  cd::ServoDrive drive;
  drive.references = {cd::make_formula_reference(*servo, {"1.2 + 0.3*cos(t)", "1 + 0.3*sin(t)"})};
  drive.smooth_start = {1.0};
  const auto law = std::make_shared<cd::ServoInputLaw>(
    std::make_shared<cd::ServoLaw>(
      scenario.dynamics(), std::vector<cd::ServoTask>{{servo, {}, 0}}, options),
    drive);
  cd::Simulation simulation(scenario.dynamics(), {}, law);
  simulation.start({0.0, Eigen::Vector3d(0.1, 0.7, 0.5), Eigen::Vector3d::Zero()});
  const auto result = simulation.run(5.0, 5.0, [](const cd::Simulation &) { return true; });
  std::cout << "angles " << simulation.state().q.transpose() << ", error of the tip "
            << law->servo().result().error.transpose() << " m\n";
  return result.completed && law->servo().result().error.norm() < 1e-8 ? 0 : 1;
}
