// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Systems from a pinocchio::Model, and Pinocchio's own algorithms on the Model and Data of a system.
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pinocchio/algorithm/center-of-mass.hpp>
#include <pinocchio/algorithm/compute-all-terms.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/model/pinocchio.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics
{
namespace
{

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ref = Eigen::Ref<const Eigen::VectorXd>;

/// Some hundred roundings of numbers of size 10.
constexpr double kTolerance = 1e-12;

class Random
{
public:
  explicit Random(unsigned seed) : generator_(seed) {}
  double number() { return std::uniform_real_distribution<double>(-1.0, 1.0)(generator_); }
  Eigen::VectorXd vector(Eigen::Index size)
  {
    return Eigen::VectorXd::NullaryExpr(size, [&](Eigen::Index) { return number(); });
  }
  pinocchio::SE3 placement()
  {
    const Eigen::Quaterniond rotation(Eigen::Vector4d(vector(4)).normalized());
    return pinocchio::SE3(rotation.toRotationMatrix(), Eigen::Vector3d(vector(3)));
  }
  pinocchio::Inertia inertia()
  {
    const pinocchio::Inertia ellipsoid = pinocchio::Inertia::FromEllipsoid(
      2.0 + number(), 0.4 + 0.1 * number(), 0.3 + 0.1 * number(), 0.2 + 0.1 * number());
    return placement().act(ellipsoid);
  }

private:
  std::mt19937 generator_;
};

pinocchio::JointIndex add(
  pinocchio::Model & model, pinocchio::JointIndex parent, const pinocchio::JointModel & joint,
  const std::string & name, Random & random)
{
  const pinocchio::JointIndex index = model.addJoint(parent, joint, random.placement(), name);
  model.addJointFrame(index);
  model.appendBodyToJoint(index, random.inertia(), pinocchio::SE3::Identity());
  model.addBodyFrame(name + "_body", index, random.placement());
  return index;
}

/// Every kind of joint that is allowed, in a tree with two branches.
pinocchio::Model every_joint()
{
  Random random(3);
  const Eigen::Vector3d axis = Eigen::Vector3d(1.0, 2.0, -0.5).normalized();
  const std::vector<std::pair<std::string, pinocchio::JointModel>> first = {
    {"flyer", pinocchio::JointModelFreeFlyer()},
    {"rx", pinocchio::JointModelRX()},
    {"ry", pinocchio::JointModelRY()},
    {"rubz", pinocchio::JointModelRUBZ()},
    {"ball", pinocchio::JointModelSpherical()},
    {"px", pinocchio::JointModelPX()},
    {"ru", pinocchio::JointModelRevoluteUnaligned(axis)},
    {"planar", pinocchio::JointModelPlanar()}};
  const std::vector<std::pair<std::string, pinocchio::JointModel>> second = {
    {"translation", pinocchio::JointModelTranslation()},
    {"rz", pinocchio::JointModelRZ()},
    {"rubx", pinocchio::JointModelRUBX()},
    {"py", pinocchio::JointModelPY()},
    {"ruby", pinocchio::JointModelRUBY()},
    {"pz", pinocchio::JointModelPZ()},
    {"pu", pinocchio::JointModelPrismaticUnaligned(axis)},
    {"rubu", pinocchio::JointModelRevoluteUnboundedUnaligned(axis)}};
  pinocchio::Model model;
  model.name = "every";
  model.gravity.linear(Eigen::Vector3d(0.5, -1.0, -9.0));
  pinocchio::JointIndex parent = 0;
  for (const auto & [name, joint] : first)
  {
    parent = add(model, parent, joint, name, random);
  }
  parent = 2;
  for (const auto & [name, joint] : second)
  {
    parent = add(model, parent, joint, name, random);
  }
  model.addFrame(pinocchio::Frame(
    "tool", parent, 0, random.placement(), pinocchio::OP_FRAME, pinocchio::Inertia::Zero()));
  model.armature = 0.3 * random.vector(model.nv).cwiseAbs();
  // Where axes turn, only equal values about them are an inertia.
  const auto armature_of = [&](const char * name)
  {
    const pinocchio::JointModel & joint = model.joints[model.getJointId(name)];
    return model.armature.segment(joint.idx_v(), joint.nv());
  };
  armature_of("flyer") << 0.0, 0.0, 0.0, 0.2, 0.2, 0.2;
  armature_of("ball").setConstant(0.3);
  armature_of("planar").head<2>().setZero();
  model.damping.setConstant(0.7);
  model.upperPositionLimit(model.joints[2].idx_q()) = 1.5;
  model.lowerPositionLimit(model.joints[2].idx_q()) = -0.5;
  model.upperEffortLimit(model.joints[2].idx_v()) = 40.0;
  return model;
}

/// A system with a random state.
struct Fixture
{
  std::shared_ptr<const RigidBodySystem> system;
  std::unique_ptr<SystemData> data;
  Eigen::VectorXd x;  ///< Pinocchio's configuration
  Eigen::VectorXd q;
  Eigen::VectorXd u;

  explicit Fixture(std::shared_ptr<const RigidBodySystem> given)
  : system(std::move(given)), data(system->make_data())
  {
  }

  void draw(Random & random)
  {
    const pinocchio::Model & model = pinocchio_model(*system);
    const Eigen::VectorXd neutral = pinocchio::neutral(model);
    x = pinocchio::integrate(model, Ref(neutral), Ref(random.vector(model.nv)));
    u = random.vector(model.nv);
    q = from_pinocchio_q(*system, x);
    ASSERT_EQ(system->update_kinematics(0.0, q, u, *data), Status::kOk);
    ASSERT_EQ(system->update_dynamics(*data), Status::kOk);
  }
};

/// Inertia, forces and frames at random states against Pinocchio's, in memory of its own.
void expect_pinocchio(Fixture & f, unsigned seed)
{
  Random random(seed);
  const pinocchio::Model & model = pinocchio_model(*f.system);
  pinocchio::Data data(model);
  for (int trial = 0; trial < 5; ++trial)
  {
    f.draw(random);
    pinocchio::crba(model, data, Ref(f.x));
    data.M.triangularView<Eigen::StrictlyLower>() = data.M.transpose();
    const SystemTerms & terms = f.data->terms;
    EXPECT_LE((terms.mass_matrix - data.M).norm(), kTolerance * (1.0 + data.M.norm()));
    const Eigen::VectorXd a = random.vector(model.nv);
    pinocchio::rnea(model, data, Ref(f.x), Ref(f.u), Ref(a));
    EXPECT_LE(
      (terms.mass_matrix * a - terms.force - data.tau).norm(),
      kTolerance * (1.0 + data.tau.norm()));
    const Eigen::VectorXd rest = Eigen::VectorXd::Zero(model.nv);
    pinocchio::forwardKinematics(model, data, Ref(f.x), Ref(f.u), Ref(rest));
    pinocchio::computeJointJacobians(model, data, Ref(f.x));
    pinocchio::updateFramePlacements(model, data);
    for (int i = 0; i < static_cast<int>(f.system->frame_names().size()); ++i)
    {
      const std::string & name = f.system->frame_names()[static_cast<std::size_t>(i)];
      SCOPED_TRACE(name);
      const pinocchio::FrameIndex id =
        i == 0 ? 0
               : model.getFrameId(
                   name, static_cast<pinocchio::FrameType>(pinocchio::BODY | pinocchio::OP_FRAME));
      ASSERT_LT(id, model.frames.size());
      FrameKinematics own;
      f.system->frame_kinematics(*f.data, i, own);
      EXPECT_LE((own.rotation - data.oMf[id].rotation()).norm(), kTolerance);
      EXPECT_LE((own.position - data.oMf[id].translation()).norm(), kTolerance);
      const auto aligned = pinocchio::LOCAL_WORLD_ALIGNED;
      const pinocchio::Motion v = pinocchio::getFrameVelocity(model, data, id, aligned);
      EXPECT_LE((own.velocity - v.linear()).norm(), 10.0 * kTolerance);
      EXPECT_LE((own.angular_velocity - v.angular()).norm(), 10.0 * kTolerance);
      const pinocchio::Motion bias =
        pinocchio::getFrameClassicalAcceleration(model, data, id, aligned);
      EXPECT_LE((own.acceleration_bias - bias.linear()).norm(), 100.0 * kTolerance);
      EXPECT_LE((own.angular_acceleration_bias - bias.angular()).norm(), 100.0 * kTolerance);
      Matrix6X J(6, model.nv), peer = Matrix6X::Zero(6, model.nv);
      f.system->frame_jacobian(*f.data, i, J);
      pinocchio::getFrameJacobian(model, data, id, aligned, peer);
      EXPECT_LE((J - peer).norm(), 10.0 * kTolerance);
    }
  }
}

TEST(PinocchioModel, when_it_has_every_joint_expect_its_inertia_forces_and_frames)
{
  Fixture f(make_rigid_body_system(every_joint()));
  EXPECT_EQ(f.system->speed_count(), every_joint().nv);
  EXPECT_EQ(f.system->gravity(), Eigen::Vector3d(0.5, -1.0, -9.0));
  expect_pinocchio(f, 11);
}

TEST(PinocchioModel, when_a_scene_is_added_expect_one_model_of_both)
{
  ModelOptions options;
  options.scene.robots.push_back(load_robot_description(CD_TEST_ROBOTS "/arm.urdf"));
  options.scene.robots[0].prefix = "arm_";
  FreeBody brick;
  brick.name = "brick";
  brick.mass = 2.0;
  brick.inertia = 0.1 * Eigen::Matrix3d::Identity();
  options.scene.bodies.push_back(brick);
  Attachment cutter;
  cutter.name = "cutter";
  cutter.parent = "tool";
  cutter.mass = 0.5;
  cutter.inertia = 0.01 * Eigen::Matrix3d::Identity();
  options.scene.attachments.push_back(cutter);
  options.scene.armature["rx"] = 0.25;
  const pinocchio::Model model = every_joint();
  Fixture f(make_rigid_body_system(model, options));
  const pinocchio::Model & both = pinocchio_model(*f.system);
  EXPECT_EQ(both.armature(model.joints[2].idx_v()), model.armature(model.joints[2].idx_v()) + 0.25);
  EXPECT_EQ(both.names.back(), "brick");
  expect_pinocchio(f, 12);
}

TEST(PinocchioModel, when_a_robot_comes_from_a_file_expect_its_model_to_agree)
{
  SceneDescription scene;
  for (const char * file : {"arm.urdf", "tree.xml"})
  {
    scene.robots.push_back(load_robot_description(CD_TEST_ROBOTS "/" + std::string(file)));
    scene.robots.back().prefix = file;
    scene.robots.back().use_file_constraints = false;
  }
  scene.use_model_damping = false;
  Fixture f(std::make_shared<const RigidBodySystem>(scene));
  const SystemTerms & terms = f.data->terms;
  const pinocchio::Model & model = pinocchio_model(*f.system);
  Random random(13);
  f.draw(random);
  // Springs of the file are no part of a Model.
  pinocchio::Data & data = pinocchio_data(*f.data);
  EXPECT_LE((pinocchio_q(*f.data) - f.x).norm(), kTolerance);
  pinocchio::crba(model, data, Ref(f.x));
  data.M.triangularView<Eigen::StrictlyLower>() = data.M.transpose();
  EXPECT_LE((terms.mass_matrix - data.M).norm(), kTolerance * (1.0 + data.M.norm()));
  EXPECT_LE(
    (f.system->centre_of_mass(*f.data) - pinocchio::centerOfMass(model, data, Ref(f.x))).norm(),
    kTolerance);
}

TEST(PinocchioModel, when_joints_have_names_and_limits_expect_them)
{
  ModelOptions options;
  options.use_damping = true;
  const auto system = make_rigid_body_system(every_joint(), options);
  EXPECT_THAT(
    system->joint_names(),
    ElementsAre("rx", "ry", "rubz", "px", "ru", "rz", "rubx", "py", "ruby", "pz", "pu", "rubu"));
  EXPECT_EQ(system->coordinate_count(), 7 + 12 + 4 + 3 + 3);
  EXPECT_EQ(system->coordinate_names()[7], "rx");
  const auto & limits = system->limits();
  EXPECT_EQ(limits[7].lower, -0.5);
  EXPECT_EQ(limits[7].upper, 1.5);
  EXPECT_EQ(limits[7].effort, 40.0);
  EXPECT_EQ(limits[8].upper, std::numeric_limits<double>::infinity());
  EXPECT_EQ(system->damping(), Eigen::VectorXd::Constant(system->speed_count(), 0.7));
  EXPECT_EQ(make_rigid_body_system(every_joint())->damping().norm(), 0.0);
  EXPECT_EQ(system->body_of_frame(system->frame_index("tool")), "rubu_body");
  EXPECT_EQ(
    system->joint_bodies(7), std::make_pair(std::string("rx_body"), std::string("flyer_body")));
  EXPECT_EQ(system->coordinate_index("translation_z") + 1, system->coordinate_index("rz"));
}

TEST(PinocchioModel, when_coordinates_are_converted_both_ways_expect_the_same)
{
  Fixture f(make_rigid_body_system(every_joint()));
  Random random(14);
  f.draw(random);
  EXPECT_LE((to_pinocchio_q(*f.system, f.q) - f.x).norm(), kTolerance);
  Eigen::VectorXd neutral = f.system->neutral_coordinates();
  EXPECT_EQ(to_pinocchio_q(*f.system, neutral), pinocchio::neutral(pinocchio_model(*f.system)));
  // Another turn, and a quaternion of another length, are the same configuration.
  Eigen::VectorXd q = f.q;
  q(f.system->coordinate_index("rubz")) += 2.0 * M_PI;
  q.segment<4>(f.system->coordinate_index("ball_qx")) *= 3.0;
  EXPECT_LE((to_pinocchio_q(*f.system, q) - f.x).norm(), kTolerance);
  EXPECT_THROW(to_pinocchio_q(*f.system, Eigen::VectorXd(3)), std::invalid_argument);
  EXPECT_THROW(from_pinocchio_q(*f.system, Eigen::VectorXd(3)), std::invalid_argument);
}

TEST(PinocchioModel, when_called_in_the_cycle_expect_no_allocation)
{
  Fixture f(make_rigid_body_system(every_joint()));
  Random random(15);
  f.draw(random);
  Eigen::VectorXd x(f.x.size()), q(f.q.size());
  for (int round = 0; round < 2; ++round)  // with the memory of the system, then with the whole
  {
    const long before = test::allocation_count();
    ASSERT_EQ(f.system->update_kinematics(0.0, f.q, f.u, *f.data), Status::kOk);
    ASSERT_EQ(f.system->update_dynamics(*f.data), Status::kOk);
    to_pinocchio_q(*f.system, f.q, x);
    from_pinocchio_q(*f.system, x, q);
    pinocchio_q(*f.data);
    EXPECT_EQ(test::allocation_count(), before);
    pinocchio_data(*f.data);
    const long after = test::allocation_count();
    pinocchio_data(*f.data);
    EXPECT_EQ(test::allocation_count(), after);
  }
}

TEST(PinocchioModel, when_any_algorithm_is_called_on_what_is_handed_out_expect_its_results)
{
  Fixture f(make_rigid_body_system(every_joint()));
  Random random(16);
  f.draw(random);
  const pinocchio::Model & model = pinocchio_model(*f.system);
  pinocchio::Data & data = pinocchio_data(*f.data);
  pinocchio::computeAllTerms(model, data, pinocchio_q(*f.data), f.data->terms.speeds);
  EXPECT_LE((data.com[0] - f.system->centre_of_mass(*f.data)).norm(), kTolerance);
  EXPECT_LE((data.nle + f.data->terms.force).norm(), kTolerance * (1.0 + data.nle.norm()));
  // (Data's kinetic_energy leaves out the armature of JointModelRevoluteUnaligned in Pinocchio 4.1.)
  data.M.triangularView<Eigen::StrictlyLower>() = data.M.transpose();
  EXPECT_NEAR(0.5 * f.u.dot(data.M * f.u), f.system->kinetic_energy(*f.data), 100.0 * kTolerance);
  EXPECT_THROW(
    {
      SystemData other(1, 1, 0);
      pinocchio_data(other);
    },
    std::invalid_argument);
}

TEST(PinocchioModel, when_differentiated_expect_pinocchios_derivatives)
{
  Fixture f(make_rigid_body_system(every_joint()));
  Random random(17);
  f.draw(random);
  const pinocchio::Model & model = pinocchio_model(*f.system);
  pinocchio::Data & data = pinocchio_data(*f.data);
  const Eigen::VectorXd a = random.vector(model.nv);
  SystemDerivatives derivatives;
  ASSERT_TRUE(f.system->differentiate(
    *f.data, a, Eigen::VectorXd::Zero(f.system->input_count()), derivatives));
  pinocchio::computeRNEADerivatives(model, data, Ref(f.x), Ref(f.u), Ref(a));
  const double size = 1.0 + data.dtau_dq.norm() + data.dtau_dv.norm();
  EXPECT_LE((derivatives.residual_q - data.dtau_dq).norm(), kTolerance * size);
  EXPECT_LE((derivatives.residual_u - data.dtau_dv).norm(), kTolerance * size);
}

/// Accelerations at the state of the fixture.
Eigen::VectorXd acceleration(
  const Dynamics & dynamics, const Fixture & f, const Eigen::VectorXd & inputs)
{
  State state;
  state.q = f.q;
  state.u = f.u;
  Workspace workspace(dynamics, state);
  EXPECT_EQ(dynamics.solve(0.0, f.q, f.u, inputs, workspace), Status::kOk);
  return workspace.solution().acceleration;
}

TEST(PinocchioModel, when_frames_are_joined_expect_one_motion_of_all_formulations)
{
  const auto system = make_rigid_body_system(every_joint());
  const ConstraintSet set(
    system, {std::make_shared<FrameCoincidence>(
              "loop", *system, "tool", "planar_body", std::vector<std::string>{"x", "y", "z"})});
  Random random(18);
  Fixture f(system);
  f.draw(random);
  const Eigen::VectorXd inputs = random.vector(system->input_count());
  const Eigen::VectorXd recursion = acceleration(Dynamics{set}, f, inputs);
  for (const std::string & id : formulation_names())
  {
    SCOPED_TRACE(id);
    const Eigen::VectorXd other = acceleration(Dynamics(set, {}, make_formulation(id)), f, inputs);
    EXPECT_LE((other - recursion).norm(), 1e-9 * (1.0 + recursion.norm()));
  }
}

std::string refusal(const pinocchio::Model & model)
{
  try
  {
    make_rigid_body_system(model);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

TEST(PinocchioModel, when_a_joint_is_of_another_kind_expect_refusal_by_name)
{
  const Eigen::Vector3d axis = Eigen::Vector3d(1.0, 2.0, 2.0) / 3.0;
  pinocchio::JointModelComposite composite;
  composite.addJoint(pinocchio::JointModelRX());
  composite.addJoint(pinocchio::JointModelRY());
  const std::vector<pinocchio::JointModel> joints = {
    pinocchio::JointModelHX(0.1),
    pinocchio::JointModelHelicalUnaligned(axis, 0.1),
    pinocchio::JointModelUniversal(Eigen::Vector3d::UnitX(), Eigen::Vector3d::UnitY()),
    pinocchio::JointModelSphericalZYX(),
    pinocchio::JointModelEllipsoid(0.1, 0.2, 0.3),
    composite};
  for (const pinocchio::JointModel & joint : joints)
  {
    SCOPED_TRACE(joint.shortname());
    pinocchio::Model model;
    Random random(19);
    add(model, 0, joint, "hip", random);
    EXPECT_THAT(refusal(model), HasSubstr("'hip'"));
    EXPECT_THAT(refusal(model), HasSubstr(joint.shortname()));
  }
}

TEST(PinocchioModel, when_it_is_not_physical_expect_refusal_by_name)
{
  Random random(20);
  pinocchio::Model model;
  add(model, 0, pinocchio::JointModelRX(), "a", random);
  add(model, 0, pinocchio::JointModelRX(), "b", random);
  EXPECT_EQ(refusal(model), "");
  pinocchio::Model massless = model;
  massless.inertias[2] = pinocchio::Inertia::Zero();
  EXPECT_THAT(refusal(massless), HasSubstr("'b'"));
  // Between two joints there need not be a body.
  pinocchio::Model inner = massless;
  add(inner, 2, pinocchio::JointModelRY(), "c", random);
  EXPECT_EQ(refusal(inner), "");
  pinocchio::Model shuffled = model;
  add(shuffled, 1, pinocchio::JointModelRX(), "c", random);
  EXPECT_THAT(refusal(shuffled), HasSubstr("depth first"));
  pinocchio::Model lost = model;
  lost.jointPlacements[1].translation().x() = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal(lost), HasSubstr("'a'"));
  pinocchio::Model negative = model;
  negative.armature(0) = -1.0;
  EXPECT_THAT(refusal(negative), HasSubstr("armature"));
  pinocchio::Model exchanged = model;
  exchanged.lowerPositionLimit(1) = 1.0;
  exchanged.upperPositionLimit(1) = -1.0;
  EXPECT_THAT(refusal(exchanged), HasSubstr("'b'"));
  pinocchio::Model short_of = model;
  short_of.damping.resize(1);
  EXPECT_THAT(refusal(short_of), HasSubstr("nv elements"));
  EXPECT_THAT(refusal(pinocchio::Model()), HasSubstr("at least one is needed"));
}

/// The acceleration of the origin in the world of a free-flyer that moves and turns.
Eigen::Vector3d world_acceleration(const RigidBodySystem & system, SystemData & data)
{
  Eigen::VectorXd u(6);
  u << 1.0, -2.0, 0.5, 3.0, 1.0, 4.0;
  EXPECT_EQ(system.update_kinematics(0.0, system.neutral_coordinates(), u, data), Status::kOk);
  EXPECT_EQ(system.update_dynamics(data), Status::kOk);
  const Eigen::VectorXd rates = data.terms.mass_matrix.ldlt().solve(data.terms.force);
  return rates.head<3>() + Eigen::Vector3d(u.tail<3>()).cross(Eigen::Vector3d(u.head<3>()));
}

TEST(PinocchioModel, when_axes_of_an_armature_turn_expect_a_straight_way_or_refusal)
{
  pinocchio::Model model;
  const pinocchio::JointIndex flyer =
    model.addJoint(0, pinocchio::JointModelFreeFlyer(), pinocchio::SE3::Identity(), "flyer");
  model.appendBodyToJoint(
    flyer, pinocchio::Inertia::FromSphere(2.0, 0.3), pinocchio::SE3::Identity());
  model.armature.tail<3>().setConstant(0.4);
  const auto system = make_rigid_body_system(model);
  const auto data = system->make_data();
  EXPECT_LE((world_acceleration(*system, *data) - system->gravity()).norm(), 1e-12);
  EXPECT_NEAR(data->terms.mass_matrix(3, 3), 0.4 + 0.4 * 2.0 * 0.09, 1e-14);

  pinocchio::Model bent = model;
  bent.armature(1) = 0.5;
  EXPECT_THAT(
    refusal(bent),
    HasSubstr("joint 'flyer' of the model: its armature is 0.5 for the translation"));
  pinocchio::Model unequal = model;
  unequal.armature(4) = 0.5;
  EXPECT_THAT(refusal(unequal), HasSubstr("about three axes is between 0.4 and 0.5"));

  Random random(21);
  pinocchio::Model others;
  add(others, 0, pinocchio::JointModelPlanar(), "planar", random);
  add(others, 0, pinocchio::JointModelSpherical(), "ball", random);
  add(others, 0, pinocchio::JointModelTranslation(), "drift", random);
  others.armature.tail<3>() << 0.1, 0.2, 0.3;  // axes that do not turn
  EXPECT_EQ(refusal(others), "");
  pinocchio::Model sled = others;
  sled.armature(0) = 0.1;
  EXPECT_THAT(refusal(sled), HasSubstr("'planar'"));
  pinocchio::Model socket = others;
  socket.armature(4) = 0.1;
  EXPECT_THAT(refusal(socket), HasSubstr("'ball'"));
}

}  // namespace
}  // namespace constrained_dynamics
