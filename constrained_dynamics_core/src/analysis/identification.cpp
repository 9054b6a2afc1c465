// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/identification.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <Eigen/Geometry>

#include "checked_values.hpp"
#include "constraints/validation.hpp"
#include "dense_decompositions.hpp"
#include "names.hpp"
#include "servo/frame_motion.hpp"
#include "servo/independent_forces.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr int kPayloadCount = 10;  // mass, moment, inertia
constexpr std::array<std::pair<int, int>, 6> kInertia = {
  {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}};

/// The equations of all samples, reduced to triangular form as they come.
class Regression
{
public:
  Regression(const Dynamics & dynamics, const IdentificationOptions & options)
  : dynamics_(dynamics),
    robot_(checked_robot("identification", dynamics.system())),
    options_(options),
    independent_(dynamics),
    frame_(options.payload_frame.empty() ? -1 : robot_.frame_index(options.payload_frame))
  {
    checked_positive("identification", "smoothing_speed", options.smoothing_speed);
    add_names();
    const Eigen::Index count = static_cast<Eigen::Index>(names.size());
    if (count == 0)
    {
      throw std::invalid_argument(
        "identification: nothing to identify; allowed: a payload_frame, friction or offset");
    }
    const Eigen::Index n = robot_.speed_count();
    triangle_.setZero(count + 1, count + 1);
    spread_.setZero(count, count);
    rows_.setZero(n, count + 1);
    sizes.setZero(count);
    jacobian_.setZero(6, n);
    reach_ = jacobian_;
  }

  /// Adds the sample at the state of a workspace with its accelerations and efforts.
  void add(
    const Eigen::VectorXd & acceleration, const Eigen::VectorXd & effort, Workspace & workspace)
  {
    if (
      dynamics_.evaluate_rows(workspace) != Status::kOk ||
      dynamics_.evaluate_terms(workspace) != Status::kOk ||
      !has_output(independent_.factor(workspace)))
    {
      throw std::invalid_argument("identification: a sample cannot be evaluated");
    }
    const Terms terms = workspace.terms();
    const Eigen::Index count = sizes.size();
    const Eigen::Index l = robot_.input_count();
    rows_.setZero();
    Eigen::Index column = 0;
    if (frame_ >= 0)
    {
      add_payload(acceleration, workspace);
      column = kPayloadCount;
    }
    for (const Kind kind : kinds_)
    {
      for (Eigen::Index i = 0; i < l; ++i, ++column)
      {
        rows_.col(column) = -factor(kind, speed_of(i, terms)) * terms.input_matrix.col(i);
        sizes(column) += terms.input_matrix.col(i).squaredNorm();
      }
    }
    rows_.col(count) = terms.mass_matrix * acceleration - terms.force - terms.input_matrix * effort;
    Eigen::MatrixXd noise = terms.input_matrix;
    independent_.project(rows_);
    independent_.project(noise);
    const Eigen::MatrixXd seen = rows_.leftCols(count).transpose() * noise;
    spread_ += seen * seen.transpose();
    total_ += noise.squaredNorm();
    Eigen::MatrixXd stacked(triangle_.rows() + rows_.rows(), triangle_.cols());
    stacked << triangle_, rows_;
    const Eigen::HouseholderQR<Eigen::MatrixXd> factors(stacked);
    triangle_ = factors.matrixQR().topRows(triangle_.rows()).triangularView<Eigen::Upper>();
    equation_count_ += robot_.speed_count() - independent_.factorisation().rank();
  }

