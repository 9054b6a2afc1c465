// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// An arm with its tip on a wall: one solve a millisecond, as in a control cycle, then the step of a
// simulation. Joint damping brings it to rest, where statics give the force on the wall by hand.
#include <cmath>
#include <iostream>

#include <constrained_dynamics/constraints/point_on_plane.hpp>
#include <constrained_dynamics/model/rigid_body_system.hpp>
#include <constrained_dynamics/simulation/simulation.hpp>

namespace cd = constrained_dynamics;

namespace
{

// Two links of 1 m and 1 kg in the plane x z; joint angles about −y, both links along x at 0.
const char * const kArm = R"(
<robot name="arm">
  <link name="base"/>
  <joint name="shoulder" type="continuous">
    <parent link="base"/> <child link="upper"/> <axis xyz="0 -1 0"/> <dynamics damping="2"/>
  </joint>
  <link name="upper"> <inertial>
    <origin xyz="0.5 0 0"/> <mass value="1"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="0.08" iyz="0" izz="0.08"/>
  </inertial> </link>
  <joint name="elbow" type="continuous">
    <parent link="upper"/> <child link="lower"/> <origin xyz="1 0 0"/> <axis xyz="0 -1 0"/>
    <dynamics damping="2"/>
  </joint>
  <link name="lower"> <inertial>
    <origin xyz="0.5 0 0"/> <mass value="1"/>
    <inertia ixx="0" ixy="0" ixz="0" iyy="0.08" iyz="0" izz="0.08"/>
  </inertial> </link>
  <joint name="end" type="fixed">
    <parent link="lower"/> <child link="tip"/> <origin xyz="1 0 0"/>
  </joint>
  <link name="tip"/>
</robot>)";

}  // namespace

int main()
{
  // The wall is the plane x = 1.2; its normal points away from the arm.
  auto system = cd::RigidBodySystem::from_urdf_text(kArm);
  auto wall = std::make_shared<cd::PointOnPlane>(
    "wall", *system, "tip", "world", Eigen::Vector3d::UnitX(), 1.2);
  cd::DynamicsOptions options;
  options.stabilisation = cd::Stabilisation::projection();
  auto dynamics = std::make_shared<cd::Dynamics>(cd::ConstraintSet(system, {wall}), options);
  cd::Simulation simulation(dynamics);

  // Both links at the same angle below and above the horizontal touch the wall at 2 cos(a) = 1.2.
  const double angle = std::acos(0.6);
  simulation.start({0.0, Eigen::Vector2d(angle, -2 * angle), Eigen::Vector2d::Zero()});
  double violation = 0.0;
  for (int cycle = 0; cycle <= 20000; ++cycle)
  {
    if (simulation.evaluate() != cd::Status::kOk)
    {
      return 1;
    }
    violation = std::max(violation, std::abs(simulation.workspace().rows().position(0)));
    if (cycle % 2000 == 0)
    {
      std::cout << "t = " << simulation.state().time << " s: angles "
                << simulation.state().q.transpose() << ", force of the wall "
                << simulation.workspace().solution().multipliers(0) << " N\n";
    }
    if (simulation.step() != cd::Status::kOk)
    {
      return 1;
    }
  }
  if (simulation.evaluate() != cd::Status::kOk)
  {
    return 1;
  }
  // At rest the torques about shoulder and elbow vanish. With a, b the angles of the links to the
  // horizontal:
  //     m g (1.5 cos a + 0.5 cos b) + λ (sin a + sin b) = 0,    m g 0.5 cos b + λ sin b = 0.
  const Eigen::VectorXd & q = simulation.state().q;
  const double force = simulation.workspace().solution().multipliers(0);
  const double b = q(0) + q(1);
  const double elbow = 9.81 * 0.5 * std::cos(b) + force * std::sin(b);
  const double shoulder = elbow + 9.81 * 1.5 * std::cos(q(0)) + force * std::sin(q(0));
  std::cout << "torques left " << shoulder << ", " << elbow
            << " N m; largest distance from the wall " << violation << " m\n";
  return std::abs(shoulder) < 1e-6 && std::abs(elbow) < 1e-6 && violation < 1e-12 ? 0 : 1;
}
