#include "constrained_dynamics/impact.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "constrained_dynamics/formulations/kane_nonminimal.hpp"
#include "contact/cone_problem.hpp"
#include "contact/small_solve.hpp"

namespace constrained_dynamics
{

namespace
{

// Fractions of the terms that a number is made of, below which it is rounding.
constexpr double kRounding = 1e-12;
// Sweeps find friction within its bound to this fraction, exact equations decide afterwards.
constexpr double kConeEdge = 1e-8;
constexpr int kModeCorrections = 24;
constexpr int kDirectionIterations = 60;
constexpr int kEnergyIterations = 12;
constexpr int kPathSteps = 32;

enum class Mode : std::uint8_t
{
  kAbsent,
  kSeparates,
  kSticks,
  kSlides,
  kGiven,  // impulses as the sweeps left them
};

struct ContactMode
{
  Mode mode = Mode::kAbsent;
  double direction[2] = {0.0, 0.0};  // of the slip
};

}  // namespace

ImpactProblem::ImpactProblem(const Dynamics & dynamics)
: roles(static_cast<std::size_t>(dynamics.constraints().size()), ImpactRole::kInForce),
  restitution(Eigen::VectorXd::Zero(dynamics.constraints().size())),
  impulse(Eigen::VectorXd::Zero(dynamics.system().speed_count()))
{
}

ImpactProblem::ImpactProblem(const Dynamics & dynamics, const Workspace & workspace)
: ImpactProblem(dynamics)
{
  for (std::size_t i = 0; i < roles.size(); ++i)
  {
    roles[i] =
      workspace.is_active(static_cast<int>(i)) ? ImpactRole::kInForce : ImpactRole::kAbsent;
  }
}

ImpactSolution::ImpactSolution(const Dynamics & dynamics, std::size_t contact_count)
: speeds(Eigen::VectorXd::Zero(dynamics.system().speed_count())),
  multipliers(Eigen::VectorXd::Zero(dynamics.constraints().row_count())),
  constraint_impulse(Eigen::VectorXd::Zero(dynamics.system().speed_count())),
  wrenches(static_cast<std::size_t>(dynamics.constraints().wrench_count())),
  outcomes(contact_count, ContactOutcome::kAbsent)
{
}

struct ImpactSolver::Impl
{
  Impl(const Dynamics & the_dynamics, std::size_t contact_limit);

  Status load(
    const ImpactProblem & problem, double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace) noexcept;
  void set_targets(const ImpactProblem & problem, double scale) noexcept;
  Status choose_modes(const ImpactProblem & problem) noexcept;
  void read_modes(const ImpactProblem & problem, bool include_idle) noexcept;
  Status solve_chosen(const ImpactProblem & problem) noexcept;
  bool correct_modes(const ImpactProblem & problem) noexcept;
  void use_sweeps(const ImpactProblem & problem) noexcept;

  void gather(const ImpactProblem & problem) noexcept;
  Status solve_rows(const Eigen::VectorXd & force, bool with_targets) noexcept;
  Status solve_modes(
    const ImpactProblem & problem, const Eigen::VectorXd & impulse, bool with_targets) noexcept;
  Status solve_directions(const ImpactProblem & problem) noexcept;
  double slip_after(int row) const noexcept
  {
    return before(row) + jacobian.row(row).dot(row_solution.acceleration);
  }
  double normal_impulse(const ImpactContact & contact) const noexcept
  {
    return -contact.side * multipliers(row_of(contact.constraint));
  }
  int row_of(int constraint) const noexcept
  {
    return dynamics->constraints().row_offset(constraint);
  }
  int slip_rows(const ImpactContact & contact) const noexcept
  {
    return contact.friction_constraint < 0 || !(contact.friction > 0.0) || without_friction
             ? 0
             : dynamics->constraints()[contact.friction_constraint].row_count();
  }
  bool is_in(const ImpactProblem & problem, const ImpactContact & contact) const noexcept
  {
    return problem.roles[static_cast<std::size_t>(contact.constraint)] == ImpactRole::kUnilateral;
  }
  bool bounces(const ImpactProblem & problem) const noexcept;
  double energy_change() const noexcept;
  bool is_scleronomic(const ImpactProblem & problem) const noexcept;
  double scale_for_energy(const ImpactProblem & problem) noexcept;
  bool is_nonlinear(const ImpactProblem & problem, Workspace & workspace) noexcept;
  Status follow_path(const ImpactProblem & problem, Workspace & workspace) noexcept;
  void write(const ImpactProblem & problem, Workspace & workspace, ImpactSolution & out) noexcept;

  const Dynamics * dynamics;
  KaneNonminimal formulation;
  std::unique_ptr<FormulationData> formulation_data;
  RowSolution row_solution;
  ConeProblem cone;
  std::vector<ConeContact> cone_contacts;
  std::vector<ContactMode> modes;
  std::vector<char> is_equality;  // of each row
  std::vector<int> sliding;       // contacts
  ConstraintScratch scratch;

  double time = 0.0;
  Eigen::VectorXd q, u;
  Eigen::MatrixXd mass;
  Eigen::MatrixXd jacobian;  // of all rows
  Eigen::VectorXd before;    // φ̇⁻, ψ⁻
  Eigen::VectorXd factors;   // c = factor · φ̇⁻
  Eigen::VectorXd targets;   // c
  Eigen::VectorXd row_size;  // what a_i u may amount to
  double restitution_scale = 1.0;
  bool path_dependent = false;
  bool directions_settled = false;
  bool without_friction = false;

