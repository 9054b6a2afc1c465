// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/pinocchio.hpp"

#include <stdexcept>
#include <utility>

// The only file with Pinocchio's algorithms. Vectors are handed over as exactly
// Eigen::Ref<const Eigen::VectorXd>: for that type the library carries compiled algorithms.
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "model/rigid_body_impl.hpp"

namespace constrained_dynamics
{
namespace
{

/// Memory for crba and nonLinearEffects alone. Pinocchio's own constructor adds four tensors of n³
/// numbers: 4 GB for 500 joints. Versions whose algorithms have not been checked get all of it.
std::unique_ptr<pinocchio::Data> make_lean_data(const pinocchio::Model & model)
{
#if PINOCCHIO_VERSION_AT_MOST(4, 1, 99)
  const std::size_t count = static_cast<std::size_t>(model.njoints);
  auto data = std::make_unique<pinocchio::Data>();
  data->joints.reserve(count);
  for (const pinocchio::JointModel & joint : model.joints)
  {
    data->joints.push_back(joint.createData());
  }
  data->oMi.assign(count, pinocchio::SE3::Identity());
  data->liMi.assign(count, pinocchio::SE3::Identity());
  data->v.assign(count, pinocchio::Motion::Zero());
  data->a.assign(count, pinocchio::Motion::Zero());
  data->a_gf.assign(count, pinocchio::Motion::Zero());
  data->f.assign(count, pinocchio::Force::Zero());
  data->oYcrb.assign(count, pinocchio::Inertia::Zero());
  data->mass.assign(count, 0.0);
  data->com.assign(count, Eigen::Vector3d::Zero());
  data->nle.setZero(model.nv);
  data->M.setZero(model.nv, model.nv);
  data->J.setZero(6, model.nv);
  data->Ag.setZero(6, model.nv);
  data->nvSubtree.assign(count, 0);
  for (std::size_t i = count - 1; i > 0; --i)
  {
    data->nvSubtree[i] += model.joints[i].nv();
    data->nvSubtree[model.parents[i]] += data->nvSubtree[i];
  }
  return data;
#else
  return std::make_unique<pinocchio::Data>(model);
#endif
}

RigidBodyData & own(SystemData & data)
{
  RigidBodyData * result = dynamic_cast<RigidBodyData *>(&data);
  if (result == nullptr)
  {
    throw std::invalid_argument("the data does not belong to a RigidBodySystem");
  }
  return *result;
}

void check_size(const char * what, Eigen::Index size, Eigen::Index needed)
{
  if (size != needed)
  {
    throw std::invalid_argument(
      std::string(what) + " has " + std::to_string(size) + " elements; " + std::to_string(needed) +
      " are needed");
  }
}

}  // namespace

RigidBodyData::RigidBodyData(
  int input_count, const RobotModel & robot, const std::vector<ConfigurationPart> & parts,
  const std::vector<TreeWrench> & outside)
: TreeData(
    static_cast<int>(robot.neutral.size()), robot.model->nv, input_count, robot.joints.size(),
    outside),
  derivatives(robot.joints.size(), robot.model->nv),
  frame_jacobian(Matrix6X::Zero(6, robot.model->nv)),
  model_(robot.model),
  parts_(parts),
  pinocchio_(make_lean_data(*robot.model)),
  configuration_(Eigen::VectorXd::Zero(robot.model->nq))
{
}

RigidBodyData::~RigidBodyData() = default;

const Eigen::VectorXd & RigidBodyData::update_configuration() noexcept CD_NONBLOCKING
{
  to_model_configuration(parts_, terms.coordinates, configuration_);
  return configuration_;
}

void RigidBodyData::add_inertia_and_bias() noexcept CD_NONBLOCKING
{
  const ConstVectorRef q(update_configuration());
  pinocchio::Data & data = *pinocchio_;
  // With the local convention a planar joint would allocate.
  pinocchio::crba(*model_, data, q, pinocchio::Convention::WORLD);
  pinocchio::nonLinearEffects(*model_, data, q, ConstVectorRef(terms.speeds));
  Eigen::MatrixXd & Q = terms.mass_matrix;
  for (Eigen::Index j = 0; j < Q.cols(); ++j)  // crba fills the upper triangle
  {
    for (Eigen::Index i = 0; i <= j; ++i)
    {
      Q(i, j) = Q(j, i) = data.M(i, j);
    }
  }
  terms.force -= data.nle;
}

pinocchio::Data & RigidBodyData::complete_data()
{
  if (!is_complete_)
  {
    pinocchio_ = std::make_unique<pinocchio::Data>(*model_);
    is_complete_ = true;
  }
  return *pinocchio_;
}

/// Access to the private part of the system, for the functions of this file.
struct PinocchioAccess
{
  static const RigidBodySystem::Impl & impl(const RigidBodySystem & system)
  {
    return *system.impl_;
  }
  static std::shared_ptr<const RigidBodySystem> make(
    RobotModel robot, const SceneDescription & scene, bool use_damping)
  {
    return std::shared_ptr<const RigidBodySystem>(new RigidBodySystem(
      std::make_unique<const RigidBodySystem::Impl>(std::move(robot), scene, use_damping)));
  }
};

std::shared_ptr<const RigidBodySystem> make_rigid_body_system(
  const pinocchio::Model & model, const ModelOptions & options)
{
  return PinocchioAccess::make(
    extend_model(model, options.scene), options.scene, options.use_damping);
}

const pinocchio::Model & pinocchio_model(const RigidBodySystem & system)
{
  return *PinocchioAccess::impl(system).robot.model;
}

pinocchio::Data & pinocchio_data(SystemData & data) { return own(data).complete_data(); }

const Eigen::VectorXd & pinocchio_q(SystemData & data) { return own(data).update_configuration(); }

void to_pinocchio_q(
  const RigidBodySystem & system, const ConstVectorRef & q, VectorRef out) noexcept CD_NONBLOCKING
{
  to_model_configuration(PinocchioAccess::impl(system).parts, q, out);
}

void from_pinocchio_q(
  const RigidBodySystem & system, const ConstVectorRef & configuration,
  VectorRef out) noexcept CD_NONBLOCKING
{
  from_model_configuration(PinocchioAccess::impl(system).parts, configuration, out);
}

Eigen::VectorXd to_pinocchio_q(const RigidBodySystem & system, const Eigen::VectorXd & q)
{
  check_size("q", q.size(), system.coordinate_count());
  Eigen::VectorXd out(pinocchio_model(system).nq);
  to_pinocchio_q(system, q, out);
  return out;
}

Eigen::VectorXd from_pinocchio_q(
  const RigidBodySystem & system, const Eigen::VectorXd & configuration)
{
  check_size("the configuration", configuration.size(), pinocchio_model(system).nq);
  Eigen::VectorXd out(system.coordinate_count());
  from_pinocchio_q(system, configuration, out);
  return out;
}

}  // namespace constrained_dynamics
