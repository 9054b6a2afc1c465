// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/integrability.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

#include <Eigen/QR>
#include <Eigen/SVD>

#include "analysis/integrating_factor.hpp"

// With n speeds the permitted motions have the frame X_0 = ∂t + D·∂q, X_i = C e_i·∂q (i = 1 … n) on
// the space of (t, q). A row ψ = A u + ψ0 that is linear in u is the one-form with ω(X_0) = ψ0 and
// ω(X_i) = A_i, and
//     dω(X_i, X_j) = X_i ω(X_j) − X_j ω(X_i) − ω([X_i, X_j]).
// Nothing but values along curves in the frame's directions is needed, whatever the coordinates.

namespace constrained_dynamics
{

const char * to_string(Answer answer) noexcept
{
  switch (answer)
  {
    case Answer::kNo:
      return "no";
    case Answer::kYes:
      return "yes";
    case Answer::kUnknown:
      return "unknown";
  }
  return "unknown";
}

namespace
{

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Relative sizes that count as zero and as not zero; between them is the land of the unknown.
constexpr double kZero = 1e-6;
constexpr double kNonzero = 1e-4;
/// Likewise for values that come without differences.
constexpr double kZeroValue = 1e-11;
constexpr double kNonzeroValue = 1e-8;
/// Derivatives below this part of (size of the form) / spread are taken for zero.
constexpr double kNegligibleSlope = 1e-4;
/// Step of the differences as a part of the spread: truncation (h⁶) and rounding (ε/h) both 1e-13.
constexpr double kStep = 0.01;
/// Singular values of rows scaled to length 1: zero below, of full rank above; else not regular.
constexpr double kRankZero = 1e-8;
constexpr double kRankNonzero = 1e-3;
/// Samples that may fail for each one that is wanted.
constexpr int kTriesPerPoint = 40;

/// Collects relative sizes; yes where all are zero.
class Decision
{
public:
  Decision() = default;
  Decision(double zero, double nonzero) : zero_(zero), nonzero_(nonzero) {}
  void add(double relative_size)
  {
    largest_ = std::isfinite(relative_size) ? std::max(largest_, relative_size)
                                            : std::numeric_limits<double>::infinity();
    finite_ = finite_ && std::isfinite(relative_size);
    ++count_;
  }
  Answer is_zero() const
  {
    if (count_ == 0 || !finite_)
    {
      return Answer::kUnknown;
    }
    return largest_ < zero_ ? Answer::kYes : (largest_ > nonzero_ ? Answer::kNo : Answer::kUnknown);
  }

private:
  double zero_ = kZero;
  double nonzero_ = kNonzero;
  double largest_ = 0.0;
  bool finite_ = true;
  int count_ = 0;
};

/// A point of (t, q).
struct Point
{
  double time = 0.0;
  VectorXd q;
};

/// Values at a point: the rows in the frame, and the frame.
struct Values
{
  MatrixXd forms;  // m × (n + 1): ψ0, A
  MatrixXd frame;  // nq × (n + 1): D, C
};

/// Values and first derivatives at a point.
struct Local
{
  Point point;
  Values values;
  std::vector<MatrixXd> exterior;  // dω of each row in the frame, (n + 1) × (n + 1)
  std::vector<double> slope;       // size of the terms that dω of each row is the sum of
};

class Analysis
{
public:
  Analysis(
    const ConstraintSet & set, double time, const ConstVectorRef & q,
    const PositionProjection & project, const IntegrabilityOptions & options);
  IntegrabilityReport run();

private:
  bool evaluate(const Point & point, const VectorXd & u, VectorXd & psi, MatrixXd & jacobian);
  bool values(const Point & point, Values & out);
  bool local(const Point & point, Local & out);
  Point move(const Point & from, const VectorXd & direction, double distance) const;
  bool sample(bool on_manifold, Point & out);
  std::vector<Local> samples(bool on_manifold, int count);
  void test_linearity(IntegrabilityReport & report);
  void test_row(int row, const std::vector<Local> & points, RowIntegrability & result) const;
  void test_set(IntegrabilityReport & report);
  void find_factor(
    int row, const std::vector<Local> & points, const std::vector<Local> & fresh,
    RowIntegrability & result) const;
  double scale(const Local & at, int row) const;