  int active_count = 0;
  Eigen::VectorXi active_rows;
  Eigen::MatrixXd active_jacobian;
  Eigen::VectorXd active_targets;
  Eigen::VectorXd active_scale;
  Eigen::VectorXd active_weight;

  Eigen::VectorXd multipliers;  // of all rows, friction included
  Eigen::VectorXd zero_speeds;
  Eigen::VectorXd force;
  Eigen::VectorXd row_buffer;
  Eigen::VectorXd friction_force;  // of a unit normal impulse
  Eigen::MatrixXd friction_matrix;
  Eigen::VectorXd friction_normals;
  Eigen::VectorXd path_speeds, path_slope, path_stage, path_multipliers, path_rate;
  Eigen::VectorXd moved;
  Eigen::VectorXd moved_speeds;
  Eigen::MatrixXd kinematic;
  Eigen::MatrixXd result_a, result_b;
};

ImpactSolver::Impl::Impl(const Dynamics & the_dynamics, std::size_t contact_limit)
: dynamics(&the_dynamics),
  formulation_data(formulation.make_data(
    the_dynamics.system().speed_count(), the_dynamics.constraints().row_count())),
  cone(the_dynamics.system().speed_count(), std::max(1, the_dynamics.constraints().row_count())),
  cone_contacts(contact_limit),
  modes(contact_limit)
{
  const Eigen::Index n = dynamics->system().speed_count();
  const Eigen::Index m = dynamics->constraints().row_count();
  const auto k = static_cast<Eigen::Index>(contact_limit);
  row_solution.acceleration.setZero(n);
  row_solution.constraint_force.setZero(n);
  row_solution.multipliers.setZero(m);
  row_solution.redundancy.setZero(m);
  is_equality.assign(static_cast<std::size_t>(m), 0);
  sliding.reserve(contact_limit);
  scratch.jacobian_a.setZero(6, n);
  scratch.jacobian_b.setZero(6, n);
  int buffer = 0;
  for (int i = 0; i < dynamics->constraints().size(); ++i)
  {
    buffer = std::max(buffer, dynamics->constraints()[i].scratch_size());
  }
  scratch.buffer.setZero(buffer);
  q.setZero(dynamics->system().coordinate_count());
  moved = q;
  moved_speeds.setZero(n);
  u.setZero(n);
  mass.setZero(n, n);
  jacobian.setZero(m, n);
  before.setZero(m);
  factors.setZero(m);
  targets.setZero(m);
  kinematic.setZero(q.size(), n);
  row_size.setZero(m);
  active_rows.setZero(m);
  active_jacobian.setZero(m, n);
  active_targets.setZero(m);
  active_scale.setOnes(m);
  active_weight.setOnes(m);
  multipliers.setZero(m);
  zero_speeds.setZero(n);
  force.setZero(n);
  row_buffer.setZero(n);
  friction_force.setZero(n);
  friction_matrix.setZero(k, k);
  friction_normals.setZero(k);
  path_speeds.setZero(n);
  path_slope.setZero(n);
  path_stage.setZero(n);
  path_multipliers.setZero(m);
  path_rate.setZero(m);
  result_a.setZero(n, n);
  result_b.setZero(n, n);
}

ImpactSolver::ImpactSolver(const Dynamics & dynamics, std::size_t max_contacts)
: impl_(std::make_unique<Impl>(dynamics, max_contacts))
{
}
ImpactSolver::~ImpactSolver() = default;
ImpactSolver::ImpactSolver(ImpactSolver &&) noexcept = default;
ImpactSolver & ImpactSolver::operator=(ImpactSolver &&) noexcept = default;

void ImpactSolver::check(const ImpactProblem & problem) const
{
  const ConstraintSet & set = impl_->dynamics->constraints();
  std::ostringstream message;
  const auto refuse = [&]() { throw std::invalid_argument("impact: " + message.str()); };
  if (
    problem.roles.size() != static_cast<std::size_t>(set.size()) ||
    problem.restitution.size() != set.size() ||
    problem.impulse.size() != impl_->dynamics->system().speed_count())
  {
    message << "roles, restitution and impulse have " << problem.roles.size() << ", "
            << problem.restitution.size() << " and " << problem.impulse.size()
            << " elements; allowed: " << set.size() << ", " << set.size() << " and "
            << impl_->dynamics->system().speed_count();
    refuse();
  }
  if (problem.contacts.size() > impl_->modes.size())
  {
    message << problem.contacts.size() << " contacts; allowed: at most " << impl_->modes.size();
    refuse();
  }
  for (int i = 0; i < set.size(); ++i)
  {
    const double e = problem.restitution(i);
    if (!(e >= 0.0 && e <= 1.0))
    {
      message << "restitution of '" << set[i].name() << "' is " << e << "; allowed: 0 to 1";
      refuse();
    }
  }
  std::vector<bool> is_contact(static_cast<std::size_t>(set.size()), false);
  for (const ImpactContact & contact : problem.contacts)
  {
    if (contact.constraint < 0 || contact.constraint >= set.size())
    {
      message << "a contact names constraint " << contact.constraint << "; allowed: 0 to "
              << set.size() - 1;
      refuse();
    }
    const Constraint & normal = set[contact.constraint];
    is_contact[static_cast<std::size_t>(contact.constraint)] = true;
    if (normal.row_count() != 1)
    {
      message << "unilateral constraint '" << normal.name() << "' has " << normal.row_count()
              << " rows; allowed: 1";
      refuse();
    }
    if (contact.side != 1.0 && contact.side != -1.0)
    {
      message << "side of '" << normal.name() << "' is " << contact.side << "; allowed: 1 and -1";
      refuse();
    }
    if (!(contact.friction >= 0.0 && std::isfinite(contact.friction)))
    {
      message << "friction of '" << normal.name() << "' is " << contact.friction
              << "; allowed: finite and not negative";
      refuse();
    }
    if (contact.friction_constraint < 0)
    {
      continue;
    }
    if (contact.friction_constraint >= set.size())
    {
      message << "friction of '" << normal.name() << "' names constraint "
              << contact.friction_constraint << "; allowed: 0 to " << set.size() - 1;
      refuse();
    }
    const Constraint & slip = set[contact.friction_constraint];
    bool fits = slip.row_count() <= 2;
    for (const RowDescription & row : slip.rows())
    {
      fits = fits && row.level == RowLevel::kVelocity;
    }
    if (!fits)
    {
      message << "friction constraint '" << slip.name()
              << "' does not consist of one or two velocity rows";
      refuse();
    }
  }
  for (int i = 0; i < set.size(); ++i)
  {
    const auto k = static_cast<std::size_t>(i);
    if (problem.roles[k] == ImpactRole::kUnilateral && !is_contact[k])
    {
      message << "constraint '" << set[i].name() << "' is unilateral but no contact names it";
      refuse();
    }
  }
}

Status ImpactSolver::Impl::load(
  const ImpactProblem & problem, double at_time, const ConstVectorRef & at_q,
  const ConstVectorRef & at_u, Workspace & workspace) noexcept
{
  if (
    at_q.size() != q.size() || at_u.size() != u.size() || problem.impulse.size() != u.size() ||
    problem.contacts.size() > modes.size() ||
    problem.roles.size() != static_cast<std::size_t>(dynamics->constraints().size()))
  {
    return Status::kSizeMismatch;
  }
  if (!problem.impulse.allFinite() || !problem.restitution.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  Status status = dynamics->update_rows(at_time, at_q, at_u, workspace);
  status =
    status == Status::kOk ? dynamics->system().update_dynamics(workspace.system_data()) : status;
  if (status != Status::kOk)
  {
    return status;
  }
  time = at_time;
  q = at_q;
  u = at_u;
  mass = workspace.terms().mass_matrix;
  jacobian = workspace.rows().jacobian;
  before = workspace.rows().velocity;
  path_dependent = false;
  const double speed = u.norm();
  for (Eigen::Index row = 0; row < before.size(); ++row)
  {
    row_size(row) = jacobian.row(row).norm() * speed + std::abs(before(row));
  }
  for (int i = 0; i < dynamics->constraints().size(); ++i)
  {
    const ImpactRole role = problem.roles[static_cast<std::size_t>(i)];
    for (int k = 0; k < dynamics->constraints()[i].row_count(); ++k)
    {
      is_equality[static_cast<std::size_t>(row_of(i) + k)] =
        role == ImpactRole::kInForce || role == ImpactRole::kImpacting;
    }
  }
  return Status::kOk;
}

/// c of (E13), with every restitution multiplied by `scale`.
void ImpactSolver::Impl::set_targets(const ImpactProblem & problem, double scale) noexcept
{
  restitution_scale = scale;
  factors.setZero();
  for (int i = 0; i < dynamics->constraints().size(); ++i)
  {
    if (problem.roles[static_cast<std::size_t>(i)] == ImpactRole::kImpacting)
    {
      factors.segment(row_of(i), dynamics->constraints()[i].row_count())
        .setConstant(-(1.0 + scale * problem.restitution(i)));
    }
  }
  for (const ImpactContact & contact : problem.contacts)
  {
    if (!is_in(problem, contact))
    {
      continue;
    }
    const int row = row_of(contact.constraint);
    const bool approaches = contact.side * before(row) > 0.0;
    factors(row) = -(1.0 + (approaches ? scale * problem.restitution(contact.constraint) : 0.0));
    for (int k = 0; k < slip_rows(contact); ++k)
    {
      factors(row_of(contact.friction_constraint) + k) = -1.0;
    }
  }
  // A velocity that is rounding of 0 would make redundant rows contradict each other by rounding.
  targets =
    (before.array().abs() > 1e-14 * row_size.array()).select(factors.cwiseProduct(before), 0.0);
}

Status ImpactSolver::Impl::choose_modes(const ImpactProblem & problem) noexcept
{
  for (ContactMode & mode : modes)
  {
    mode.mode = Mode::kAbsent;
  }
  bool any = false;
  for (const ImpactContact & contact : problem.contacts)
  {
    any = any || is_in(problem, contact);
  }
  if (!any)
  {
    return Status::kOk;
  }
  const Status begun = cone.begin(mass, u, problem.impulse);
  if (begun != Status::kOk)
  {
    return begun;
  }
  for (int row = 0; row < static_cast<int>(before.size()); ++row)
  {
    if (is_equality[static_cast<std::size_t>(row)] != 0)
    {
      row_buffer = jacobian.row(row).transpose();
      cone.add_equality(row_buffer, row_buffer.dot(u) + targets(row));
    }
  }
  int count = 0;
  for (const ImpactContact & contact : problem.contacts)
  {
    if (!is_in(problem, contact))
    {
      continue;
    }
    ConeContact & to = cone_contacts[static_cast<std::size_t>(count++)];
    to = ConeContact{};
    const int row = row_of(contact.constraint);
    row_buffer = -contact.side * jacobian.row(row).transpose();
    to.normal = cone.add_row(row_buffer, row_buffer.dot(u) - contact.side * targets(row));
    to.friction = contact.friction;
    to.tangent_count = slip_rows(contact);
    for (int k = 0; k < to.tangent_count; ++k)
    {
      const int slip = row_of(contact.friction_constraint) + k;
      row_buffer = jacobian.row(slip).transpose();
      to.tangent[k] = cone.add_row(row_buffer, row_buffer.dot(u) + targets(slip));
    }
  }
  return cone.solve(cone_contacts.data(), count);
}

/// Modes from what the cone problem found. @param include_idle rows without force and without
/// motion are kept as rows, so that redundant contacts share the load.
void ImpactSolver::Impl::read_modes(const ImpactProblem & problem, bool include_idle) noexcept
{
  int count = 0;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    if (!is_in(problem, problem.contacts[i]))
    {
      modes[i].mode = Mode::kAbsent;
      continue;
    }
    const ConeContact & contact = cone_contacts[static_cast<std::size_t>(count++)];
    ContactMode & to = modes[i];
    const double x = cone.force(contact.normal);
    const bool rests = std::abs(cone.motion(contact.normal)) <= 1e-10 * cone.size(contact.normal);
    to.mode = x > 0.0 || (include_idle && rests) ? Mode::kSticks : Mode::kSeparates;
    if (contact.tangent_count == 0 || to.mode == Mode::kSeparates)
    {
      continue;
    }
    double length = 0.0;
    for (int k = 0; k < contact.tangent_count; ++k)
    {
      length = std::hypot(length, cone.force(contact.tangent[k]));
    }
    if (length >= contact.friction * x * (1.0 - kConeEdge) && length > 0.0)
    {
      to.mode = Mode::kSlides;
      for (int k = 0; k < contact.tangent_count; ++k)
      {
        to.direction[k] = -cone.force(contact.tangent[k]) / length;
      }
    }
  }
}

void ImpactSolver::Impl::use_sweeps(const ImpactProblem & problem) noexcept
{
  multipliers.setZero();
  int count = 0;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    if (!is_in(problem, contact))
    {
      continue;
    }
    const ConeContact & from = cone_contacts[static_cast<std::size_t>(count++)];
    modes[i].mode = Mode::kGiven;
    multipliers(row_of(contact.constraint)) = -contact.side * cone.force(from.normal);
    for (int k = 0; k < from.tangent_count; ++k)
    {
      multipliers(row_of(contact.friction_constraint) + k) = cone.force(from.tangent[k]);
    }
  }
}

