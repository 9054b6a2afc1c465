// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "dynamics/sample.hpp"

namespace constrained_dynamics::python
{

std::vector<std::pair<std::string, int>> sample_layout(const Dynamics & dynamics)
{
  const System & system = dynamics.system();
  const ConstraintSet & set = dynamics.constraints();
  const int nq = system.coordinate_count();
  const int n = system.speed_count();
  const int m = set.row_count();
  return {
    {"time", 1},
    {"status", 1},
    {"rank", 1},
    {"active_row_count", 1},
    {"condition", 1},
    {"inconsistency", 1},
    {"q", nq},
    {"rates", nq},
    {"u", n},
    {"inputs", system.input_count()},
    {"multipliers", m},
    {"constraint_force", n},
    {"position", m},
    {"velocity", m},
    {"redundancy", m},
    {"active", set.size()},
    {"wrenches", 9 * set.wrench_count()}};  // point, force and torque on A of each
}

Eigen::VectorXd take_sample(
  const Dynamics & dynamics, const Workspace & workspace, Status status,
  const Eigen::Ref<const Eigen::VectorXd> & inputs)
{
  const Solution & solution = workspace.solution();
  const Terms terms = workspace.terms();
  const Rows & rows = workspace.rows();
  int size = 0;
  for (const auto & part : sample_layout(dynamics))
  {
    size += part.second;
  }
  Eigen::VectorXd out(size);
  Eigen::Index at = 0;
  const auto add = [&](const auto & values)
  {
    out.segment(at, values.size()) = values;
    at += values.size();
  };
  const auto add_number = [&](double value) { out(at++) = value; };
  add_number(terms.time);
  add_number(static_cast<double>(status));
  add_number(solution.rank);
  add_number(solution.active_row_count);
  add_number(solution.condition);
  add_number(solution.inconsistency);
  add(terms.coordinates);
  add(terms.rates);
  add(terms.speeds);
  add(inputs);
  add(solution.multipliers);
  add(solution.constraint_force);
  add(rows.position);
  add(rows.velocity);
  add(solution.redundancy);
  for (int i = 0; i < dynamics.constraints().size(); ++i)
  {
    add_number(workspace.is_active(i) ? 1.0 : 0.0);
  }
  for (const WrenchPair & pair : solution.wrenches)
  {
    add(pair.on_a.point);
    add(pair.on_a.force);
    add(pair.on_a.torque);
  }
  return out;
}

}  // namespace constrained_dynamics::python
