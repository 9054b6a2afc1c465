// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "workloads.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/constraints/rolling.hpp"
#include "urdf_writer.hpp"

namespace constrained_dynamics::bench
{

namespace
{

using Values = std::vector<std::pair<std::string, double>>;

constexpr double kPi = 3.14159265358979323846;

// All planar systems: plane x z, joints count counterclockwise about −y, rods lie along x at 0.
const Eigen::Vector3d kPlanarAxis(0.0, -1.0, 0.0);

Pose at(double x, double y = 0.0, double z = 0.0)
{
  Pose pose;
  pose.xyz = Eigen::Vector3d(x, y, z);
  return pose;
}

Workload start(const std::string & name, const std::string & text, const std::string & urdf)
{
  Workload workload;
  workload.name = name;
  workload.text = text;
  RobotDescription robot;
  robot.text = urdf;
  robot.source = name;
  workload.scene.robots.push_back(std::move(robot));
  workload.scene.use_model_damping = false;  // not every peer applies it
  workload.scene.size_limits = {1000, 1000};
  return workload;
}

/// Neutral coordinates but for the given ones.
Eigen::VectorXd coordinates(const System & system, const Values & values)
{
  Eigen::VectorXd q = system.neutral_coordinates();
  for (const auto & [name, value] : values)
  {
    q(system.coordinate_index(name)) = value;
  }
  return q;
}

Pose pose_of(const FrameKinematics & frame)
{
  const Eigen::Matrix3d & R = frame.rotation;
  Pose pose;
  pose.xyz = frame.position;
  pose.rpy = Eigen::Vector3d(
    std::atan2(R(2, 1), R(2, 2)), std::atan2(-R(2, 0), std::hypot(R(2, 1), R(2, 2))),
    std::atan2(R(1, 0), R(0, 0)));
  return pose;
}

/// Where a link's frame is in the world at the given coordinates.
Pose place_at(const SceneDescription & scene, const std::string & link, const Values & values)
{
  const RigidBodySystem system(scene);
  const auto data = system.make_data();
  const Eigen::VectorXd q = coordinates(system, values);
  const Eigen::VectorXd u = Eigen::VectorXd::Zero(system.speed_count());
  if (system.update_kinematics(0.0, q, u, *data) != Status::kOk)
  {
    throw std::logic_error("bench: the kinematics of " + scene.robots[0].source + " failed");
  }
  FrameKinematics frame;
  system.frame_kinematics(*data, system.frame_index(link), frame);
  return pose_of(frame);
}

std::string frame_name(std::size_t closure, char side)
{
  return "closure" + std::to_string(closure) + "_" + side;
}

/// Gives the scene a frame for both sides of every closure, then builds the system.
void build(Workload & workload)
{
  for (std::size_t i = 0; i < workload.closures.size(); ++i)
  {
    const Closure & closure = workload.closures[i];
    workload.scene.frames.push_back({frame_name(i, 'a'), closure.a.link, closure.a.pose});
    workload.scene.frames.push_back({frame_name(i, 'b'), closure.b.link, closure.b.pose});
  }
  workload.system = std::make_shared<RigidBodySystem>(workload.scene);
}

/// One FrameCoincidence a closure.
void close_frames(Workload & workload)
{
  for (std::size_t i = 0; i < workload.closures.size(); ++i)
  {
    const bool weld = workload.closures[i].kind == Closure::Kind::kWeld;
    const std::vector<std::string> rows = weld ? FrameCoincidence::all_rows()
                                          : workload.planar
                                            ? std::vector<std::string>{"x", "z"}
                                            : std::vector<std::string>{"x", "y", "z"};
    const auto add = [&](const std::string & name)
    {
      workload.constraints.push_back(std::make_shared<FrameCoincidence>(
        name, *workload.system, frame_name(i, 'a'), frame_name(i, 'b'), rows));
    };
    add("closure" + std::to_string(i));
    if (workload.redundant)
    {
      add("closure" + std::to_string(i) + "_again");
    }
    workload.rank += static_cast<int>(rows.size());
  }
}

/// State with the given coordinates, speeds on the manifold and inputs, all of them nonzero.
void set_state(Workload & workload, const Values & values)
{
  const System & system = *workload.system;
  workload.state.q = coordinates(system, values);
  workload.state.u.resize(system.speed_count());
  for (int i = 0; i < system.speed_count(); ++i)
  {
    workload.state.u(i) = 0.5 * std::sin(1.0 + i);
  }
  workload.inputs.resize(system.input_count());
  for (int i = 0; i < system.input_count(); ++i)
  {
    workload.inputs(i) = 2.0 * std::cos(1.0 + i);
  }
  const Dynamics dynamics(workload.constraint_set());
  Workspace workspace = Workspace::unanalysed(dynamics);
  Status status = dynamics.project_velocity(0.0, workload.state.q, workload.state.u, workspace);
  status = worse(
    status, dynamics.solve(0.0, workload.state.q, workload.state.u, workload.inputs, workspace));
  status = worse(status, dynamics.evaluate_terms(workspace));
  const double residual = workspace.rows().position.lpNorm<Eigen::Infinity>();
  if (!has_output(status) || residual > 1e-9)
  {
    throw std::logic_error(
      "bench: the state of " + workload.name + " is not on the manifold: status " +
      to_string(status) + ", residual " + std::to_string(residual));
  }
  workload.force = workspace.terms().input_matrix * workload.inputs;
}

// ---- W1, W6a: planar four-bar ------------------------------------------------------------------

Workload four_bar(bool redundant)
{
  const double rocker_length = std::sqrt(13.0);
  UrdfWriter urdf("ground");
  urdf.add_revolute("crank", "ground", Eigen::Vector3d::Zero(), kPlanarAxis, rod(1.0, 1.0));
  urdf.add_revolute("coupler", "crank", Eigen::Vector3d::UnitX(), kPlanarAxis, rod(2.0, 2.0));
  urdf.add_revolute(
    "rocker", "coupler", 2.0 * Eigen::Vector3d::UnitX(), kPlanarAxis, rod(rocker_length, 4.0));
  Workload workload = redundant ? start("W6a", "W1 with every constraint twice", urdf.text())
                                : start("W1", "planar four-bar", urdf.text());
  workload.planar = true;
  workload.redundant = redundant;
  // Cut at the rocker's pivot on the ground: a cut that every peer can express.
  workload.closures.push_back(
    {Closure::Kind::kPoint, {"rocker", at(rocker_length)}, {"world", at(4.0)}});
  build(workload);
  close_frames(workload);
  // Crank along x, coupler upright at (1, 0) to (1, 2), rocker from there down to (4, 0).
  set_state(
    workload, {{"crank_joint", 0.0},
               {"coupler_joint", kPi / 2.0},
               {"rocker_joint", -kPi / 2.0 - std::atan(2.0 / 3.0)}});
  return workload;
}

// ---- W2, W6b: Panda ----------------------------------------------------------------------------

Workload robot_from(
  const std::string & name, const std::string & text, const std::string & file, Base base)
{
  Workload workload = start(name, text, "");
  workload.scene.robots[0] = load_robot_description(file);
  workload.scene.robots[0].base = base;
  return workload;
}

const Values kPandaPosture = {{"panda_joint1", 0.3},  {"panda_joint2", -0.5}, {"panda_joint3", 0.2},
                              {"panda_joint4", -2.0}, {"panda_joint5", 0.1},  {"panda_joint6", 1.7},
                              {"panda_joint7", 0.6}};

Workload panda(const std::string & name, const std::string & text, const std::string & robots)
{
  Workload workload =
    robot_from(name, text, robots + "/panda_description/urdf/panda.urdf", Base::kFixed);
  workload.scene.robots[0].locked = {{"panda_finger_joint1", 0.0}, {"panda_finger_joint2", 0.0}};
  return workload;
}

constexpr char kPandaTool[] = "panda_hand_tcp";

Workload panda_on_plane(const std::string & robots)
{
  Workload workload = panda("W2a", "Panda, tip on a plane", robots);
  const Pose tip = place_at(workload.scene, kPandaTool, kPandaPosture);
  workload.is_stand_in = true;
  workload.closures.push_back({Closure::Kind::kPoint, {kPandaTool, Pose()}, {"world", tip}});
  build(workload);
  const Eigen::Vector3d normal = Eigen::Vector3d(-1.0, 0.2, 0.3).normalized();
  workload.constraints.push_back(std::make_shared<PointOnPlane>(
    "plane", *workload.system, kPandaTool, "world", normal, normal.dot(tip.xyz)));
  workload.rank = 1;
  set_state(workload, kPandaPosture);
  return workload;
}

Workload panda_welded(const std::string & robots, bool redundant)
{
  Workload workload = redundant ? panda("W6b", "W2b with every constraint twice", robots)
                                : panda("W2b", "Panda, tool welded to the world", robots);
  workload.redundant = redundant;
  const Pose tip = place_at(workload.scene, kPandaTool, kPandaPosture);
  workload.closures.push_back({Closure::Kind::kWeld, {kPandaTool, Pose()}, {"world", tip}});
  build(workload);
  close_frames(workload);
  set_state(workload, kPandaPosture);
  return workload;
}

// ---- W3: humanoid ------------------------------------------------------------------------------

Workload humanoid(const std::string & robots)
{
  Workload workload = robot_from(
    "W3", "humanoid, both feet welded to the world",
    robots + "/talos_data/robots/talos_reduced.urdf", Base::kFloating);
  Values posture;
  for (const char * side : {"left", "right"})
  {
    const std::string leg = std::string("leg_") + side + "_";
    posture.insert(
      posture.end(), {{leg + "1_joint", 0.05},
                      {leg + "2_joint", 0.1},
                      {leg + "3_joint", -0.4},
                      {leg + "4_joint", 0.9},
                      {leg + "5_joint", -0.5},
                      {leg + "6_joint", -0.05},
                      {std::string("arm_") + side + "_4_joint", -1.0}});
  }
  for (const char * side : {"left", "right"})
  {
    const std::string foot = std::string(side) + "_sole_link";
    workload.closures.push_back(
      {Closure::Kind::kWeld, {foot, Pose()}, {"world", place_at(workload.scene, foot, posture)}});
  }
  build(workload);
  close_frames(workload);
  set_state(workload, posture);
  return workload;
}

// ---- W4: growth --------------------------------------------------------------------------------

Workload start_of_family(
  const std::string & family, int size, const std::string & text, const UrdfWriter & urdf)
{
  Workload workload = start(family + "_" + std::to_string(size), text, urdf.text());
  workload.family = family;
  workload.size = size;
  workload.planar = true;
  return workload;
}

std::string numbered(const std::string & name, int i) { return name + std::to_string(i); }

/// IFToMM A02: N + 1 cranks side by side, N couplers between their tips.
Workload four_bars_side_by_side(int count)
{
  UrdfWriter urdf("ground");
  Values posture;
  constexpr double kAngle = 1.2;
  for (int i = 0; i <= count; ++i)
  {
    urdf.add_revolute(
      numbered("crank", i), "ground", Eigen::Vector3d(i, 0.0, 0.0), kPlanarAxis, rod(1.0, 1.0));
    posture.emplace_back(numbered("crank", i) + "_joint", kAngle);
    if (i < count)
    {
      urdf.add_revolute(
        numbered("coupler", i), numbered("crank", i), Eigen::Vector3d::UnitX(), kPlanarAxis,
        rod(1.0, 1.0));
      posture.emplace_back(numbered("coupler", i) + "_joint", -kAngle);
    }
  }
  Workload workload =
    start_of_family("W4a", count, numbered("four-bars side by side, N = ", count), urdf);
  for (int i = 0; i < count; ++i)
  {
    workload.closures.push_back(
      {Closure::Kind::kPoint,
       {numbered("coupler", i), at(1.0)},
       {numbered("crank", i + 1), at(1.0)}});
  }
  build(workload);
  close_frames(workload);
  set_state(workload, posture);
  return workload;
}

/// One chain of N rods, bent to a polygon that is not regular, its end pinned to the world.
Workload closed_loop(int count)
{
  UrdfWriter urdf("ground");
  Values posture;
  const double turn = 2.0 * kPi / (count + 1);
  for (int i = 0; i < count; ++i)
  {
    urdf.add_revolute(
      numbered("rod", i), i == 0 ? "ground" : numbered("rod", i - 1),
      Eigen::Vector3d(i == 0 ? 0.0 : 1.0, 0.0, 0.0), kPlanarAxis, rod(1.0, 1.0));
    posture.emplace_back(numbered("rod", i) + "_joint", turn * (1.0 + 0.3 * std::sin(1.0 + i)));
  }
  Workload workload =
    start_of_family("W4b", count, numbered("one closed loop, links: ", count), urdf);
  const std::string last = numbered("rod", count - 1);
  SceneDescription with_tip = workload.scene;
  with_tip.frames.push_back({"tip", last, at(1.0)});
  Pose pin;
  pin.xyz = place_at(with_tip, "tip", posture).xyz;
  workload.closures.push_back({Closure::Kind::kPoint, {last, at(1.0)}, {"world", pin}});
  build(workload);
  close_frames(workload);
  set_state(workload, posture);
  return workload;
}

/// N four-bar cells on top of each other, each carried by the coupler of the one before.
Workload tower_of_four_bars(int count)
{
  constexpr double kBase = 1.0;  // distance of the pivots, and length of the coupler
  constexpr double kCrank = 0.5;
  constexpr double kRocker = 0.6;
  UrdfWriter urdf("ground");
  Values posture;
  std::vector<Closure> closures;
  for (int i = 0; i < count; ++i)
  {
    const std::string carrier = i == 0 ? "ground" : numbered("coupler", i - 1);
    const std::string crank = numbered("crank", i);
    const std::string coupler = numbered("coupler", i);
    const std::string rocker = numbered("rocker", i);
    urdf.add_revolute(crank, carrier, Eigen::Vector3d::Zero(), kPlanarAxis, rod(kCrank, 1.0));
    urdf.add_revolute(
      coupler, crank, kCrank * Eigen::Vector3d::UnitX(), kPlanarAxis, rod(kBase, 1.0));
    urdf.add_revolute(
      rocker, carrier, kBase * Eigen::Vector3d::UnitX(), kPlanarAxis, rod(kRocker, 1.0));
    // The joint between coupler and rocker: where the circles about the crank's tip and about the
    // rocker's pivot meet, on the upper side.
    const double angle = 1.3 + 0.3 * std::sin(1.0 + i);
    const Eigen::Vector2d tip(kCrank * std::cos(angle), kCrank * std::sin(angle));
    const Eigen::Vector2d pivot(kBase, 0.0);
    const Eigen::Vector2d between = pivot - tip;
    const double d = between.norm();
    const double along = (d * d + kBase * kBase - kRocker * kRocker) / (2.0 * d);
    const double across = std::sqrt(kBase * kBase - along * along);
    const Eigen::Vector2d meeting =
      tip + between / d * along + Eigen::Vector2d(-between.y(), between.x()) / d * across;
    const Eigen::Vector2d on_coupler = meeting - tip;
    const Eigen::Vector2d on_rocker = meeting - pivot;
    posture.emplace_back(crank + "_joint", angle);
    posture.emplace_back(coupler + "_joint", std::atan2(on_coupler.y(), on_coupler.x()) - angle);
    posture.emplace_back(rocker + "_joint", std::atan2(on_rocker.y(), on_rocker.x()));
    closures.push_back({Closure::Kind::kPoint, {coupler, at(kBase)}, {rocker, at(kRocker)}});
  }
  Workload workload =
    start_of_family("W4c", count, numbered("four-bars on top of each other, N = ", count), urdf);
  workload.closures = std::move(closures);
  build(workload);
  close_frames(workload);
  set_state(workload, posture);
  return workload;
}

// ---- W5: wheeled base with an arm --------------------------------------------------------------

Workload wheeled_arm()
{
  constexpr double kRadius = 0.1;
  constexpr double kHalfTrack = 0.25;
  UrdfWriter urdf(
    "platform", {20.0, Eigen::Vector3d(-0.05, 0.0, 0.1), Eigen::Vector3d(0.8, 0.9, 1.2)});
  const LinkInertia wheel{1.5, Eigen::Vector3d::Zero(), Eigen::Vector3d(0.004, 0.0075, 0.004)};
  urdf.add_revolute(
    "left", "platform", kHalfTrack * Eigen::Vector3d::UnitY(), Eigen::Vector3d::UnitY(), wheel);
  urdf.add_revolute(
    "right", "platform", -kHalfTrack * Eigen::Vector3d::UnitY(), Eigen::Vector3d::UnitY(), wheel);
  Values posture = {{"base_theta", 0.4}, {"base_x", 0.2}, {"base_y", -0.3}};
  std::string parent = "platform";
  for (int i = 1; i <= 7; ++i)
  {
    const std::string name = numbered("arm", i);
    const Eigen::Vector3d axis = i % 2 == 1 ? Eigen::Vector3d::UnitZ() : Eigen::Vector3d::UnitY();
    urdf.add_revolute(
      name, parent, Eigen::Vector3d(0.02, 0.01, 0.2), axis,
      {3.0 - 0.3 * i, Eigen::Vector3d(0.01, 0.02, 0.1), Eigen::Vector3d(0.02, 0.025, 0.01)});
    posture.emplace_back(name + "_joint", 0.3 * std::cos(1.0 + i));
    parent = name;
  }
  Workload workload = start("W5", "wheeled base with a 7-dof arm, rolling", urdf.text());
  workload.scene.robots[0].base = Base::kPlanar;
  workload.scene.frames.push_back({"floor", "world", at(0.0, 0.0, -kRadius)});
  workload.is_stand_in = true;
  const Pose hand = place_at(workload.scene, parent, posture);
  workload.closures.push_back({Closure::Kind::kPoint, {parent, Pose()}, {"world", hand}});
  build(workload);
  RollingGeometry geometry;
  geometry.radius = kRadius;
  geometry.axis = Eigen::Vector3d::UnitY();
  geometry.keep_contact = false;  // the planar base does
  workload.constraints.push_back(
    std::make_shared<Rolling>("left_wheel", *workload.system, "left", "floor", geometry));
  // The right wheel's lateral row would repeat the left one's.
  workload.constraints.push_back(std::make_shared<FormulaConstraint>(
    "right_wheel", *workload.system, RowLevel::kVelocity,
    std::vector<std::string>{"base_vx + half_track*base_wz - radius*dright_joint"},
    FormulaNames{{{"half_track", kHalfTrack}, {"radius", kRadius}}, {}},
    std::vector<std::string>{"along"}));
  workload.rank = 3;
  set_state(workload, posture);
  return workload;
}

}  // namespace

FamilySizes full_sizes() { return {{20, 40, 80, 200}, {20, 40, 80, 200}, {20, 40, 80, 200}}; }

FamilySizes quick_sizes() { return {{20, 40}, {20, 40}, {20, 40}}; }

std::vector<WorkloadEntry> all_workloads(const FamilySizes & sizes, const std::string & robots)
{
  std::vector<WorkloadEntry> entries;
  const auto add = [&](const std::string & name, std::function<Workload()> make) {
    entries.push_back({name, std::move(make)});
  };
  add("W1", [] { return four_bar(false); });
  if (!robots.empty())
  {
    add("W2a", [robots] { return panda_on_plane(robots); });
    add("W2b", [robots] { return panda_welded(robots, false); });
    add("W3", [robots] { return humanoid(robots); });
  }
  for (const int size : sizes.side_by_side)
  {
    add(numbered("W4a_", size), [size] { return four_bars_side_by_side(size); });
  }
  for (const int size : sizes.loop)
  {
    add(numbered("W4b_", size), [size] { return closed_loop(size); });
  }
  for (const int size : sizes.tower)
  {
    add(numbered("W4c_", size), [size] { return tower_of_four_bars(size); });
  }
  add("W5", [] { return wheeled_arm(); });
  add("W6a", [] { return four_bar(true); });
  if (!robots.empty())
  {
    add("W6b", [robots] { return panda_welded(robots, true); });
  }
  return entries;
}

}  // namespace constrained_dynamics::bench
