// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "systems/mujoco/mujoco_plant.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include <mujoco/mujoco.h>
#include <tinyxml2.h>
#include <Eigen/Dense>
#include <Eigen/Geometry>

namespace constrained_dynamics::test
{

namespace
{

Eigen::Quaterniond rotation_of(const Pose & pose)
{
  return Eigen::AngleAxisd(pose.rpy.z(), Eigen::Vector3d::UnitZ()) *
         Eigen::AngleAxisd(pose.rpy.y(), Eigen::Vector3d::UnitY()) *
         Eigen::AngleAxisd(pose.rpy.x(), Eigen::Vector3d::UnitX());
}

void set_pose(const Pose & pose, double * position, double * quaternion)
{
  const Eigen::Quaterniond rotation = rotation_of(pose);
  Eigen::Vector3d::Map(position) = pose.xyz;
  quaternion[0] = rotation.w();
  Eigen::Vector3d::Map(quaternion + 1) = rotation.vec();
}

/// The description without visuals and collisions, locked joints fixed; `root` is its root link.
std::string stripped_urdf(const MujocoScene & scene, std::string & root)
{
  tinyxml2::XMLDocument document;
  if (document.LoadFile(scene.urdf.c_str()) != tinyxml2::XML_SUCCESS)
  {
    throw std::runtime_error(scene.urdf + ": " + document.ErrorStr());
  }
  tinyxml2::XMLElement * robot = document.RootElement();
  std::set<std::string> roots;
  for (auto * link = robot->FirstChildElement("link"); link != nullptr;
       link = link->NextSiblingElement("link"))
  {
    roots.insert(link->Attribute("name"));
    for (const char * kind : {"visual", "collision"})
    {
      while (auto * element = link->FirstChildElement(kind))
      {
        link->DeleteChild(element);
      }
    }
  }
  for (auto * joint = robot->FirstChildElement("joint"); joint != nullptr;
       joint = joint->NextSiblingElement("joint"))
  {
    roots.erase(joint->FirstChildElement("child")->Attribute("link"));
    if (scene.locked.count(joint->Attribute("name")) > 0)
    {
      joint->SetAttribute("type", "fixed");
    }
  }
  if (roots.size() != 1)
  {
    throw std::runtime_error(scene.urdf + " has " + std::to_string(roots.size()) + " root links");
  }
  root = *roots.begin();
  tinyxml2::XMLPrinter printer;
  document.Print(&printer);
  return printer.CStr();
}

void add_attachment(mjSpec * spec, const Attachment & attachment)
{
  mjsBody * parent = mjs_findBody(spec, attachment.parent.c_str());
  if (parent == nullptr)
  {
    throw std::runtime_error("MuJoCo has no body " + attachment.parent);
  }
  mjsBody * body = mjs_addBody(parent, nullptr);
  mjs_setName(body->element, attachment.name.c_str());
  set_pose(attachment.pose, body->pos, body->quat);
  body->explicitinertial = 1;
  body->mass = attachment.mass;
  Eigen::Vector3d::Map(body->ipos) = attachment.com;
  const Eigen::Matrix3d & I = attachment.inertia;
  const double values[] = {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)};
  std::copy(std::begin(values), std::end(values), body->fullinertia);
}

void add_shape(mjSpec * spec, const MujocoScene & scene, const MujocoShape & shape)
{
  mjsBody * body = mjs_findBody(spec, shape.body.c_str());
  if (body == nullptr)
  {
    throw std::runtime_error("MuJoCo has no body " + shape.body);
  }
  mjsGeom * geom = mjs_addGeom(body, nullptr);
  mjs_setName(geom->element, shape.name.c_str());
  geom->type = shape.kind == MujocoShape::Kind::kPlane    ? mjGEOM_PLANE
               : shape.kind == MujocoShape::Kind::kSphere ? mjGEOM_SPHERE
                                                          : mjGEOM_BOX;
  set_pose(shape.pose, geom->pos, geom->quat);
  Eigen::Vector3d::Map(geom->size) = shape.size;
  const bool is_world = shape.body == "world";
  geom->contype = is_world ? 1 : 0;
  geom->conaffinity = is_world ? 0 : 1;
  geom->condim = shape.friction > 0.0 ? 3 : 1;
  geom->friction[0] = shape.friction;
  geom->mass = 0.0;  // the link has its own
  geom->solref[0] = scene.time_constant;
  geom->solref[1] = 1.0;
  const double impedance[] = {scene.impedance, scene.impedance, 1e-3, 0.5, 2.0};
  std::copy(std::begin(impedance), std::end(impedance), geom->solimp);
}

mjModel * compile(const MujocoScene & scene)
{
  char message[1000] = "";
  std::string root;
  const std::string text = stripped_urdf(scene, root);
  const std::unique_ptr<mjSpec, void (*)(mjSpec *)> spec(
    mj_parseXMLString(text.c_str(), nullptr, message, sizeof(message)), mj_deleteSpec);
  if (!spec)
  {
    throw std::runtime_error("MuJoCo: " + std::string(message));
  }
  // Links that are fixed to others keep their names, inertia is taken as it is written.
  spec->compiler.fusestatic = 0;
  spec->compiler.balanceinertia = 0;
  spec->compiler.inertiafromgeom = mjINERTIAFROMGEOM_FALSE;
  if (scene.base == Base::kFloating)
  {
    mjs_setName(mjs_addFreeJoint(mjs_findBody(spec.get(), root.c_str()))->element, "base");
  }
  for (const Attachment & attachment : scene.attachments)
  {
    add_attachment(spec.get(), attachment);
  }
  for (const MujocoShape & shape : scene.shapes)
  {
    add_shape(spec.get(), scene, shape);
  }
  mjModel * model = mj_compile(spec.get(), nullptr);
  if (model == nullptr)
  {
    throw std::runtime_error("MuJoCo: " + std::string(mjs_getError(spec.get())));
  }
  return model;
}

}  // namespace