void ImpactSolver::Impl::gather(const ImpactProblem & problem) noexcept
{
  active_count = 0;
  const auto add = [&](int row)
  {
    const double size = jacobian.row(row).norm();
    active_rows(active_count) = row;
    active_jacobian.row(active_count) = jacobian.row(row);
    active_targets(active_count) = targets(row);
    active_scale(active_count) = size > 0.0 ? 1.0 / size : 1.0;
    active_weight(active_count) = dynamics->constraints().row(row).rotational
                                    ? 1.0 / dynamics->options().characteristic_length
                                    : 1.0;
    ++active_count;
  };
  for (int row = 0; row < static_cast<int>(before.size()); ++row)
  {
    if (is_equality[static_cast<std::size_t>(row)] != 0)
    {
      add(row);
    }
  }
  sliding.clear();
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    const Mode mode = modes[i].mode;
    if (mode == Mode::kSticks || mode == Mode::kSlides)
    {
      add(row_of(contact.constraint));
    }
    if (mode == Mode::kSticks)
    {
      for (int k = 0; k < slip_rows(contact); ++k)
      {
        add(row_of(contact.friction_constraint) + k);
      }
    }
    if (mode == Mode::kSlides)
    {
      sliding.push_back(static_cast<int>(i));
    }
  }
}