  const ConstraintSet & set_;
  const System & system_;
  Point centre_;
  const PositionProjection & project_;
  IntegrabilityOptions options_;
  std::unique_ptr<SystemData> data_;
  ConstraintScratch scratch_;
  std::mt19937 random_;
  std::uniform_real_distribution<double> uniform_{-1.0, 1.0};
  std::vector<bool> usable_;  // rows that are one-forms
  Index n_;
  Index m_;
  bool is_holonomic_ = true;  // all rows are of position level
};

Analysis::Analysis(
  const ConstraintSet & set, double time, const ConstVectorRef & q,
  const PositionProjection & project, const IntegrabilityOptions & options)
: set_(set),
  system_(set.system()),
  centre_{time, q},
  project_(project),
  options_(options),
  data_(system_.make_data()),
  random_(options.seed),
  usable_(static_cast<std::size_t>(set.row_count()), true),
  n_(system_.speed_count()),
  m_(set.row_count())
{
  int buffer = 0;
  for (int i = 0; i < set_.size(); ++i)
  {
    buffer = std::max(buffer, set_[i].scratch_size());
  }
  scratch_.jacobian_a.setZero(6, n_);
  scratch_.jacobian_b.setZero(6, n_);
  scratch_.buffer.setZero(buffer);
  for (int row = 0; row < set_.row_count(); ++row)
  {
    is_holonomic_ = is_holonomic_ && set_.row(row).level == RowLevel::kPosition;
  }
}

/// ψ (or φ̇) and A of all rows; NaN in the rows of constraints that fail. False where the system
/// fails.
bool Analysis::evaluate(
  const Point & point, const VectorXd & u, VectorXd & psi, MatrixXd & jacobian)
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

bool Analysis::values(const Point & point, Values & out)
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
Point Analysis::move(const Point & from, const VectorXd & direction, double distance) const
{
  Point to = from;
  to.time += distance * direction(0);
  to.q += distance * direction.tail(from.q.size());
  system_.normalise(to.q);
  return to;
}

bool Analysis::local(const Point & point, Local & out)
{
  out.point = point;
  if (!values(point, out.values))
  {
    return false;
  }
  if (is_holonomic_)
  {
    return true;  // d(dφ) = 0: nobody asks for derivatives, which take m n² numbers a point
  }
  const Index nq = point.q.size();
  // Derivatives of forms and frame along each X_j.
  std::vector<Values> derivative(static_cast<std::size_t>(n_ + 1));
  for (Index j = 0; j <= n_; ++j)
  {
    VectorXd direction(nq + 1);
    direction << (j == 0 ? 1.0 : 0.0), out.values.frame.col(j);
    const double speed = direction.cwiseAbs().maxCoeff();
    Values & result = derivative[static_cast<std::size_t>(j)];
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
      Values ahead;
      Values behind;
      if (
        !values(move(point, direction, step), ahead) ||
        !values(move(point, direction, -step), behind))
      {
        return false;
      }
      const double weight = kWeights[level] / (2.0 * step);
      result.forms += weight * (ahead.forms - behind.forms);
      result.frame += weight * (ahead.frame - behind.frame);
    }
  }
  const Eigen::ColPivHouseholderQR<MatrixXd> c(out.values.frame.rightCols(n_));
  if (c.rank() < n_)
  {
    return false;
  }
  out.exterior.assign(static_cast<std::size_t>(m_), MatrixXd::Zero(n_ + 1, n_ + 1));
  out.slope.assign(static_cast<std::size_t>(m_), 0.0);
  for (Index i = 0; i <= n_; ++i)
  {
    for (Index j = 0; j < i; ++j)
    {
      const Values & along_i = derivative[static_cast<std::size_t>(i)];
      const Values & along_j = derivative[static_cast<std::size_t>(j)];
      const VectorXd bracket = along_i.frame.col(j) - along_j.frame.col(i);
      const VectorXd coefficients = c.solve(bracket);
      // Motions whose brackets leave the motions: no forms on this space say anything.
      const VectorXd rest = bracket - out.values.frame.rightCols(n_) * coefficients;
      const double size = along_i.frame.col(j).norm() + along_j.frame.col(i).norm();
      if (!(rest.norm() <= kZero * (size + kNegligibleSlope * out.values.frame.norm())))
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
        double & slope = out.slope[static_cast<std::size_t>(row)];
        slope = std::max({slope, std::abs(terms[0]), std::abs(terms[1]), std::abs(terms[2])});
      }
    }
  }
  return true;
}

