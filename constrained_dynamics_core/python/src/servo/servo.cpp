// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>

#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/servo/null_space.hpp"
#include "constrained_dynamics/servo/pose_servo.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "constraints/gain_argument.hpp"
#include "servo/task_key.hpp"

namespace constrained_dynamics::python
{

void bind_loop_transmission(nb::module_ & module);

namespace
{

using Strings = std::vector<std::string>;

void bind_results(nb::module_ & module)
{
  nb::enum_<ServoMetric>(module, "ServoMetric", "Which of the controls that do it are taken.")
    .value("MOORE_PENROSE", ServoMetric::kMoorePenrose, "the smallest (E15)")
    .value("IDEAL", ServoMetric::kIdeal, "those that deviate least from the free motion (Gauss)");
  nb::enum_<ServoSolution>(module, "ServoSolution", "How many controls do it.")
    .value("ONE", ServoSolution::kOne)
    .value("MANY", ServoSolution::kMany, "y acts")
    .value("NONE", ServoSolution::kNone, "they come closest");
  nb::class_<ServoResult> result(
    module, "ServoResult", "What a servo law found; read-only views that the next cycle changes.");
  def_view(result, "inputs", &ServoResult::inputs, "τ (l)");
  def_view(result, "particular", &ServoResult::particular, "S⁺ z (l); all of limited controls");
  def_view(result, "null_part", &ServoResult::null_part, "(I − S⁺ S) y (l)");
  def_view(result, "error", &ServoResult::error, "e of the rows; of force rows λ − λ desired");
  def_view(result, "error_rate", &ServoResult::error_rate, "ė of the rows");
  def_view(result, "residual", &ServoResult::residual, "S τ − z: what the rows miss");
  result.def_ro("solution", &ServoResult::solution)
    .def_ro("rank", &ServoResult::rank, "used directions of S, of all levels")
    .def_ro("null_dimension", &ServoResult::null_dimension)
    .def_ro("condition", &ServoResult::condition)
    .def_ro("damped", &ServoResult::damped)
    .def_ro("limited", &ServoResult::limited, "a limit or cone binds")
    .def_ro("at_bound", &ServoResult::at_bound, "of each input (a list)")
    .def_ro("cones_met", &ServoResult::cones_met)
    .def_ro(
      "at_motion_limit", &ServoResult::at_motion_limit,
      "of each coordinate, whether a limit of position or velocity binds")
    .def_ro(
      "motion_limits_met", &ServoResult::motion_limits_met,
      "False: no controls keep them; the tasks give way to a stop")
    .def_ro("ideal", &ServoResult::ideal)
    .def_ro("relaxed", &ServoResult::relaxed, "of each task, whether its rows are missed");

  nb::class_<InputLimits>(module, "InputLimits", "Bounds of the inputs; None: none.")
    .def(
      "__init__",
      [](
        InputLimits * self, const std::optional<VectorArgument> & lower,
        const std::optional<VectorArgument> & upper, const std::optional<VectorArgument> & rate)
      {
        const auto values = [](const std::optional<VectorArgument> & given)
        { return given ? Eigen::VectorXd(view(*given)) : Eigen::VectorXd(); };
        new (self) InputLimits{values(lower), values(upper), values(rate)};
      },
      nb::kw_only(), "lower"_a = nb::none(), "upper"_a = nb::none(), "rate"_a = nb::none(),
      "rate: largest change a second; needs the period of the law.");
  nb::class_<MotionLimits>(
    module, "MotionLimits",
    "Bounds of coordinates and their rates, kept by braking in time (E32); None: what the robot\n"
    "description states.")
    .def(
      "__init__",
      [](
        MotionLimits * self, bool enabled, const std::optional<VectorArgument> & lower,
        const std::optional<VectorArgument> & upper, const std::optional<VectorArgument> & velocity,
        const std::optional<VectorArgument> & deceleration)
      {
        const auto values = [](const std::optional<VectorArgument> & given)
        { return given ? Eigen::VectorXd(view(*given)) : Eigen::VectorXd(); };
        new (self) MotionLimits{
          enabled, values(lower), values(upper), values(velocity), values(deceleration)};
      },
      nb::kw_only(), "enabled"_a = true, "lower"_a = nb::none(), "upper"_a = nb::none(),
      "velocity"_a = nb::none(), "deceleration"_a = nb::none(),
      "One value a coordinate, ±∞ where there is none; deceleration: with which it can be "
      "stopped,\n"
      "from its largest velocity within 0.3 s unless given.");
  const FrictionCone cone;
  nb::class_<FrictionCone>(
    module, "FrictionCone", "The force of a passive contact shall stay in its friction cone.")
    .def(
      "__init__",
      [](
        FrictionCone * self, const std::string & constraint, const std::string & normal,
        const Strings & tangents, double coefficient, double least_push, double side)
      { new (self) FrictionCone{constraint, normal, tangents, coefficient, least_push, side}; },
      "constraint"_a, "normal"_a, "tangents"_a = Strings(), nb::kw_only(),
      "coefficient"_a = cone.coefficient, "least_push"_a = cone.least_push, "side"_a = cone.side,
      "normal, tangents: labels of its rows. It pushes where side · λ ≤ 0.");
}

using Task = std::variant<ServoTask, std::shared_ptr<const ServoConstraint>>;
using NullTerms = std::vector<std::shared_ptr<const NullSpaceTerm>>;

std::shared_ptr<ServoLaw> make_law(
  std::shared_ptr<const Dynamics> passive, const std::vector<Task> & given, ServoMetric metric,
  const NullTerms & null_space, const InputLimits & limits, const std::vector<FrictionCone> & cones,
  double period, double singular_tolerance, double consistency_tolerance,
  const MotionLimits & motion_limits)
{
  std::vector<ServoTask> tasks;
  for (const Task & task : given)
  {
    const ServoTask * whole = std::get_if<ServoTask>(&task);
    tasks.push_back(
      whole != nullptr
        ? *whole
        : ServoTask{std::get<std::shared_ptr<const ServoConstraint>>(task), ErrorDynamics(), 0});
  }
  return std::make_shared<ServoLaw>(
    std::move(passive), std::move(tasks),
    ServoOptions{
      metric, singular_tolerance, consistency_tolerance, null_space, limits, cones, period,
      motion_limits});
}

const State & checked_state(const ServoLaw & law, const State & state)
{
  const System & system = law.passive().system();
  if (state.q.size() != system.coordinate_count() || state.u.size() != system.speed_count())
  {
    throw std::invalid_argument("the state has other sizes than the system");
  }
  return state;
}

/// A ServoWorkspace that knows its owner, so that Python cannot mix them up.
struct OwnedServoWorkspace
{
  OwnedServoWorkspace(std::shared_ptr<const ServoLaw> of, const State & state)
  : law(std::move(of)), workspace(*law, checked_state(*law, state))
  {
  }
  /// @throw std::invalid_argument for the workspace of another law.
  ServoWorkspace & of(const ServoLaw & asking)
  {
    if (law.get() != &asking)
    {
      throw std::invalid_argument("the workspace was made for another ServoLaw");
    }
    return workspace;
  }