struct MujocoPlant::Impl
{
  /// A joint of one degree of freedom.
  struct Joint
  {
    int coordinate, speed, input;  // ours; input −1: none
    int address, dof;              // MuJoCo's
  };

  ~Impl()
  {
    mj_deleteData(data);
    mj_deleteModel(model);
  }

  Eigen::Quaterniond base_rotation() const
  {
    const mjtNum * q = data->qpos + base_address;
    return {q[3], q[4], q[5], q[6]};
  }

  /// Ours = matrix · MuJoCo's speeds: a free joint's velocity is in world axes there.
  Eigen::MatrixXd speed_map() const
  {
    Eigen::MatrixXd map = Eigen::MatrixXd::Zero(system->speed_count(), model->nv);
    for (const Joint & joint : joints)
    {
      map(joint.speed, joint.dof) = 1.0;
    }
    if (base_dof >= 0)
    {
      map.block<3, 3>(base_speed, base_dof) = base_rotation().toRotationMatrix().transpose();
      map.block<3, 3>(base_speed + 3, base_dof + 3).setIdentity();
    }
    return map;
  }

  std::shared_ptr<const System> system;
  mjModel * model = nullptr;
  mjData * data = nullptr;
  std::vector<Joint> joints;
  int base_address = -1, base_dof = -1, base_coordinate = -1, base_speed = -1;
  bool is_planar = false;
  double base_height = 0.0;
  std::map<int, Eigen::Vector3d> forces;  // of a shape, at the beginning of the last advance
};

