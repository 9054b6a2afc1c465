// MuJoCo as a plant that this project did not write: first that both see the same robot, then loops
// that our laws close around it.
#include <cmath>
#include <functional>
#include <iostream>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/scenario.hpp"
#include "mujoco/mujoco_plant.hpp"
#include "row_problems.hpp"

namespace constrained_dynamics
{
namespace
{

using test::MujocoPlant;
using test::MujocoScene;
using test::MujocoShape;
using test::Random;

const char * const kPanda = CD_EXAMPLE_ROBOT_DATA "/panda_description/urdf/panda.urdf";
const char * const kTalos = CD_EXAMPLE_ROBOT_DATA "/talos_data/robots/talos_reduced.urdf";
const char * const kMobileArm = CD_CONFIG "/robots/mobile_arm.urdf";
constexpr bool kHasRobots = sizeof(CD_EXAMPLE_ROBOT_DATA) > 1;

/// A state with quaternions of length one.
State random_state(const System & system, Random & random)
{
  State state;
  state.q = random.vector(system.coordinate_count());
  state.u = random.vector(system.speed_count());
  system.normalise(state.q);
  return state;
}

/// Q and u̇ of both at random states, relative to the largest element.
void expect_same_robot(const MujocoScene & scene, const std::shared_ptr<const System> & system)
{
  Random random(21);
  MujocoPlant plant(scene, system);
  const std::unique_ptr<SystemData> data = system->make_data();
  double inertia_error = 0.0;
  double motion_error = 0.0;
  double state_error = 0.0;
  for (int i = 0; i < 50; ++i)
  {
    const State state = random_state(*system, random);
    const Eigen::VectorXd inputs = 10.0 * random.vector(system->input_count());
    ASSERT_EQ(system->update_kinematics(0.0, state.q, state.u, *data), Status::kOk);
    ASSERT_EQ(system->update_dynamics(*data), Status::kOk);
    const SystemTerms & terms = data->terms;
    const Eigen::VectorXd ours =
      terms.mass_matrix.ldlt().solve(terms.force + terms.input_matrix * inputs);
    plant.set_state(state);
    const State back = plant.state();
    state_error = std::max({state_error, (back.q - state.q).norm(), (back.u - state.u).norm()});
    const Eigen::MatrixXd inertia = plant.mass_matrix();
    const Eigen::VectorXd theirs = plant.acceleration(inputs);
    inertia_error = std::max(
      inertia_error, (inertia - terms.mass_matrix).cwiseAbs().maxCoeff() /
                       terms.mass_matrix.cwiseAbs().maxCoeff());
    // The forces that the difference stands for: accelerations of light links magnify rounding.
    motion_error = std::max(
      motion_error,
      (terms.mass_matrix * (theirs - ours)).cwiseAbs().maxCoeff() /
        (terms.force.cwiseAbs() + (terms.input_matrix * inputs).cwiseAbs()).maxCoeff());
  }
  std::cout << "Q " << inertia_error << ", forces of the accelerations " << motion_error << '\n';
  EXPECT_LE(state_error, 1e-12);
  EXPECT_LE(inertia_error, 1e-10);
  EXPECT_LE(motion_error, 1e-10);
}

std::shared_ptr<RigidBodySystem> make_system(const MujocoScene & scene)
{
  SceneDescription description;
  description.robots.push_back(load_robot_description(scene.urdf));
  description.robots.back().base = scene.base;
  for (const std::string & joint : scene.locked)
  {
    description.robots.back().locked[joint] = 0.0;
  }
  description.attachments = scene.attachments;
  description.armature = scene.armature;
  description.use_model_damping = scene.model_damping;
  return std::make_shared<RigidBodySystem>(description);
}

/// As in config/scenarios/panda_wall.yaml.
MujocoScene panda_with_cutter()
{
  MujocoScene scene;
  scene.urdf = kPanda;
  scene.locked = {"panda_finger_joint1", "panda_finger_joint2"};
  Attachment cutter;
  cutter.name = "cutter";
  cutter.parent = "panda_hand";
  cutter.pose.xyz << 0.0, 0.0, 0.1034;
  cutter.pose.rpy << 0.0, 0.0, -M_PI / 2.0;
  cutter.mass = 0.3;
  cutter.com << 0.0, 0.0, 0.04;
  cutter.inertia.diagonal() << 4.0e-4, 4.0e-4, 2.0e-5;
  scene.attachments.push_back(cutter);
  for (int i = 1; i <= 7; ++i)
  {
    scene.armature["panda_joint" + std::to_string(i)] = 0.1;
  }
  return scene;
}

MujocoScene mobile_arm()
{
  MujocoScene scene;
  scene.urdf = kMobileArm;
  scene.base = Base::kFloating;
  return scene;
}

MujocoScene talos()
{
  MujocoScene scene;
  scene.urdf = kTalos;
  scene.base = Base::kFloating;
  return scene;
}

TEST(MujocoPeer, when_the_arm_carries_a_tool_expect_the_same_inertia_and_accelerations)
{
  if (!kHasRobots)
  {
    GTEST_SKIP() << "no example-robot-data";
  }
  expect_same_robot(panda_with_cutter(), make_system(panda_with_cutter()));
}

TEST(MujocoPeer, when_a_base_has_wheels_and_an_arm_expect_the_same_inertia_and_accelerations)
{
  expect_same_robot(mobile_arm(), make_system(mobile_arm()));
}

TEST(MujocoPeer, when_a_humanoid_floats_expect_the_same_inertia_and_accelerations)
{
  if (!kHasRobots)
  {
    GTEST_SKIP() << "no example-robot-data";
  }
  expect_same_robot(talos(), make_system(talos()));
}

}  // namespace
}  // namespace constrained_dynamics
