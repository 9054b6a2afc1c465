#include "constrained_dynamics/rigid_body_system.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

// The only file with Pinocchio's headers. Vectors are handed over as exactly
// Eigen::Ref<const Eigen::VectorXd>: for that type the library carries compiled algorithms.
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/jacobian.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "names.hpp"
#include "scene.hpp"
#include "xml_reader.hpp"

namespace constrained_dynamics
{
namespace
{

/// A joint with its places in q and u. Joint i is Pinocchio's joint i + 1.
struct JointIndices
{
  JointKind kind;
  int parent;      ///< −1: the world
  Eigen::Index q;  ///< first coordinate
  Eigen::Index x;  ///< first element of Pinocchio's configuration
  Eigen::Index u;  ///< first speed
  Eigen::Index nu;
};

struct Spring
{
  Eigen::Index q;
  Eigen::Index u;
  double stiffness;
  double rest;
};

struct WrenchPlace
{
  int frame;
  bool expressed_in_frame;
  Eigen::Vector3d force;
  Eigen::Vector3d torque;
};

/// Scratch memory with only what the four algorithms of this file use. Pinocchio's own constructor
/// makes four tensors of n³ numbers more, 4 GB for 500 joints. Versions whose algorithms have not
/// been looked at get everything.
pinocchio::Data make_pinocchio_data(const pinocchio::Model & model)
{
#if PINOCCHIO_VERSION_AT_MOST(4, 1, 99)
  const std::size_t count = static_cast<std::size_t>(model.njoints);
  pinocchio::Data data;
  data.joints.reserve(count);
  for (const pinocchio::JointModel & joint : model.joints)
  {
    data.joints.push_back(joint.createData());
  }
  data.oMi.assign(count, pinocchio::SE3::Identity());
  data.liMi.assign(count, pinocchio::SE3::Identity());
  data.v.assign(count, pinocchio::Motion::Zero());
  data.a.assign(count, pinocchio::Motion::Zero());
  data.a_gf.assign(count, pinocchio::Motion::Zero());
  data.f.assign(count, pinocchio::Force::Zero());
  data.oYcrb.assign(count, pinocchio::Inertia::Zero());
  data.mass.assign(count, 0.0);
  data.com.assign(count, Eigen::Vector3d::Zero());
  data.nle.setZero(model.nv);
  data.M.setZero(model.nv, model.nv);
  data.J.setZero(6, model.nv);
  data.Ag.setZero(6, model.nv);
  data.nvSubtree.assign(count, 0);
  for (std::size_t i = count - 1; i > 0; --i)
  {
    data.nvSubtree[i] += model.joints[i].nv();
    data.nvSubtree[model.parents[i]] += data.nvSubtree[i];
  }
  return data;
#else
  return pinocchio::Data(model);
#endif
}

class RigidBodyData : public SystemData
{
public:
  RigidBodyData(
    int nq, int n, int l, const pinocchio::Model & model, const std::vector<WrenchPlace> & places)
  : SystemData(nq, n, l),
    data(make_pinocchio_data(model)),
    configuration(Eigen::VectorXd::Zero(model.nq)),
    zero(Eigen::VectorXd::Zero(model.nv)),
    wrenches(places),
    moments(static_cast<std::size_t>(model.njoints), Eigen::Vector3d::Zero())
  {
  }

