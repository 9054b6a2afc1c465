// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <stdexcept>

#include <Eigen/SVD>

#include "random_mechanism.hpp"

namespace invariance
{

namespace
{

const Frame & frame_of(const Mechanism & mechanism, const std::string & name)
{
  const auto found = std::find_if(
    mechanism.frames.begin(), mechanism.frames.end(),
    [&](const Frame & frame) { return frame.name == name; });
  if (found == mechanism.frames.end())
  {
    throw std::invalid_argument("generated constraint on the frame '" + name + "', which is none");
  }
  return *found;
}

Eigen::MatrixXd all_rows(const Mechanism & mechanism)
{
  Eigen::MatrixXd A(0, mechanism.speed_count());
  for (const YAML::Node & constraint : mechanism.constraints)
  {
    const Eigen::MatrixXd rows = constraint_rows(mechanism, constraint);
    A.conservativeResize(A.rows() + rows.rows(), Eigen::NoChange);
    A.bottomRows(rows.rows()) = rows;
  }
  return A;
}

}  // namespace

Eigen::MatrixXd free_motions(const Mechanism & mechanism)
{
  const Eigen::MatrixXd A = all_rows(mechanism);
  if (A.rows() == 0)
  {
    return Eigen::MatrixXd::Identity(A.cols(), A.cols());
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(A, Eigen::ComputeFullV);
  const Eigen::VectorXd & values = svd.singularValues();
  const Eigen::Index rank = (values.array() > 1e-9 * values(0)).count();
  return svd.matrixV().rightCols(A.cols() - rank);
}

Eigen::MatrixXd constraint_rows(const Mechanism & mechanism, const YAML::Node & constraint)
{
  const std::string type = constraint["type"].as<std::string>();
  const auto formula = mechanism.formula_rows.find(constraint["name"].as<std::string>());
  if (formula != mechanism.formula_rows.end())
  {
    return formula->second;
  }
  if (type == "joint_coupling")
  {
    Eigen::MatrixXd row = Eigen::MatrixXd::Zero(1, mechanism.speed_count());
    const std::vector<std::string> names = mechanism.speeds();
    for (const auto & term : constraint["terms"])
    {
      const auto at = std::find(names.begin(), names.end(), "d" + term.first.as<std::string>());
      row(0, at - names.begin()) = term.second.as<double>();
    }
    return row;
  }
  const Frame & a = frame_of(mechanism, constraint["frame_a"].as<std::string>());
  const Eigen::Isometry3d X_A = mechanism.frame_pose(a);
  const Eigen::Vector3d p = X_A.translation();
  Frame world;
  const Frame & b =
    constraint["frame_b"] ? frame_of(mechanism, constraint["frame_b"].as<std::string>()) : world;
  const Eigen::Isometry3d X_B = mechanism.frame_pose(b);
  const Eigen::MatrixXd J = mechanism.jacobian(a.link, p) - mechanism.jacobian(b.link, p);
  const Eigen::Matrix3d R = X_B.linear();
  if (type == "frame_coincidence")
  {
    Eigen::MatrixXd in_b(6, J.cols());
    in_b << R.transpose() * J.topRows<3>(), R.transpose() * J.bottomRows<3>();
    const std::vector<std::string> rows = strings_of(constraint["rows"]);
    Eigen::MatrixXd result(rows.size(), J.cols());
    for (std::size_t i = 0; i < rows.size(); ++i)
    {
      const Eigen::Index axis = rows[i].back() - 'x';
      result.row(static_cast<Eigen::Index>(i)) = in_b.row(rows[i].size() == 2 ? 3 + axis : axis);
    }
    return result;
  }
  if (type == "point_on_plane")
  {
    return (R * vector_from(constraint["normal"])).transpose() * J.topRows<3>();
  }
  if (type == "distance")
  {
    return (p - X_B.translation()).transpose() * J.topRows<3>();
  }
  if (type == "knife_edge")
  {
    return (X_A.linear() * vector_from(constraint["axis"])).transpose() * J.topRows<3>();
  }
  if (type == "point_on_line")
  {
    const Eigen::Vector3d d = (R * vector_from(constraint["direction"])).normalized();
    const Eigen::Vector3d n = d.unitOrthogonal();
    Eigen::MatrixXd result(2, J.cols());
    result << n.transpose() * J.topRows<3>(), d.cross(n).transpose() * J.topRows<3>();
    return result;
  }
  throw std::invalid_argument("the generator makes no constraint of type " + type);
}

void set_speeds(Mechanism & mechanism, Random & random)
{
  const Eigen::MatrixXd N = free_motions(mechanism);
  Eigen::VectorXd w(mechanism.speed_count());
  for (Eigen::Index i = 0; i < w.size(); ++i)
  {
    w(i) = random.uniform(-1.0, 1.0);
  }
  mechanism.u = N * (N.transpose() * w);
}

}  // namespace invariance
