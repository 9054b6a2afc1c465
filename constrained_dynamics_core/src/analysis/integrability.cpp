// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/integrability.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "analysis/integrating_factor.hpp"
#include "analysis/one_forms.hpp"
#include "dense_decompositions.hpp"

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

/// Relative sizes of values computed without differences: zero below, nonzero above.
constexpr double kZeroValue = 1e-11;
constexpr double kNonzeroValue = 1e-8;
/// Singular values of rows scaled to length 1: zero below, full rank above; between them the point
/// is not regular.
constexpr double kRankZero = 1e-8;
constexpr double kRankNonzero = 1e-3;

/// Collects relative sizes; the answer is yes if all are zero.
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
  double zero_ = kZeroDifference;
  double nonzero_ = kNonzeroDifference;
  double largest_ = 0.0;
  bool finite_ = true;
  int count_ = 0;
};

/// Linearity in u, and homogeneity, of every row.
struct Linearity
{
  explicit Linearity(std::size_t rows)
  : linear(rows, Decision(kZeroValue, kNonzeroValue)),
    homogeneous(rows, Decision(kZeroValue, kNonzeroValue))
  {
  }
  std::vector<Decision> linear;
  std::vector<Decision> homogeneous;
  int points = 0;
};

/// Frobenius' test of the set, over regular points.
struct Frobenius
{
  Decision integrable;
  int points = 0;
  int growth = 0;
  bool growth_known = true;
  int rank = -1;
  bool rank_varies = false;
};

class Analysis
{
public:
  Analysis(
    const ConstraintSet & set, const FormPoint & centre, const PositionProjection & project,
    const IntegrabilityOptions & options)
  : set_(set), options_(options), forms_(set, centre, project, options)
  {
  }
  IntegrabilityReport run();

private:
  void test_linearity(IntegrabilityReport & report);
  bool add_point(const FormPoint & point, Linearity & test);
  void judge_linearity(const Linearity & test, int row, RowIntegrability & result);
  void test_row(int row, const std::vector<LocalForms> & points, RowIntegrability & result) const;
  void find_factor(
    int row, const std::vector<LocalForms> & points, const std::vector<LocalForms> & fresh,
    RowIntegrability & result) const;
  void test_set(IntegrabilityReport & report);
  void add_point(const LocalForms & at, Frobenius & test) const;
  MatrixXd curvature(const LocalForms & at, const MatrixXd & kernel) const;

  const ConstraintSet & set_;
  IntegrabilityOptions options_;
  OneForms forms_;
};

/// A(u) and ψ(u) at several u, and the row at q̇ = 0, which is a_0. False where the system fails.
bool Analysis::add_point(const FormPoint & point, Linearity & test)
{
  const Index n = forms_.speed_count();
  VectorXd psi;
  MatrixXd jacobian;
  if (!forms_.evaluate(point, VectorXd::Zero(n), psi, jacobian))
  {
    return false;
  }
  const MatrixXd c = forms_.terms().kinematic_matrix;
  const VectorXd at_rest = -c.colPivHouseholderQr().solve(forms_.terms().kinematic_drift);
  for (int trial = 0; trial < 3; ++trial)
  {
    const VectorXd u = VectorXd::NullaryExpr(n, [&] { return 2.0 * forms_.random(); });
    VectorXd moving_psi;
    MatrixXd moving;
    if (!forms_.evaluate(point, u, moving_psi, moving))
    {
      continue;
    }
    for (Index row = 0; row < psi.size(); ++row)
    {
      const double size = jacobian.row(row).norm() + moving.row(row).norm();
      const double change = (moving.row(row) - jacobian.row(row)).norm();
      // Both A and ψ: a function such as |u| has a piecewise constant derivative.
      const double rest = moving_psi(row) - psi(row) - jacobian.row(row).dot(u);
      const double psi_size = std::abs(moving_psi(row)) + std::abs(psi(row)) + size * u.norm();
      double error = 1.0;  // no value at rest although there is one in motion: not linear
      if (size == 0.0 && psi_size == 0.0)
      {
        error = 0.0;
      }
      else if (std::isfinite(psi_size))
      {
        error = std::max(size > 0.0 ? change / size : 0.0, std::abs(rest) / psi_size);
      }
      test.linear[static_cast<std::size_t>(row)].add(error);
    }
  }
  for (Index row = 0; row < psi.size(); ++row)
  {
    const double a0 = psi(row) + jacobian.row(row).dot(at_rest);
    const double size =
      std::abs(psi(row)) + jacobian.row(row).norm() * std::max(1.0, at_rest.norm());
    test.homogeneous[static_cast<std::size_t>(row)].add(size > 0.0 ? std::abs(a0) / size : 0.0);
  }
  return true;
}

