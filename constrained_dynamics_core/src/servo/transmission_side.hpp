// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "checked_values.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/types.hpp"
#include "dense_decompositions.hpp"

namespace constrained_dynamics
{

/// One side: coordinates that are given or asked for, and how they move with w.
struct TransmissionSide
{
  TransmissionSide(
    const System & system, const std::vector<std::string> & names, const char * the_role)
  : role(the_role)
  {
    if (names.empty())
    {
      throw_invalid(
        "loop transmission", std::string("there are no ") + role + "; allowed: at least one");
    }
    for (const std::string & name : names)
    {
      const int coordinate = system.coordinate_index(name);
      if (std::find(coordinates.begin(), coordinates.end(), coordinate) != coordinates.end())
      {
        throw_invalid("loop transmission", "'" + name + "' is named twice among the " + role);
      }
      const bool is_robot = system.underlying().as_robot() != nullptr;
      if (is_robot && system.speeds_of_coordinate(coordinate).size() != 1)
      {
        throw_invalid(
          "loop transmission",
          "'" + name +
            "' belongs to a joint with several degrees of freedom; allowed: coordinates "
            "of joints with one");
      }
      coordinates.push_back(coordinate);
    }
  }

  Eigen::Index size() const { return static_cast<Eigen::Index>(coordinates.size()); }

  void resize(Eigen::Index freedoms)
  {
    map.setZero(size(), freedoms);
    svd = Eigen::JacobiSVD<Eigen::MatrixXd>(
      size(), freedoms, Eigen::ComputeThinU | Eigen::ComputeThinV);
    determinant = Eigen::PartialPivLU<Eigen::MatrixXd>(freedoms);
    start.setZero(size());
    goal.setZero(size());
    gap.setZero(size());
    work.setZero(size());
  }

  /// The map of a position: rows of C N.
  void update(
    const Eigen::MatrixXd & kinematic_matrix, const Eigen::MatrixXd & motions,
    double ratio) noexcept
  {
    for (Eigen::Index i = 0; i < size(); ++i)
    {
      map.row(i).noalias() =
        kinematic_matrix.row(coordinates[static_cast<std::size_t>(i)]) * motions;
    }
    svd.compute(map);
    smallest = motions.norm() / ratio;
    rank = 0;
    while (rank < svd.singularValues().size() && svd.singularValues()(rank) > smallest)
    {
      ++rank;
    }
    if (map.rows() == map.cols())
    {
      determinant.compute(map);
      orientation = determinant.determinant() < 0.0 ? -1 : 1;
    }
  }

  bool is_singular() const noexcept { return rank < map.cols(); }

  /// w = map⁺ x, without directions of singular values up to `least`.
  void motion_of(const ConstVectorRef & x, double least, VectorRef w) const noexcept
  {
    w.setZero();
    for (Eigen::Index i = 0; i < map.cols() && svd.singularValues()(i) > least; ++i)
    {
      const double part = svd.matrixU().col(i).dot(x) / svd.singularValues()(i);
      w += part * svd.matrixV().col(i);
    }
  }

  /// The smallest efforts with mapᵀ τ = force, without the directions that are left out.
  void efforts_of(const ConstVectorRef & force, VectorRef efforts) const noexcept
  {
    efforts.setZero();
    for (Eigen::Index i = 0; i < rank; ++i)
    {
      const double part = svd.matrixV().col(i).dot(force) / svd.singularValues()(i);
      efforts += part * svd.matrixU().col(i);
    }
  }

  std::string role;
  std::vector<int> coordinates;
  Eigen::MatrixXd map;
  Eigen::JacobiSVD<Eigen::MatrixXd> svd;
  Eigen::PartialPivLU<Eigen::MatrixXd> determinant;
  double smallest = 0.0;
  Eigen::Index rank = 0;
  int orientation = 1;  // sign of the determinant; 1 where the map is not square
  int branch = 1;       // the orientation at the last regular position, in the present basis of N
  int held_branch = 1;
  Eigen::VectorXd start;
  Eigen::VectorXd goal;
  Eigen::VectorXd gap;
  Eigen::VectorXd work;
};

}  // namespace constrained_dynamics
