// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/real_robots.hpp"

#include <nanobind/stl/pair.h>

#include <memory>
#include <utility>

#include "common.hpp"
#include "constrained_dynamics/analysis/identification.hpp"
#include "constrained_dynamics/scenario/profile_file.hpp"
#include "constrained_dynamics/servo/command_integrator.hpp"
#include "constrained_dynamics/servo/force_certificate.hpp"
#include "constrained_dynamics/servo/momentum_observer.hpp"
#include "constrained_dynamics/servo/robot_profile.hpp"
#include "constrained_dynamics/servo/wrench_compensation.hpp"
#include "dynamics/owned_workspace.hpp"

namespace constrained_dynamics::python
{

namespace
{

using Strings = std::vector<std::string>;
using Flags = std::vector<bool>;

Eigen::VectorXd numbers(const std::optional<VectorArgument> & given)
{
  return given ? Eigen::VectorXd(view(*given)) : Eigen::VectorXd();
}

/// Accelerations: those given, or zeros.
Eigen::VectorXd or_zeros(const std::optional<VectorArgument> & given, Eigen::Index size)
{
  return given ? Eigen::VectorXd(view(*given)) : Eigen::VectorXd(Eigen::VectorXd::Zero(size));
}

void bind_profile(nb::module_ & module)
{
  nb::class_<JointFriction>(module, "JointFriction", "Friction of a joint by its speed (E50).")
    .def(nb::init<>())
    .def_rw("viscous", &JointFriction::viscous)
    .def_rw("coulomb", &JointFriction::coulomb)
    .def_rw("static_bound", &JointFriction::static_bound)
    .def_rw("stribeck", &JointFriction::stribeck)
    .def_rw("smoothing", &JointFriction::smoothing)
    .def("effort", &JointFriction::effort, "speed"_a, "Friction at a speed [N m, N].");
  nb::class_<ProfileJoint>(module, "ProfileJoint", "A joint of a RobotProfile.")
    .def(nb::init<>())
    .def_rw("name", &ProfileJoint::name)
    .def_rw("effort_limit", &ProfileJoint::effort_limit)
    .def_rw("effort_rate_limit", &ProfileJoint::effort_rate_limit)
    .def_rw("armature", &ProfileJoint::armature)
    .def_rw("friction", &ProfileJoint::friction);
  nb::class_<EffortTerms>(module, "EffortTerms", "Terms that an effort contains or a drive adds.")
    .def(
      "__init__",
      [](EffortTerms * self, bool gravity, bool friction, bool armature) {
        new (self) EffortTerms{gravity, friction, armature};
      },
      nb::kw_only(), "gravity"_a = false, "friction"_a = false, "armature"_a = false)
    .def_rw("gravity", &EffortTerms::gravity)
    .def_rw("friction", &EffortTerms::friction)
    .def_rw("armature", &EffortTerms::armature);
  nb::class_<Payload>(module, "Payload", "A tool or payload at a frame.")
    .def(nb::init<>())
    .def_rw("name", &Payload::name)
    .def_rw("frame", &Payload::frame)
    .def_rw("mass", &Payload::mass)
    .def_prop_rw(
      "com", [](const Payload & self) { return self.com; },
      [](Payload & self, const VectorArgument & com) { self.com = vector3(com, "com"); },
      "in the frame [m]")
    .def_rw("inertia", &Payload::inertia, "about com, in axes of the frame (3 × 3) [kg m²]");
  nb::class_<RobotProfile>(
    module, "RobotProfile", "What distinguishes a robot's drives and sensors from the model.")
    .def(nb::init<>())
    .def_static("load", &load_robot_profile, "path"_a, "Reads a YAML file.")
    .def_static(
      "from_text", &robot_profile_from_text, "text"_a, "source"_a = "profile", "Reads YAML.")
    .def("to_yaml", &write_robot_profile, "YAML that from_text restores exactly.")
    .def("check", &RobotProfile::check, "Raises ValueError for a value that is out of range.")
    .def_rw("name", &RobotProfile::name)
    .def_rw("joints", &RobotProfile::joints, "A list: assign it anew to change it.")
    .def_rw("command_interface", &RobotProfile::command_interface)
    .def_rw("position_interface", &RobotProfile::position_interface)
    .def_rw("velocity_interface", &RobotProfile::velocity_interface)
    .def_rw("effort_interface", &RobotProfile::effort_interface)
    .def_rw("command_adds", &RobotProfile::command_adds, "None: not known")
    .def_rw("effort_contains", &RobotProfile::effort_contains, "None: not known")
    .def_rw("drive_knows_payloads", &RobotProfile::drive_knows_payloads)
    .def_rw("friction_compensation", &RobotProfile::friction_compensation)
    .def_prop_rw(
      "gravity", [](const RobotProfile & self) { return self.gravity; },
      [](RobotProfile & self, const std::optional<VectorArgument> & gravity)
      {
        self.gravity =
          gravity ? std::optional<Eigen::Vector3d>(vector3(*gravity, "gravity")) : std::nullopt;
      },
      nb::arg().none(), "[m/s²]; None: that of the model")
    .def_rw("payloads", &RobotProfile::payloads, "A list: assign it anew to change it.")
    .def_rw("rate", &RobotProfile::rate)
    .def_rw("delay", &RobotProfile::delay);
  nb::class_<DriveConversion>(
    module, "DriveConversion", "Converts between efforts of the model and those of the drives.")
    .def(nb::init<RobotProfile, const System &>(), "profile"_a, "system"_a, nb::keep_alive<1, 3>())
    .def(
      "command",
      [](
        DriveConversion & self, const OwnedWorkspace & w, const VectorArgument & effort,
        const std::optional<VectorArgument> & acceleration, double period)
      {
        Eigen::VectorXd out(effort.size());
        const SystemData & data = w.workspace.system_data();
        const Status status = self.command(
          data, view(effort), or_zeros(acceleration, data.terms.speeds.size()), period, out);
        require_output(status, "command");
        return std::make_pair(status, out);
      },
      "workspace"_a, "effort"_a, "acceleration"_a = nb::none(), "period"_a = 0.0,
      "(status, command) at the state of the workspace; LIMITED: a limit binds. Raises\n"
      "RuntimeError without output.")
    .def_prop_ro(
      "requested", [](const DriveConversion & self) { return view(self.requested()); },
      nb::rv_policy::reference_internal, "The last command before its limits.")
    .def(
      "net_effort",
      [](
        DriveConversion & self, const OwnedWorkspace & w, const VectorArgument & measured,
        const std::optional<VectorArgument> & acceleration)
      {
        Eigen::VectorXd out(measured.size());
        const SystemData & data = w.workspace.system_data();
        require_output(
          self.net_effort(
            data, view(measured), or_zeros(acceleration, data.terms.speeds.size()), out),
          "net_effort");
        return out;
      },
      "workspace"_a, "measured"_a, "acceleration"_a = nb::none(),
      "Efforts of the model from measured ones. Raises RuntimeError without output.");
}

void bind_observer(nb::module_ & module)
{
  nb::class_<MomentumObserver> binding(
    module, "MomentumObserver",
    "External forces on a constrained robot, A2 F_ext, from motion and efforts (E51).");
  binding.def(
    "__init__",
    [](
      MomentumObserver * self, const std::shared_ptr<Dynamics> & dynamics, double gain,
      const std::optional<VectorArgument> & speed_noise,
      const std::optional<VectorArgument> & effort_noise,
      const std::optional<VectorArgument> & model_noise, const Flags & measured_speeds,
      double threshold, const Strings & frames)
    {
      MomentumObserverOptions options;
      options.gain = gain;
      options.speed_noise = numbers(speed_noise);
      options.effort_noise = numbers(effort_noise);
      options.model_noise = numbers(model_noise);
      options.measured_speeds = measured_speeds;
      options.threshold = threshold;
      options.frames = frames;
      new (self) MomentumObserver(dynamics, options);
    },
    "dynamics"_a, nb::kw_only(), "gain"_a = 50.0, "speed_noise"_a = nb::none(),
    "effort_noise"_a = nb::none(), "model_noise"_a = nb::none(), "measured_speeds"_a = Flags(),
    "threshold"_a = 5.0, "frames"_a = Strings(),
    "gain: K [1/s], the time constant is 1/K. Noises are standard deviations of each sample.");
  binding
    .def(
      "update",
      [](MomentumObserver & self, double period, const VectorArgument & effort, OwnedWorkspace & w)
      { return self.update(period, view(effort), w.workspace); },
      "period"_a, "effort"_a, "workspace"_a, "Adds the state of the workspace as a sample.")
    .def("reset", &MomentumObserver::reset)
    .def_prop_ro("force", &MomentumObserver::force, "A2 F_ext (n), 0 at dependent speeds.")
    .def_prop_ro("deviation", &MomentumObserver::deviation, "Standard deviations of `force`.")
    .def_prop_ro("independent", &MomentumObserver::independent, "1 at independent speeds.")
    .def_prop_ro("has_contact", &MomentumObserver::has_contact)
    .def_prop_ro("has_wrenches", &MomentumObserver::has_wrenches)
    .def_prop_ro("wrenches", &MomentumObserver::wrenches, "6 each, at the frames, world axes.")
    .def_prop_ro("wrench_covariance", &MomentumObserver::wrench_covariance);
}

void bind_compensation(nb::module_ & module)
{
  const auto with_output = [](
                             WrenchCompensation & self, const OwnedWorkspace & w,
                             const VectorArgument & reading,
                             const std::optional<VectorArgument> & acceleration)
  {
    WrenchVector out;
    const SystemData & data = w.workspace.system_data();
    require_output(
      self.compensate(data, or_zeros(acceleration, data.terms.speeds.size()), view(reading), out),
      "compensate");
    return Eigen::VectorXd(out);
  };
  nb::class_<WrenchCompensation>(
    module, "WrenchCompensation",
    "Takes weight, inertia and offset of a tool out of a force/torque sensor's readings.")
    .def(
      nb::init<const System &, const Payload &>(), "system"_a, "tool"_a, nb::keep_alive<1, 2>(),
      "tool: everything beyond the sensor, whose frame is that of the sensor.")
    .def(
      "compensate", with_output, "workspace"_a, "reading"_a, "acceleration"_a = nb::none(),
      "The external wrench on the tool (6), in axes of the frame.")
    .def(
      "tare",
      [](
        WrenchCompensation & self, const OwnedWorkspace & w, const VectorArgument & reading,
        const std::optional<VectorArgument> & acceleration)
      {
        const SystemData & data = w.workspace.system_data();
        return self.tare(data, or_zeros(acceleration, data.terms.speeds.size()), view(reading));
      },
      "workspace"_a, "reading"_a, "acceleration"_a = nb::none(),
      "Sets the offset while nothing touches the tool; returns a Status.")
    .def_prop_ro(
      "offset", [](const WrenchCompensation & self) { return Eigen::VectorXd(self.offset()); });
}

void bind_certificate(nb::module_ & module)
{
  nb::class_<WrenchSensor>(module, "WrenchSensor", "A force/torque sensor on the last link.")
    .def(
      "__init__",
      [](
        WrenchSensor * self, const std::string & name, const std::string & frame,
        double force_noise, double torque_noise) {
        new (self) WrenchSensor{name, frame, force_noise, torque_noise};
      },
      "name"_a, "frame"_a, "force_noise"_a = 0.0, "torque_noise"_a = 0.0)
    .def_rw("name", &WrenchSensor::name)
    .def_rw("frame", &WrenchSensor::frame)
    .def_rw("force_noise", &WrenchSensor::force_noise)
    .def_rw("torque_noise", &WrenchSensor::torque_noise);
  nb::class_<ForceCertificate> binding(
    module, "ForceCertificate",
    "Which constraint and contact forces the sensors determine, and how well (E53).");
  binding.def(
    "__init__",
    [](
      ForceCertificate * self, const std::shared_ptr<Dynamics> & dynamics,
      const Flags & measured_efforts, const std::optional<VectorArgument> & effort_noise,
      const std::optional<VectorArgument> & model_noise, const Strings & frames,
      const std::vector<WrenchSensor> & sensors)
    {
      new (self) ForceCertificate(
        dynamics, {measured_efforts, numbers(effort_noise), numbers(model_noise), frames, sensors});
    },
    "dynamics"_a, nb::kw_only(), "measured_efforts"_a = Flags(), "effort_noise"_a = nb::none(),
    "model_noise"_a = nb::none(), "frames"_a = Strings(),
    "sensors"_a = std::vector<WrenchSensor>());
  binding
    .def(
      "start",
      [](ForceCertificate & self, const State & state, OwnedWorkspace & w, bool with_observer)
      { self.start(state, with_observer, w.workspace); },
      "state"_a, "workspace"_a, "with_observer"_a = false, "Finds the nominal rank around a state.")
    .def(
      "update",
      [](
        ForceCertificate & self, const VectorArgument & effort, OwnedWorkspace & w,
        const std::optional<VectorArgument> & readings, const MomentumObserver * observer)
      { return self.update(view(effort), numbers(readings), observer, w.workspace); },
      "effort"_a, "workspace"_a, "readings"_a = nb::none(), "observer"_a = nb::none(),
      "Estimates at the state of the workspace; returns a Status.")
    .def_prop_ro("names", &ForceCertificate::names)
    .def_prop_ro("observable", &ForceCertificate::observable, "1 or 0 of each unknown")
    .def_prop_ro("estimate", &ForceCertificate::estimate)
    .def_prop_ro("covariance", &ForceCertificate::covariance, "infinite where unobservable")
    .def_prop_ro("rank", &ForceCertificate::rank)
    .def_prop_ro("nominal_rank", &ForceCertificate::nominal_rank);
}

void bind_commands(nb::module_ & module)
{
  const CommandIntegratorOptions defaults;
  nb::class_<CommandIntegrator>(
    module, "CommandIntegrator",
    "Position and velocity commands from the accelerations of a law, on the manifold (E54).")
    .def(
      "__init__",
      [](
        CommandIntegrator * self, const std::shared_ptr<Dynamics> & dynamics, double join_time,
        double position_bound, double velocity_bound) {
        new (self) CommandIntegrator(dynamics, {join_time, position_bound, velocity_bound});
      },
      "dynamics"_a, nb::kw_only(), "join_time"_a = defaults.join_time,
      "position_bound"_a = defaults.position_bound, "velocity_bound"_a = defaults.velocity_bound)
    .def("start", &CommandIntegrator::start, "state"_a, "Starts with the commands at a state.")
    .def(
      "update",
      [](
        CommandIntegrator & self, double time, double period, const VectorArgument & q,
        const VectorArgument & u, const VectorArgument & acceleration)
      { return self.update(time, period, view(q), view(u), view(acceleration)); },
      "time"_a, "period"_a, "q"_a, "u"_a, "acceleration"_a,
      "Advances the commands from a measured state; returns a Status.")
    .def_prop_ro("position", &CommandIntegrator::position)
    .def_prop_ro("velocity", &CommandIntegrator::velocity);
}

void bind_identification(nb::module_ & module)
{
  nb::class_<Identification>(
    module, "Identification", "Parameters of a payload and of friction from a recording (E55).")
    .def_ro("names", &Identification::names)
    .def_ro("estimate", &Identification::estimate)
    .def_ro("covariance", &Identification::covariance, "infinite where not identifiable")
    .def_ro("identifiable", &Identification::identifiable)
    .def_ro("rank", &Identification::rank)
    .def_ro("effort_deviation", &Identification::effort_deviation)
    .def("index", &Identification::index, "name"_a)
    .def(
      "store",
      [](
        const Identification & self, RobotProfile & profile, const std::string & payload_frame,
        const std::string & payload_name, double smoothing_speed)
      {
        IdentificationOptions options;
        options.payload_frame = payload_frame;
        options.smoothing_speed = smoothing_speed;
        store_identification(self, options, payload_name, profile);
      },
      "profile"_a, "payload_frame"_a = "", "payload_name"_a = "payload",
      "smoothing_speed"_a = IdentificationOptions().smoothing_speed,
      "Writes what is identifiable into a profile.");
  module.def(
    "identify",
    [](
      const Dynamics & dynamics, const VectorArgument & time, const MatrixArgument & position,
      const MatrixArgument & velocity, const MatrixArgument & effort,
      const std::optional<MatrixArgument> & acceleration, const std::string & payload_frame,
      bool friction, bool offset, double smoothing_speed)
    {
      MotionRecording recording;
      recording.time = view(time);
      recording.position = matrix(position);
      recording.velocity = matrix(velocity);
      recording.effort = matrix(effort);
      recording.acceleration = acceleration
                                 ? matrix(*acceleration)
                                 : differentiate_speeds(recording.time, recording.velocity);
      IdentificationOptions options;
      options.payload_frame = payload_frame;
      options.friction = friction;
      options.offset = offset;
      options.smoothing_speed = smoothing_speed;
      return identify(dynamics, recording, options);
    },
    "dynamics"_a, "time"_a, "position"_a, "velocity"_a, "effort"_a, nb::kw_only(),
    "acceleration"_a = nb::none(), "payload_frame"_a = "", "friction"_a = true, "offset"_a = false,
    "smoothing_speed"_a = IdentificationOptions().smoothing_speed,
    "Least squares over a recording, one row per sample; accelerations are central differences of\n"
    "the speeds unless given. Efforts are those of the motors: with gravity, friction and rotors.");
}

}  // namespace

void bind_real_robots(nb::module_ & module)
{
  bind_commands(module);
  bind_profile(module);
  bind_observer(module);
  bind_compensation(module);
  bind_certificate(module);
  bind_identification(module);
}

}  // namespace constrained_dynamics::python
