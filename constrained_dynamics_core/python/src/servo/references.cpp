// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/reference_trajectory.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "common.hpp"
#include "constrained_dynamics/formula/dual.hpp"
#include "python_function.hpp"

namespace constrained_dynamics::python
{

namespace
{

/// A reference and its derivatives, given by a Python function of time.
class FunctionReference : public ReferenceTrajectory
{
public:
  FunctionReference(const ServoConstraint & servo, nb::callable function)
  : ReferenceTrajectory(ReferenceLayout(servo)), function_(std::move(function))
  {
  }

protected:
  bool do_evaluate(double time, Jet2 * values) const noexcept CD_NONBLOCKING override
  {
    const nb::gil_scoped_acquire acquire;
    return guarded(
             "reference of '" + layout().name() + "'",
             [&]
             {
               Jet2 t(time);
               t.first = 1.0;
               const nb::object result = function_.function(nb::cast(t));
               std::vector<Jet2> numbers;
               for (const nb::handle value : nb::iter(result))
               {
                 numbers.push_back(number<Jet2>(value));
               }
               if (static_cast<int>(numbers.size()) != layout().value_count())
               {
                 throw std::invalid_argument(
                   "the function gave " + std::to_string(numbers.size()) + " values; " +
                   std::to_string(layout().value_count()) + " are needed");
               }
               std::copy(numbers.begin(), numbers.end(), values);
               return Status::kOk;
             }) == Status::kOk;
  }

private:
  HeldFunction function_;
};

/// The reference at a time, with the sizes of `layout`.
template <class Trajectory>
ServoReference at(const Trajectory & trajectory, const ReferenceLayout & layout, double time)
{
  ServoReference out;
  out.position.setZero(layout.is_pose() ? 7 : layout.value_count());
  out.velocity.setZero(layout.is_pose() ? 6 : layout.value_count());
  out.acceleration = out.velocity;
  require_output(trajectory.evaluate(time, out), ("reference of '" + layout.name() + "'").c_str());
  return out;
}

Eigen::VectorXd copy(const VectorArgument & values) { return view(values); }

void bind_reference(nb::module_ & module)
{
  nb::class_<ServoReference> reference(
    module, "ServoReference",
    "What a servo-constraint shall follow at one instant. The arrays are writable views of a "
    "fixed\n"
    "size; assigning to them copies.");
  const auto part =
    [&reference](const char * name, Eigen::VectorXd ServoReference::*member, const char * doc)
  {
    reference.def_prop_rw(
      name,
      [member](ServoReference & r)
      {
        Eigen::VectorXd & values = r.*member;
        return Eigen::Map<Eigen::VectorXd>(values.data(), values.size());
      },
      [member, name](ServoReference & r, const VectorArgument & values)
      {
        Eigen::VectorXd & held = r.*member;
        held = checked(values, held.size(), name);
      },
      nb::rv_policy::reference_internal, doc);
  };
  part(
    "position", &ServoReference::position,
    "of position rows; of a pose x y z qx qy qz qw; of forces the multipliers");
  part(
    "velocity", &ServoReference::velocity,
    "rates, and values of velocity rows; of a pose velocity and angular velocity");
  part(
    "acceleration", &ServoReference::acceleration,
    "second derivatives of position rows, first ones of velocity rows");

  nb::class_<ReferenceTrajectory>(
    module, "ReferenceTrajectory",
    "A reference as a function of time, made for one servo-constraint. Values: one a row; of a "
    "pose\n"
    "x y z and roll pitch yaw or a quaternion x y z w (7 or 6; 3 or 4 where the rows are of one "
    "kind\n"
    "alone). Constant; may be shared.")
    .def_prop_ro(
      "value_count", [](const ReferenceTrajectory & r) { return r.layout().value_count(); },
      "values of a complete reference")
    .def_prop_ro("name", [](const ReferenceTrajectory & r) { return r.layout().name(); })
    .def(
      "evaluate",
      [](const ReferenceTrajectory & r, double time) { return at(r, r.layout(), time); }, "time"_a,
      "The reference at a time [s]. Raises RuntimeError with the status where there is none.");
  nb::class_<FunctionReference, ReferenceTrajectory>(
    module, "FunctionReference",
    "A reference written in Python: function(t) returns value_count values (of a pose 7, with a\n"
    "quaternion of any nonzero length), with ordinary arithmetic and numpy's functions; t is a "
    "Jet2, "
    "so\n"
    "that the derivatives are exact. For offline use: what it raises is printed, and the status "
    "is\n"
    "NON_FINITE_RESULT.")
    .def(nb::init<const ServoConstraint &, nb::callable>(), "servo"_a, "function"_a);

  nb::class_<SmoothStart>(
    module, "SmoothStart",
    "Joins a trajectory from where the robot is, within a duration, with two continuous "
    "derivatives.\n"
    "Without a start it is the trajectory itself.")
    .def(nb::init<ReferencePointer, double>(), "trajectory"_a, "duration"_a = 0.0)
    .def_prop_ro("duration", &SmoothStart::duration)
    .def(
      "start",
      [](SmoothStart & self, double time, const ServoReference & measured)
      { require_output(self.start(time, measured), "start"); },
      "time"_a, "measured"_a, "Begins a transition, also while another is under way.")
    .def(
      "evaluate",
      [](const SmoothStart & self, double time)
      { return at(self, self.trajectory().layout(), time); },
      "time"_a, "As ReferenceTrajectory.evaluate; before the start it rests.");
}

void bind_factories(nb::module_ & module)
{
  module.def(
    "make_constant_reference",
    [](const ServoConstraint & servo, const VectorArgument & values)
    { return make_constant_reference(servo, copy(values)); },
    "servo"_a, "values"_a, "Stays at values.");
  module.def(
    "make_formula_reference",
    [](
      const ServoConstraint & servo, const std::vector<std::string> & formulas,
      const nb::dict & parameters, const nb::dict & definitions)
    { return make_formula_reference(servo, formulas, formula_names(parameters, definitions)); },
    "servo"_a, "formulas"_a, nb::kw_only(), "parameters"_a = nb::dict(),
    "definitions"_a = nb::dict(), "Formulas over t, one a value; derivatives are exact.");
  module.def(
    "make_minimum_jerk",
    [](
      const ServoConstraint & servo, const VectorArgument & from, const VectorArgument & to,
      double begin, double duration)
    { return make_minimum_jerk(servo, copy(from), copy(to), begin, duration); },
    "servo"_a, "start"_a, "end"_a, "begin"_a, "duration"_a,
    "From rest at `start` to rest at `end` with the smallest integral of jerk².");
  module.def(
    "make_lissajous",
    [](
      const ServoConstraint & servo, const VectorArgument & centre,
      const VectorArgument & amplitude, const VectorArgument & rate, const VectorArgument & phase)
    {
      return make_lissajous(
        servo, Oscillation{copy(centre), copy(amplitude), copy(rate), copy(phase)});
    },
    "servo"_a, nb::kw_only(), "centre"_a, "amplitude"_a, "rate"_a, "phase"_a,
    "centre + amplitude sin(rate t + phase), value by value.");
  module.def(
    "make_polyline",
    [](
      const ServoConstraint & servo, const std::vector<VectorArgument> & points, double blend,
      double speed, double acceleration, double begin)
    {
      std::vector<Eigen::VectorXd> way;
      for (const VectorArgument & point : points)
      {
        way.push_back(copy(point));
      }
      return make_polyline(servo, way, blend, PathTiming{speed, acceleration, begin});
    },
    "servo"_a, "points"_a, nb::kw_only(), "blend"_a, "speed"_a, "acceleration"_a, "begin"_a = 0.0,
    "Straight through way-points, corners rounded from `blend` before to `blend` behind them.");
  module.def(
    "make_curve",
    [](
      const ServoConstraint & servo, const std::vector<std::string> & formulas, double from,
      double to, double speed, double acceleration, double begin, const nb::dict & parameters,
      const nb::dict & definitions)
    {
      return make_curve(
        servo, formulas, from, to, PathTiming{speed, acceleration, begin},
        formula_names(parameters, definitions));
    },
    "servo"_a, "formulas"_a, "start"_a, "end"_a, nb::kw_only(), "speed"_a, "acceleration"_a,
    "begin"_a = 0.0, "parameters"_a = nb::dict(), "definitions"_a = nb::dict(),
    "Along a curve of formulas over s, from s = start to s = end, at a given speed.");
}

}  // namespace

void bind_references(nb::module_ & module)
{
  bind_reference(module);
  bind_factories(module);
}

}  // namespace constrained_dynamics::python