/// Q Δ = force + AᵀΛ, A Δ = c (or 0) for the gathered rows.
Status ImpactSolver::Impl::solve_rows(const Eigen::VectorXd & on, bool with_targets) noexcept
{
  if (!with_targets)
  {
    active_targets.head(active_count).setZero();
  }
  RankOptions rank = dynamics->options().rank;
  rank.redundancy_tolerance = rank.singular_tolerance;
  const RowProblem problem{
    mass,
    on,
    active_jacobian.topRows(active_count),
    active_targets.head(active_count),
    active_scale.head(active_count),
    active_weight.head(active_count),
    0};
  return formulation.solve(problem, rank, *formulation_data, row_solution);
}

Status ImpactSolver::Impl::solve_modes(
  const ImpactProblem & problem, const Eigen::VectorXd & impulse, bool with_targets) noexcept
{
  const auto k = static_cast<Eigen::Index>(sliding.size());
  const auto contact_of = [&](Eigen::Index i) -> const ImpactContact &
  { return problem.contacts[static_cast<std::size_t>(sliding[static_cast<std::size_t>(i)])]; };
  const auto mode_of = [&](Eigen::Index i) -> const ContactMode &
  { return modes[static_cast<std::size_t>(sliding[static_cast<std::size_t>(i)])]; };
  const auto multiplier_of_row = [&](int row)
  {
    for (int r = 0; r < active_count; ++r)
    {
      if (active_rows(r) == row)
      {
        return row_solution.multipliers(r);
      }
    }
    return 0.0;
  };
  const auto add_friction = [&](Eigen::Index i, double x)
  {
    const ImpactContact & contact = contact_of(i);
    for (int t = 0; t < slip_rows(contact); ++t)
    {
      force -= contact.friction * mode_of(i).direction[t] * x *
               jacobian.row(row_of(contact.friction_constraint) + t).transpose();
    }
  };
  force = impulse;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    if (modes[i].mode == Mode::kGiven && with_targets)
    {
      const ImpactContact & contact = problem.contacts[i];
      const int row = row_of(contact.constraint);
      force += multipliers(row) * jacobian.row(row).transpose();
      for (int t = 0; t < slip_rows(contact); ++t)
      {
        const int slip = row_of(contact.friction_constraint) + t;
        force += multipliers(slip) * jacobian.row(slip).transpose();
      }
    }
  }
  friction_force = force;  // all but friction of sliding contacts
  Status status = Status::kOk;
  if (k > 0)
  {
    // Normal impulses x = x0 + D x: each unit of normal impulse brings its friction along.
    status = solve_rows(force, with_targets);
    if (!has_output(status))
    {
      return status;
    }
    for (Eigen::Index i = 0; i < k; ++i)
    {
      friction_normals(i) =
        -contact_of(i).side * multiplier_of_row(row_of(contact_of(i).constraint));
    }
    for (Eigen::Index j = 0; j < k; ++j)
    {
      force.setZero();
      add_friction(j, 1.0);
      status = solve_rows(force, false);
      if (!has_output(status))
      {
        return status;
      }
      for (Eigen::Index i = 0; i < k; ++i)
      {
        friction_matrix(i, j) =
          (i == j ? 1.0 : 0.0) +
          contact_of(i).side * multiplier_of_row(row_of(contact_of(i).constraint));
      }
      if (!(friction_matrix(j, j) > 0.0))
      {
        return Status::kNoUniqueSolution;
      }
    }
    if (solve_in_place(friction_matrix.topLeftCorner(k, k), friction_normals.head(k)) == 0.0)
    {
      return Status::kNoUniqueSolution;
    }
    force = friction_force;
    for (Eigen::Index i = 0; i < k; ++i)
    {
      add_friction(i, friction_normals(i));
    }
    gather(problem);  // brings the targets back
  }
  status = solve_rows(force, with_targets);
  if (!has_output(status) || !with_targets)
  {
    return status;
  }
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    if (modes[i].mode != Mode::kGiven && is_in(problem, contact))
    {
      multipliers(row_of(contact.constraint)) = 0.0;
      for (int t = 0; t < slip_rows(contact); ++t)
      {
        multipliers(row_of(contact.friction_constraint) + t) = 0.0;
      }
    }
  }
  for (int r = 0; r < active_count; ++r)
  {
    multipliers(active_rows(r)) = row_solution.multipliers(r);
  }
  for (Eigen::Index i = 0; i < k; ++i)
  {
    const ImpactContact & contact = contact_of(i);
    for (int t = 0; t < slip_rows(contact); ++t)
    {
      multipliers(row_of(contact.friction_constraint) + t) =
        -contact.friction * friction_normals(i) * mode_of(i).direction[t];
    }
  }
  return status;
}