  pinocchio::Data data;
  Eigen::VectorXd configuration;  ///< q as Pinocchio wants it
  Eigen::VectorXd zero;
  std::vector<WrenchPlace> wrenches;
  mutable std::vector<Eigen::Vector3d> moments;  ///< scratch of gravity_torque
};

const RigidBodyData & own(const SystemData & data) noexcept
{
  return static_cast<const RigidBodyData &>(data);
}

pinocchio::SE3 to_pinocchio(const Eigen::Isometry3d & X)
{
  return pinocchio::SE3(X.linear(), X.translation());
}

pinocchio::JointModel joint_model(const SceneJoint & joint)
{
  const Eigen::Vector3d & a = joint.axis;
  switch (joint.kind)
  {
    case JointKind::kRevolute:
      if (a == Eigen::Vector3d::UnitX()) return pinocchio::JointModelRX();
      if (a == Eigen::Vector3d::UnitY()) return pinocchio::JointModelRY();
      if (a == Eigen::Vector3d::UnitZ()) return pinocchio::JointModelRZ();
      return pinocchio::JointModelRevoluteUnaligned(a);
    case JointKind::kPrismatic:
      if (a == Eigen::Vector3d::UnitX()) return pinocchio::JointModelPX();
      if (a == Eigen::Vector3d::UnitY()) return pinocchio::JointModelPY();
      if (a == Eigen::Vector3d::UnitZ()) return pinocchio::JointModelPZ();
      return pinocchio::JointModelPrismaticUnaligned(a);
    case JointKind::kPlanar:
      return pinocchio::JointModelPlanar();
    case JointKind::kBall:
      return pinocchio::JointModelSpherical();
    default:
      return pinocchio::JointModelFreeFlyer();
  }
}

void append(
  std::vector<std::string> & names, const std::string & joint,
  const std::vector<const char *> & suffixes)
{
  for (const char * suffix : suffixes)
  {
    names.push_back(joint + suffix);
  }
}

void append_names(
  const SceneJoint & joint, std::vector<std::string> & coordinates,
  std::vector<std::string> & speeds)
{
  switch (joint.kind)
  {
    case JointKind::kPlanar:
      append(coordinates, joint.name, {"_x", "_y", "_theta"});
      append(speeds, joint.name, {"_vx", "_vy", "_wz"});
      return;
    case JointKind::kFloating:
      append(coordinates, joint.name, {"_x", "_y", "_z", "_qx", "_qy", "_qz", "_qw"});
      append(speeds, joint.name, {"_vx", "_vy", "_vz", "_wx", "_wy", "_wz"});
      return;
    case JointKind::kBall:
      append(coordinates, joint.name, {"_qx", "_qy", "_qz", "_qw"});
      append(speeds, joint.name, {"_wx", "_wy", "_wz"});
      return;
    default:
      coordinates.push_back(joint.name);
      speeds.push_back("d" + joint.name);
  }
}

/// Shortest quaternion that is taken for a direction; products of its elements do not underflow.
constexpr double kShortestQuaternion = 1e-150;

/// Rates of a quaternion (x y z w) that turns with ω in its own axes: q̇ = ½ q ⊗ ω as a matrix.
template <typename Quaternion>
Eigen::Matrix<double, 4, 3> quaternion_rates(const Quaternion & q)
{
  Eigen::Matrix<double, 4, 3> E;
  E << q(3), -q(2), q(1),  //
    q(2), q(3), -q(0),     //
    -q(1), q(0), q(3),     //
    -q(0), -q(1), -q(2);
  return 0.5 * E;
}

}  // namespace

struct RigidBodySystem::Impl
{
  Scene scene;
  pinocchio::Model model;
  std::vector<JointIndices> joints;
  std::vector<int> joint_of_coordinate;  ///< of simple joints; −1 elsewhere
  std::vector<Spring> springs;
  Eigen::VectorXd damping;
  Eigen::VectorXd armature;
  std::vector<Eigen::Index> actuated;
  std::vector<WrenchPlace> wrenches;
  std::vector<double> subtree_mass;  ///< of each joint with everything it carries [kg]
  double total_mass = 0.0;
  std::vector<std::string> coordinate_names;
  std::vector<std::string> speed_names;
  std::vector<std::string> input_names;
  std::vector<std::string> frame_names;
  std::vector<std::string> joint_names;
  std::vector<std::pair<std::string, double>> joint_friction;
  std::vector<std::string> wrench_names;
  std::vector<Limits> limits;
  Eigen::VectorXd neutral;

