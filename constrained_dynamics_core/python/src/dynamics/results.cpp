// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/stl/tuple.h>

#include <sstream>
#include <tuple>

#include "common.hpp"
#include "constrained_dynamics/dynamics/constraint_record.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"

/// @file
/// State, rows, solution and the results of each constraint.

namespace constrained_dynamics::python
{

namespace
{

void bind_results(nb::module_ & module)
{
  nb::class_<State> state(module, "State", "Time, coordinates and speeds.");
  state
    .def(
      "__init__",
      [](State * self, const VectorArgument & q, const VectorArgument & u, double time) {
        new (self) State{time, view(q), view(u)};
      },
      "q"_a, "u"_a, "time"_a = 0.0, "Copies q and u.")
    .def("__getstate__", [](const State & s) { return std::make_tuple(s.time, s.q, s.u); })
    .def(
      "__setstate__",
      [](State & s, const std::tuple<double, Eigen::VectorXd, Eigen::VectorXd> & parts) {
        new (&s) State{std::get<0>(parts), std::get<1>(parts), std::get<2>(parts)};
      })
    .def(
      "__repr__",
      [](const State & s)
      {
        std::ostringstream text;
        text << "State(" << s.q.size() << " coordinates, " << s.u.size()
             << " speeds, time=" << s.time << ")";
        return text.str();
      })
    .def_rw("time", &State::time);
  def_view(state, "q", &State::q, "coordinates (nq), a read-only view");
  def_view(state, "u", &State::u, "speeds (n), a read-only view");

  nb::class_<Rows> rows(
    module, "Rows",
    "The rows of all constraints at the state of a workspace; read-only views. NaN: not "
    "evaluated.");
  def_view(rows, "position", &Rows::position, "φ (m)");
  def_view(rows, "velocity", &Rows::velocity, "φ̇ or ψ (m)");
  def_view(rows, "jacobian", &Rows::jacobian, "A (m × n)");
  def_view(rows, "bias", &Rows::bias, "b (m), without stabilisation");

  nb::class_<Wrench> wrench(module, "Wrench", "Force and torque about a point, world axes.");
  wrench.def_ro("point", &Wrench::point, "[m]")
    .def_ro("force", &Wrench::force, "[N]")
    .def_ro("torque", &Wrench::torque, "[N m]");
  nb::class_<WrenchPair>(module, "WrenchPair", "The wrench on body a and on body b.")
    .def_ro("on_a", &WrenchPair::on_a)
    .def_ro("on_b", &WrenchPair::on_b);

  nb::class_<Solution> solution(
    module, "Solution",
    "Accelerations and forces of the last solve at the state of a workspace. Arrays are read-only\n"
    "views: copy what shall outlive the next solve. NaN: no solution at this state.");
  def_view(solution, "acceleration", &Solution::acceleration, "u̇ (n)");
  def_view(solution, "constraint_force", &Solution::constraint_force, "F^c (n) (E7)");
  def_view(solution, "multipliers", &Solution::multipliers, "λ (m) (E8)");
  def_view(
    solution, "redundancy", &Solution::redundancy,
    "of each row, 0: nothing can replace it, 1: redundant");
  solution
    .def_ro(
      "wrenches", &Solution::wrenches,
      "Copies; ConstraintSet.wrench_offset says whose each pair is.")
    .def_ro("active_row_count", &Solution::active_row_count)
    .def_ro("rank", &Solution::rank)
    .def_ro("condition", &Solution::condition)
    .def_ro("inconsistency", &Solution::inconsistency)
    .def_ro("along_tree", &Solution::along_tree, "Found without Q and A.");

  nb::class_<RankReport::Dependency>(module, "RowDependency", "row = Σ coefficient · other row.")
    .def_ro("row", &RankReport::Dependency::row)
    .def_ro("others", &RankReport::Dependency::others)
    .def_ro("coefficients", &RankReport::Dependency::coefficients);
  nb::class_<RankReport>(module, "RankReport", "What the analysis of a workspace found.")
    .def_ro("row_count", &RankReport::row_count, "active rows")
    .def_ro("nominal_rank", &RankReport::nominal_rank, "on the manifold close to the state")
    .def_ro("rank_here", &RankReport::rank_here)
    .def_ro("degrees_of_freedom", &RankReport::degrees_of_freedom)
    .def_ro("condition", &RankReport::condition)
    .def_ro("dependencies", &RankReport::dependencies)
    .def(
      "__repr__",
      [](const RankReport & r)
      {
        std::ostringstream text;
        text << "<RankReport: rank " << r.nominal_rank << " of " << r.row_count << " rows, "
             << r.degrees_of_freedom << " degrees of freedom>";
        return text.str();
      });
}

void bind_records(nb::module_ & module)
{
  nb::class_<RowRecord>(module, "RowRecord", "One row of a constraint at a solve.")
    .def_ro("multiplier", &RowRecord::multiplier, "λ")
    .def_ro("position_residual", &RowRecord::position_residual, "φ")
    .def_ro("velocity_residual", &RowRecord::velocity_residual, "φ̇ or ψ")
    .def_ro("redundancy", &RowRecord::redundancy, "0: no row can replace it, 1: others do wholly");
  nb::class_<WrenchRecord>(
    module, "WrenchRecord", "The force between two bodies: both wrenches about one point.")
    .def_ro("point", &WrenchRecord::point, "[m]")
    .def_ro("force_on_a", &WrenchRecord::force_on_a, "[N]")
    .def_ro("torque_on_a", &WrenchRecord::torque_on_a, "[N m]")
    .def_ro("force_on_b", &WrenchRecord::force_on_b, "[N]")
    .def_ro("torque_on_b", &WrenchRecord::torque_on_b, "[N m]");
  nb::class_<ConstraintRecord>(module, "ConstraintRecord", "One constraint at a solve.")
    .def_ro("active", &ConstraintRecord::active)
    .def_ro("redundant", &ConstraintRecord::redundant, "other rows can replace one of it")
    .def_ro("rows", &ConstraintRecord::rows)
    .def_ro("wrenches", &ConstraintRecord::wrenches);
}

}  // namespace

void bind_dynamics_results(nb::module_ & module)
{
  bind_records(module);
  bind_results(module);
}

}  // namespace constrained_dynamics::python