void Analysis::judge_linearity(const Linearity & test, int row, RowIntegrability & result)
{
  const std::size_t k = static_cast<std::size_t>(row);
  if (result.level == RowLevel::kAcceleration)
  {
    forms_.exclude(row);
    result.reason = "it is given at acceleration level";
    return;
  }
  result.linear = result.level == RowLevel::kPosition ? Answer::kYes : test.linear[k].is_zero();
  if (result.linear == Answer::kYes)
  {
    result.homogeneous = test.homogeneous[k].is_zero();
    return;
  }
  forms_.exclude(row);
  result.reason = "whether it is linear in the speeds is numerically undecided";
  if (result.linear == Answer::kNo)
  {
    result.exact = Answer::kNo;  // d/dt of φ(q, t) is affine in the speeds
    result.reason = "it is nonlinear in the speeds";
  }
  if (test.points == 0)
  {
    result.reason = "it cannot be evaluated near the given state";
  }
}

void Analysis::test_linearity(IntegrabilityReport & report)
{
  Linearity test(report.rows.size());
  for (int i = 0; i < kTriesPerPoint * options_.points && test.points < options_.points; ++i)
  {
    FormPoint point;
    if (forms_.sample(true, point) && add_point(point, test))
    {
      ++test.points;
    }
  }
  for (int row = 0; row < static_cast<int>(report.rows.size()); ++row)
  {
    judge_linearity(test, row, report.rows[static_cast<std::size_t>(row)]);
  }
}

void Analysis::test_row(
  int row, const std::vector<LocalForms> & points, RowIntegrability & result) const
{
  Decision closed;
  Decision integrable;
  for (const LocalForms & at : points)
  {
    const MatrixXd & d_omega = at.exterior[static_cast<std::size_t>(row)];
    const double size = at.scale[static_cast<std::size_t>(row)];
    closed.add(d_omega.cwiseAbs().maxCoeff() / size);
    // ω ∧ dω = 0 iff dω vanishes on the kernel of ω.
    const VectorXd omega = at.values.forms.row(row).transpose();
    const double norm = omega.norm();
    if (!(norm > 0.0))
    {
      continue;
    }
    const MatrixXd onto =
      MatrixXd::Identity(omega.size(), omega.size()) - (omega / norm) * (omega / norm).transpose();
    integrable.add((onto * d_omega * onto).cwiseAbs().maxCoeff() / size);
  }
  result.exact = closed.is_zero();
  result.integrable_alone = result.exact == Answer::kYes ? Answer::kYes : integrable.is_zero();
}

void Analysis::find_factor(
  int row, const std::vector<LocalForms> & points, const std::vector<LocalForms> & fresh,
  RowIntegrability & result) const
{
  const auto convert = [&](const std::vector<LocalForms> & from)
  {
    std::vector<FactorSample> to;
    for (const LocalForms & at : from)
    {
      const Index nq = at.point.q.size();
      FactorSample sample;
      sample.x.resize(nq + 1);
      sample.x << at.point.q, at.point.time;
      sample.form = at.values.forms.row(row).transpose();
      sample.exterior = at.exterior[static_cast<std::size_t>(row)];
      sample.frame.setZero(nq + 1, forms_.speed_count() + 1);
      sample.frame.topRows(nq) = at.values.frame;
      sample.frame(nq, 0) = 1.0;
      sample.scale = at.scale[static_cast<std::size_t>(row)];
      to.push_back(std::move(sample));
    }
    return to;
  };
  std::vector<std::string> names = set_.system().coordinate_names();
  names.push_back("t");
  result.integrating_factor =
    find_integrating_factor(names, convert(points), convert(fresh), kZeroDifference);
}

