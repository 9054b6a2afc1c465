// Published robots: the reader of this project against Pinocchio's own.
#include <cmath>
#include <filesystem>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include "constrained_dynamics/rigid_body_system.hpp"

namespace constrained_dynamics
{
namespace
{

using Ref = Eigen::Ref<const Eigen::VectorXd>;

/// Compares inertia and forces of one robot with fixed base at a random state; false if it has no
/// joint or is refused.
bool compare(const std::string & path)
{
  SceneDescription scene;
  scene.robots.push_back(load_robot_description(path));
  scene.use_model_damping = false;
  std::unique_ptr<RigidBodySystem> system;
  try
  {
    system = std::make_unique<RigidBodySystem>(scene);
  }
  catch (const std::invalid_argument &)
  {
    return false;
  }
  pinocchio::Model model;
  pinocchio::urdf::buildModelFromXML(scene.robots[0].text, model);
  pinocchio::Data data(model);
  const int n = system->speed_count();
  EXPECT_EQ(model.nv, n);
  if (model.nv != n || system->coordinate_count() != n)
  {
    return false;
  }
  std::mt19937 generator(11);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Eigen::VectorXd q(n), u(n), x(model.nq);
  for (Eigen::Index i = 0; i < n; ++i)
  {
    q(i) = uniform(generator);
    u(i) = uniform(generator);
  }
  for (std::size_t j = 1; j < model.joints.size(); ++j)
  {
    const Eigen::Index v = model.joints[j].idx_v();
    EXPECT_EQ(model.names[j], system->coordinate_names()[static_cast<std::size_t>(v)]);
    x(model.joints[j].idx_q()) = model.joints[j].nq() == 2 ? std::cos(q(v)) : q(v);
    if (model.joints[j].nq() == 2)
    {
      x(model.joints[j].idx_q() + 1) = std::sin(q(v));
    }
  }
  pinocchio::crba(model, data, Ref(x));
  pinocchio::nonLinearEffects(model, data, Ref(x), Ref(u));
  data.M.triangularView<Eigen::StrictlyLower>() = data.M.transpose();
  const std::unique_ptr<SystemData> own = system->make_data();
  EXPECT_EQ(system->update_kinematics(0.0, q, u, *own), Status::kOk);
  EXPECT_EQ(system->update_dynamics(*own), Status::kOk);
  EXPECT_LE((own->terms.mass_matrix - data.M).norm(), 1e-10 * (1.0 + data.M.norm()));
  EXPECT_LE((own->terms.force + data.nle).norm(), 1e-10 * (1.0 + data.nle.norm()));
  return true;
}

TEST(RobotLibrary, when_published_robots_are_read_expect_pinocchios_inertia_and_forces)
{
  const std::string folder = CD_EXAMPLE_ROBOT_DATA;
  if (folder.empty() || !std::filesystem::exists(folder))
  {
    GTEST_SKIP() << "example-robot-data is not there";
  }
  int compared = 0;
  for (const auto & entry : std::filesystem::recursive_directory_iterator(folder))
  {
    if (entry.path().extension() == ".urdf")
    {
      SCOPED_TRACE(entry.path().filename().string());
      compared += compare(entry.path().string()) ? 1 : 0;
    }
  }
  EXPECT_GE(compared, 50);
}

}  // namespace
}  // namespace constrained_dynamics