  explicit Impl(const SceneDescription & description) : scene(assemble_scene(description))
  {
    if (!description.gravity.allFinite())
    {
      throw std::invalid_argument("the gravity of the scene is not finite");
    }
    model.gravity.linear(description.gravity);
    model.gravity.angular().setZero();
    for (std::size_t i = 0; i < scene.joints.size(); ++i)
    {
      add_joint(static_cast<int>(i), description.use_model_damping);
    }
    for (const SceneFrame & frame : scene.frames)
    {
      frame_names.push_back(frame.name);
    }
    add_forces(description);
    choose_inputs(description);
    subtree_mass.assign(joints.size(), 0.0);
    for (std::size_t i = joints.size(); i-- > 0;)
    {
      subtree_mass[i] += scene.joints[i].mass.mass;
      total_mass += scene.joints[i].mass.mass;
      if (joints[i].parent >= 0)
      {
        subtree_mass[static_cast<std::size_t>(joints[i].parent)] += subtree_mass[i];
      }
    }
  }

  void add_joint(int i, bool use_damping)
  {
    const SceneJoint & joint = scene.joints[static_cast<std::size_t>(i)];
    if (model.existJointName(joint.name))
    {
      throw std::invalid_argument(
        joint.where + ": joint '" + joint.name +
        "' exists already in the scene; names of robots, joints and bodies must differ");
    }
    const pinocchio::JointIndex parent = static_cast<pinocchio::JointIndex>(joint.parent + 1);
    const pinocchio::JointIndex index =
      model.addJoint(parent, joint_model(joint), to_pinocchio(joint.placement), joint.name);
    model.appendBodyToJoint(
      index, pinocchio::Inertia(joint.mass.mass, joint.mass.com, joint.mass.inertia),
      pinocchio::SE3::Identity());
    JointIndices indices;
    indices.kind = joint.kind;
    indices.parent = joint.parent;
    indices.q = static_cast<Eigen::Index>(coordinate_names.size());
    indices.x = model.joints[index].idx_q();
    indices.u = model.joints[index].idx_v();
    indices.nu = speeds_of(joint.kind);
    joints.push_back(indices);
    append_names(joint, coordinate_names, speed_names);

    const Eigen::Index nq = static_cast<Eigen::Index>(coordinate_names.size());
    const Eigen::Index n = static_cast<Eigen::Index>(speed_names.size());
    const JointProperties & properties = joint.properties;
    damping.conservativeResize(n);
    damping.tail(indices.nu).setConstant(use_damping ? properties.damping : 0.0);
    armature.conservativeResize(n);
    armature.tail(indices.nu).setConstant(properties.armature);
    neutral.conservativeResize(nq);
    neutral.tail(nq - indices.q).setZero();
    limits.resize(static_cast<std::size_t>(nq));
    const bool simple = is_simple(joint.kind);
    joint_of_coordinate.resize(static_cast<std::size_t>(nq), simple ? i : -1);
    if (simple)
    {
      joint_names.push_back(joint.name);
      if (properties.friction > 0.0)
      {
        joint_friction.emplace_back(joint.name, properties.friction);
      }
      limits.back() = properties.limits;
      if (properties.stiffness > 0.0)
      {
        springs.push_back({indices.q, indices.u, properties.stiffness, properties.rest});
      }
    }
    if (joint.kind == JointKind::kFloating)
    {
      neutral.segment<3>(indices.q) = joint.neutral.translation();
      neutral.tail<4>() = Eigen::Quaterniond(joint.neutral.linear()).coeffs();
    }
    if (joint.kind == JointKind::kBall)
    {
      neutral(nq - 1) = 1.0;
    }
  }

  /// Index of a joint of one degree of freedom.
  const JointIndices & simple_joint(const std::string & what, const std::string & name) const
  {
    const int k = index_of_name("joint of one degree of freedom", name, joint_names);
    for (std::size_t i = 0, simple = 0; i < joints.size(); ++i)
    {
      if (is_simple(joints[i].kind) && simple++ == static_cast<std::size_t>(k))
      {
        return joints[i];
      }
    }
    throw std::invalid_argument(what + " of joint '" + name + "' has no place");
  }

  static double checked(const std::string & what, const std::string & joint, double value)
  {
    if (!(value >= 0.0) || !std::isfinite(value))
    {
      throw std::invalid_argument(
        "the " + what + " of joint '" + joint + "' is " + show(value) +
        "; finite values from 0 on are allowed");
    }
    return value;
  }

