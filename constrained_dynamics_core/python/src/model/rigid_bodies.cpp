// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/rigid_body_system.hpp"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <filesystem>
#include <stdexcept>
#include <tuple>

#include "common.hpp"
#include "constrained_dynamics/model/force_element.hpp"
#include "model/rigid_bodies.hpp"

namespace constrained_dynamics::python
{

namespace
{

using Inertia = std::variant<VectorArgument, MatrixArgument>;

/// From three principal moments or nine numbers.
Eigen::Matrix3d inertia_of(const Inertia & inertia)
{
  if (const auto * moments = std::get_if<VectorArgument>(&inertia))
  {
    return vector3(*moments, "inertia").asDiagonal();
  }
  const Eigen::MatrixXd given = matrix(std::get<MatrixArgument>(inertia));
  if (given.rows() != 3 || given.cols() != 3)
  {
    throw std::invalid_argument(
      "inertia is " + std::to_string(given.rows()) + " × " + std::to_string(given.cols()) +
      "; three moments or 3 × 3 are needed");
  }
  return given;
}

void bind_force_elements(nb::module_ & module)
{
  nb::class_<ForceElement>(
    module, "ForceElement", "A force between two frames: Spring and TorsionSpring make one.")
    .def_prop_ro("name", &ForceElement::name)
    .def_prop_ro("type", &ForceElement::type)
    .def_prop_ro("frame_a", &ForceElement::frame_a)
    .def_prop_ro("frame_b", &ForceElement::frame_b);
  nb::class_<ForceElementState>(module, "ForceElementState", "A force element at one state.")
    .def_ro("value", &ForceElementState::value, "length [m] or angle [rad]")
    .def_ro("rate", &ForceElementState::rate, "its derivative")
    .def_ro("effort", &ForceElementState::effort, "that resists an increase of it [N, N m]")
    .def_ro("energy", &ForceElementState::energy, "stored [J]")
    .def_ro("damper_power", &ForceElementState::damper_power, "at most 0 [W]")
    .def_ro("supplied_power", &ForceElementState::supplied_power, "of a formula [W]")
    .def_ro("on_a", &ForceElementState::on_a, "Wrench on body A; B receives the opposite");
}

void bind_scene(nb::module_ & module)
{
  nb::enum_<RobotFormat>(module, "RobotFormat", "Language of a robot description.")
    .value("URDF", RobotFormat::kUrdf)
    .value("MJCF", RobotFormat::kMjcf)
    .value("SDF", RobotFormat::kSdf);
  nb::enum_<Base>(module, "Base", "How the root of a robot, or a free body, moves in the world.")
    .value("FIXED", Base::kFixed, "welded to the world")
    .value("PLANAR", Base::kPlanar, "x, y and the angle about z")
    .value("FLOATING", Base::kFloating, "all six degrees of freedom");

  using Vector = VectorArgument;
  const nb::tuple zeros = nb::make_tuple(0.0, 0.0, 0.0);
  nb::class_<Pose>(module, "Pose", "Where a frame is in its parent, as in URDF.")
    .def(
      "__init__",
      [](Pose * self, const Vector & xyz, const Vector & rpy) {
        new (self) Pose{vector3(xyz, "xyz"), vector3(rpy, "rpy")};
      },
      "xyz"_a = zeros, "rpy"_a = zeros, "Metres; roll, pitch and yaw in radians.")
    .def("__getstate__", [](const Pose & pose) { return std::make_tuple(pose.xyz, pose.rpy); })
    .def(
      "__setstate__",
      [](Pose & pose, const std::tuple<Eigen::Vector3d, Eigen::Vector3d> & parts) {
        new (&pose) Pose{std::get<0>(parts), std::get<1>(parts)};
      })
    .def_rw("xyz", &Pose::xyz)
    .def_rw("rpy", &Pose::rpy);
  nb::class_<RobotDescription>(
    module, "RobotDescription", "One robot of a scene. Meshes are never read.")
    .def(
      "__init__",
      [](
        RobotDescription * self, const std::string & text, RobotFormat format, Base base,
        const std::string & name, const std::string & prefix, const Pose & pose,
        const std::map<std::string, double> & locked, bool use_file_constraints,
        const std::string & source, const std::string & folder,
        const std::map<std::string, std::string> & replaced, bool allow_light_links)
      {
        new (self) RobotDescription{name,   prefix,   format,
                                    text,   source,   base,
                                    pose,   locked,   use_file_constraints,
                                    folder, replaced, allow_light_links};
      },
      "text"_a, "format"_a = RobotFormat::kUrdf, nb::kw_only(), "base"_a = Base::kFixed,
      "name"_a = "", "prefix"_a = "", "pose"_a = Pose(),
      "locked"_a = std::map<std::string, double>(), "use_file_constraints"_a = true,
      "source"_a = "", "folder"_a = "", "replaced"_a = std::map<std::string, std::string>(),
      "allow_light_links"_a = false,
      "text: the XML document itself. locked: joints frozen at a value. folder: where <include>\n"
      "may read. replaced: joints that become 'ball', or universal about two axes of their frame,\n"
      "'xy', 'zx', …. allow_light_links: links without mass may move.")
    .def_static(
      "load", [](const std::string & path) { return load_robot_description(path); }, "path"_a,
      "Reads a file; the format follows from its root element.")
    .def_rw("name", &RobotDescription::name)
    .def_rw("prefix", &RobotDescription::prefix)
    .def_rw("format", &RobotDescription::format)
    .def_rw("text", &RobotDescription::text)
    .def_rw("source", &RobotDescription::source)
    .def_rw("base", &RobotDescription::base)
    .def_rw("pose", &RobotDescription::pose)
    .def_rw("locked", &RobotDescription::locked)
    .def_rw("use_file_constraints", &RobotDescription::use_file_constraints)
    .def_rw("folder", &RobotDescription::folder)
    .def_rw("replaced", &RobotDescription::replaced)
    .def_rw("allow_light_links", &RobotDescription::allow_light_links);
  nb::class_<FreeBody>(module, "FreeBody", "A rigid body without parent.")
    .def(
      "__init__",
      [](
        FreeBody * self, const std::string & name, double mass, const Inertia & inertia,
        const Vector & com, Base base, const Pose & pose)
      { new (self) FreeBody{name, mass, vector3(com, "com"), inertia_of(inertia), base, pose}; },
      "name"_a, "mass"_a, "inertia"_a, nb::kw_only(), "com"_a = zeros, "base"_a = Base::kFloating,
      "pose"_a = Pose(), "inertia: ixx, iyy, izz or 3 × 3, about com, body axes [kg m²].");
  nb::class_<Attachment>(
    module, "Attachment", "A massive thing that is welded to a link, e.g. a tool; also a frame.")
    .def(
      "__init__",
      [](
        Attachment * self, const std::string & name, const std::string & parent, const Pose & pose,
        double mass, const Vector & com, const Inertia & inertia) {
        new (self) Attachment{name, parent, pose, mass, vector3(com, "com"), inertia_of(inertia)};
      },
      "name"_a, "parent"_a, nb::kw_only(), "pose"_a = Pose(), "mass"_a = 0.0, "com"_a = zeros,
      "inertia"_a = zeros);
  nb::class_<FrameDescription>(
    module, "Frame", "A massless named frame for constraints and measurements.")
    .def(
      "__init__",
      [](
        FrameDescription * self, const std::string & name, const std::string & parent,
        const Pose & pose) {
        new (self) FrameDescription{name, parent, pose};
      },
      "name"_a, "parent"_a = "world", "pose"_a = Pose());
  nb::class_<JointSpring>(module, "JointSpring", "Force −stiffness (q − rest) on a joint.")
    .def(
      "__init__",
      [](JointSpring * self, const std::string & joint, double stiffness, double rest) {
        new (self) JointSpring{joint, stiffness, rest};
      },
      "joint"_a, "stiffness"_a, "rest"_a = 0.0);
  nb::class_<ExternalWrench>(
    module, "ExternalWrench", "A place where a wrench from outside may act.")
    .def(
      "__init__",
      [](
        ExternalWrench * self, const std::string & name, const std::string & frame,
        bool expressed_in_frame, const Vector & force, const Vector & torque)
      {
        new (self) ExternalWrench{
          name, frame, expressed_in_frame, vector3(force, "force"), vector3(torque, "torque")};
      },
      "name"_a, "frame"_a, nb::kw_only(), "expressed_in_frame"_a = false, "force"_a = zeros,
      "torque"_a = zeros, "The wrench acts at the frame's origin [N, N m].");
}

std::shared_ptr<const RigidBodySystem> make_scene(
  const std::vector<RobotDescription> & robots, const std::vector<FreeBody> & bodies,
  const std::vector<Attachment> & attachments, const std::vector<FrameDescription> & frames,
  const VectorArgument & gravity, const std::vector<JointSpring> & springs,
  const std::map<std::string, double> & dampers, const std::map<std::string, double> & armature,
  bool use_model_damping, const std::optional<std::vector<std::string>> & actuated,
  const std::vector<ExternalWrench> & external_wrenches,
  const std::vector<std::shared_ptr<const ForceElement>> & force_elements, int link_limit,
  int depth_limit, const std::string & model)
{
  SceneDescription scene;
  scene.robots = robots;
  scene.bodies = bodies;
  scene.attachments = attachments;
  scene.frames = frames;
  scene.gravity = vector3(gravity, "gravity");
  scene.springs = springs;
  scene.dampers = dampers;
  scene.armature = armature;
  scene.use_model_damping = use_model_damping;
  scene.actuated = actuated;
  scene.external_wrenches = external_wrenches;
  scene.force_elements = force_elements;
  scene.size_limits = {link_limit, depth_limit};
  nb::gil_scoped_release release;
  return model.empty() ? std::make_shared<const RigidBodySystem>(scene)
                       : system_of_model_text(model, scene);
}

void bind_rigid_body_system(nb::module_ & module)
{
  nb::class_<RigidBodySystem::Limits>(module, "JointLimits", "Infinite where none are stated.")
    .def_ro("lower", &RigidBodySystem::Limits::lower)
    .def_ro("upper", &RigidBodySystem::Limits::upper)
    .def_ro("velocity", &RigidBodySystem::Limits::velocity)
    .def_ro("effort", &RigidBodySystem::Limits::effort);
  nb::class_<RigidBodySystem::Mimic>(
    module, "Mimic", "joint = multiplier · source + offset, as a description states it.")
    .def_ro("joint", &RigidBodySystem::Mimic::joint)
    .def_ro("source", &RigidBodySystem::Mimic::source)
    .def_ro("multiplier", &RigidBodySystem::Mimic::multiplier)
    .def_ro("offset", &RigidBodySystem::Mimic::offset)
    .def_ro("name", &RigidBodySystem::Mimic::name, "Of its constraint; empty: <joint>_mimic.");

  nb::class_<RigidBodySystem, System> binding(
    module, "RigidBodySystem",
    "Robots (URDF, MJCF, SDF), free bodies and tools in one world: the tree that constraints "
    "close.");
  binding
    .def(
      nb::new_(&make_scene), "robots"_a = std::vector<RobotDescription>(), nb::kw_only(),
      "bodies"_a = std::vector<FreeBody>(), "attachments"_a = std::vector<Attachment>(),
      "frames"_a = std::vector<FrameDescription>(), "gravity"_a = nb::make_tuple(0.0, 0.0, -9.81),
      "springs"_a = std::vector<JointSpring>(), "dampers"_a = std::map<std::string, double>(),
      "armature"_a = std::map<std::string, double>(), "use_model_damping"_a = true,
      "actuated"_a = nb::none(), "external_wrenches"_a = std::vector<ExternalWrench>(),
      "force_elements"_a = std::vector<std::shared_ptr<const ForceElement>>(),
      "link_limit"_a = SizeLimits().links, "depth_limit"_a = SizeLimits().depth, "model"_a = "",
      "A scene. Raises ValueError naming robot, link or joint, the value and what is allowed.\n"
      "actuated: joints or speeds with an input each; None: all joints of one degree of freedom.\n"
      "model: what saveToString() of a pinocchio.Model gives, which the rest is added to and "
      "whose\n"
      "gravity holds; from_pinocchio() does that.")
    .def_prop_ro("warnings", &RigidBodySystem::warnings, "What is stated and not applied.")
    .def_prop_ro("mimics", &RigidBodySystem::mimics)
    .def_prop_ro("limits", &RigidBodySystem::limits, "Of each coordinate.")
    .def_prop_ro("joint_names", &RigidBodySystem::joint_names, "Joints of one degree of freedom.")
    .def_prop_ro("link_names", &RigidBodySystem::link_names, "Links and free bodies, not 'world'.")
    .def_prop_ro("external_wrench_names", &RigidBodySystem::external_wrench_names)
    .def_prop_ro("force_elements", &RigidBodySystem::force_elements)
    .def_prop_ro("joints", &RigidBodySystem::joints, "All joints that move.")
    .def_prop_ro("total_mass", &RigidBodySystem::total_mass, "Of everything that moves [kg].")
    .def_prop_ro("gravity", &RigidBodySystem::gravity, "[m/s²]")
    .def_prop_ro(
      "damping", [](const RigidBodySystem & self) { return view(self.damping()); },
      nb::rv_policy::reference_internal, "Viscous coefficient that acts on each speed (n).")
    .def_prop_ro("joint_friction", &RigidBodySystem::joint_friction, "Dry friction, not applied.")
    .def(
      "__repr__",
      [](const RigidBodySystem & self)
      {
        return "RigidBodySystem(" + std::to_string(self.link_names().size()) + " links, " +
               std::to_string(self.speed_count()) + " speeds, " +
               std::to_string(self.input_count()) + " inputs)";
      });

  const auto from = [&binding](const char * name, auto function, const char * argument)
  {
    binding.def_static(
      name, function, nb::call_guard<nb::gil_scoped_release>(), nb::arg(argument),
      "base"_a = Base::kFixed, "One robot, everything else default.");
  };
  const auto from_text = [](auto function)
  { return [function](const std::string & text, Base base) { return function(text, base); }; };
  const auto from_file = [](auto function)
  {
    return [function](const std::filesystem::path & path, Base base)
    { return function(path.string(), base); };
  };
  from("from_urdf", from_file(&RigidBodySystem::from_urdf_file), "path");
  from("from_urdf_text", from_text(&RigidBodySystem::from_urdf_text), "text");
  from("from_mjcf", from_file(&RigidBodySystem::from_mjcf_file), "path");
  from("from_mjcf_text", from_text(&RigidBodySystem::from_mjcf_text), "text");
  from("from_sdf", from_file(&RigidBodySystem::from_sdf_file), "path");
  from("from_sdf_text", from_text(&RigidBodySystem::from_sdf_text), "text");
}

}  // namespace

void bind_rigid_bodies(nb::module_ & module)
{
  bind_force_elements(module);
  bind_scene(module);
  bind_rigid_body_system(module);
  bind_pinocchio(module);
}

}  // namespace constrained_dynamics::python