/// What dω of a row is compared with.
double Analysis::scale(const Local & at, int row) const
{
  const double form = at.values.forms.row(row).norm();
  return std::max(
    {at.slope[static_cast<std::size_t>(row)], kNegligibleSlope * form / options_.spread,
     std::numeric_limits<double>::min()});
}

bool Analysis::sample(bool on_manifold, Point & out)
{
  out = centre_;
  out.time += options_.spread * uniform_(random_);
  for (Index i = 0; i < out.q.size(); ++i)
  {
    out.q(i) += options_.spread * uniform_(random_);
  }
  system_.normalise(out.q);
  if (on_manifold && project_)
  {
    return project_(out.time, out.q) && out.q.size() == centre_.q.size() && out.q.allFinite();
  }
  return true;
}

std::vector<Local> Analysis::samples(bool on_manifold, int count)
{
  std::vector<Local> result;
  for (int i = 0; i < kTriesPerPoint * count && static_cast<int>(result.size()) < count; ++i)
  {
    Point point;
    Local here;
    if (sample(on_manifold, point) && local(point, here))
    {
      result.push_back(std::move(here));
    }
  }
  return result;
}

/// A(u) at several u, and a_0: the row at q̇ = 0.
void Analysis::test_linearity(IntegrabilityReport & report)
{
  const Decision by_value(kZeroValue, kNonzeroValue);
  std::vector<Decision> linear(usable_.size(), by_value);
  std::vector<Decision> homogeneous(usable_.size(), by_value);
  int found = 0;
  for (int i = 0; i < kTriesPerPoint * options_.points && found < options_.points; ++i)
  {
    Point point;
    VectorXd psi;
    MatrixXd jacobian;
    if (!sample(true, point) || !evaluate(point, VectorXd::Zero(n_), psi, jacobian))
    {
      continue;
    }
    const MatrixXd c = data_->terms.kinematic_matrix;
    const VectorXd d = data_->terms.kinematic_drift;
    const VectorXd at_rest = -c.colPivHouseholderQr().solve(d);
    ++found;
    for (int trial = 0; trial < 3; ++trial)
    {
      const VectorXd u = VectorXd::NullaryExpr(n_, [&] { return 2.0 * uniform_(random_); });
      VectorXd moving_psi;
      MatrixXd moving;
      if (!evaluate(point, u, moving_psi, moving))
      {
        continue;
      }
      for (Index row = 0; row < m_; ++row)
      {
        const double size = jacobian.row(row).norm() + moving.row(row).norm();
        const double change = (moving.row(row) - jacobian.row(row)).norm();
        // Both A and ψ: a function such as |u| has a derivative that is constant piece by piece.
        const double rest = moving_psi(row) - psi(row) - jacobian.row(row).dot(u);
        const double psi_size = std::abs(moving_psi(row)) + std::abs(psi(row)) + size * u.norm();
        const bool zero = size == 0.0 && psi_size == 0.0;
        linear[static_cast<std::size_t>(row)].add(
          zero ? 0.0
               : (std::isfinite(psi_size)
                    ? std::max(size > 0.0 ? change / size : 0.0, std::abs(rest) / psi_size)
                    : 1.0));  // no value at rest although there is one in motion: not linear
      }
    }
    for (Index row = 0; row < m_; ++row)
    {
      const double a0 = psi(row) + jacobian.row(row).dot(at_rest);
      const double size =
        std::abs(psi(row)) + jacobian.row(row).norm() * std::max(1.0, at_rest.norm());
      homogeneous[static_cast<std::size_t>(row)].add(size > 0.0 ? std::abs(a0) / size : 0.0);
    }
  }
  for (int row = 0; row < static_cast<int>(m_); ++row)
  {
    const std::size_t k = static_cast<std::size_t>(row);
    RowIntegrability & result = report.rows[k];
    if (result.level == RowLevel::kAcceleration)
    {
      usable_[k] = false;
      result.reason = "it is given at acceleration level";
      continue;
    }
    result.linear = result.level == RowLevel::kPosition ? Answer::kYes : linear[k].is_zero();
    usable_[k] = result.linear == Answer::kYes;
    if (usable_[k])
    {
      result.homogeneous = homogeneous[k].is_zero();
    }
    else
    {
      if (result.linear == Answer::kNo)
      {
        result.exact = Answer::kNo;  // d/dt of φ(q, t) is affine in the speeds
      }
      result.reason = found == 0 ? "it cannot be evaluated near the given state"
                      : result.linear == Answer::kNo
                        ? "it is nonlinear in the speeds"
                        : "whether it is linear in the speeds is numerically undecided";
    }
  }
}