/// dω of each row on pairs of the kernel's columns, relative to its size.
MatrixXd Analysis::curvature(const LocalForms & at, const MatrixXd & kernel) const
{
  const Index k = kernel.cols();
  MatrixXd result = MatrixXd::Zero(forms_.row_count(), std::max<Index>(1, k * (k - 1) / 2));
  for (int row = 0; row < set_.row_count(); ++row)
  {
    if (set_.row(row).level == RowLevel::kPosition)
    {
      continue;  // d(dφ) = 0
    }
    const std::size_t r = static_cast<std::size_t>(row);
    const MatrixXd on_kernel = kernel.transpose() * at.exterior[r] * kernel;
    Index column = 0;
    for (Index i = 0; i < k; ++i)
    {
      for (Index j = 0; j < i; ++j)
      {
        result(row, column++) = on_kernel(i, j) / at.scale[r];
      }
    }
  }
  return result;
}

/// Counts a point where the rank of the rows is clear.
void Analysis::add_point(const LocalForms & at, Frobenius & test) const
{
  MatrixXd forms = at.values.forms;
  for (Index row = 0; row < forms.rows(); ++row)
  {
    forms.row(row) /= std::max(forms.row(row).norm(), std::numeric_limits<double>::min());
  }
  const Eigen::JacobiSVD<MatrixXd> svd(forms, Eigen::ComputeFullV);
  int rank = 0;
  for (const double sigma : svd.singularValues())
  {
    if (!(sigma < kRankZero || sigma > kRankNonzero))
    {
      return;
    }
    rank += sigma > kRankNonzero ? 1 : 0;
  }
  ++test.points;
  test.rank_varies = test.rank_varies || (test.rank >= 0 && test.rank != rank);
  test.rank = std::max(test.rank, rank);
  const MatrixXd values = curvature(at, svd.matrixV().rightCols(forms.cols() - rank));
  test.integrable.add(values.cwiseAbs().maxCoeff());
  const Eigen::JacobiSVD<MatrixXd> values_svd(values);
  int growth = 0;
  for (const double value : values_svd.singularValues())
  {
    growth += value > kNonzeroDifference ? 1 : 0;
    test.growth_known =
      test.growth_known && (value > kNonzeroDifference || value < kZeroDifference);
  }
  test.growth = std::max(test.growth, growth);
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
  Frobenius test;
  for (int tries = 0; test.points < options_.points && tries < kTriesPerPoint; ++tries)
  {
    for (const LocalForms & at : forms_.samples(true, options_.points))
    {
      if (test.points < options_.points)
      {
        add_point(at, test);
      }
    }
  }
  if (test.points < options_.points)
  {
    report.reason = "only " + std::to_string(test.points) + " of " +
                    std::to_string(options_.points) +
                    " regular sample points were found near the given state";
    return;
  }
  if (test.rank_varies)
  {
    report.reason = "the rank of the rows changes near the given state";
    return;
  }
  report.rank = test.rank;
  report.integrable = test.integrable.is_zero();
  switch (report.integrable)
  {
    case Answer::kYes:
      report.bracket_growth = 0;
      report.reason = "the forms of all rows vanish on brackets of permitted motions (Frobenius)";
      break;
    case Answer::kNo:
      report.bracket_growth = test.growth_known ? test.growth : -1;
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
  for (int row = 0; row < set_.row_count(); ++row)
  {
    RowIntegrability result;
    result.name = set_.row_name(row);
    result.level = set_.row(row).level;
    report.rows.push_back(std::move(result));
  }
  if (report.rows.empty())
  {
    report.integrable = Answer::kYes;
    report.reason = "there are no rows";
    report.rank = 0;
    report.bracket_growth = 0;
    return report;
  }
  test_linearity(report);
  const int count = forms_.is_holonomic() ? 0 : options_.points;
  const std::vector<LocalForms> points = forms_.samples(false, count);
  const std::vector<LocalForms> fresh = forms_.samples(false, count);
  for (int row = 0; row < set_.row_count(); ++row)
  {
    RowIntegrability & result = report.rows[static_cast<std::size_t>(row)];
    if (result.level == RowLevel::kPosition)
    {
      result.exact = Answer::kYes;
      result.integrable_alone = Answer::kYes;
      result.integrating_factor = "1";
      continue;
    }
    if (result.linear != Answer::kYes)
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
  return Analysis(set, {time, q}, project, options).run();
}

}  // namespace constrained_dynamics
