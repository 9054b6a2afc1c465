// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/force_certificate_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <Eigen/Geometry>

#include "constraints/validation.hpp"
#include "model/kinematic_tree.hpp"
#include "servo/noise_options.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr const char * kOwner = "force certificate";

CertificateSizes sizes_of(const Dynamics & dynamics, const ForceCertificateOptions & options)
{
  const std::vector<bool> & measured = options.measured_efforts;
  const int inputs = dynamics.system().input_count();
  if (!measured.empty() && static_cast<int>(measured.size()) != inputs)
  {
    throw std::invalid_argument(
      std::string(kOwner) + ": measured_efforts has " + std::to_string(measured.size()) +
      " flags; allowed: one for each of the " + std::to_string(inputs) + " inputs, or none");
  }
  return {
    dynamics.constraints().row_count(),
    static_cast<int>(options.frames.size()),
    inputs,
    dynamics.system().speed_count(),
    static_cast<int>(options.sensors.size()),
    static_cast<int>(std::count(measured.begin(), measured.end(), false))};
}

/// The rigid body of a sensor in the tree.
/// @throw std::invalid_argument if it is the world, or if other bodies move on it.
int sensor_body(const KinematicTree & tree, const std::string & sensor, int frame)
{
  const int body = tree.frames[static_cast<std::size_t>(frame)].body;
  if (
    body < 0 || std::any_of(
                  tree.bodies.begin(), tree.bodies.end(),
                  [&](const TreeBody & other) { return other.parent == body; }))
  {
    throw std::invalid_argument(
      std::string(kOwner) + ": sensor '" + sensor + "' is on " +
      (body < 0 ? "the world" : "a link that carries other joints") +
      "; allowed: the last link of a chain");
  }
  return body;
}

}  // namespace

ForceCertificate::Impl::Impl(
  std::shared_ptr<const Dynamics> of, const ForceCertificateOptions & options)
: dynamics(std::move(of)),
  size(sizes_of(*dynamics, options)),
  effort_noise(checked_deviations(kOwner, "effort_noise", options.effort_noise, size.inputs)),
  model_noise(checked_deviations(kOwner, "model_noise", options.model_noise, size.speeds)),
  independent(*dynamics),
  reduction(*dynamics),
  solver(size.measurements(), size.unknowns(), size.sources())
{
  const System & system = dynamics->system();
  const ConstraintSet & set = dynamics->constraints();
  if (!system.driven_speeds().empty())
  {
    throw std::invalid_argument(
      std::string(kOwner) + ": the system has speeds that a drive imposes; allowed: none");
  }
  for (int row = 0; row < size.rows; ++row)
  {
    names.push_back(set.row_name(row));
  }
  for (const std::string & frame : options.frames)
  {
    frames.push_back(system.frame_index(frame));
    for (const char * part : {"/fx", "/fy", "/fz", "/tx", "/ty", "/tz"})
    {
      names.push_back(frame + part);
    }
  }
  for (int i = 0; i < size.inputs; ++i)
  {
    const std::vector<bool> & flags = options.measured_efforts;
    is_measured.push_back(flags.empty() || flags[static_cast<std::size_t>(i)]);
    if (!is_measured.back())
    {
      unmeasured.push_back(i);
      names.push_back("effort/" + system.input_names()[static_cast<std::size_t>(i)]);
    }
  }
  std::size_t most_pairs = 1;
  for (int i = 0; i < set.size(); ++i)
  {
    most_pairs = std::max(most_pairs, set[i].wrench_bodies().size());
  }
  pairs.resize(most_pairs);
  for (const WrenchSensor & sensor : options.sensors)
  {
    add_sensor(sensor, options.frames);
  }
  const int n = size.speeds;
  columns.setZero(n, 6 * size.frames + size.unmeasured);
  responses.setZero(n, std::max<Eigen::Index>(columns.cols(), size.inputs + n));
  sources.setZero(n, size.inputs + n);
  jacobian.setZero(6, n);
  reach = jacobian;
  scratch = set.make_scratch();
  unit.setZero(size.rows);
  observable.setZero(size.unknowns());
  estimate.setZero(size.unknowns());
  covariance.setZero(size.unknowns(), size.unknowns());
}