  Identification solve() const
  {
    const Eigen::Index count = sizes.size();
    if (equation_count_ <= count)
    {
      throw std::invalid_argument(
        "identification: " + std::to_string(equation_count_) + " equations for " +
        std::to_string(count) + " parameters; allowed: more samples");
    }
    const Eigen::VectorXd scale =
      sizes.unaryExpr([](double square) { return square > 0.0 ? 1.0 / std::sqrt(square) : 1.0; });
    const Eigen::MatrixXd scaled = triangle_.topLeftCorner(count, count) * scale.asDiagonal();
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(scaled, Eigen::ComputeFullU | Eigen::ComputeFullV);
    const Eigen::VectorXd & values = svd.singularValues();
    const double least = dynamics_.options().rank.singular_tolerance * std::max(1.0, values(0));
    Identification result;
    result.names = names;
    result.rank = static_cast<int>((values.array() > least).count());
    const Eigen::Index r = result.rank;
    // x = S V Σ⁺ Uᵀ y; (HᵀH)⁺ in the scaled unknowns is V Σ⁻² Vᵀ.
    const Eigen::MatrixXd V = svd.matrixV().leftCols(r);
    const Eigen::VectorXd inverse = values.head(r).cwiseInverse();
    const Eigen::VectorXd right = triangle_.col(count).head(count);
    const Eigen::VectorXd along = svd.matrixU().leftCols(r).transpose() * right;
    result.estimate = scale.asDiagonal() * (V * inverse.cwiseProduct(along));
    const Eigen::MatrixXd pseudo = scale.asDiagonal() * V * inverse.cwiseAbs2().asDiagonal() *
                                   V.transpose() * scale.asDiagonal();
    // What the rows miss: the part of y outside of the range of the triangle's used directions.
    const Eigen::VectorXd missed = svd.matrixU().rightCols(count - r).transpose() * right;
    const double squares = std::pow(triangle_(count, count), 2) + missed.squaredNorm();
    const double freedom = total_ - (pseudo * spread_).trace();
    result.effort_deviation = freedom > 0.0 ? std::sqrt(squares / freedom) : 0.0;
    result.covariance =
      std::pow(result.effort_deviation, 2) * pseudo * spread_ * pseudo.transpose();
    mark_identifiable(svd.matrixV().rightCols(count - r), result);
    return result;
  }

  std::vector<std::string> names;
  Eigen::VectorXd sizes;  // squares of the sizes that the columns could have

private:
  enum class Kind
  {
    kViscous,
    kCoulomb,
    kOffset,
  };

  void add_names()
  {
    if (frame_ >= 0)
    {
      names = {"mass",       "moment/x",   "moment/y",   "moment/z",   "inertia/xx",
               "inertia/xy", "inertia/xz", "inertia/yy", "inertia/yz", "inertia/zz"};
    }
    const auto each = [&](Kind kind, const std::string & name)
    {
      kinds_.push_back(kind);
      for (const std::string & input : robot_.input_names())
      {
        names.push_back(name + "/" + input);
      }
    };
    if (options_.friction)
    {
      each(Kind::kViscous, "viscous");
      each(Kind::kCoulomb, "coulomb");
    }
    if (options_.offset)
    {
      each(Kind::kOffset, "offset");
    }
  }

  /// The speed along which an input acts.
  static double speed_of(Eigen::Index input, const Terms & terms)
  {
    return terms.input_matrix.col(input).dot(terms.speeds);
  }

  double factor(Kind kind, double speed) const
  {
    return kind == Kind::kViscous   ? speed
           : kind == Kind::kCoulomb ? std::tanh(speed / options_.smoothing_speed)
                                    : 1.0;
  }

