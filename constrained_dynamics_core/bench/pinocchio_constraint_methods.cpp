#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>

#include "method.hpp"
#include "pinocchio_model.hpp"

namespace constrained_dynamics::bench
{

namespace
{

class ConstraintDynamics : public Method
{
public:
  explicit ConstraintDynamics(const Workload & workload) : robot_(workload), data_(robot_.model)
  {
    for (const Closure & closure : workload.closures)
    {
      const PinocchioModel::Attached a = robot_.attached(closure.a);
      const PinocchioModel::Attached b = robot_.attached(closure.b);
      const pinocchio::RigidConstraintModel model(
        closure.kind == Closure::Kind::kWeld ? pinocchio::CONTACT_6D : pinocchio::CONTACT_3D,
        robot_.model, a.joint, a.placement, b.joint, b.placement, pinocchio::LOCAL);
      for (int copy = 0; copy < (workload.redundant ? 2 : 1); ++copy)
      {
        constraints_.push_back(model);
      }
    }
    for (const auto & constraint : constraints_)
    {
      constraint_data_.emplace_back(constraint);
    }
    // Rows of full rank are solved in one go; others need the proximal iterations.
    if (workload.planar || workload.redundant)
    {
      settings_ = pinocchio::ProximalSettings(1e-12, 1e-10, 20);
    }
    pinocchio::initConstraintDynamics(robot_.model, data_, constraints_, constraint_data_);
  }

  void run() override
  {
    pinocchio::constraintDynamics(
      robot_.model, data_, robot_.q, robot_.v, robot_.tau, constraints_, constraint_data_,
      settings_);
  }

  Eigen::VectorXd acceleration() const override { return robot_.in_system_order(data_.ddq); }

private:
  PinocchioModel robot_;
  pinocchio::Data data_;
  pinocchio::RigidConstraintModelVector constraints_;
  pinocchio::RigidConstraintDataVector constraint_data_;
  pinocchio::ProximalSettings settings_;
};

/// Without constraints: the floor.
class ArticulatedBody : public Method
{
public:
  explicit ArticulatedBody(const Workload & workload)
  : robot_(workload), data_(robot_.model), q_(robot_.q), v_(robot_.v), tau_(robot_.tau)
  {
  }

  void run() override { pinocchio::aba(robot_.model, data_, q_, v_, tau_); }

  Eigen::VectorXd acceleration() const override { return robot_.in_system_order(data_.ddq); }

private:
  PinocchioModel robot_;
  pinocchio::Data data_;
  // Of the type that the compiled Pinocchio has the function for.
  Eigen::Ref<const Eigen::VectorXd> q_;
  Eigen::Ref<const Eigen::VectorXd> v_;
  Eigen::Ref<const Eigen::VectorXd> tau_;
};

template <typename Type>
std::unique_ptr<Method> make(const Workload & workload)
{
  return std::make_unique<Type>(workload);
}

}  // namespace

MethodList pinocchio_constraint_methods()
{
  return {
    {"pinocchio_constraint_dynamics", make<ConstraintDynamics>},
    {"pinocchio_aba", make<ArticulatedBody>}};
}

}  // namespace constrained_dynamics::bench