void Analysis::test_row(int row, const std::vector<Local> & points, RowIntegrability & result) const
{
  Decision closed;
  Decision integrable;
  for (const Local & at : points)
  {
    const MatrixXd & d_omega = at.exterior[static_cast<std::size_t>(row)];
    const double size = scale(at, row);
    closed.add(d_omega.cwiseAbs().maxCoeff() / size);
    // ω ∧ dω = 0 iff dω vanishes on the kernel of ω.
    const VectorXd omega = at.values.forms.row(row).transpose();
    const double norm = omega.norm();
    if (!(norm > 0.0))
    {
      continue;
    }
    const MatrixXd onto =
      MatrixXd::Identity(n_ + 1, n_ + 1) - (omega / norm) * (omega / norm).transpose();
    integrable.add((onto * d_omega * onto).cwiseAbs().maxCoeff() / size);
  }
  result.exact = closed.is_zero();
  result.integrable_alone = result.exact == Answer::kYes ? Answer::kYes : integrable.is_zero();
}

void Analysis::find_factor(
  int row, const std::vector<Local> & points, const std::vector<Local> & fresh,
  RowIntegrability & result) const
{
  const auto convert = [&](const std::vector<Local> & from)
  {
    std::vector<FactorSample> to;
    for (const Local & at : from)
    {
      FactorSample sample;
      sample.x.resize(at.point.q.size() + 1);
      sample.x << at.point.q, at.point.time;
      sample.form = at.values.forms.row(row).transpose();
      sample.exterior = at.exterior[static_cast<std::size_t>(row)];
      sample.frame.setZero(at.point.q.size() + 1, n_ + 1);
      sample.frame.topRows(at.point.q.size()) = at.values.frame;
      sample.frame(at.point.q.size(), 0) = 1.0;
      sample.scale = scale(at, row);
      to.push_back(std::move(sample));
    }
    return to;
  };
  std::vector<std::string> names = system_.coordinate_names();
  names.push_back("t");
  result.integrating_factor =
    find_integrating_factor(names, convert(points), convert(fresh), kZero);
}

/// Frobenius: dω_i(X, Y) = 0 for all X, Y in the common kernel.
void Analysis::test_set(IntegrabilityReport & report)
{
  for (const RowIntegrability & row : report.rows)
  {
    if (row.linear != Answer::kYes)
    {
      report.reason = "row " + row.name + ": " + row.reason;
      return;
    }
  }
  std::vector<Local> points = samples(true, options_.points);
  Decision integrable;
  int regular = 0;
  int growth = 0;
  bool growth_known = true;
  int rank_seen = -1;
  bool rank_varies = false;
  for (int tries = 0; regular < options_.points && tries < kTriesPerPoint; ++tries)
  {
    for (const Local & at : points)
    {
      MatrixXd forms = at.values.forms;
      for (Index row = 0; row < m_; ++row)
      {
        forms.row(row) /= std::max(forms.row(row).norm(), std::numeric_limits<double>::min());
      }
      const Eigen::JacobiSVD<MatrixXd> svd(forms, Eigen::ComputeFullV);
      const VectorXd & sigma = svd.singularValues();
      Index rank = 0;
      bool clear = true;
      for (Index i = 0; i < sigma.size(); ++i)
      {
        rank += sigma(i) > kRankNonzero ? 1 : 0;
        clear = clear && (sigma(i) > kRankNonzero || sigma(i) < kRankZero);
      }
      if (!clear || regular >= options_.points)
      {
        continue;
      }
      rank_varies = rank_varies || (rank_seen >= 0 && rank_seen != rank);
      rank_seen = std::max(rank_seen, static_cast<int>(rank));
      ++regular;
      const MatrixXd kernel = svd.matrixV().rightCols(n_ + 1 - rank);
      const Index k = kernel.cols();
      MatrixXd curvature = MatrixXd::Zero(m_, std::max<Index>(1, k * (k - 1) / 2));
      for (int row = 0; row < static_cast<int>(m_); ++row)
      {
        if (report.rows[static_cast<std::size_t>(row)].level == RowLevel::kPosition)
        {
          continue;  // d(dφ) = 0
        }
        const MatrixXd on_kernel =
          kernel.transpose() * at.exterior[static_cast<std::size_t>(row)] * kernel;
        Index column = 0;
        for (Index i = 0; i < k; ++i)
        {
          for (Index j = 0; j < i; ++j)
          {
            curvature(row, column++) = on_kernel(i, j) / scale(at, row);
          }
        }
      }
      integrable.add(curvature.cwiseAbs().maxCoeff());
      const Eigen::JacobiSVD<MatrixXd> curvature_svd(curvature);
      int here = 0;
      for (Index i = 0; i < curvature_svd.singularValues().size(); ++i)
      {
        const double value = curvature_svd.singularValues()(i);
        here += value > kNonzero ? 1 : 0;
        growth_known = growth_known && (value > kNonzero || value < kZero);
      }
      growth = std::max(growth, here);
    }
    if (regular < options_.points)
    {
      points = samples(true, options_.points);
    }
  }
  if (regular < options_.points)
  {
    report.reason = "only " + std::to_string(regular) + " of " + std::to_string(options_.points) +
                    " regular sample points were found near the given state";
    return;
  }
  if (rank_varies)
  {
    report.reason = "the rank of the rows changes near the given state";
    return;
  }
  report.rank = rank_seen;
  report.integrable = integrable.is_zero();
  report.bracket_growth = report.integrable == Answer::kYes
                            ? 0
                            : (report.integrable == Answer::kNo && growth_known ? growth : -1);
  switch (report.integrable)
  {
    case Answer::kYes:
      report.reason = "the forms of all rows vanish on brackets of permitted motions (Frobenius)";
      break;
    case Answer::kNo:
      report.reason = "brackets of permitted motions violate the rows (Frobenius)";
      break;
    case Answer::kUnknown:
      report.reason = "the Frobenius test is numerically undecided";
      break;
  }
}