void ForceCertificate::Impl::add_sensor(
  const WrenchSensor & sensor, const std::vector<std::string> & frame_names)
{
  const System & system = dynamics->system();
  const ConstraintSet & set = dynamics->constraints();
  CertificateSensor result{
    system.frame_index(sensor.frame),
    checked_nonnegative(kOwner, "force_noise", sensor.force_noise),
    checked_nonnegative(kOwner, "torque_noise", sensor.torque_noise),
    {},
    {}};
  const RigidBodySystem & robot = checked_robot(kOwner, system);
  const KinematicTree & tree = robot.tree();
  const auto body_of = [&](const std::string & frame)
  { return tree.frames[static_cast<std::size_t>(robot.frame_index(frame))].body; };
  const int body = sensor_body(tree, sensor.name, result.frame);
  for (int i = 0; i < set.size(); ++i)
  {
    const std::vector<WrenchBodies> & bodies = set[i].wrench_bodies();
    for (int k = 0; k < static_cast<int>(bodies.size()); ++k)
    {
      const WrenchBodies & pair = bodies[static_cast<std::size_t>(k)];
      if (body_of(pair.body_a) == body)
      {
        result.loads.push_back({i, k, true});
      }
      if (body_of(pair.body_b) == body)
      {
        result.loads.push_back({i, k, false});
      }
    }
  }
  for (std::size_t i = 0; i < frame_names.size(); ++i)
  {
    if (body_of(frame_names[i]) == body)
    {
      result.frames.push_back(static_cast<int>(i));
    }
  }
  sensors.push_back(result);
}

void ForceCertificate::Impl::remove_motion(MatrixRef forces, const Terms & terms) noexcept
  CD_NONBLOCKING
{
  auto accelerations = responses.leftCols(forces.cols());
  reduction.respond(forces, accelerations);
  forces.noalias() -= terms.mass_matrix * accelerations;
}

void ForceCertificate::Impl::fill_columns(const Workspace & workspace) noexcept CD_NONBLOCKING
{
  const System & system = dynamics->system();
  const Terms terms = workspace.terms();
  const Eigen::Index n = size.speeds;
  solver.matrix.setZero();
  solver.sizes.setZero();
  for (int k = 0; k < independent.row_count(); ++k)
  {
    const int row = independent.row(k);
    solver.matrix.col(row).head(n) = independent.jacobian().row(k).transpose();
    solver.sizes(row) = 1.0 / independent.scale()(k);
  }
  for (std::size_t i = 0; i < frames.size(); ++i)
  {
    const Eigen::Index first = 6 * static_cast<Eigen::Index>(i);
    system.frame_jacobian(workspace.system_data(), frames[i], jacobian);
    system.frame_reach(workspace.system_data(), frames[i], reach);
    columns.middleCols<6>(first) = jacobian.transpose();
    solver.sizes.segment<3>(size.rows + first).setConstant(reach.row(0).norm());
    solver.sizes.segment<3>(size.rows + first + 3).setConstant(reach.row(1).norm());
  }
  for (std::size_t i = 0; i < unmeasured.size(); ++i)
  {
    const Eigen::Index k = 6 * size.frames + static_cast<Eigen::Index>(i);
    columns.col(k) = terms.input_matrix.col(unmeasured[i]);
    solver.sizes(size.rows + k) = columns.col(k).norm();
  }
  auto projected = solver.matrix.block(0, size.rows, n, columns.cols());
  projected = columns;
  remove_motion(projected, terms);
}

void ForceCertificate::Impl::add_wrench(
  const FrameKinematics & sensor, const Wrench & wrench, Eigen::Index first,
  Eigen::Index unknown) noexcept CD_NONBLOCKING
{
  const Eigen::Vector3d arm = wrench.point - sensor.position;
  const Eigen::Vector3d torque = wrench.torque + arm.cross(wrench.force);
  auto column = solver.matrix.col(unknown).segment<6>(first);
  column.head<3>() += sensor.rotation.transpose() * wrench.force;
  column.tail<3>() += sensor.rotation.transpose() * torque;
}