  std::shared_ptr<const ServoLaw> law;
  ServoWorkspace workspace;
};

void bind_law(nb::module_ & module)
{
  const ServoOptions options;
  nb::class_<ServoLaw> binding(
    module, "ServoLaw",
    "The torques that realise servo-constraints on top of the passive constraints of a Dynamics "
    "(E14),\n"
    "level by level of priority. Constant; may be shared by threads, each with a ServoWorkspace.");
  binding
    .def(
      nb::new_(&make_law), "passive"_a, "tasks"_a, nb::kw_only(), "metric"_a = options.metric,
      "null_space"_a = NullTerms(), "limits"_a = options.limits,
      "cones"_a = std::vector<FrictionCone>(), "period"_a = options.period,
      "singular_tolerance"_a = options.singular_tolerance,
      "consistency_tolerance"_a = options.consistency_tolerance,
      "motion_limits"_a = options.motion_limits,
      "tasks: ServoTask, or ServoConstraint with default gains. period: from one evaluation to "
      "the\n"
      "next [s], for limits of rate.")
    .def_prop_ro("passive", [](const ServoLaw & law) { return law.shared_passive(); })
    .def_prop_ro("row_count", &ServoLaw::row_count)
    .def_prop_ro(
      "row_names",
      [](const ServoLaw & law)
      {
        Strings names;
        for (int row = 0; row < law.row_count(); ++row)
        {
          names.push_back(law.row_name(row));
        }
        return names;
      },
      "task/label of each row")
    .def_prop_ro(
      "task_names",
      [](const ServoLaw & law)
      {
        Strings names;
        for (const ServoTask & task : law.tasks())
        {
          names.push_back(task.constraint->name());
        }
        return names;
      })
    .def_prop_ro("metric", [](const ServoLaw & law) { return law.options().metric; })
    .def(
      "task",
      [](const std::shared_ptr<const ServoLaw> & law, const TaskKey & task)
      {
        // It refers to the system, which the law keeps alive; a keep_alive would make a cycle where
        // the law keeps the Python object of the constraint.
        const auto & held = law->tasks()[static_cast<std::size_t>(task_of(*law, task))].constraint;
        return std::shared_ptr<const ServoConstraint>(law, held.get());
      },
      "task"_a, "The ServoConstraint of a task, by name or index.")
    .def(
      "row_offset",
      [](const ServoLaw & law, const TaskKey & task) { return law.row_offset(task_of(law, task)); },
      "task"_a, "First row of a task.");
  binding
    .def(
      "reset",
      [](const ServoLaw & law, const State & state, OwnedServoWorkspace & w)
      { law.reset(checked_state(law, state), w.of(law)); },
      "state"_a, "workspace"_a,
      "Makes a workspace ready at another state, as its constructor does: finds ranks and usual\n"
      "sizes, and sets the references of tasks with start_reference MEASURED to what is there.")
    .def(
      "evaluate",
      [](
        const ServoLaw & law, const VectorArgument & q, const VectorArgument & u,
        OwnedServoWorkspace & w, double time)
      {
        const System & s = law.passive().system();
        return law.evaluate(
          time, checked(q, s.coordinate_count(), "q"), checked(u, s.speed_count(), "u"), w.of(law));
      },
      "q"_a, "u"_a, nb::kw_only(), "workspace"_a, "time"_a = 0.0,
      "One cycle: torques into workspace.result, forces into workspace.solution, both untouched\n"
      "unless has_output(status).")
    .def(
      "measure",
      [](const ServoLaw & law, const TaskKey & task, OwnedServoWorkspace & w)
      { return law.measure(task_of(law, task), w.of(law)); },
      "task"_a, "workspace"_a,
      "Makes the reference of a task what it has at the last evaluation, rates included.")
    .def(
      "hold",
      [](const ServoLaw & law, const TaskKey & task, OwnedServoWorkspace & w)
      { return law.hold(task_of(law, task), w.of(law)); },
      "task"_a, "workspace"_a, "Likewise, but at rest.");
}

void bind_workspace(nb::module_ & module)
{
  using W = OwnedServoWorkspace;
  nb::class_<W>(
    module, "ServoWorkspace",
    "Everything of a servo law that changes. Made once, at a state as in operation; one per "
    "thread.")
    .def(nb::init<std::shared_ptr<const ServoLaw>, const State &>(), "law"_a, "state"_a)
    .def(
      "reference",
      [](W & w, const TaskKey & task) -> ServoReference &
      { return w.workspace.reference(task_of(*w.law, task)); },
      "task"_a, nb::rv_policy::reference_internal,
      "What a task follows; write to its arrays before each evaluation.")
    .def(
      "set_reference",
      [](W & w, const TaskKey & key, const ServoReference & given)
      {
        const int task = task_of(*w.law, key);
        ServoReference & held = w.workspace.reference(task);
        if (
          given.position.size() != held.position.size() ||
          given.velocity.size() != held.velocity.size() ||
          given.acceleration.size() != held.acceleration.size())
        {
          throw std::invalid_argument(
            "the reference has other sizes than servo-constraint '" +
            w.law->tasks()[static_cast<std::size_t>(task)].constraint->name() + "'");
        }
        held = given;
      },
      "task"_a, "reference"_a, "Copies a reference, of a trajectory for instance.")
    .def(
      "set_error_dynamics",
      [](W & w, const TaskKey & task, const ErrorDynamics & gains)
      { w.workspace.error_dynamics(task_of(*w.law, task)) = gains; },
      "task"_a, "error_dynamics"_a)
    .def(
      "set_enabled",
      [](W & w, const TaskKey & task, bool enabled)
      { w.workspace.set_enabled(task_of(*w.law, task), enabled); },
      "task"_a, "enabled"_a, "Whether a task counts.")
    .def(
      "is_enabled",
      [](const W & w, const TaskKey & task)
      { return w.workspace.is_enabled(task_of(*w.law, task)); },
      "task"_a)
    .def(
      "set_weight",
      [](W & w, const TaskKey & task, double weight)
      {
        if (!w.workspace.set_weight(task_of(*w.law, task), weight))
        {
          throw std::invalid_argument(
            "weight is " + std::to_string(weight) + "; allowed: 1e-6 to 1e6");
        }
      },
      "task"_a, "weight"_a, "How much errors count beside those of other tasks of the priority.")
    .def(
      "weight",
      [](const W & w, const TaskKey & task) { return w.workspace.weight(task_of(*w.law, task)); },
      "task"_a)
    .def(
      "set_active",
      [](W & w, const std::variant<int, std::string> & key, bool active)
      {
        const ConstraintSet & set = w.law->passive().constraints();
        const auto * name = std::get_if<std::string>(&key);
        const int i = name != nullptr ? set.index(*name) : std::get<int>(key);
        if (!(i >= 0 && i < set.size()))
        {
          throw std::invalid_argument(
            "constraint " + std::to_string(i) + " does not exist; there are " +
            std::to_string(set.size()));
        }
        w.workspace.dynamics().set_active(i, active);
      },
      "constraint"_a, "active"_a, "Switches a passive constraint, by name or index.")
    .def_prop_rw(
      "external_null_vector",
      [](W & w)
      {
        Eigen::VectorXd & y = w.workspace.external_null_vector();
        return Eigen::Map<Eigen::VectorXd>(y.data(), y.size());
      },
      [](W & w, const VectorArgument & y)
      {
        Eigen::VectorXd & held = w.workspace.external_null_vector();
        held = checked(y, held.size(), "external_null_vector");
      },
      nb::rv_policy::reference_internal,
      "Part of y from outside (l): a writable view, to assign to as well.")
    .def_prop_ro(
      "null_vector", [](const W & w) { return view(w.workspace.null_vector()); },
      nb::rv_policy::reference_internal, "y of the last evaluation (l)")
    .def_prop_ro(
      "result", [](const W & w) -> const ServoResult & { return w.workspace.result(); },
      nb::rv_policy::reference_internal)
    .def_prop_ro(
      "solution", [](const W & w) -> const Solution & { return w.workspace.dynamics().solution(); },
      nb::rv_policy::reference_internal, "Motion and forces of the passive system with τ.")
    .def_prop_ro(
      "rows", [](const W & w) -> const Rows & { return w.workspace.rows(); },
      nb::rv_policy::reference_internal, "A_s and b_s of the tasks.")
    .def(
      "forget_inputs", [](W & w) { w.workspace.forget_inputs(); },
      "The next evaluation has no limit of rate.")
    .def(
      "set_last_inputs",
      [](W & w, const VectorArgument & inputs)
      {
        w.workspace.set_last_inputs(
          checked(inputs, w.law->passive().system().input_count(), "inputs"));
      },
      "inputs"_a, "The controls that the limit of rate counts from.");
}

}  // namespace

void bind_servo(nb::module_ & module)
{
  bind_servo_tasks(module);
  bind_references(module);
  bind_results(module);
  bind_law(module);
  bind_workspace(module);
  bind_servo_types(module);
  bind_loop_transmission(module);
}

}  // namespace constrained_dynamics::python
