// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// MuJoCo: constraints are soft, so its accelerations differ by design.
#include <limits>
#include <sstream>
#include <stdexcept>

#include <mujoco/mujoco.h>

#include "body_tree.hpp"
#include "method.hpp"

namespace constrained_dynamics::bench
{

namespace
{

class MjcfWriter
{
public:
  MjcfWriter(const Workload & workload, const BodyTree & tree) : tree_(tree)
  {
    stream_.precision(std::numeric_limits<double>::max_digits10);
    const Eigen::Vector3d & gravity = workload.scene.gravity;
    // Without warm start: a repeated call would start from its own solution.
    stream_ << "<mujoco><compiler angle=\"radian\"/><size memory=\"500M\"/><option gravity=\""
            << gravity.x() << ' ' << gravity.y() << ' ' << gravity.z()
            << "\"><flag contact=\"disable\" limit=\"disable\" warmstart=\"disable\"/></option>"
            << "<worldbody>";
    sites(-1);
    children(-1);
    stream_ << "</worldbody><equality>";
    for (std::size_t i = 0; i < tree.closures.size(); ++i)
    {
      stream_ << (tree.closures[i].is_weld ? "<weld" : "<connect") << " site1=\"a" << i
              << "\" site2=\"b" << i << "\"/>";
    }
    stream_ << "</equality></mujoco>";
  }

  std::string text() const { return stream_.str(); }

private:
  void pose(const Eigen::Isometry3d & placement)
  {
    const Eigen::Quaterniond q(placement.linear());
    const Eigen::Vector3d p = placement.translation();
    stream_ << " pos=\"" << p.x() << ' ' << p.y() << ' ' << p.z() << "\" quat=\"" << q.w() << ' '
            << q.x() << ' ' << q.y() << ' ' << q.z() << '"';
  }

  void site(char side, std::size_t i, const Eigen::Isometry3d & placement)
  {
    stream_ << "<site name=\"" << side << i << '"';
    pose(placement);
    stream_ << "/>";
  }

  void sites(int body)
  {
    for (std::size_t i = 0; i < tree_.closures.size(); ++i)
    {
      const BodyTree::TreeClosure & closure = tree_.closures[i];
      if (closure.a.body == body)
      {
        site('a', i, closure.a.placement);
      }
      if (closure.b.body == body)
      {
        site('b', i, closure.b.placement);
      }
    }
  }

  void children(int parent)
  {
    for (std::size_t i = 0; i < tree_.bodies.size(); ++i)
    {
      if (tree_.bodies[i].parent == parent)
      {
        body(static_cast<int>(i));
      }
    }
  }

  void body(int index)
  {
    const TreeBody & body = tree_.bodies[static_cast<std::size_t>(index)];
    const Eigen::Matrix3d & I = body.inertia;
    stream_ << "<body";
    pose(body.placement);
    stream_ << "><inertial pos=\"" << body.com.x() << ' ' << body.com.y() << ' ' << body.com.z()
            << "\" mass=\"" << body.mass << "\" fullinertia=\"" << I(0, 0) << ' ' << I(1, 1) << ' '
            << I(2, 2) << ' ' << I(0, 1) << ' ' << I(0, 2) << ' ' << I(1, 2) << "\"/>";
    if (body.joint == TreeBody::Joint::kFloating)
    {
      stream_ << "<freejoint name=\"" << body.joint_name << "\"/>";
    }
    else
    {
      stream_ << "<joint name=\"" << body.joint_name << "\" type=\""
              << (body.joint == TreeBody::Joint::kRevolute ? "hinge" : "slide") << "\" axis=\""
              << body.axis.x() << ' ' << body.axis.y() << ' ' << body.axis.z() << "\"/>";
    }
    sites(index);
    children(index);
    stream_ << "</body>";
  }

  const BodyTree & tree_;
  std::ostringstream stream_;
};

class MujocoForward : public Method
{
public:
  MujocoForward(const Workload & workload, const BodyTree & tree) : system_(workload.system)
  {
    char message[1000] = "";
    mjSpec * spec = mj_parseXMLString(
      MjcfWriter(workload, tree).text().c_str(), nullptr, message, sizeof(message));
    if (spec != nullptr)
    {
      model_ = mj_compile(spec, nullptr);
      if (model_ == nullptr)
      {
        snprintf(message, sizeof(message), "%s", mjs_getError(spec));
      }
      mj_deleteSpec(spec);
    }
    if (model_ == nullptr)
    {
      throw std::runtime_error("MuJoCo: " + std::string(message));
    }
    data_ = mj_makeData(model_);
    for (const TreeBody & body : tree.bodies)
    {
      set_joint(workload, body);
    }
  }

  ~MujocoForward() override
  {
    mj_deleteData(data_);
    mj_deleteModel(model_);
  }

  void run() override { mj_forward(model_, data_); }

  Eigen::VectorXd acceleration() const override
  {
    Eigen::VectorXd result(system_->speed_count());
    for (std::size_t i = 0; i < speeds_.size(); ++i)
    {
      result(speeds_[i]) = data_->qacc[dofs_[i]];
    }
    if (base_)
    {
      // Of a free joint: the origin's acceleration in world axes, the angular one in body axes.
      const Eigen::Map<const Eigen::Vector3d> linear(data_->qacc + base_dof_);
      const Eigen::Map<const Eigen::Vector3d> angular(data_->qacc + base_dof_ + 3);
      base_->set_acceleration(linear, base_->pose.linear() * angular, result);
    }
    return result;
  }

private:
  void set_joint(const Workload & workload, const TreeBody & body)
  {
    const int joint = mj_name2id(model_, mjOBJ_JOINT, body.joint_name.c_str());
    mjtNum * q = data_->qpos + model_->jnt_qposadr[joint];
    const int dof = model_->jnt_dofadr[joint];
    if (body.joint == TreeBody::Joint::kFloating)
    {
      base_ = std::make_unique<BaseMotion>(workload, body);
      base_dof_ = dof;
      const Eigen::Quaterniond rotation(base_->pose.linear());
      const Eigen::Vector3d angular = base_->pose.linear().transpose() * base_->angular_velocity;
      for (int k = 0; k < 3; ++k)
      {
        q[k] = base_->pose.translation()(k);
        q[4 + k] = rotation.vec()(k);
        data_->qvel[dof + k] = base_->velocity(k);
        data_->qvel[dof + 3 + k] = angular(k);
      }
      q[3] = rotation.w();
      return;
    }
    const int speed = system_->speed_index("d" + body.joint_name);
    *q = workload.state.q(system_->coordinate_index(body.joint_name));
    data_->qvel[dof] = workload.state.u(speed);
    data_->qfrc_applied[dof] = workload.force(speed);
    speeds_.push_back(speed);
    dofs_.push_back(dof);
  }

  std::shared_ptr<const System> system_;
  mjModel * model_ = nullptr;
  mjData * data_ = nullptr;
  std::vector<int> speeds_;
  std::vector<int> dofs_;
  std::unique_ptr<BaseMotion> base_;
  int base_dof_ = 0;
};

std::unique_ptr<Method> make_mujoco(const Workload & workload)
{
  const BodyTree tree(workload);
  return tree.is_simple() ? std::make_unique<MujocoForward>(workload, tree) : nullptr;
}

}  // namespace

MethodList mujoco_methods() { return {{"mujoco", make_mujoco}}; }

}  // namespace constrained_dynamics::bench