MujocoPlant::MujocoPlant(const MujocoScene & scene, std::shared_ptr<const System> system)
: impl_(std::make_unique<Impl>())
{
  Impl & impl = *impl_;
  impl.system = std::move(system);
  impl.model = compile(scene);
  mjModel & model = *impl.model;
  model.opt.timestep = scene.step;
  model.opt.integrator = mjINT_IMPLICITFAST;
  model.opt.cone = mjCONE_ELLIPTIC;
  model.opt.impratio = 100.0;
  model.opt.tolerance = 1e-14;
  model.opt.ls_tolerance = 1e-6;
  model.opt.iterations = 200;
  // Ours has neither limits nor dry friction in the joints.
  model.opt.disableflags |= mjDSBL_LIMIT | mjDSBL_FRICTIONLOSS;
  if (!scene.model_damping)
  {
    model.opt.disableflags |= mjDSBL_DAMPER;
  }
  impl.base_height = scene.base_height;
  const std::vector<std::string> & names = impl.system->coordinate_names();
  const std::vector<std::string> & inputs = impl.system->input_names();
  for (int id = 0; id < model.njnt; ++id)
  {
    const std::string name = mj_id2name(&model, mjOBJ_JOINT, id);
    const int address = model.jnt_qposadr[id];
    const int dof = model.jnt_dofadr[id];
    if (model.jnt_type[id] == mjJNT_FREE)
    {
      impl.base_address = address;
      impl.base_dof = dof;
      impl.base_coordinate = impl.system->coordinate_index("base_x");
      impl.base_speed = impl.system->speed_index("base_vx");
      impl.is_planar = std::count(names.begin(), names.end(), "base_theta") > 0;
      continue;
    }
    const auto input = std::find(inputs.begin(), inputs.end(), name);
    impl.joints.push_back(
      {impl.system->coordinate_index(name), impl.system->speed_index("d" + name),
       input != inputs.end() ? static_cast<int>(input - inputs.begin()) : -1, address, dof});
    const auto armature = scene.armature.find(name);
    if (armature != scene.armature.end())
    {
      model.dof_armature[dof] += armature->second;
    }
  }
  impl.data = mj_makeData(&model);
}

MujocoPlant::~MujocoPlant() = default;

void MujocoPlant::set_state(const State & state)
{
  Impl & impl = *impl_;
  mjData & data = *impl.data;
  for (const Impl::Joint & joint : impl.joints)
  {
    data.qpos[joint.address] = state.q(joint.coordinate);
    data.qvel[joint.dof] = state.u(joint.speed);
  }
  if (impl.base_dof >= 0)
  {
    Eigen::Vector3d position;
    Eigen::Quaterniond rotation;
    Eigen::Vector3d linear = Eigen::Vector3d::Zero();
    Eigen::Vector3d angular = Eigen::Vector3d::Zero();
    const Eigen::Index c = impl.base_coordinate;
    const Eigen::Index s = impl.base_speed;
    if (impl.is_planar)
    {
      position << state.q.segment<2>(c), impl.base_height;
      rotation = Eigen::AngleAxisd(state.q(c + 2), Eigen::Vector3d::UnitZ());
      linear.head<2>() = state.u.segment<2>(s);
      angular.z() = state.u(s + 2);
    }
    else
    {
      position = state.q.segment<3>(c);
      rotation = Eigen::Quaterniond(state.q(c + 6), state.q(c + 3), state.q(c + 4), state.q(c + 5));
      linear = state.u.segment<3>(s);
      angular = state.u.segment<3>(s + 3);
    }
    Eigen::Vector3d::Map(data.qpos + impl.base_address) = position;
    data.qpos[impl.base_address + 3] = rotation.w();
    Eigen::Vector3d::Map(data.qpos + impl.base_address + 4) = rotation.vec();
    Eigen::Vector3d::Map(data.qvel + impl.base_dof) = rotation * linear;
    Eigen::Vector3d::Map(data.qvel + impl.base_dof + 3) = angular;
  }
  data.time = state.time;
}

State MujocoPlant::state() const
{
  const Impl & impl = *impl_;
  State state;
  state.time = impl.data->time;
  state.q.setZero(impl.system->coordinate_count());
  state.u.setZero(impl.system->speed_count());
  for (const Impl::Joint & joint : impl.joints)
  {
    state.q(joint.coordinate) = impl.data->qpos[joint.address];
    state.u(joint.speed) = impl.data->qvel[joint.dof];
  }
  if (impl.base_dof >= 0)
  {
    const Eigen::Quaterniond rotation = impl.base_rotation();
    const Eigen::Map<const Eigen::Vector3d> position(impl.data->qpos + impl.base_address);
    const Eigen::Map<const Eigen::Vector3d> linear(impl.data->qvel + impl.base_dof);
    const Eigen::Map<const Eigen::Vector3d> angular(impl.data->qvel + impl.base_dof + 3);
    const Eigen::Index c = impl.base_coordinate;
    const Eigen::Index s = impl.base_speed;
    if (impl.is_planar)
    {
      const Eigen::Matrix3d R = rotation.toRotationMatrix();
      const double angle = std::atan2(R(1, 0), R(0, 0));
      state.q.segment<2>(c) = position.head<2>();
      state.q(c + 2) = angle;
      state.u.segment<2>(s) = Eigen::Rotation2Dd(-angle) * linear.head<2>();
      state.u(s + 2) = (rotation * angular).z();
    }
    else
    {
      state.q.segment<3>(c) = position;
      state.q.segment<4>(c + 3) << rotation.vec(), rotation.w();
      state.u.segment<3>(s) = rotation.conjugate() * linear;
      state.u.segment<3>(s + 3) = angular;
    }
  }
  return state;
}

