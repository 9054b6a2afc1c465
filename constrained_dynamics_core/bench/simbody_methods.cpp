// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <vector>

#include <Simbody.h>

#include "body_tree.hpp"
#include "method.hpp"

namespace constrained_dynamics::bench
{

namespace
{

SimTK::Vec3 vec(const Eigen::Vector3d & v) { return {v.x(), v.y(), v.z()}; }

Eigen::Vector3d eigen(const SimTK::Vec3 & v) { return {v[0], v[1], v[2]}; }

SimTK::Transform transform(const Eigen::Isometry3d & placement)
{
  const Eigen::Matrix3d R = placement.linear();
  const SimTK::Mat33 matrix(
    R(0, 0), R(0, 1), R(0, 2), R(1, 0), R(1, 1), R(1, 2), R(2, 0), R(2, 1), R(2, 2));
  return {SimTK::Rotation(matrix), vec(placement.translation())};
}

SimTK::Body::Rigid rigid_body(const TreeBody & body)
{
  const Eigen::Matrix3d about_origin =
    body.inertia + body.mass * (body.com.squaredNorm() * Eigen::Matrix3d::Identity() -
                                body.com * body.com.transpose());
  const SimTK::Inertia inertia(
    about_origin(0, 0), about_origin(1, 1), about_origin(2, 2), about_origin(0, 1),
    about_origin(0, 2), about_origin(1, 2));
  return SimTK::Body::Rigid(SimTK::MassProperties(body.mass, vec(body.com), inertia));
}

class SimbodyAcceleration : public Method
{
public:
  SimbodyAcceleration(const Workload & workload, const BodyTree & tree)
  : speed_count_(workload.system->speed_count()), matter_(system_), forces_(system_)
  {
    SimTK::Force::Gravity(forces_, matter_, vec(workload.scene.gravity));
    SimTK::Force::DiscreteForces inputs(forces_, matter_);
    for (const TreeBody & body : tree.bodies)
    {
      add(body);
    }
    for (const BodyTree::TreeClosure & closure : tree.closures)
    {
      close(closure);
    }
    state_ = system_.realizeTopology();
    for (std::size_t i = 0; i < tree.bodies.size(); ++i)
    {
      set_state(workload, tree.bodies[i], mobilizers_[i], inputs);
    }
  }

  void run() override
  {
    state_.updQ();  // a new state: nothing that is known at an earlier stage is kept
    system_.realize(state_, SimTK::Stage::Acceleration);
  }

  Eigen::VectorXd acceleration() const override
  {
    Eigen::VectorXd result(speed_count_);
    for (std::size_t i = 0; i < mobilizers_.size(); ++i)
    {
      if (speeds_[i] >= 0)
      {
        result(speeds_[i]) = mobilizers_[i].getOneUDot(state_, 0);
        continue;
      }
      const SimTK::SpatialVec acceleration = mobilizers_[i].getBodyAcceleration(state_);
      base_->set_acceleration(eigen(acceleration[1]), eigen(acceleration[0]), result);
    }
    return result;
  }

private:
  SimTK::MobilizedBody & mobilizer(int body)
  {
    return body < 0 ? matter_.updGround() : mobilizers_[static_cast<std::size_t>(body)];
  }

  void add(const TreeBody & body)
  {
    SimTK::MobilizedBody & parent = mobilizer(body.parent);
    const SimTK::Transform in_parent = transform(body.placement);
    switch (body.joint)
    {
      case TreeBody::Joint::kFloating:
        mobilizers_.push_back(
          SimTK::MobilizedBody::Free(parent, in_parent, rigid_body(body), SimTK::Transform()));
        break;
      case TreeBody::Joint::kPrismatic:
      {
        const SimTK::Transform x_to_axis(
          SimTK::Rotation(SimTK::UnitVec3(vec(body.axis)), SimTK::XAxis));
        mobilizers_.push_back(
          SimTK::MobilizedBody::Slider(parent, in_parent * x_to_axis, rigid_body(body), x_to_axis));
        break;
      }
      default:
      {
        const SimTK::Transform z_to_axis(
          SimTK::Rotation(SimTK::UnitVec3(vec(body.axis)), SimTK::ZAxis));
        mobilizers_.push_back(
          SimTK::MobilizedBody::Pin(parent, in_parent * z_to_axis, rigid_body(body), z_to_axis));
      }
    }
  }

  void close(const BodyTree::TreeClosure & closure)
  {
    const SimTK::Transform a = transform(closure.a.placement);
    const SimTK::Transform b = transform(closure.b.placement);
    if (closure.is_weld)
    {
      SimTK::Constraint::Weld(mobilizer(closure.a.body), a, mobilizer(closure.b.body), b);
    }
    else
    {
      SimTK::Constraint::Ball(mobilizer(closure.a.body), a.p(), mobilizer(closure.b.body), b.p());
    }
  }

  void set_state(
    const Workload & workload, const TreeBody & body, const SimTK::MobilizedBody & mobilized,
    const SimTK::Force::DiscreteForces & inputs)
  {
    if (body.joint == TreeBody::Joint::kFloating)
    {
      base_ = std::make_unique<BaseMotion>(workload, body);
      mobilized.setQToFitTransform(state_, transform(base_->pose));
      mobilized.setUToFitVelocity(
        state_, SimTK::SpatialVec(vec(base_->angular_velocity), vec(base_->velocity)));
      speeds_.push_back(-1);
      return;
    }
    const int speed = workload.system->speed_index("d" + body.joint_name);
    mobilized.setOneQ(
      state_, 0, workload.state.q(workload.system->coordinate_index(body.joint_name)));
    mobilized.setOneU(state_, 0, workload.state.u(speed));
    inputs.setOneMobilityForce(state_, mobilized, SimTK::MobilizerUIndex(0), workload.force(speed));
    speeds_.push_back(speed);
  }

  int speed_count_;
  SimTK::MultibodySystem system_;
  SimTK::SimbodyMatterSubsystem matter_;
  SimTK::GeneralForceSubsystem forces_;
  SimTK::State state_;
  std::vector<SimTK::MobilizedBody> mobilizers_;
  std::vector<int> speeds_;  // of each mobilizer, −1: floating base
  std::unique_ptr<BaseMotion> base_;
};

std::unique_ptr<Method> make_simbody(const Workload & workload)
{
  const BodyTree tree(workload);
  return tree.is_simple() ? std::make_unique<SimbodyAcceleration>(workload, tree) : nullptr;
}

}  // namespace

MethodList simbody_methods() { return {{"simbody", make_simbody}}; }

}  // namespace constrained_dynamics::bench