/// The modes with the directions of sliding that belong to the slip afterwards.
Status ImpactSolver::Impl::solve_directions(const ImpactProblem & problem) noexcept
{
  Status status = Status::kOk;
  directions_settled = false;
  for (int iteration = 0; iteration < kDirectionIterations && !directions_settled; ++iteration)
  {
    gather(problem);
    status = solve_modes(problem, problem.impulse, true);
    if (!has_output(status))
    {
      return status;
    }
    double change = 0.0;
    for (const int i : sliding)
    {
      const ImpactContact & contact = problem.contacts[static_cast<std::size_t>(i)];
      ContactMode & mode = modes[static_cast<std::size_t>(i)];
      if (slip_rows(contact) < 2)
      {
        continue;
      }
      const int row = row_of(contact.friction_constraint);
      const double slip[2] = {slip_after(row), slip_after(row + 1)};
      const double length = std::hypot(slip[0], slip[1]);
      const double along = slip[0] * mode.direction[0] + slip[1] * mode.direction[1];
      if (!(along > 1e-10 * (row_size(row) + row_size(row + 1))))
      {
        continue;  // about to stick: the direction of the force counts
      }
      // Half way, so that two directions that depend on each other do not swing.
      const double next[2] = {
        mode.direction[0] + slip[0] / length, mode.direction[1] + slip[1] / length};
      const double next_length = std::hypot(next[0], next[1]);
      for (int k = 0; k < 2; ++k)
      {
        change = std::max(change, std::abs(slip[k] / length - mode.direction[k]));
        mode.direction[k] = next[k] / next_length;
      }
    }
    directions_settled = change <= 1e-12;
  }
  return status;
}

