// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>

#include "random_mechanism.hpp"

namespace invariance
{

void add_formula(Mechanism & mechanism, Random & random)
{
  const std::string name = "formula" + std::to_string(mechanism.constraints.size());
  const auto pick_link = [&]
  { return random.integer(0, static_cast<int>(mechanism.links.size()) - 1); };
  Eigen::RowVectorXd row = Eigen::RowVectorXd::Zero(mechanism.speed_count());
  std::string formula;
  std::string level = "position";
  if (random.chance(0.4))
  {
    const int link = pick_link();
    const Frame frame{"f" + std::to_string(mechanism.frames.size()), link, random_pose(random)};
    mechanism.frames.push_back(frame);
    const Eigen::Vector3d p = mechanism.frame_pose(frame).translation();
    const Eigen::Vector3d n = random.vector(2.0);
    formula = text(n.x()) + "*px(" + frame.name + ") + " + text(n.y()) + "*py(" + frame.name +
              ") + " + text(n.z()) + "*pz(" + frame.name + ") - (" + text(n.dot(p)) + ")";
    row = n.transpose() * mechanism.jacobian(link, p).topRows<3>();
  }
  else
  {
    const int first = pick_link();
    const int second = pick_link();
    const Link & a = mechanism.links[static_cast<std::size_t>(first)];
    const Link & b = mechanism.links[static_cast<std::size_t>(second)];
    const double c = random.uniform(-2.0, 2.0);
    if (random.chance(0.5))
    {
      formula = "sin(" + a.joint + ")*" + text(c) + " + " + b.joint + "^2 - (" +
                text(std::sin(a.q) * c + b.q * b.q) + ")";
      row(mechanism.joint_speed(first)) += std::cos(a.q) * c;
      row(mechanism.joint_speed(second)) += 2.0 * b.q;
    }
    else
    {
      level = "velocity";
      formula = "d" + a.joint + "*cos(" + b.joint + ") + (" + text(c) + ")*d" + b.joint;
      row(mechanism.joint_speed(first)) += std::cos(b.q);
      row(mechanism.joint_speed(second)) += c;
    }
  }
  YAML::Node constraint;
  constraint["name"] = name;
  constraint["type"] = "formula";
  constraint["level"] = level;
  constraint["rows"].push_back(formula);
  mechanism.formula_rows[name] = row;
  mechanism.constraints.push_back(constraint);
}

void add_motion(Mechanism & mechanism, Random & random)
{
  const int i = random.integer(0, static_cast<int>(mechanism.links.size()) - 1);
  const Link & link = mechanism.links[static_cast<std::size_t>(i)];
  const Eigen::MatrixXd N = free_motions(mechanism);
  const int speed = mechanism.joint_speed(i);
  if (N.cols() == 0 || N.row(speed).norm() < 0.1)
  {
    return;
  }
  YAML::Node constraint;
  const std::string name = "motion" + std::to_string(mechanism.constraints.size());
  constraint["name"] = name;
  constraint["type"] = "prescribed_motion";
  constraint["coordinate"] = link.joint;
  constraint["motion"] = text(link.q) + " + (" + text(mechanism.u(speed) / 2.0) + ")*sin(2*t) + (" +
                         text(random.uniform(-1.0, 1.0)) + ")*(1 - cos(3*t))";
  mechanism.formula_rows[name] = Eigen::RowVectorXd::Unit(mechanism.speed_count(), speed);
  mechanism.constraints.push_back(constraint);
}

}  // namespace invariance