IntegrabilityReport Analysis::run()
{
  IntegrabilityReport report;
  for (int row = 0; row < static_cast<int>(m_); ++row)
  {
    RowIntegrability result;
    result.name = set_.row_name(row);
    result.level = set_.row(row).level;
    report.rows.push_back(std::move(result));
  }
  if (m_ == 0)
  {
    report.integrable = Answer::kYes;
    report.reason = "there are no rows";
    report.rank = 0;
    report.bracket_growth = 0;
    return report;
  }
  test_linearity(report);
  const int count = is_holonomic_ ? 0 : options_.points;
  const std::vector<Local> points = samples(false, count);
  const std::vector<Local> fresh = samples(false, count);
  for (int row = 0; row < static_cast<int>(m_); ++row)
  {
    const std::size_t k = static_cast<std::size_t>(row);
    RowIntegrability & result = report.rows[k];
    if (result.level == RowLevel::kPosition)
    {
      result.exact = Answer::kYes;
      result.integrable_alone = Answer::kYes;
      result.integrating_factor = "1";
      continue;
    }
    if (!usable_[k])
    {
      continue;
    }
    if (static_cast<int>(fresh.size()) < options_.points)
    {
      result.reason = "too few points near the given state can be evaluated";
      continue;
    }
    test_row(row, points, result);
    if (result.exact == Answer::kYes)
    {
      result.integrating_factor = "1";
    }
    else if (result.integrable_alone == Answer::kYes)
    {
      find_factor(row, points, fresh, result);
    }
    if (result.exact == Answer::kUnknown || result.integrable_alone == Answer::kUnknown)
    {
      result.reason = "its derivatives are numerically undecided";
    }
  }
  test_set(report);
  return report;
}

}  // namespace

IntegrabilityReport analyse_integrability(
  const ConstraintSet & set, double time, const ConstVectorRef & q,
  const PositionProjection & project, const IntegrabilityOptions & options)
{
  if (q.size() != set.system().coordinate_count())
  {
    throw std::invalid_argument(
      "q has " + std::to_string(q.size()) +
      " values; allowed: " + std::to_string(set.system().coordinate_count()));
  }
  if (!std::isfinite(time) || !q.allFinite())
  {
    throw std::invalid_argument("the time or q is not finite; allowed: finite values");
  }
  if (!(16 <= options.points && options.points <= 10000))
  {
    throw std::invalid_argument(
      "points is " + std::to_string(options.points) + "; allowed: 16 to 10000");
  }
  if (!(1e-6 <= options.spread && options.spread <= 1e6))
  {
    throw std::invalid_argument(
      "spread is " + std::to_string(options.spread) + "; allowed: 1e-6 to 1e6");
  }
  return Analysis(set, time, q, project, options).run();
}

}  // namespace constrained_dynamics