/// Whether all unilateral conditions hold; else modes are changed towards it.
bool ImpactSolver::Impl::correct_modes(const ImpactProblem & problem) noexcept
{
  double largest = 0.0;
  for (const ImpactContact & contact : problem.contacts)
  {
    if (is_in(problem, contact))
    {
      largest = std::max(largest, std::abs(normal_impulse(contact)));
    }
  }
  bool good = true;
  const double motion = row_solution.acceleration.norm();
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    ContactMode & mode = modes[i];
    const int row = row_of(contact.constraint);
    const double x = normal_impulse(contact);
    const int slips = slip_rows(contact);
    const int slip = slips > 0 ? row_of(contact.friction_constraint) : 0;
    if (mode.mode == Mode::kSeparates)
    {
      const double gap_rate =
        -contact.side * (jacobian.row(row).dot(row_solution.acceleration) - targets(row));
      if (gap_rate < -kRounding * (row_size(row) + jacobian.row(row).norm() * motion))
      {
        mode.mode = Mode::kSticks;
        good = false;
      }
      continue;
    }
    if (mode.mode != Mode::kSticks && mode.mode != Mode::kSlides)
    {
      continue;
    }
    if (x < -kRounding * largest)
    {
      mode.mode = Mode::kSeparates;
      good = false;
    }
    else if (mode.mode == Mode::kSticks && slips > 0)
    {
      const double length = slips == 2 ? std::hypot(multipliers(slip), multipliers(slip + 1))
                                       : std::abs(multipliers(slip));
      if (length > contact.friction * x + kRounding * (largest + length))
      {
        mode.mode = Mode::kSlides;
        for (int k = 0; k < slips; ++k)
        {
          mode.direction[k] = -multipliers(slip + k) / length;
        }
        good = false;
      }
    }
    else if (mode.mode == Mode::kSlides)
    {
      double along = 0.0;
      double size = 0.0;
      for (int k = 0; k < slips; ++k)
      {
        along += slip_after(slip + k) * mode.direction[k];
        size += row_size(slip + k) + jacobian.row(slip + k).norm() * motion;
      }
      if (along < -kRounding * size)
      {
        mode.mode = Mode::kSticks;
        good = false;
      }
    }
  }
  return good;
}

/// Finds modes and speeds for the present targets.
Status ImpactSolver::Impl::solve_chosen(const ImpactProblem & problem) noexcept
{
  multipliers.setZero();
  const Status chosen = choose_modes(problem);
  if (!has_output(chosen) && chosen != Status::kNotConverged)
  {
    return chosen;
  }
  Status status = Status::kOk;
  for (const bool include_idle : {true, false})
  {
    read_modes(problem, include_idle);
    for (int k = 0; k < kModeCorrections; ++k)
    {
      status = solve_directions(problem);
      if (!has_output(status))
      {
        break;
      }
      if (correct_modes(problem) && directions_settled)
      {
        return worse(status, chosen == Status::kInconsistent ? chosen : Status::kOk);
      }
    }
  }
  use_sweeps(problem);
  gather(problem);
  status = solve_modes(problem, problem.impulse, true);
  const Status unmet = chosen == Status::kOk ? Status::kOk : Status::kInconsistent;
  return has_output(status) ? worse(status, unmet) : status;
}

bool ImpactSolver::Impl::bounces(const ImpactProblem & problem) const noexcept
{
  for (const ImpactContact & contact : problem.contacts)
  {
    if (is_in(problem, contact) && factors(row_of(contact.constraint)) < -1.0)
    {
      return true;
    }
  }
  return false;
}

double ImpactSolver::Impl::energy_change() const noexcept
{
  // ½ (u⁺ + u⁻)ᵀ Q (u⁺ − u⁻)
  double sum = 0.0;
  const Eigen::VectorXd & change = row_solution.acceleration;
  for (Eigen::Index i = 0; i < u.size(); ++i)
  {
    sum += (u(i) + 0.5 * change(i)) * mass.row(i).dot(change);
  }
  return sum;
}

bool ImpactSolver::Impl::is_scleronomic(const ImpactProblem & problem) const noexcept
{
  for (Eigen::Index row = 0; row < before.size(); ++row)
  {
    const int constraint = dynamics->constraints().constraint_of_row(static_cast<int>(row));
    if (
      problem.roles[static_cast<std::size_t>(constraint)] != ImpactRole::kAbsent &&
      !(std::abs(before(row) - jacobian.row(row).dot(u)) <= 1e-10 * row_size(row)))
    {
      return false;
    }
  }
  return true;
}

/// min(1, ‖v‖/‖E v‖) in the norm of W⁺ over the rows that act.
double ImpactSolver::Impl::scale_for_energy(const ImpactProblem & problem) noexcept
{
  gather(problem);
  force.setZero();
  const auto square = [&](bool with_restitution)
  {
    gather(problem);
    double sum = 0.0;
    for (int r = 0; r < active_count; ++r)
    {
      const int row = active_rows(r);
      // c = −(1 + e) v: v itself, or e v.
      active_targets(r) = targets(row) == 0.0 ? 0.0
                          : with_restitution  ? -targets(row) - before(row)
                                              : before(row);
    }
    friction_normals.setZero();
    if (!has_output(solve_rows(force, true)))
    {
      return 0.0;
    }
    for (int r = 0; r < active_count; ++r)
    {
      sum += active_targets(r) * row_solution.multipliers(r);
    }
    return sum;
  };
  const double restored = square(true);
  const double approached = square(false);
  return restored > 0.0 && approached >= 0.0 ? std::sqrt(approached / restored) : 0.0;
}

