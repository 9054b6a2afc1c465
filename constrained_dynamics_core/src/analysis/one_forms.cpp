// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "analysis/one_forms.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "dense_decompositions.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Derivatives below this fraction of (size of the form)
/// spread count as zero.
constexpr double kNegligibleSlope = 1e-4;
/// Step of the differences as a part of the spread: truncation (h⁶) and rounding (ε/h) both 1e-13.
constexpr double kStep = 0.01;

}  // namespace

OneForms::OneForms(
  const ConstraintSet & set, const FormPoint & centre, const PositionProjection & project,
  const IntegrabilityOptions & options)
: set_(set),
  system_(set.system()),
  centre_(centre),
  project_(project),
  options_(options),
  data_(system_.make_data()),
  random_(options.seed),
  usable_(static_cast<std::size_t>(set.row_count()), true),
  n_(system_.speed_count()),
  m_(set.row_count())
{
  scratch_ = set_.make_scratch();
  for (int row = 0; row < set_.row_count(); ++row)
  {
    is_holonomic_ = is_holonomic_ && set_.row(row).level == RowLevel::kPosition;
  }
}

bool OneForms::evaluate(
  const FormPoint & point, const VectorXd & u, VectorXd & psi, MatrixXd & jacobian)
{
  if (system_.update_kinematics(point.time, point.q, u, *data_) != Status::kOk)
  {
    return false;
  }
  VectorXd position = VectorXd::Zero(m_);
  VectorXd bias = VectorXd::Zero(m_);
  psi.setZero(m_);
  jacobian.setZero(m_, n_);
  for (int i = 0; i < set_.size(); ++i)
  {
    const Index first = set_.row_offset(i);
    const Index count = set_[i].row_count();
    RowBlock rows{
      position.segment(first, count), psi.segment(first, count), jacobian.middleRows(first, count),
      bias.segment(first, count)};
    if (set_[i].evaluate(*data_, scratch_, rows) != Status::kOk)
    {
      psi.segment(first, count).setConstant(std::numeric_limits<double>::quiet_NaN());
      jacobian.middleRows(first, count).setConstant(std::numeric_limits<double>::quiet_NaN());
    }
  }
  return true;
}

bool OneForms::values(const FormPoint & point, FormValues & out)
{
  VectorXd psi;
  MatrixXd jacobian;
  if (!evaluate(point, VectorXd::Zero(n_), psi, jacobian))
  {
    return false;
  }
  out.forms.resize(m_, n_ + 1);
  out.forms << psi, jacobian;
  for (Index row = 0; row < m_; ++row)
  {
    if (!usable_[static_cast<std::size_t>(row)])
    {
      out.forms.row(row).setZero();
    }
  }
  out.frame.resize(system_.coordinate_count(), n_ + 1);
  out.frame << data_->terms.kinematic_drift, data_->terms.kinematic_matrix;
  return out.forms.allFinite();
}

/// A curve through `from` with the given velocity (t, q) that stays on the configuration manifold.
FormPoint OneForms::move(const FormPoint & from, const VectorXd & direction, double distance) const
{
  FormPoint to = from;
  to.time += distance * direction(0);
  to.q += distance * direction.tail(from.q.size());
  system_.normalise(to.q);
  return to;
}

/// Derivatives of forms and frame along each X_j.
bool OneForms::derivatives(const LocalForms & at, std::vector<FormValues> & out)
{
  const Index nq = at.point.q.size();
  out.resize(static_cast<std::size_t>(n_ + 1));
  for (Index j = 0; j <= n_; ++j)
  {
    VectorXd direction(nq + 1);
    direction << (j == 0 ? 1.0 : 0.0), at.values.frame.col(j);
    const double speed = direction.cwiseAbs().maxCoeff();
    FormValues & result = out[static_cast<std::size_t>(j)];
    result.forms.setZero(m_, n_ + 1);
    result.frame.setZero(nq, n_ + 1);
    if (!(speed > 0.0))
    {
      continue;
    }
    const double h = kStep * options_.spread / speed;
    // Central differences with steps h, h/2, h/4; weights of the extrapolation to order 6.
    constexpr double kWeights[3] = {1.0 / 45.0, -20.0 / 45.0, 64.0 / 45.0};
    for (int level = 0; level < 3; ++level)
    {
      const double step = h / (1 << level);
      FormValues ahead;
      FormValues behind;
      if (
        !values(move(at.point, direction, step), ahead) ||
        !values(move(at.point, direction, -step), behind))
      {
        return false;
      }
      const double weight = kWeights[level] / (2.0 * step);
      result.forms += weight * (ahead.forms - behind.forms);
      result.frame += weight * (ahead.frame - behind.frame);
    }
  }
  return true;
}

