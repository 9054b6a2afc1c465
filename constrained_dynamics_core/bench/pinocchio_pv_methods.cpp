// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Pinocchio's recursions with constraints between a link and the world.
#include <pinocchio/algorithm/proximal.hpp>
#include <pinocchio/algorithm/pv.hpp>

#include "method.hpp"
#include "pinocchio_model.hpp"

namespace constrained_dynamics::bench
{

namespace
{

struct PopovVereshchagin
{
  static pinocchio::ProximalSettings settings() { return {1e-12, 1e-10, 20}; }
  template <typename... Arguments>
  static void run(Arguments &... arguments)
  {
    pinocchio::pv(arguments...);
  }
};

struct ConstrainedAba
{
  static pinocchio::ProximalSettings settings() { return {1e-10, 1e-6, 20}; }
  template <typename... Arguments>
  static void run(Arguments &... arguments)
  {
    pinocchio::constrainedABA(arguments...);
  }
};

template <typename Algorithm, typename Anchor>
class Recursion : public Method
{
public:
  explicit Recursion(const PinocchioModel & robot)
  : robot_(robot), data_(robot_.model), settings_(Algorithm::settings())
  {
    for (const PinocchioModel::JointClosure & closure : robot_.closures)
    {
      anchors_.emplace_back(
        robot_.model, closure.joint_a, closure.placement_a, closure.joint_b, closure.placement_b);
      anchor_data_.emplace_back(anchors_.back());
    }
    pinocchio::initPvSolver(robot_.model, data_, anchors_);
  }

  void run() override
  {
    Algorithm::run(
      robot_.model, data_, robot_.q, robot_.v, robot_.tau, anchors_, anchor_data_, settings_);
  }

  Eigen::VectorXd acceleration() const override { return robot_.in_system_order(data_.ddq); }

private:
  PinocchioModel robot_;
  pinocchio::Data data_;
  std::vector<Anchor> anchors_;
  std::vector<typename Anchor::ConstraintData> anchor_data_;
  pinocchio::ProximalSettings settings_;
};

/// The constraints of one problem are of one type, between a link and the world.
template <typename Algorithm>
std::unique_ptr<Method> make_recursion(const Workload & workload)
{
  const PinocchioModel robot(workload);
  if (!robot.closes_to_world)
  {
    return nullptr;
  }
  if (robot.closures[0].is_weld)
  {
    return std::make_unique<Recursion<Algorithm, pinocchio::FrameAnchorConstraintModel>>(robot);
  }
  return std::make_unique<Recursion<Algorithm, pinocchio::PointAnchorConstraintModel>>(robot);
}

}  // namespace

MethodList pinocchio_pv_methods()
{
  return {
    {"pinocchio_pv", make_recursion<PopovVereshchagin>},
    {"pinocchio_constrained_aba", make_recursion<ConstrainedAba>}};
}

}  // namespace constrained_dynamics::bench