Status ImpactSolver::solve(
  const ImpactProblem & problem, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  Workspace & workspace, ImpactSolution & out) noexcept CD_NONBLOCKING
{
  Impl & data = *impl_;
  Status status = data.load(problem, time, q, u, workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  const bool keeps_energy = problem.impulse.squaredNorm() == 0.0 && data.is_scleronomic(problem);
  double kinetic = 0.0;
  for (Eigen::Index i = 0; i < data.u.size(); ++i)
  {
    kinetic += 0.5 * data.u(i) * data.mass.row(i).dot(data.u);
  }
  double scale = 1.0;
  data.without_friction = false;
  for (int k = 0; k < kEnergyIterations; ++k)
  {
    data.set_targets(problem, scale);
    status = data.solve_chosen(problem);
    if (!has_output(status))
    {
      return status;
    }
    if (status == Status::kInconsistent && scale > 0.0 && data.bounces(problem))
    {
      scale = 0.0;  // no way to bounce, say between two walls
      continue;
    }
    if (!keeps_energy || data.energy_change() <= kRounding * kinetic)
    {
      break;
    }
    if (scale == 0.0)
    {
      if (data.without_friction)
      {
        break;
      }
      data.without_friction = true;  // what the sweeps left of friction gives energy: none then
      continue;
    }
    const double factor = data.scale_for_energy(problem);
    // Another set of contacts, or friction, may need more than the factor of this one.
    scale *= factor < 1.0 - 1e-9 ? factor * (1.0 - 1e-13) : 0.5;
    if (k + 4 >= kEnergyIterations)
    {
      scale = 0.0;
    }
  }
  if (data.is_nonlinear(problem, workspace))
  {
    status = data.follow_path(problem, workspace);
    if (!has_output(status))
    {
      return status;
    }
  }
  if (!data.row_solution.acceleration.allFinite() || !data.multipliers.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  data.write(problem, workspace, out);
  return status;
}

/// Whether a velocity row misses its target although the linear equations hold.
bool ImpactSolver::Impl::is_nonlinear(const ImpactProblem & problem, Workspace & workspace) noexcept
{
  path_stage = u + row_solution.acceleration;
  if (dynamics->update_rows(time, q, path_stage, workspace) != Status::kOk)
  {
    return true;
  }
  const Eigen::VectorXd & after = workspace.rows().velocity;
  const double change = row_solution.acceleration.norm();
  for (int row = 0; row < static_cast<int>(before.size()); ++row)
  {
    const int constraint = dynamics->constraints().constraint_of_row(row);
    if (
      problem.roles[static_cast<std::size_t>(constraint)] == ImpactRole::kAbsent ||
      dynamics->constraints().row(row).level != RowLevel::kVelocity)
    {
      continue;
    }
    const double linear = slip_after(row);
    const double size = row_size(row) + jacobian.row(row).norm() * change + std::abs(after(row));
    if (std::abs(after(row) - linear) > 1e-9 * size)
    {
      return true;
    }
  }
  return false;
}

/// Q du = A(q,u)ᵀ dΛ + I ds with ψ = (1 − s) ψ⁻ for the rows that the linear solution chose.
Status ImpactSolver::Impl::follow_path(
  const ImpactProblem & problem, Workspace & workspace) noexcept
{
  // Rows nonlinear in u have no restitution.
  set_targets(problem, 0.0);
  path_speeds = u;
  path_multipliers.setZero();
  const auto slope = [&](const Eigen::VectorXd & at)
  {
    Status status = dynamics->update_rows(time, q, at, workspace);
    if (status != Status::kOk)
    {
      return status;
    }
    jacobian = workspace.rows().jacobian;
    gather(problem);
    return solve_modes(problem, problem.impulse, true);
  };
  constexpr double h = 1.0 / kPathSteps;
  constexpr std::array<double, 4> kPlace = {0.0, 0.5, 0.5, 1.0};
  constexpr std::array<double, 4> kWeight = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
  Status status = Status::kOk;
  for (int step = 0; step < kPathSteps; ++step)
  {
    path_slope.setZero();
    path_rate.setZero();
    for (std::size_t stage = 0; stage < kPlace.size(); ++stage)
    {
      path_stage = path_speeds;
      if (stage > 0)
      {
        path_stage += h * kPlace[stage] * row_solution.acceleration;
      }
      status = slope(path_stage);
      if (!has_output(status))
      {
        return status;
      }
      path_slope += kWeight[stage] * row_solution.acceleration;
      path_rate += kWeight[stage] * multipliers;
    }
    path_speeds += h * path_slope;
    path_multipliers += h * path_rate;
  }
  // What the integration left of the rows, by Newton.
  constexpr int kCorrections = 4;
  for (int k = 0; k < kCorrections; ++k)
  {
    status = dynamics->update_rows(time, q, path_speeds, workspace);
    if (status != Status::kOk)
    {
      return status;
    }
    jacobian = workspace.rows().jacobian;
    gather(problem);
    for (int r = 0; r < active_count; ++r)
    {
      const int row = active_rows(r);
      active_targets(r) = before(row) + targets(row) - workspace.rows().velocity(row);
    }
    status = solve_rows(zero_speeds, true);
    if (!has_output(status))
    {
      return status;
    }
    path_speeds += row_solution.acceleration;
    for (int r = 0; r < active_count; ++r)
    {
      path_multipliers(active_rows(r)) += row_solution.multipliers(r);
    }
  }
  row_solution.acceleration = path_speeds - u;
  multipliers = path_multipliers;
  path_dependent = true;
  return status;
}

void ImpactSolver::Impl::write(
  const ImpactProblem & problem, Workspace & workspace, ImpactSolution & out) noexcept
{
  out.speeds = u + row_solution.acceleration;
  out.multipliers = multipliers;
  out.constraint_impulse.noalias() = mass * row_solution.acceleration;
  out.constraint_impulse -= problem.impulse;
  out.energy_change = energy_change();
  out.restitution_scale = path_dependent ? 1.0 : restitution_scale;
  out.rank = row_solution.rank;
  out.inconsistency = row_solution.inconsistency;
  out.path_dependent = path_dependent;
  for (std::size_t i = 0; i < problem.contacts.size() && i < out.outcomes.size(); ++i)
  {
    const bool pushes = std::abs(multipliers(row_of(problem.contacts[i].constraint))) > 0.0;
    switch (modes[i].mode)
    {
      case Mode::kAbsent:
        out.outcomes[i] = ContactOutcome::kAbsent;
        break;
      case Mode::kSeparates:
        out.outcomes[i] = ContactOutcome::kSeparates;
        break;
      case Mode::kSlides:
        out.outcomes[i] = ContactOutcome::kSlides;
        break;
      default:
        out.outcomes[i] = pushes ? ContactOutcome::kPushes : ContactOutcome::kSeparates;
    }
  }
  for (int i = 0; i < dynamics->constraints().size(); ++i)
  {
    const Constraint & constraint = dynamics->constraints()[i];
    if (!constraint.wrench_bodies().empty())
    {
      constraint.wrenches(
        workspace.system_data(), scratch, multipliers.segment(row_of(i), constraint.row_count()),
        out.wrenches.data() + dynamics->constraints().wrench_offset(i));
    }
  }
}

Status ImpactSolver::derivatives(
  const ImpactProblem & problem, MatrixRef by_speeds, MatrixRef by_impulse) noexcept CD_NONBLOCKING
{
  Impl & data = *impl_;
  const Eigen::Index n = data.u.size();
  if (
    by_speeds.rows() != n || by_speeds.cols() != n || by_impulse.rows() != n ||
    by_impulse.cols() != n)
  {
    return Status::kSizeMismatch;
  }
  bool has_given = data.path_dependent;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    has_given = has_given || data.modes[i].mode == Mode::kGiven;
  }
  if (has_given)
  {
    return Status::kNotConverged;
  }
  for (Eigen::Index j = 0; j < n; ++j)
  {
    // c = factor · A e_j, no impulse
    data.targets = data.factors.cwiseProduct(data.jacobian.col(j));
    data.gather(problem);
    Status status = data.solve_modes(problem, data.zero_speeds, true);
    if (!has_output(status))
    {
      return status;
    }
    data.result_a.col(j) = data.row_solution.acceleration;
    data.result_a(j, j) += 1.0;
    data.targets.setZero();
    data.gather(problem);
    data.moved_speeds.setZero();
    data.moved_speeds(j) = 1.0;
    status = data.solve_modes(problem, data.moved_speeds, true);
    if (!has_output(status))
    {
      return status;
    }
    data.result_b.col(j) = data.row_solution.acceleration;
  }
  by_speeds = data.result_a;
  by_impulse = data.result_b;
  return Status::kOk;
}

Status ImpactSolver::position_derivative(
  const ImpactProblem & problem, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  Workspace & workspace, MatrixRef out) noexcept CD_NONBLOCKING
{
  // Truncation h⁴ and rounding ε/h are both far below 1e-9 of the derivative.
  constexpr double h = 5e-4;
  constexpr std::array<double, 4> kShift = {-2.0, -1.0, 1.0, 2.0};
  constexpr std::array<double, 4> kWeight = {1.0 / 12.0, -2.0 / 3.0, 2.0 / 3.0, -1.0 / 12.0};
  Impl & data = *impl_;
  const Eigen::Index n = data.u.size();
  if (out.rows() != n || out.cols() != n)
  {
    return Status::kSizeMismatch;
  }
  Status status = data.load(problem, time, q, u, workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  data.kinematic = workspace.terms().kinematic_matrix;
  data.set_targets(problem, 1.0);
  status = data.solve_chosen(problem);
  if (!has_output(status))
  {
    return status;
  }
  if (data.is_nonlinear(problem, workspace))
  {
    return Status::kNotConverged;
  }
  data.result_a.setZero();
  for (Eigen::Index j = 0; j < n; ++j)
  {
    for (std::size_t k = 0; k < kShift.size(); ++k)
    {
      data.moved = q + h * kShift[k] * data.kinematic.col(j);
      data.dynamics->system().normalise(data.moved);
      status = data.load(problem, time, data.moved, u, workspace);
      if (status != Status::kOk)
      {
        return status;
      }
      data.targets = data.factors.cwiseProduct(data.before);
      status = data.solve_directions(problem);
      if (!has_output(status))
      {
        return status;
      }
      data.result_a.col(j) += kWeight[k] / h * data.row_solution.acceleration;
    }
  }
  out = data.result_a;
  return Status::kOk;
}

ImpactSolution solve_impact(
  const Dynamics & dynamics, const ImpactProblem & problem, const State & state, Status * status)
{
  ImpactSolver solver(dynamics, problem.contacts.size());
  solver.check(problem);
  Workspace workspace(dynamics);
  ImpactSolution solution(dynamics, problem.contacts.size());
  const Status result = solver.solve(problem, state.time, state.q, state.u, workspace, solution);
  if (!has_output(result))
  {
    throw std::invalid_argument(
      std::string("impact: there is no solution at this state: status ") + to_string(result));
  }
  if (status != nullptr)
  {
    *status = result;
  }
  return solution;
}

}  // namespace constrained_dynamics