bool OneForms::local(const FormPoint & point, LocalForms & out)
{
  out.point = point;
  if (!values(point, out.values))
  {
    return false;
  }
  if (is_holonomic_)
  {
    return true;  // derivatives would take m n² numbers per point
  }
  std::vector<FormValues> derivative;
  const Eigen::ColPivHouseholderQR<MatrixXd> c(out.values.frame.rightCols(n_));
  if (!derivatives(out, derivative) || c.rank() < n_)
  {
    return false;
  }
  out.exterior.assign(static_cast<std::size_t>(m_), MatrixXd::Zero(n_ + 1, n_ + 1));
  out.scale.resize(static_cast<std::size_t>(m_));
  for (Index row = 0; row < m_; ++row)
  {
    out.scale[static_cast<std::size_t>(row)] = std::max(
      kNegligibleSlope * out.values.forms.row(row).norm() / options_.spread,
      std::numeric_limits<double>::min());
  }
  for (Index i = 0; i <= n_; ++i)
  {
    for (Index j = 0; j < i; ++j)
    {
      const FormValues & along_i = derivative[static_cast<std::size_t>(i)];
      const FormValues & along_j = derivative[static_cast<std::size_t>(j)];
      const VectorXd bracket = along_i.frame.col(j) - along_j.frame.col(i);
      const VectorXd coefficients = c.solve(bracket);
      // The brackets of the motions leave their span: one-forms on this space would be meaningless.
      const VectorXd rest = bracket - out.values.frame.rightCols(n_) * coefficients;
      const double size = along_i.frame.col(j).norm() + along_j.frame.col(i).norm();
      if (!(rest.norm() <= kZeroDifference * (size + kNegligibleSlope * out.values.frame.norm())))
      {
        return false;
      }
      for (Index row = 0; row < m_; ++row)
      {
        const double terms[3] = {
          along_i.forms(row, j), -along_j.forms(row, i),
          -out.values.forms.row(row).tail(n_).dot(coefficients)};
        const double value = terms[0] + terms[1] + terms[2];
        out.exterior[static_cast<std::size_t>(row)](i, j) = value;
        out.exterior[static_cast<std::size_t>(row)](j, i) = -value;
        double & scale = out.scale[static_cast<std::size_t>(row)];
        scale = std::max({scale, std::abs(terms[0]), std::abs(terms[1]), std::abs(terms[2])});
      }
    }
  }
  return true;
}

bool OneForms::sample(bool on_manifold, FormPoint & out)
{
  out = centre_;
  out.time += options_.spread * random();
  for (Index i = 0; i < out.q.size(); ++i)
  {
    out.q(i) += options_.spread * random();
  }
  system_.normalise(out.q);
  if (on_manifold && project_)
  {
    return project_(out.time, out.q) && out.q.size() == centre_.q.size() && out.q.allFinite();
  }
  return true;
}

std::vector<LocalForms> OneForms::samples(bool on_manifold, int count)
{
  std::vector<LocalForms> result;
  for (int i = 0; i < kTriesPerPoint * count && static_cast<int>(result.size()) < count; ++i)
  {
    FormPoint point;
    LocalForms here;
    if (sample(on_manifold, point) && local(point, here))
    {
      result.push_back(std::move(here));
    }
  }
  return result;
}

}  // namespace constrained_dynamics