  /// Columns of the payload: its wrench on the robot for each parameter, in axes of the frame.
  void add_payload(const Eigen::VectorXd & acceleration, const Workspace & workspace)
  {
    const SystemData & data = workspace.system_data();
    const FrameMotion motion(robot_, data, frame_, acceleration, jacobian_);
    robot_.frame_reach(data, frame_, reach_);
    const Eigen::Vector3d zero = Eigen::Vector3d::Zero();
    const auto write = [&](
                         Eigen::Index column, double mass, const Eigen::Vector3d & moment,
                         const Eigen::Matrix3d & inertia)
    {
      const Eigen::Vector3d force = motion.rotation * motion.force(mass, moment);
      const Eigen::Vector3d torque = motion.rotation * motion.torque(moment, inertia);
      rows_.col(column) = -jacobian_.topRows<3>().transpose() * force -
                          jacobian_.bottomRows<3>().transpose() * torque;
    };
    const double weight = std::max(1.0, robot_.gravity().norm());
    write(0, 1.0, zero, Eigen::Matrix3d::Zero());
    sizes(0) += std::pow(weight * reach_.row(0).norm(), 2);
    for (int k = 0; k < 3; ++k)
    {
      write(1 + k, 0.0, Eigen::Vector3d::Unit(k), Eigen::Matrix3d::Zero());
      sizes(1 + k) += std::pow(weight * reach_.row(1).norm(), 2);
    }
    for (std::size_t k = 0; k < kInertia.size(); ++k)
    {
      const auto [i, j] = kInertia[k];
      Eigen::Matrix3d unit = Eigen::Matrix3d::Zero();
      unit(i, j) = unit(j, i) = 1.0;
      const Eigen::Index column = 4 + static_cast<Eigen::Index>(k);
      write(column, 0.0, zero, unit);
      sizes(column) += reach_.row(1).squaredNorm();
    }
  }

  static void mark_identifiable(const Eigen::MatrixXd & null_space, Identification & result)
  {
    constexpr double kIdentifiable = 1e-6;  // part of a unit vector in the null space
    for (Eigen::Index i = 0; i < result.estimate.size(); ++i)
    {
      const bool is_identifiable =
        null_space.cols() == 0 || null_space.row(i).norm() < kIdentifiable;
      result.identifiable.push_back(is_identifiable);
      if (!is_identifiable)
      {
        result.covariance.row(i).setZero();
        result.covariance.col(i).setZero();
        result.covariance(i, i) = std::numeric_limits<double>::infinity();
      }
    }
  }

  const Dynamics & dynamics_;
  const RigidBodySystem & robot_;
  IdentificationOptions options_;
  IndependentForces independent_;
  int frame_;
  std::vector<Kind> kinds_;
  Eigen::MatrixXd triangle_;  // of [H y]
  Eigen::MatrixXd spread_;    // Σ Hᵀ C H; C: covariance of the noise for efforts of variance 1
  double total_ = 0.0;        // Σ tr C
  Eigen::Index equation_count_ = 0;
  Eigen::MatrixXd rows_;
  Matrix6X jacobian_, reach_;
};

void check_recording(const System & system, const MotionRecording & recording)
{
  const Eigen::Index count = recording.time.size();
  const auto check = [&](const char * what, const Eigen::MatrixXd & matrix, Eigen::Index columns)
  {
    if (matrix.rows() != count || matrix.cols() != columns)
    {
      throw std::invalid_argument(
        std::string("identification: ") + what + " is " + std::to_string(matrix.rows()) + " × " +
        std::to_string(matrix.cols()) + "; allowed: " + std::to_string(count) + " × " +
        std::to_string(columns));
    }
    if (!matrix.allFinite())
    {
      throw std::invalid_argument(
        std::string("identification: ") + what + " has numbers that are not finite");
    }
  };
  check("time", recording.time, 1);
  check("position", recording.position, system.coordinate_count());
  check("velocity", recording.velocity, system.speed_count());
  check("acceleration", recording.acceleration, system.speed_count());
  check("effort", recording.effort, system.input_count());
  if (count == 0)
  {
    throw std::invalid_argument("identification: the recording has no samples");
  }
}

}  // namespace

int Identification::index(const std::string & name) const
{
  return index_of_name("identified parameter", name, names);
}

Eigen::MatrixXd differentiate_speeds(const Eigen::VectorXd & time, const Eigen::MatrixXd & velocity)
{
  const Eigen::Index count = time.size();
  if (count < 3 || velocity.rows() != count)
  {
    throw std::invalid_argument(
      "identification: " + std::to_string(count) + " times and " + std::to_string(velocity.rows()) +
      " samples of speeds; allowed: equally many, at least 3");
  }
  Eigen::MatrixXd result(count, velocity.cols());
  for (Eigen::Index i = 0; i < count; ++i)
  {
    const Eigen::Index before = std::max<Eigen::Index>(i - 1, 0);
    const Eigen::Index after = std::min<Eigen::Index>(i + 1, count - 1);
    const double period = time(after) - time(before);
    if (!(period > 0.0))
    {
      throw std::invalid_argument(
        "identification: times do not increase at sample " + std::to_string(i));
    }
    result.row(i) = (velocity.row(after) - velocity.row(before)) / period;
  }
  return result;
}