  void add_forces(const SceneDescription & description)
  {
    for (const JointSpring & spring : description.springs)
    {
      const JointIndices & joint = simple_joint("spring", spring.joint);
      if (!std::isfinite(spring.rest))
      {
        throw std::invalid_argument(
          "the rest of the spring of joint '" + spring.joint + "' is not finite");
      }
      springs.push_back(
        {joint.q, joint.u, checked("stiffness", spring.joint, spring.stiffness), spring.rest});
    }
    for (const auto & [name, value] : description.dampers)
    {
      damping(simple_joint("damper", name).u) += checked("damper", name, value);
    }
    for (const auto & [name, value] : description.armature)
    {
      armature(simple_joint("armature", name).u) += checked("armature", name, value);
    }
    for (const ExternalWrench & wrench : description.external_wrenches)
    {
      if (!wrench.force.allFinite() || !wrench.torque.allFinite())
      {
        throw std::invalid_argument("external wrench '" + wrench.name + "' is not finite");
      }
      wrench_names.push_back(wrench.name);
      wrenches.push_back(
        {index_of_name("frame", wrench.frame, frame_names), wrench.expressed_in_frame, wrench.force,
         wrench.torque});
    }
    check_names("external wrench", wrench_names);
  }

  void choose_inputs(const SceneDescription & description)
  {
    if (description.actuated)
    {
      for (const std::string & name : *description.actuated)
      {
        bool found = false;
        for (std::size_t u = 0; u < speed_names.size() && !found; ++u)
        {
          found = speed_names[u] == name;
          if (found)
          {
            actuated.push_back(static_cast<Eigen::Index>(u));
          }
        }
        if (!found)
        {
          actuated.push_back(simple_joint("input", name).u);
        }
        input_names.push_back(name);
      }
      return;
    }
    for (std::size_t i = 0; i < joints.size(); ++i)
    {
      if (is_simple(joints[i].kind) && !scene.joints[i].properties.mimics)
      {
        actuated.push_back(joints[i].u);
        input_names.push_back(scene.joints[i].name);
      }
    }
  }

  /// q̇ = C u and the bias of q̈ of one joint; its part of Pinocchio's configuration.
  /// Returns false if its quaternion has no direction.
  bool update_joint(const JointIndices & joint, RigidBodyData & data) const noexcept
  {
    SystemTerms & terms = data.terms;
    const Eigen::VectorXd & q = terms.coordinates;
    const Eigen::VectorXd & u = terms.speeds;
    Eigen::VectorXd & x = data.configuration;
    Eigen::MatrixXd & C = terms.kinematic_matrix;
    if (is_simple(joint.kind))
    {
      x(joint.x) = q(joint.q);
      C(joint.q, joint.u) = 1.0;
      terms.rates(joint.q) = u(joint.u);
      terms.acceleration_bias(joint.q) = 0.0;
      return true;
    }
    if (joint.kind == JointKind::kPlanar)
    {
      const double c = std::cos(q(joint.q + 2));
      const double s = std::sin(q(joint.q + 2));
      x.segment<4>(joint.x) << q(joint.q), q(joint.q + 1), c, s;
      C.block<3, 3>(joint.q, joint.u) << c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0;
      const Eigen::Vector3d v = u.segment<3>(joint.u);
      terms.rates.segment<3>(joint.q) << c * v(0) - s * v(1), s * v(0) + c * v(1), v(2);
      // d/dt of the rotation turns the velocity by 90°, times the angular velocity.
      terms.acceleration_bias.segment<3>(joint.q) << -v(2) * terms.rates(joint.q + 1),
        v(2) * terms.rates(joint.q), 0.0;
      return true;
    }
    // Floating and ball: the quaternion comes last.
    const Eigen::Index nq = coordinates_of(joint.kind);
    const Eigen::Index iq = joint.q + nq - 4;
    const Eigen::Index iu = joint.u + joint.nu - 3;
    const Eigen::Vector4d quaternion = q.segment<4>(iq);
    const double norm = quaternion.stableNorm();
    if (!(norm >= kShortestQuaternion) || !std::isfinite(norm))
    {
      return false;
    }
    x.segment<4>(joint.x + nq - 4) = quaternion / norm;
    const Eigen::Vector3d omega = u.segment<3>(iu);
    const Eigen::Matrix<double, 4, 3> E = quaternion_rates(quaternion);
    C.block<4, 3>(iq, iu) = E;
    terms.rates.segment<4>(iq).noalias() = E * omega;
    // ½ q̇ ⊗ ω = ¼ q ⊗ ω ⊗ ω = −¼ |ω|² q.
    terms.acceleration_bias.segment<4>(iq) = (-0.25 * omega.squaredNorm()) * quaternion;
    if (joint.kind == JointKind::kFloating)
    {
      x.segment<3>(joint.x) = q.segment<3>(joint.q);
      const Eigen::Matrix3d R =
        Eigen::Quaterniond(Eigen::Vector4d(quaternion / norm)).toRotationMatrix();
      const Eigen::Vector3d v = u.segment<3>(joint.u);
      C.block<3, 3>(joint.q, joint.u) = R;
      terms.rates.segment<3>(joint.q).noalias() = R * v;
      terms.acceleration_bias.segment<3>(joint.q).noalias() = R * omega.cross(v);
    }
    return true;
  }