void ForceCertificate::Impl::fill_sensors(
  const ConstVectorRef & readings, const Workspace & workspace) noexcept CD_NONBLOCKING
{
  const System & system = dynamics->system();
  const ConstraintSet & set = dynamics->constraints();
  const Eigen::Index n = size.speeds;
  for (std::size_t s = 0; s < sensors.size(); ++s)
  {
    const CertificateSensor & sensor = sensors[s];
    const Eigen::Index first = 2 * n + 6 * static_cast<Eigen::Index>(s);
    FrameKinematics motion;
    system.frame_kinematics(workspace.system_data(), sensor.frame, motion);
    for (const CertificateSensor::Load & load : sensor.loads)
    {
      const Constraint & constraint = set[load.constraint];
      const int count = constraint.row_count();
      for (int k = 0; k < count && workspace.is_active(load.constraint); ++k)
      {
        unit.head(count).setZero();
        unit(k) = 1.0;
        constraint.wrenches(workspace.system_data(), scratch, unit.head(count), pairs.data());
        const WrenchPair & pair = pairs[static_cast<std::size_t>(load.pair)];
        add_wrench(
          motion, load.on_a ? pair.on_a : pair.on_b, first, set.row_offset(load.constraint) + k);
      }
    }
    for (const int frame : sensor.frames)
    {
      FrameKinematics place;
      system.frame_kinematics(
        workspace.system_data(), frames[static_cast<std::size_t>(frame)], place);
      for (int k = 0; k < 6; ++k)
      {
        Wrench wrench;
        wrench.point = place.position;
        (k < 3 ? wrench.force : wrench.torque)(k % 3) = 1.0;
        add_wrench(motion, wrench, first, size.rows + 6 * frame + k);
      }
    }
    solver.measurements.segment<6>(first) = readings.segment<6>(first - 2 * n);
    for (int k = 0; k < 6; ++k)
    {
      solver.noise(
        first + k, size.inputs + n + size.observer_sources() + 6 * static_cast<int>(s) + k) =
        k < 3 ? sensor.force_noise : sensor.torque_noise;
    }
  }
  for (Eigen::Index i = 0; i < solver.sizes.size(); ++i)
  {
    const double read = solver.matrix.col(i).tail(6 * size.sensors).squaredNorm();
    solver.sizes(i) = std::sqrt(solver.sizes(i) * solver.sizes(i) + read);
  }
}

Status ForceCertificate::Impl::fill(
  const ConstVectorRef & effort, const ConstVectorRef & readings, const MomentumObserver * observer,
  bool has_observer, Workspace & workspace) noexcept CD_NONBLOCKING
{
  // The reduction evaluates rows and terms.
  Status status = dynamics->reduce(workspace, reduction, ReductionParts{false, false});
  if (!has_output(status))
  {
    return status;
  }
  const Status factored = independent.factor(workspace);
  if (!has_output(factored))
  {
    return factored;
  }
  const Terms terms = workspace.terms();
  const Eigen::Index n = size.speeds;
  fill_columns(workspace);
  // Q u̇_0 − P − Π G τ, and its noise.
  for (int i = 0; i < size.inputs; ++i)
  {
    const bool counts = is_measured[static_cast<std::size_t>(i)];
    sources.col(i) = (counts ? 1.0 : 0.0) * terms.input_matrix.col(i);
  }
  sources.rightCols(n).setIdentity();
  remove_motion(sources, terms);
  solver.noise.setZero();
  solver.measurements.setZero();
  auto forces = solver.measurements.head(n);
  forces = -terms.force;
  forces.noalias() += terms.mass_matrix * reduction.free_acceleration();
  for (int i = 0; i < size.inputs; ++i)
  {
    if (is_measured[static_cast<std::size_t>(i)])
    {
      forces -= effort(i) * sources.col(i);
      solver.noise.col(i).head(n) = effort_noise(i) * sources.col(i);
    }
  }
  for (Eigen::Index i = 0; i < n; ++i)
  {
    solver.noise.col(size.inputs + i).head(n) = model_noise(i) * sources.col(size.inputs + i);
  }
  if (has_observer)
  {
    independent.project(columns);
    solver.matrix.block(n, size.rows, n, columns.cols()) = columns;
    if (observer != nullptr)
    {
      solver.measurements.segment(n, n) = observer->force();
      independent.project(solver.measurements.segment(n, n));
      auto noise = solver.noise.block(n, size.inputs + n, n, size.observer_sources());
      noise = observer->noise();
      independent.project(noise);
    }
  }
  fill_sensors(readings, workspace);
  return worse(status, factored);
}

void ForceCertificate::Impl::store() noexcept CD_NONBLOCKING
{
  rank = solver.rank();
  estimate = solver.estimate();
  covariance.noalias() = solver.response() * solver.response().transpose();
  for (Eigen::Index i = 0; i < estimate.size(); ++i)
  {
    // Columns of inactive constraints are 0, and so are their multipliers.
    const bool is_known =
      i < size.rows && solver.matrix.col(i).isZero(0.0) && solver.sizes(i) == 0.0;
    observable(i) = is_known || solver.is_observable(i) ? 1 : 0;
    if (observable(i) == 0 || is_known)
    {
      covariance.row(i).setZero();
      covariance.col(i).setZero();
      covariance(i, i) = is_known ? 0.0 : std::numeric_limits<double>::infinity();
    }
  }
}

}  // namespace constrained_dynamics