Identification identify(
  const Dynamics & dynamics, const MotionRecording & recording,
  const IdentificationOptions & options)
{
  check_recording(dynamics.system(), recording);
  Regression regression(dynamics, options);
  const auto state = [&](Eigen::Index i)
  {
    return State{
      recording.time(i), recording.position.row(i).transpose(),
      recording.velocity.row(i).transpose()};
  };
  Workspace workspace(dynamics, state(0));
  for (Eigen::Index i = 0; i < recording.time.size(); ++i)
  {
    const State at = state(i);
    if (dynamics.set_state(at.time, at.q, at.u, workspace) != Status::kOk)
    {
      throw std::invalid_argument(
        "identification: sample " + std::to_string(i) + " cannot be evaluated");
    }
    regression.add(
      recording.acceleration.row(i).transpose(), recording.effort.row(i).transpose(), workspace);
  }
  return regression.solve();
}

void store_identification(
  const Identification & identification, const IdentificationOptions & options,
  const std::string & payload_name, RobotProfile & profile)
{
  std::vector<std::string> joints;
  for (const ProfileJoint & joint : profile.joints)
  {
    joints.push_back(joint.name);
  }
  const auto known = [&](const std::string & name)
  { return identification.identifiable[static_cast<std::size_t>(identification.index(name))]; };
  const auto value = [&](const std::string & name)
  { return identification.estimate(identification.index(name)); };
  for (const std::string & name : identification.names)
  {
    const bool is_viscous = name.rfind("viscous/", 0) == 0;
    if ((is_viscous || name.rfind("coulomb/", 0) == 0) && known(name))
    {
      const std::string joint = name.substr(8);
      JointFriction & friction =
        profile
          .joints[static_cast<std::size_t>(index_of_name("joint of the profile", joint, joints))]
          .friction;
      // Noise may make a small coefficient negative.
      (is_viscous ? friction.viscous : friction.coulomb) = std::max(0.0, value(name));
      friction.smoothing = options.smoothing_speed;
    }
  }
  if (
    options.payload_frame.empty() || !known("mass") || !known("moment/x") || !known("moment/y") ||
    !known("moment/z"))
  {
    return;
  }
  const double mass = value("mass");
  if (!(mass > 0.0))
  {
    throw std::invalid_argument(
      "identification: the mass of the payload is " + std::to_string(mass) +
      "; allowed: above 0. Is the payload already part of the model?");
  }
  Payload payload;
  payload.name = payload_name;
  payload.frame = options.payload_frame;
  payload.mass = mass;
  payload.com = Eigen::Vector3d(value("moment/x"), value("moment/y"), value("moment/z")) / mass;
  constexpr std::array<const char *, 6> kElements = {"xx", "xy", "xz", "yy", "yz", "zz"};
  bool is_complete = true;
  for (std::size_t k = 0; k < kElements.size(); ++k)
  {
    const std::string name = std::string("inertia/") + kElements[k];
    const auto [i, j] = kInertia[k];
    is_complete = is_complete && known(name);
    payload.inertia(i, j) = payload.inertia(j, i) = value(name);
  }
  const Eigen::Vector3d & c = payload.com;
  payload.inertia -= mass * (c.squaredNorm() * Eigen::Matrix3d::Identity() - c * c.transpose());
  // A body that cannot exist would be refused: its centre alone is used then.
  const Eigen::Vector3d moments = detail::solve_symmetric(payload.inertia).eigenvalues();
  if (!is_complete || !(moments(0) >= 0.0) || !(moments(0) + moments(1) >= moments(2)))
  {
    payload.inertia.setZero();
  }
  profile.payloads.push_back(payload);
}

}  // namespace constrained_dynamics
