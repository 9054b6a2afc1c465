// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/analytic_system.hpp"

#include <cmath>
#include <stdexcept>

#include "dense_decompositions.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

AnalyticSystem::AnalyticSystem() = default;
AnalyticSystem::AnalyticSystem(const AnalyticDescription & description)
: description_(std::make_unique<const AnalyticDescription>(description))
{
}
AnalyticSystem::~AnalyticSystem() = default;

Status AnalyticSystem::speeds_from_rates(
  double time, const ConstVectorRef & q, const ConstVectorRef & qdot, VectorRef u) const
{
  if (
    q.size() != coordinate_count() || qdot.size() != coordinate_count() ||
    u.size() != speed_count())
  {
    return Status::kSizeMismatch;
  }
  if (!std::isfinite(time) || !q.allFinite() || !qdot.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  Eigen::VectorXd result = Eigen::VectorXd::Zero(speed_count());
  const Status status = do_speeds_from_rates(time, q, qdot, result);
  if (status != Status::kOk)
  {
    return status;
  }
  if (!result.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  u = result;
  return Status::kOk;
}

namespace
{

/// Scratch of the kinematics that are derived by dual numbers, and the energies.
class FunctionData final : public SystemData
{
public:
  FunctionData(int coordinate_count, int speed_count, int input_count)
  : SystemData(coordinate_count, speed_count, input_count),
    q(static_cast<std::size_t>(coordinate_count)),
    u(static_cast<std::size_t>(speed_count)),
    qdot(static_cast<std::size_t>(coordinate_count))
  {
  }

  std::vector<Dual> q;
  std::vector<Dual> u;
  std::vector<Dual> qdot;
  double kinetic_energy = 0.0;
  double potential_energy = 0.0;
};

class FunctionSystem final : public AnalyticSystem
{
public:
  explicit FunctionSystem(AnalyticFunctions functions);

protected:
  std::unique_ptr<SystemData> do_make_data() const override;
  Status do_update_kinematics(SystemData & data) const noexcept CD_NONBLOCKING override;
  Status do_update_dynamics(SystemData & data) const noexcept CD_NONBLOCKING override;
  void do_normalise(VectorRef q) const noexcept CD_NONBLOCKING override;
  Eigen::VectorXd do_neutral_coordinates() const override { return neutral_; }
  double do_kinetic_energy(const SystemData & data) const noexcept CD_NONBLOCKING override
  {
    return static_cast<const FunctionData &>(data).kinetic_energy;
  }
  double do_potential_energy(const SystemData & data) const noexcept CD_NONBLOCKING override
  {
    return static_cast<const FunctionData &>(data).potential_energy;
  }
  Status do_speeds_from_rates(
    double time, const ConstVectorRef & q, const ConstVectorRef & qdot,
    Eigen::VectorXd & u) const override;

private:
  void check_functions() const;
  void check_affine_rates() const;
  void derive_kinematics(FunctionData & data) const;

  AnalyticFunctions functions_;
  Eigen::VectorXd neutral_;
};

FunctionSystem::FunctionSystem(AnalyticFunctions functions) : functions_(std::move(functions))
{
  if (functions_.speeds.empty())
  {
    for (const std::string & name : functions_.coordinates)
    {
      functions_.speeds.push_back("d" + name);
    }
  }
  set_names(functions_.coordinates, functions_.speeds, functions_.inputs);
  check_functions();
  neutral_ = functions_.neutral_coordinates;
  if (neutral_.size() == 0)
  {
    neutral_.setZero(coordinate_count());
  }
  if (functions_.rates)
  {
    check_affine_rates();
  }
}

void FunctionSystem::check_functions() const
{
  const AnalyticFunctions & f = functions_;
  const auto refuse = [](const std::string & message) { throw std::invalid_argument(message); };
  if (!f.mass_matrix)
  {
    refuse("mass_matrix is missing; a system needs it");
  }
  if (static_cast<bool>(f.input_matrix) != (input_count() > 0))
  {
    refuse(
      "input_matrix and inputs belong together: " + std::to_string(input_count()) +
      " inputs, and input_matrix is " + (f.input_matrix ? "given" : "missing"));
  }
  if (f.rates && (f.kinematic_matrix || f.kinematic_drift || f.acceleration_bias))
  {
    refuse("rates excludes kinematic_matrix, kinematic_drift and acceleration_bias; give one way");
  }
  if (!f.kinematic_matrix && (f.kinematic_drift || f.acceleration_bias))
  {
    refuse("kinematic_drift and acceleration_bias need kinematic_matrix, which is missing");
  }
  if (f.kinematic_matrix && !f.acceleration_bias)
  {
    refuse("acceleration_bias is missing; kinematic_matrix needs it (or give rates instead)");
  }
  if (!f.rates && !f.kinematic_matrix && coordinate_count() != speed_count())
  {
    refuse(
      std::to_string(coordinate_count()) + " coordinates and " + std::to_string(speed_count()) +
      " speeds; without rates or kinematic_matrix they must be as many");
  }
  if (
    f.neutral_coordinates.size() != 0 &&
    (f.neutral_coordinates.size() != coordinate_count() || !f.neutral_coordinates.allFinite()))
  {
    refuse(
      "neutral_coordinates has " + std::to_string(f.neutral_coordinates.size()) +
      " values; allowed: none, or " + std::to_string(coordinate_count()) + " finite ones");
  }
}

// Affine: the derivative with respect to u is the same at two different u.
void FunctionSystem::check_affine_rates() const
{
  FunctionData data(coordinate_count(), speed_count(), input_count());
  const std::size_t n = data.u.size();
  Eigen::MatrixXd derivative[2];
  for (int trial = 0; trial < 8; ++trial)
  {
    try
    {
      for (int pass = 0; pass < 2; ++pass)
      {
        derivative[pass].setZero(coordinate_count(), speed_count());
        for (std::size_t j = 0; j < n; ++j)
        {
          for (std::size_t i = 0; i < data.q.size(); ++i)
          {
            const double shift = 0.7 * std::sin(1.0 + 3.0 * static_cast<double>(i) + 5.0 * trial);
            data.q[i] = neutral_(static_cast<Eigen::Index>(i)) + shift;
          }
          for (std::size_t i = 0; i < n; ++i)
          {
            const double value = pass * std::cos(2.0 + 7.0 * static_cast<double>(i) + trial);
            data.u[i] = Dual(value, i == j ? 1.0 : 0.0);
          }
          functions_.rates(Dual(0.1 * trial), data.q.data(), data.u.data(), data.qdot.data());
          for (std::size_t i = 0; i < data.q.size(); ++i)
          {
            derivative[pass](static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
              data.qdot[i].derivative;
          }
        }
      }
    }
    catch (...)
    {
      continue;  // the function does not accept this sample
    }
    const double size = derivative[0].cwiseAbs().maxCoeff() + derivative[1].cwiseAbs().maxCoeff();
    const double difference = (derivative[0] - derivative[1]).cwiseAbs().maxCoeff();
    if (std::isfinite(size) && difference > 1e-9 * size)
    {
      throw std::invalid_argument("rates are not affine in the speeds; allowed: q̇ = C u + D");
    }
  }
}

std::unique_ptr<SystemData> FunctionSystem::do_make_data() const
{
  auto data = std::make_unique<FunctionData>(coordinate_count(), speed_count(), input_count());
  if (coordinate_count() == speed_count())
  {
    data->terms.kinematic_matrix.setIdentity();
  }
  return data;
}

// C = ∂f/∂u and D = f(t, q, 0) at u = 0; the bias of q̈ is df/dt along (q̇, 1) at constant u.
void FunctionSystem::derive_kinematics(FunctionData & data) const
{
  SystemTerms & terms = data.terms;
  const Eigen::Index nq = terms.coordinates.size();
  const Eigen::Index n = terms.speeds.size();
  const auto at = [](std::vector<Dual> & v, Eigen::Index i) -> Dual &
  { return v[static_cast<std::size_t>(i)]; };
  for (Eigen::Index i = 0; i < nq; ++i)
  {
    at(data.q, i) = terms.coordinates(i);
  }
  for (Eigen::Index j = 0; j < n; ++j)
  {
    for (Eigen::Index i = 0; i < n; ++i)
    {
      at(data.u, i) = Dual(0.0, i == j ? 1.0 : 0.0);
    }
    functions_.rates(Dual(terms.time), data.q.data(), data.u.data(), data.qdot.data());
    for (Eigen::Index i = 0; i < nq; ++i)
    {
      terms.kinematic_matrix(i, j) = at(data.qdot, i).derivative;
      terms.kinematic_drift(i) = at(data.qdot, i).value;
    }
  }
  terms.rates = terms.kinematic_drift;
  terms.rates += terms.kinematic_matrix.lazyProduct(terms.speeds);
  for (Eigen::Index i = 0; i < nq; ++i)
  {
    at(data.q, i).derivative = terms.rates(i);
  }
  for (Eigen::Index i = 0; i < n; ++i)
  {
    at(data.u, i) = terms.speeds(i);
  }
  functions_.rates(Dual(terms.time, 1.0), data.q.data(), data.u.data(), data.qdot.data());
  for (Eigen::Index i = 0; i < nq; ++i)
  {
    terms.acceleration_bias(i) = at(data.qdot, i).derivative;
  }
}

Status FunctionSystem::do_update_kinematics(SystemData & base) const noexcept CD_NONBLOCKING
{
  FunctionData & data = static_cast<FunctionData &>(base);
  SystemTerms & terms = data.terms;
  const AnalyticFunctions & f = functions_;
  try
  {
    if (f.rates)
    {
      derive_kinematics(data);
    }
    else if (f.kinematic_matrix)
    {
      f.kinematic_matrix(terms.time, terms.coordinates, terms.kinematic_matrix);
      if (f.kinematic_drift)
      {
        f.kinematic_drift(terms.time, terms.coordinates, terms.kinematic_drift);
      }
      terms.rates = terms.kinematic_drift;
      terms.rates += terms.kinematic_matrix.lazyProduct(terms.speeds);
      f.acceleration_bias(terms.time, terms.coordinates, terms.speeds, terms.acceleration_bias);
    }
    else
    {
      terms.rates = terms.speeds;
    }
  }
  catch (...)
  {
    return Status::kUserFunctionFailed;
  }
  return has_finite_kinematics(terms) ? Status::kOk : Status::kNonFiniteResult;
}

Status FunctionSystem::do_update_dynamics(SystemData & base) const noexcept CD_NONBLOCKING
{
  FunctionData & data = static_cast<FunctionData &>(base);
  SystemTerms & terms = data.terms;
  const AnalyticFunctions & f = functions_;
  try
  {
    f.mass_matrix(terms.time, terms.coordinates, terms.mass_matrix);
    if (f.force)
    {
      f.force(terms.time, terms.coordinates, terms.speeds, terms.force);
    }
    if (f.input_matrix)
    {
      f.input_matrix(terms.time, terms.coordinates, terms.speeds, terms.input_matrix);
    }
    data.kinetic_energy = f.kinetic_energy
                            ? f.kinetic_energy(terms.time, terms.coordinates, terms.speeds)
                            : System::do_kinetic_energy(data);
    data.potential_energy =
      f.potential_energy ? f.potential_energy(terms.time, terms.coordinates) : 0.0;
  }
  catch (...)
  {
    return Status::kUserFunctionFailed;
  }
  return Status::kOk;
}

void FunctionSystem::do_normalise(VectorRef q) const noexcept CD_NONBLOCKING
{
  if (!functions_.normalise)
  {
    return;
  }
  try
  {
    functions_.normalise(q);
  }
  catch (...)
  {
    // There is no status to return: q stays as it is, and its next use reports the error.
  }
}

Status FunctionSystem::do_speeds_from_rates(
  double time, const ConstVectorRef & q, const ConstVectorRef & qdot, Eigen::VectorXd & u) const
{
  const std::unique_ptr<SystemData> data = make_data();
  const Status status = update_kinematics(time, q, u, *data);
  if (status != Status::kOk)
  {
    return status;
  }
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(data->terms.kinematic_matrix);
  if (qr.rank() < speed_count())
  {
    return Status::kSingularKinematics;
  }
  u = qr.solve(qdot - data->terms.kinematic_drift);
  return Status::kOk;
}

}  // namespace

std::shared_ptr<const AnalyticSystem> make_analytic_system(AnalyticFunctions functions)
{
  return std::make_shared<const FunctionSystem>(std::move(functions));
}

}  // namespace constrained_dynamics