  /// Adds the generalized force of a force and a torque about the world's origin on a joint's body.
  void add_generalized_force(
    const pinocchio::Data & data, int joint, const Eigen::Vector3d & force,
    const Eigen::Vector3d & torque, Eigen::VectorXd & out) const noexcept
  {
    for (int i = joint; i >= 0; i = joints[static_cast<std::size_t>(i)].parent)
    {
      const JointIndices & indices = joints[static_cast<std::size_t>(i)];
      for (Eigen::Index k = indices.u; k < indices.u + indices.nu; ++k)
      {
        out(k) += data.J.col(k).head<3>().dot(force) + data.J.col(k).tail<3>().dot(torque);
      }
    }
  }

  const SceneFrame & frame(int index) const noexcept
  {
    return scene.frames[static_cast<std::size_t>(index)];
  }
  bool has_frame(int index) const noexcept
  {
    return index >= 0 && static_cast<std::size_t>(index) < scene.frames.size();
  }
};

RigidBodySystem::RigidBodySystem(const SceneDescription & scene)
: impl_(std::make_unique<const Impl>(scene))
{
  set_names(impl_->coordinate_names, impl_->speed_names, impl_->input_names, impl_->frame_names);
}

RigidBodySystem::~RigidBodySystem() = default;

namespace
{

std::shared_ptr<RigidBodySystem> single_robot(RobotDescription robot, RobotFormat format, Base base)
{
  robot.format = format;
  robot.base = base;
  SceneDescription scene;
  scene.robots.push_back(std::move(robot));
  return std::make_shared<RigidBodySystem>(scene);
}

RobotDescription from_text(const std::string & text)
{
  RobotDescription robot;
  robot.text = text;
  return robot;
}

}  // namespace

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_urdf_file(
  const std::string & path, Base base)
{
  return single_robot(load_robot_description(path), RobotFormat::kUrdf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_urdf_text(
  const std::string & text, Base base)
{
  return single_robot(from_text(text), RobotFormat::kUrdf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_mjcf_file(
  const std::string & path, Base base)
{
  return single_robot(load_robot_description(path), RobotFormat::kMjcf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_mjcf_text(
  const std::string & text, Base base)
{
  return single_robot(from_text(text), RobotFormat::kMjcf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_sdf_file(const std::string & path, Base base)
{
  return single_robot(load_robot_description(path), RobotFormat::kSdf, base);
}

std::shared_ptr<RigidBodySystem> RigidBodySystem::from_sdf_text(const std::string & text, Base base)
{
  return single_robot(from_text(text), RobotFormat::kSdf, base);
}

const std::vector<std::string> & RigidBodySystem::warnings() const { return impl_->scene.warnings; }

const std::vector<RigidBodySystem::Mimic> & RigidBodySystem::mimics() const
{
  return impl_->scene.mimics;
}

const std::vector<RigidBodySystem::Limits> & RigidBodySystem::limits() const
{
  return impl_->limits;
}

const std::vector<std::string> & RigidBodySystem::joint_names() const { return impl_->joint_names; }

const std::vector<std::string> & RigidBodySystem::link_names() const { return impl_->scene.links; }

const std::vector<std::string> & RigidBodySystem::external_wrench_names() const
{
  return impl_->wrench_names;
}

double RigidBodySystem::total_mass() const { return impl_->total_mass; }

Eigen::Vector3d RigidBodySystem::gravity() const { return impl_->model.gravity.linear(); }

const Eigen::VectorXd & RigidBodySystem::damping() const { return impl_->damping; }
const std::vector<std::pair<std::string, double>> & RigidBodySystem::joint_friction() const
{
  return impl_->joint_friction;
}

void RigidBodySystem::set_external_wrench(
  SystemData & data, int index, const Eigen::Vector3d & force,
  const Eigen::Vector3d & torque) const noexcept CD_NONBLOCKING
{
  std::vector<WrenchPlace> & wrenches = static_cast<RigidBodyData &>(data).wrenches;
  if (index >= 0 && static_cast<std::size_t>(index) < wrenches.size())
  {
    wrenches[static_cast<std::size_t>(index)].force = force;
    wrenches[static_cast<std::size_t>(index)].torque = torque;
  }
}

void RigidBodySystem::gravity_torque(const SystemData & data, VectorRef out) const noexcept
  CD_NONBLOCKING
{
  const RigidBodyData & d = own(data);
  const Eigen::Vector3d g = impl_->model.gravity.linear();
  const std::vector<JointIndices> & joints = impl_->joints;
  for (std::size_t i = 0; i < joints.size(); ++i)
  {
    d.moments[i] =
      impl_->scene.joints[i].mass.mass * d.data.oMi[i + 1].act(impl_->scene.joints[i].mass.com);
  }
  for (std::size_t i = joints.size(); i-- > 0;)
  {
    // Weight of everything that joint i carries, and its moment about the world's origin.
    const Eigen::Vector3d force = impl_->subtree_mass[i] * g;
    const Eigen::Vector3d torque = d.moments[i].cross(g);
    for (Eigen::Index k = joints[i].u; k < joints[i].u + joints[i].nu; ++k)
    {
      out(k) = -d.data.J.col(k).head<3>().dot(force) - d.data.J.col(k).tail<3>().dot(torque);
    }
    if (joints[i].parent >= 0)
    {
      d.moments[static_cast<std::size_t>(joints[i].parent)] += d.moments[i];
    }
  }
}

Eigen::Vector3d RigidBodySystem::centre_of_mass(const SystemData & data) const noexcept
  CD_NONBLOCKING
{
  Eigen::Vector3d moment = Eigen::Vector3d::Zero();
  for (std::size_t i = 0; i < impl_->joints.size(); ++i)
  {
    const MassProperties & mass = impl_->scene.joints[i].mass;
    moment += mass.mass * own(data).data.oMi[i + 1].act(mass.com);
  }
  return moment / impl_->total_mass;
}

std::unique_ptr<SystemData> RigidBodySystem::do_make_data() const
{
  auto data = std::make_unique<RigidBodyData>(
    coordinate_count(), speed_count(), input_count(), impl_->model, impl_->wrenches);
  for (std::size_t i = 0; i < impl_->actuated.size(); ++i)
  {
    data->terms.input_matrix(impl_->actuated[i], static_cast<Eigen::Index>(i)) = 1.0;
  }
  return data;
}

Status RigidBodySystem::do_update_kinematics(SystemData & data) const noexcept CD_NONBLOCKING
{
  RigidBodyData & d = static_cast<RigidBodyData &>(data);
  for (const JointIndices & joint : impl_->joints)
  {
    if (!impl_->update_joint(joint, d))
    {
      return Status::kNonFiniteInput;
    }
  }
  pinocchio::forwardKinematics(
    impl_->model, d.data, ConstVectorRef(d.configuration), ConstVectorRef(d.terms.speeds),
    ConstVectorRef(d.zero));
  pinocchio::computeJointJacobians(impl_->model, d.data);
  bool finite = true;
  for (std::size_t i = 1; i <= impl_->joints.size(); ++i)
  {
    finite = finite && d.data.oMi[i].translation().allFinite() &&
             d.data.v[i].toVector().allFinite() && d.data.a[i].toVector().allFinite();
  }
  return finite ? Status::kOk : Status::kNonFiniteResult;
}

Status RigidBodySystem::do_update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING
{
  RigidBodyData & d = static_cast<RigidBodyData &>(data);
  SystemTerms & terms = d.terms;
  // In the local convention a planar joint costs an allocation.
  pinocchio::crba(
    impl_->model, d.data, ConstVectorRef(d.configuration), pinocchio::Convention::WORLD);
  pinocchio::nonLinearEffects(
    impl_->model, d.data, ConstVectorRef(d.configuration), ConstVectorRef(terms.speeds));

  Eigen::MatrixXd & Q = terms.mass_matrix;
  Q.triangularView<Eigen::Upper>() = d.data.M;
  Q.triangularView<Eigen::StrictlyLower>() = d.data.M.transpose();
  Q.diagonal() += impl_->armature;

  Eigen::VectorXd & P = terms.force;
  P = -d.data.nle - impl_->damping.cwiseProduct(terms.speeds);
  for (const Spring & spring : impl_->springs)
  {
    P(spring.u) -= spring.stiffness * (terms.coordinates(spring.q) - spring.rest);
  }
  for (const WrenchPlace & wrench : d.wrenches)
  {
    const SceneFrame & frame = impl_->frame(wrench.frame);
    if (frame.joint < 0)
    {
      continue;
    }
    const pinocchio::SE3 & X = d.data.oMi[static_cast<std::size_t>(frame.joint) + 1];
    const Eigen::Vector3d r = frame.placement.translation();
    const Eigen::Vector3d p = X.act(r);
    Eigen::Vector3d force = wrench.force;
    Eigen::Vector3d torque = wrench.torque;
    if (wrench.expressed_in_frame)
    {
      const Eigen::Matrix3d R = X.rotation() * frame.placement.linear();
      force = R * wrench.force;
      torque = R * wrench.torque;
    }
    impl_->add_generalized_force(d.data, frame.joint, force, torque + p.cross(force), P);
  }
  return Status::kOk;
}

void RigidBodySystem::do_normalise(VectorRef q) const noexcept CD_NONBLOCKING
{
  for (const JointIndices & joint : impl_->joints)
  {
    if (joint.kind != JointKind::kFloating && joint.kind != JointKind::kBall)
    {
      continue;
    }
    const Eigen::Index first = joint.q + (joint.kind == JointKind::kFloating ? 3 : 0);
    const double norm = q.segment<4>(first).stableNorm();
    if (norm >= kShortestQuaternion && std::isfinite(norm))
    {
      q.segment<4>(first) /= norm;
    }
  }
}

Eigen::VectorXd RigidBodySystem::do_neutral_coordinates() const { return impl_->neutral; }

std::string RigidBodySystem::do_body_of_frame(int frame) const
{
  if (!impl_->has_frame(frame))
  {
    throw std::invalid_argument("there is no frame with index " + std::to_string(frame));
  }
  return impl_->frame(frame).body;
}

void RigidBodySystem::do_frame_kinematics(
  const SystemData & data, int frame, FrameKinematics & out) const noexcept CD_NONBLOCKING
{
  if (!impl_->has_frame(frame))
  {
    out = FrameKinematics{};
    return;
  }
  const SceneFrame & f = impl_->frame(frame);
  if (f.joint < 0)
  {
    out = FrameKinematics{};
    out.rotation = f.placement.linear();
    out.position = f.placement.translation();
    return;
  }
  const std::size_t j = static_cast<std::size_t>(f.joint) + 1;
  const pinocchio::Data & d = own(data).data;
  const Eigen::Matrix3d R = d.oMi[j].rotation();
  const Eigen::Vector3d r = f.placement.translation();
  const Eigen::Vector3d omega = d.v[j].angular();
  const Eigen::Vector3d alpha = d.a[j].angular();
  // In axes of the joint: velocity of the point, and its classical out of the spatial acceleration.
  const Eigen::Vector3d v = d.v[j].linear() + omega.cross(r);
  const Eigen::Vector3d a = d.a[j].linear() + alpha.cross(r) + omega.cross(v);
  out.rotation.noalias() = R * f.placement.linear();
  out.position = d.oMi[j].translation() + R * r;
  out.velocity.noalias() = R * v;
  out.angular_velocity.noalias() = R * omega;
  out.acceleration_bias.noalias() = R * a;
  out.angular_acceleration_bias.noalias() = R * alpha;
}

void RigidBodySystem::do_frame_jacobian(
  const SystemData & data, int frame, Matrix6X & out) const noexcept CD_NONBLOCKING
{
  out.setZero();
  if (!impl_->has_frame(frame) || impl_->frame(frame).joint < 0)
  {
    return;
  }
  const SceneFrame & f = impl_->frame(frame);
  const pinocchio::Data & d = own(data).data;
  const Eigen::Vector3d r = f.placement.translation();
  const Eigen::Vector3d p = d.oMi[static_cast<std::size_t>(f.joint) + 1].act(r);
  for (int i = f.joint; i >= 0; i = impl_->joints[static_cast<std::size_t>(i)].parent)
  {
    const JointIndices & joint = impl_->joints[static_cast<std::size_t>(i)];
    for (Eigen::Index k = joint.u; k < joint.u + joint.nu; ++k)
    {
      const Eigen::Vector3d omega = d.J.col(k).tail<3>();
      out.col(k).head<3>() = d.J.col(k).head<3>() + omega.cross(p);
      out.col(k).tail<3>() = omega;
    }
  }
}

bool RigidBodySystem::do_has_joint(int coordinate) const
{
  return coordinate >= 0 && coordinate < coordinate_count() &&
         impl_->joint_of_coordinate[static_cast<std::size_t>(coordinate)] >= 0;
}

std::pair<std::string, std::string> RigidBodySystem::do_joint_bodies(int coordinate) const
{
  if (!do_has_joint(coordinate))
  {
    throw std::invalid_argument(
      "coordinate " + std::to_string(coordinate) + " is no joint of one degree of freedom");
  }
  const int joint = impl_->joint_of_coordinate[static_cast<std::size_t>(coordinate)];
  const SceneJoint & j = impl_->scene.joints[static_cast<std::size_t>(joint)];
  return {j.child_link, j.parent_link};
}

void RigidBodySystem::do_joint_wrench(
  const SystemData & data, int coordinate, Wrench & out) const noexcept CD_NONBLOCKING
{
  out = Wrench{};
  if (coordinate < 0 || coordinate >= coordinate_count())
  {
    return;
  }
  const int joint = impl_->joint_of_coordinate[static_cast<std::size_t>(coordinate)];
  if (joint < 0)
  {
    return;
  }
  const std::size_t j = static_cast<std::size_t>(joint);
  const pinocchio::SE3 & X = own(data).data.oMi[j + 1];
  const Eigen::Vector3d axis = X.rotation() * impl_->scene.joints[j].axis;
  out.point = X.translation();
  (impl_->joints[j].kind == JointKind::kRevolute ? out.torque : out.force) = axis;
}

double RigidBodySystem::do_potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING
{
  double energy = -impl_->total_mass * impl_->model.gravity.linear().dot(centre_of_mass(data));
  for (const Spring & spring : impl_->springs)
  {
    const double stretch = data.terms.coordinates(spring.q) - spring.rest;
    energy += 0.5 * spring.stiffness * stretch * stretch;
  }
  return energy;
}

}  // namespace constrained_dynamics
