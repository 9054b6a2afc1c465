// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>

#include <stdexcept>

#include "common.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "model/rigid_bodies.hpp"

namespace constrained_dynamics::python
{

namespace
{

using Names = std::vector<std::pair<std::string, std::string>>;

int frame_of(const System & system, const std::variant<int, std::string> & frame)
{
  if (const std::string * name = std::get_if<std::string>(&frame))
  {
    return system.frame_index(*name);
  }
  const int index = std::get<int>(frame);
  const int count = static_cast<int>(system.frame_names().size());
  if (!(index >= 0 && index < count))
  {
    throw std::invalid_argument(
      "frame " + std::to_string(index) + " does not exist; there are " + std::to_string(count));
  }
  return index;
}

/// A system at one state, on which Kinematics and its frames are views.
struct Kinematics
{
  std::shared_ptr<const System> system;
  std::unique_ptr<SystemData> data;

  void update(double time, const VectorArgument & q, const std::optional<VectorArgument> & u)
  {
    Eigen::VectorXd speeds = Eigen::VectorXd::Zero(system->speed_count());
    if (u)
    {
      speeds = checked(*u, system->speed_count(), "u");
    }
    require_output(
      system->update_kinematics(time, checked(q, system->coordinate_count(), "q"), speeds, *data),
      "kinematics");
    require_output(system->update_dynamics(*data), "dynamics");
  }
  const SystemTerms & terms() const { return data->terms; }
};

void bind_kinematics(nb::module_ & module)
{
  nb::class_<FrameKinematics> frame(
    module, "FrameKinematics", "Motion of a frame in the world, all in axes of the world.");
  frame.def_ro("rotation", &FrameKinematics::rotation, "R (3 × 3)")
    .def_ro("position", &FrameKinematics::position, "of the origin [m]")
    .def_ro("velocity", &FrameKinematics::velocity, "of the origin [m/s]")
    .def_ro("angular_velocity", &FrameKinematics::angular_velocity, "[rad/s]")
    .def_ro("acceleration_bias", &FrameKinematics::acceleration_bias, "at u̇ = 0 [m/s²]")
    .def_ro(
      "angular_acceleration_bias", &FrameKinematics::angular_acceleration_bias,
      "at u̇ = 0 [rad/s²]");

  nb::class_<Kinematics> binding(
    module, "Kinematics",
    "A system at a state: its terms (E1, E2) and the motion of its frames. Arrays are views: the\n"
    "next `update` changes them.");
  binding
    .def(
      "__init__",
      [](
        Kinematics * self, std::shared_ptr<const System> system,
        const std::optional<VectorArgument> & q, const std::optional<VectorArgument> & u,
        double time)
      {
        auto data = system->make_data();
        new (self) Kinematics{std::move(system), std::move(data)};
        const Eigen::VectorXd neutral = self->system->neutral_coordinates();
        try
        {
          self->update(
            time,
            q ? *q
              : VectorArgument(VectorArgument::Array(
                  neutral.data(), {static_cast<std::size_t>(neutral.size())})),
            u);
        }
        catch (...)
        {
          self->~Kinematics();
          throw;
        }
      },
      "system"_a, "q"_a = nb::none(), "u"_a = nb::none(), "time"_a = 0.0,
      "At a state; q is by default the neutral configuration, u zero.")
    .def(
      "update", &Kinematics::update, "time"_a, "q"_a, "u"_a = nb::none(),
      "Goes to another state. Raises RuntimeError with the status where it cannot be evaluated.")
    .def(
      "frame",
      [](const Kinematics & self, const std::variant<int, std::string> & name)
      {
        FrameKinematics out;
        self.system->frame_kinematics(*self.data, frame_of(*self.system, name), out);
        return out;
      },
      "frame"_a, "Motion of a frame, by name or index.")
    .def(
      "frame_jacobian",
      [](const Kinematics & self, const std::variant<int, std::string> & name)
      {
        Matrix6X out(6, self.system->speed_count());
        self.system->frame_jacobian(*self.data, frame_of(*self.system, name), out);
        return Eigen::MatrixXd(out);
      },
      "frame"_a, "Jacobian (6 × n) of the origin's velocity and of the angular velocity.")
    .def(
      "body_centre",
      [](const Kinematics & self, const std::variant<int, std::string> & name)
      {
        const RigidBodySystem * robot = self.system->as_robot();
        if (robot == nullptr)
        {
          throw std::invalid_argument("body_centre: only a RigidBodySystem has one");
        }
        return robot->body_centre(*self.data, frame_of(*self.system, name));
      },
      "frame"_a, "Centre of mass of the body that a frame moves with, in the world [m].")
    .def_prop_ro("time", [](const Kinematics & self) { return self.terms().time; })
    .def_prop_ro(
      "kinetic_energy",
      [](const Kinematics & self) { return self.system->kinetic_energy(*self.data); }, "[J]")
    .def_prop_ro(
      "potential_energy",
      [](const Kinematics & self) { return self.system->potential_energy(*self.data); }, "[J]")
    .def_prop_ro(
      "gravity_torque",
      [](const Kinematics & self)
      {
        const RigidBodySystem * robot = self.system->as_robot();
        if (robot == nullptr)
        {
          throw std::invalid_argument("gravity_torque: only a RigidBodySystem has one");
        }
        Eigen::VectorXd out(robot->speed_count());
        robot->gravity_torque(*self.data, out);
        return out;
      },
      "Generalized force (n) that holds a RigidBodySystem still against gravity.")
    .def_prop_ro(
      "centre_of_mass",
      [](const Kinematics & self)
      {
        const RigidBodySystem * robot = self.system->as_robot();
        if (robot == nullptr)
        {
          throw std::invalid_argument("centre_of_mass: only a RigidBodySystem has one");
        }
        return robot->centre_of_mass(*self.data);
      },
      "Of everything that moves, in the world [m].");
  const auto term = [&binding](const char * name, auto member, const char * doc)
  {
    binding.def_prop_ro(
      name, [member](const Kinematics & self) { return view(self.terms().*member); },
      nb::rv_policy::reference_internal, doc);
  };
  term("coordinates", &SystemTerms::coordinates, "q (nq)");
  term("speeds", &SystemTerms::speeds, "u (n)");
  term("kinematic_matrix", &SystemTerms::kinematic_matrix, "C (nq × n) of q̇ = C u + D");
  term("kinematic_drift", &SystemTerms::kinematic_drift, "D (nq)");
  term("rates", &SystemTerms::rates, "q̇ (nq)");
  term("acceleration_bias", &SystemTerms::acceleration_bias, "q̈ at u̇ = 0 (nq)");
  term("mass_matrix", &SystemTerms::mass_matrix, "Q (n × n)");
  term("force", &SystemTerms::force, "P (n): active forces minus velocity terms, without inputs");
  term("input_matrix", &SystemTerms::input_matrix, "G (n × l)");
}

/// Poses (T, F, 4, 4) of frames at T configurations.
nb::ndarray<nb::numpy, double> frame_poses(
  const System & system, const MatrixArgument & q,
  const std::vector<std::variant<int, std::string>> & frames)
{
  const MatrixArgument::Array & coordinates = q.array();
  const std::size_t count = coordinates.shape(0);
  if (static_cast<int>(coordinates.shape(1)) != system.coordinate_count())
  {
    throw std::invalid_argument(
      "q has " + std::to_string(coordinates.shape(1)) + " columns; " +
      std::to_string(system.coordinate_count()) + " are needed");
  }
  std::vector<int> indices;
  for (const auto & frame : frames)
  {
    indices.push_back(frame_of(system, frame));
  }
  auto * poses = new std::vector<double>(count * indices.size() * 16, 0.0);
  nb::capsule owner(poses, [](void * p) noexcept { delete static_cast<std::vector<double> *>(p); });
  Status status = Status::kOk;
  {
    nb::gil_scoped_release release;
    const std::unique_ptr<SystemData> data = system.make_data();
    const Eigen::VectorXd rest = Eigen::VectorXd::Zero(system.speed_count());
    FrameKinematics frame;
    double * out = poses->data();
    for (std::size_t i = 0; i < count && has_output(status); ++i)
    {
      const Eigen::Map<const Eigen::VectorXd> q_i(
        coordinates.data() + i * coordinates.shape(1), system.coordinate_count());
      status = system.update_kinematics(0.0, q_i, rest, *data);
      for (std::size_t k = 0; k < indices.size() && has_output(status); ++k, out += 16)
      {
        system.frame_kinematics(*data, indices[k], frame);
        Eigen::Map<Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> pose(out);
        pose.topLeftCorner<3, 3>() = frame.rotation;
        pose.topRightCorner<3, 1>() = frame.position;
        pose(3, 3) = 1.0;
      }
    }
  }
  require_output(status, "frame_poses");
  return nb::ndarray<nb::numpy, double>(poses->data(), {count, indices.size(), 4, 4}, owner);
}

void bind_system(nb::module_ & module)
{
  nb::class_<System>(
    module, "System",
    "The unconstrained system q̇ = C u + D, Q u̇ = P + G τ + F^c (E1, E2). Constant; may be shared\n"
    "by threads.")
    .def_prop_ro("coordinate_count", &System::coordinate_count, "nq")
    .def_prop_ro("speed_count", &System::speed_count, "n")
    .def_prop_ro("input_count", &System::input_count, "l")
    .def_prop_ro("coordinate_names", &System::coordinate_names)
    .def_prop_ro("speed_names", &System::speed_names)
    .def_prop_ro("input_names", &System::input_names)
    .def_prop_ro("frame_names", &System::frame_names, "Frame 0 of a spatial system is 'world'.")
    .def("coordinate_index", &System::coordinate_index, "name"_a)
    .def("speed_index", &System::speed_index, "name"_a)
    .def("input_index", &System::input_index, "name"_a)
    .def("frame_index", &System::frame_index, "name"_a)
    .def(
      "body_of_frame",
      [](const System & self, const std::variant<int, std::string> & frame)
      { return self.body_of_frame(frame_of(self, frame)); },
      "frame"_a, "Name of the link that a frame is fixed to; 'world' for the world.")
    .def_prop_ro(
      "neutral_coordinates", &System::neutral_coordinates,
      "A configuration that every evaluation accepts: zeros, unit quaternions.")
    .def(
      "normalise",
      [](const System & self, const VectorArgument & q)
      {
        Eigen::VectorXd out = checked(q, self.coordinate_count(), "q");
        self.normalise(out);
        return out;
      },
      "q"_a, "q with quaternions of length 1.")
    .def(
      "joint_bodies",
      [](const System & self, const std::string & coordinate)
        -> std::optional<std::pair<std::string, std::string>>
      {
        const int index = self.coordinate_index(coordinate);
        if (!self.has_joint(index))
        {
          return std::nullopt;
        }
        return self.joint_bodies(index);
      },
      "coordinate"_a,
      "Names of child and parent body of the joint of one degree of freedom that a coordinate\n"
      "belongs to; None where it belongs to none.")
    .def(
      "frame_poses", &frame_poses, "q"_a, "frames"_a,
      "Poses (T, F, 4, 4) of frames in the world at configurations q (T, nq).");
}

std::vector<NamedFormula> formulas_of(const nb::dict & dict)
{
  std::vector<NamedFormula> formulas;
  for (const auto & [name, formula] : dict)
  {
    formulas.push_back({nb::cast<std::string>(name), nb::cast<std::string>(nb::str(formula))});
  }
  return formulas;
}

std::shared_ptr<const AnalyticSystem> make_analytic(
  const std::vector<std::string> & coordinates, const std::string & kinetic,
  const std::string & potential, const nb::dict & parameters, const nb::dict & definitions,
  const nb::dict & speeds, const nb::dict & force, const nb::dict & inputs,
  const std::optional<VectorArgument> & regular_coordinates)
{
  AnalyticDescription description;
  description.coordinates = coordinates;
  description.kinetic = kinetic;
  description.potential = potential;
  for (const auto & [name, value] : parameters)
  {
    description.parameters.emplace_back(
      nb::cast<std::string>(name), nb::cast<double>(nb::float_(value)));
  }
  description.definitions = formulas_of(definitions);
  description.speeds = formulas_of(speeds);
  description.force = formulas_of(force);
  for (const auto & [name, coefficients] : inputs)
  {
    description.inputs.push_back(
      {nb::cast<std::string>(name), formulas_of(nb::cast<nb::dict>(coefficients))});
  }
  if (regular_coordinates)
  {
    description.regular_coordinates = view(*regular_coordinates);
  }
  return make_analytic_system(description);
}

void bind_analytic_system(nb::module_ & module)
{
  nb::class_<AnalyticSystem, System>(
    module, "AnalyticSystem",
    "A textbook system from formulas: no bodies and no frames, but speeds of one's own choice.")
    .def(
      nb::new_(&make_analytic), "coordinates"_a, "kinetic"_a, nb::kw_only(), "potential"_a = "",
      "parameters"_a = nb::dict(), "definitions"_a = nb::dict(), "speeds"_a = nb::dict(),
      "force"_a = nb::dict(), "inputs"_a = nb::dict(), "regular_coordinates"_a = nb::none(),
      "kinetic, potential: formulas [J]. speeds, force, definitions: name → formula, in order.\n"
      "inputs: input → {coordinate or speed: coefficient}. Language: doc/scenario.md.")
    .def(
      "speeds_from_rates",
      [](
        const AnalyticSystem & self, const VectorArgument & q, const VectorArgument & rates,
        double time)
      {
        Eigen::VectorXd u = Eigen::VectorXd::Zero(self.speed_count());
        require_output(
          self.speeds_from_rates(
            time, checked(q, self.coordinate_count(), "q"),
            checked(rates, self.coordinate_count(), "rates"), u),
          "speeds_from_rates");
        return u;
      },
      "q"_a, "rates"_a, "time"_a = 0.0, "Speeds (n) that belong to rates q̇ (nq).");
}

void bind_control_states(nb::module_ & module)
{
  using Strings = std::vector<std::string>;
  nb::class_<ControlStateSystem, System>(
    module, "ControlStateSystem",
    "A system whose controls are states (E16), so that rows may contain them: inputs in `first` "
    "become\n"
    "speeds, and their rates (d…) the inputs; of coordinates in `second` the second derivatives "
    "(dd…)\n"
    "are the inputs.")
    .def(
      nb::new_(
        [](std::shared_ptr<const System> system, const Strings & first, const Strings & second) {
          return std::make_shared<ControlStateSystem>(
            std::move(system), ControlStates{first, second});
        }),
      "system"_a, nb::kw_only(), "first"_a = Strings(), "second"_a = Strings())
    .def_prop_ro("wrapped", [](const ControlStateSystem & s) { return s.shared_wrapped(); });
}

}  // namespace

void bind_systems(nb::module_ & module)
{
  bind_system(module);
  bind_kinematics(module);
  bind_rigid_bodies(module);
  bind_analytic_system(module);
  bind_control_states(module);
}

}  // namespace constrained_dynamics::python