void MujocoPlant::advance(const Eigen::VectorXd & inputs, double period)
{
  Impl & impl = *impl_;
  const mjModel * model = impl.model;
  mjData * data = impl.data;
  for (const Impl::Joint & joint : impl.joints)
  {
    data->qfrc_applied[joint.dof] = joint.input >= 0 ? inputs(joint.input) : 0.0;
  }
  const long steps = std::lround(period / model->opt.timestep);
  for (long i = 0; i < steps; ++i)
  {
    mj_step(model, data);
    if (i > 0)
    {
      continue;
    }
    // A step computes the forces at its beginning.
    impl.forces.clear();
    for (int k = 0; k < data->ncon; ++k)
    {
      mjtNum local[6];
      mj_contactForce(model, data, k, local);
      const mjContact & contact = data->contact[k];
      const Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>> frame(contact.frame);
      const Eigen::Vector3d force = frame.transpose() * Eigen::Map<const Eigen::Vector3d>(local);
      for (const int side : {0, 1})
      {
        auto entry = impl.forces.emplace(contact.geom[side], Eigen::Vector3d::Zero()).first;
        entry->second += side == 1 ? force : Eigen::Vector3d(-force);
      }
    }
  }
}

Eigen::Vector3d MujocoPlant::contact_force(const std::string & shape) const
{
  const int id = mj_name2id(impl_->model, mjOBJ_GEOM, shape.c_str());
  if (id < 0)
  {
    throw std::invalid_argument("MuJoCo has no shape " + shape);
  }
  const auto entry = impl_->forces.find(id);
  return entry == impl_->forces.end() ? Eigen::Vector3d::Zero() : entry->second;
}

double MujocoPlant::penetration() const
{
  double deepest = 0.0;
  for (int k = 0; k < impl_->data->ncon; ++k)
  {
    deepest = std::max(deepest, -impl_->data->contact[k].dist);
  }
  return deepest;
}

Eigen::MatrixXd MujocoPlant::mass_matrix()
{
  mj_forward(impl_->model, impl_->data);
  Eigen::MatrixXd full(impl_->model->nv, impl_->model->nv);
  mj_fullM(impl_->model, impl_->data, full.data());
  const Eigen::MatrixXd inverse = impl_->speed_map().inverse();
  return inverse.transpose() * full * inverse;
}

Eigen::VectorXd MujocoPlant::acceleration(const Eigen::VectorXd & inputs)
{
  Impl & impl = *impl_;
  for (const Impl::Joint & joint : impl.joints)
  {
    impl.data->qfrc_applied[joint.dof] = joint.input >= 0 ? inputs(joint.input) : 0.0;
  }
  mj_forward(impl.model, impl.data);
  Eigen::VectorXd acceleration =
    impl.speed_map() * Eigen::Map<const Eigen::VectorXd>(impl.data->qacc, impl.model->nv);
  if (impl.base_dof >= 0)
  {
    // Our axes turn with the base.
    const Eigen::VectorXd u = state().u;
    const Eigen::Vector3d linear = u.segment<3>(impl.base_speed);
    const Eigen::Vector3d angular = u.segment<3>(impl.base_speed + 3);
    acceleration.segment<3>(impl.base_speed) -= angular.cross(linear);
  }
  return acceleration;
}

}  // namespace constrained_dynamics::test
