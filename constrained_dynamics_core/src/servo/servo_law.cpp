#include "constrained_dynamics/servo_law.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <Eigen/Cholesky>

#include "names.hpp"
#include "servo/level_solver.hpp"
#include "servo/limited_controls.hpp"

namespace constrained_dynamics
{

const char * to_string(ServoMetric metric) noexcept
{
  return metric == ServoMetric::kIdeal ? "ideal" : "moore_penrose";
}

const char * to_string(ServoSolution solution) noexcept
{
  switch (solution)
  {
    case ServoSolution::kOne:
      return "one";
    case ServoSolution::kMany:
      return "many";
    case ServoSolution::kNone:
      return "none";
  }
  return "unknown";
}

namespace
{

void check_option(const char * name, double value, double low, double high)
{
  if (!(value >= low && value <= high))
  {
    std::ostringstream message;
    message << "servo option " << name << " is " << value << "; allowed: " << low << " to " << high;
    throw std::invalid_argument(message.str());
  }
}

void check_gain(const std::string & task, const char * name, const Gain & gain, int rows)
{
  if (gain.is_matrix() && (gain.matrix().rows() != rows || gain.matrix().cols() != rows))
  {
    std::ostringstream message;
    message << "servo-constraint '" << task << "': gain " << name << " is a "
            << gain.matrix().rows() << " × " << gain.matrix().cols()
            << " matrix; allowed: a number or a matrix of size " << rows;
    throw std::invalid_argument(message.str());
  }
}

// Rows of S below this fraction of what A_s and Y could make are rounding.
constexpr double kRowRounding = 1e-9;

/// bias += Θ values.
void add_gain(const Gain & gain, const ConstVectorRef & values, VectorRef bias) noexcept
{
  if (gain.is_matrix())
  {
    bias.noalias() += gain.matrix() * values;
  }
  else
  {
    bias += gain.scalar() * values;
  }
}

}  // namespace

// ---- ServoWorkspace ----------------------------------------------------------------------------

struct ServoWorkspace::Scratch
{
  Scratch(int input_count, int row_count, int largest_level, int speed_count)
  : S(Eigen::MatrixXd::Zero(row_count, input_count)),
    z(Eigen::VectorXd::Zero(row_count)),
    tau(Eigen::VectorXd::Zero(input_count)),
    null_part(Eigen::VectorXd::Zero(input_count)),
    force(Eigen::VectorXd::Zero(speed_count)),
    solver(input_count, std::max(largest_level, 1)),
    ordered_S(Eigen::MatrixXd::Zero(row_count, input_count)),
    ordered_z(Eigen::VectorXd::Zero(row_count)),
    ordered_size(Eigen::VectorXd::Ones(row_count)),
    level_A(Eigen::MatrixXd::Zero(speed_count, row_count)),
    response(Eigen::MatrixXd::Zero(speed_count, row_count)),
    gram(Eigen::MatrixXd::Zero(row_count, row_count)),
    motion(Eigen::VectorXd::Zero(speed_count)),
    weights(Eigen::VectorXd::Zero(row_count)),
    residual(Eigen::VectorXd::Zero(row_count))
  {
  }

  Eigen::MatrixXd S;
  Eigen::VectorXd z;
  Eigen::VectorXd tau;
  Eigen::VectorXd null_part;
  Eigen::VectorXd force;
  LevelSolver solver;
  // Rows of enabled tasks, level by level.
  Eigen::MatrixXd ordered_S;
  Eigen::VectorXd ordered_z;
  Eigen::VectorXd ordered_size;
  std::vector<int> level_ends;
  // Of one level, or of all rows.
  Eigen::MatrixXd level_A;   // A_sᵀ
  Eigen::MatrixXd response;  // of the motion to forces A_sᵀ
  Eigen::MatrixXd gram;      // A_s · response
  Eigen::VectorXd motion;    // Y τ
  Eigen::VectorXd weights;
  Eigen::VectorXd residual;                 // S τ − z
  std::unique_ptr<LimitedControls> limits;  // null: none
  bool limited = false;
  bool cones_met = true;
  int rank = 0;
  double condition = 1.0;
  double smallest_size = 1.0;
  bool damped = false;
};

ServoWorkspace::ServoWorkspace(const ServoLaw & law)
: workspace_(law.passive()), reduction_(law.passive())
{
  const System & system = law.passive().system();
  const Eigen::Index n = system.speed_count();
  const Eigen::Index l = system.input_count();
  const Eigen::Index m = law.row_count();
  int buffer = 0;
  for (const ServoTask & task : law.tasks())
  {
    references_.push_back(task.constraint->make_reference());
    gains_.push_back(task.error_dynamics);
    buffer = std::max(buffer, task.constraint->scratch_size());
  }
  scratch_.jacobian_a.setZero(6, n);
  scratch_.jacobian_b.setZero(6, n);
  scratch_.buffer.setZero(buffer);
  enabled_.assign(law.tasks().size(), true);
  external_null_vector_.setZero(l);
  rows_.position.setZero(m);
  rows_.velocity.setZero(m);
  rows_.jacobian.setZero(m, n);
  rows_.bias.setZero(m);
  y_.setZero(l);
  last_.setZero(l);
  result_.inputs.setZero(l);
  result_.particular.setZero(l);
  result_.null_part.setZero(l);
  result_.error.setZero(m);
  result_.error_rate.setZero(m);
  result_.residual.setZero(m);
  result_.gave_way.assign(law.tasks().size(), false);
  result_.at_bound.assign(static_cast<std::size_t>(l), false);
  row_size_.setZero(m);
  int largest = 0;
  for (const std::vector<int> & level : law.levels_)
  {
    int rows = 0;
    for (const int task : level)
    {
      rows += law.tasks()[static_cast<std::size_t>(task)].constraint->row_count();
    }
    largest = std::max(largest, rows);
  }
  nominal_rank_.assign(law.levels_.size(), -1);
  prepared_enabled_ = enabled_;
  prepared_active_.assign(static_cast<std::size_t>(law.passive().constraints().size()), true);
  work_ = std::make_unique<Scratch>(
    static_cast<int>(l), static_cast<int>(m), largest, static_cast<int>(n));
  work_->level_ends.assign(law.levels_.size(), 0);
  if (law.limited_)
  {
    work_->limits = std::make_unique<LimitedControls>(
      law.passive().constraints(), law.options(), law.row_count());
  }
}

bool ServoWorkspace::is_prepared() const noexcept CD_NONBLOCKING
{
  for (std::size_t i = 0; i < prepared_active_.size(); ++i)
  {
    if (workspace_.is_active(static_cast<int>(i)) != prepared_active_[i])
    {
      return false;
    }
  }
  return enabled_ == prepared_enabled_;
}

ServoWorkspace::~ServoWorkspace() = default;
ServoWorkspace::ServoWorkspace(ServoWorkspace &&) noexcept = default;
ServoWorkspace & ServoWorkspace::operator=(ServoWorkspace &&) noexcept = default;

void ServoWorkspace::set_last_inputs(const ConstVectorRef & inputs) noexcept CD_NONBLOCKING
{
  if (inputs.size() == last_.size() && inputs.allFinite())
  {
    last_ = inputs;
    has_last_ = true;
  }
}

// ---- building ----------------------------------------------------------------------------------

ServoLaw::ServoLaw(
  std::shared_ptr<const Dynamics> passive, std::vector<ServoTask> tasks, ServoOptions options)
: passive_(
    passive ? std::move(passive) : throw std::invalid_argument("a servo law needs dynamics")),
  tasks_(std::move(tasks)),
  options_(std::move(options))
{
  const System & system = passive_->system();
  if (tasks_.empty())
  {
    throw std::invalid_argument("a servo law has no servo-constraints; allowed: at least one");
  }
  if (system.input_count() == 0)
  {
    throw std::invalid_argument(
      "a servo law acts on a system without inputs; allowed: at least one input");
  }
  std::vector<std::string> names;
  std::map<int, std::vector<int>> levels;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const ServoTask & task = tasks_[i];
    if (!task.constraint)
    {
      throw std::invalid_argument(
        "servo task " + std::to_string(i) + " has no servo-constraint; allowed: one of the system");
    }
    const std::string & name = task.constraint->name();
    if (&task.constraint->system() != &system)
    {
      throw std::invalid_argument(
        "servo-constraint '" + name +
        "' was built for another system; allowed: the system of the dynamics");
    }
    const int rows = task.constraint->row_count();
    check_gain(name, "Θ1 (velocity)", task.error_dynamics.velocity, rows);
    check_gain(name, "Θ2 (position)", task.error_dynamics.position, rows);
    check_gain(name, "Θ (first order)", task.error_dynamics.first_order, rows);
    names.push_back(name);
    levels[task.priority].push_back(static_cast<int>(i));
    offsets_.push_back(row_count_);
    row_count_ += rows;
    uses_forces_ =
      uses_forces_ || dynamic_cast<const ForceServo *>(task.constraint.get()) != nullptr;
  }
  check_names("servo-constraint", names);
  for (auto & [priority, members] : levels)
  {
    levels_.push_back(std::move(members));
  }
  check_option("singular_tolerance", options_.singular_tolerance, 1e-12, 0.5);
  check_option("consistency_tolerance", options_.consistency_tolerance, 1e-15, 1.0);
  check_option("period", options_.period, 0.0, 1e6);
  const InputLimits & limits = options_.limits;
  limited_ = limits.lower.size() > 0 || limits.upper.size() > 0 || limits.rate.size() > 0 ||
             !options_.cones.empty();
  uses_forces_ = uses_forces_ || !options_.cones.empty();
  if (limited_)
  {
    (void)LimitedControls(passive_->constraints(), options_, row_count_);  // checks
  }
  for (const std::shared_ptr<const NullSpaceTerm> & term : options_.null_space)
  {
    if (!term)
    {
      throw std::invalid_argument("a null-space term is null; allowed: none, or an object");
    }
  }
}

ServoLaw::~ServoLaw() = default;

std::string ServoLaw::row_name(int row) const
{
  std::size_t task = 0;
  while (task + 1 < tasks_.size() && row_offset(static_cast<int>(task) + 1) <= row)
  {
    ++task;
  }
  const ServoConstraint & constraint = *tasks_[task].constraint;
  return constraint.name() + "/" +
         constraint.rows()[static_cast<std::size_t>(row - offsets_[task])].label;
}

int ServoLaw::task_index(const std::string & name) const
{
  std::vector<std::string> names;
  for (const ServoTask & task : tasks_)
  {
    names.push_back(task.constraint->name());
  }
  return index_of_name("servo-constraint", name, names);
}

// ---- a cycle -----------------------------------------------------------------------------------

bool ServoLaw::fits(const ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  const auto matches = [](const Gain & gain, Eigen::Index rows) noexcept
  { return !gain.is_matrix() || (gain.matrix().rows() == rows && gain.matrix().cols() == rows); };
  if (
    workspace.gains_.size() != tasks_.size() || workspace.rows_.bias.size() != row_count_ ||
    workspace.external_null_vector_.size() != passive_->system().input_count())
  {
    return false;
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const ErrorDynamics & gains = workspace.gains_[i];
    const Eigen::Index rows = tasks_[i].constraint->row_count();
    if (
      !matches(gains.velocity, rows) || !matches(gains.position, rows) ||
      !matches(gains.first_order, rows))
    {
      return false;
    }
  }
  return true;
}

Status ServoLaw::evaluate_rows(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  Rows & rows = workspace.rows_;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    if (!workspace.enabled_[i])
    {
      continue;
    }
    const ServoConstraint & constraint = *tasks_[i].constraint;
    const Eigen::Index offset = offsets_[i];
    const Eigen::Index count = constraint.row_count();
    RowBlock block{
      rows.position.segment(offset, count), rows.velocity.segment(offset, count),
      rows.jacobian.middleRows(offset, count), rows.bias.segment(offset, count)};
    const Status status = constraint.evaluate(
      workspace.workspace_.system_data(), workspace.scratch_, workspace.references_[i], block);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  return Status::kOk;
}

Status ServoLaw::form(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  Workspace & passive = workspace.workspace_;
  Reduction & reduction = workspace.reduction_;
  Status status = passive_->update_rows(time, q, u, passive);
  if (status != Status::kOk)
  {
    return status;
  }
  const Status reduced = passive_->reduce(passive, reduction);
  if (!has_output(reduced))
  {
    return reduced;
  }
  if (uses_forces_)
  {
    passive_->reduce_forces(passive, reduction);
  }
  status = evaluate_rows(workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  // (E14), with the wished motion of the errors (E23) in b_s.
  ServoWorkspace::Scratch & work = *workspace.work_;
  Rows & rows = workspace.rows_;
  work.z = rows.bias;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const ServoConstraint & constraint = *tasks_[i].constraint;
    const ErrorDynamics & gains = workspace.gains_[i];
    const Eigen::Index offset = offsets_[i];
    const Eigen::Index count = constraint.row_count();
    auto z = work.z.segment(offset, count);
    auto S = work.S.middleRows(offset, count);
    if (!workspace.enabled_[i])
    {
      z.setZero();
      S.setZero();
      continue;
    }
    if (const ForceServo * force = dynamic_cast<const ForceServo *>(&constraint))
    {
      for (Eigen::Index k = 0; k < count; ++k)
      {
        const int row = force->passive_rows()[static_cast<std::size_t>(k)];
        S.row(k) = reduction.multiplier_response().row(row);
        z(k) = workspace.references_[i].position(k) - reduction.free_multipliers()(row);
      }
      continue;
    }
    // Levels are told by which of e and ė belongs to a row; the other gain meets a zero.
    bool position = false;
    bool velocity = false;
    for (const RowDescription & row : constraint.rows())
    {
      position = position || row.level == RowLevel::kPosition;
      velocity = velocity || row.level == RowLevel::kVelocity;
    }
    if (position)
    {
      add_gain(gains.velocity, rows.velocity.segment(offset, count), z);
      add_gain(gains.position, rows.position.segment(offset, count), z);
    }
    else if (velocity)
    {
      add_gain(gains.first_order, rows.velocity.segment(offset, count), z);
    }
    const auto A = rows.jacobian.middleRows(offset, count);
    S.noalias() = A * reduction.input_response();
    z.noalias() -= A * reduction.free_acceleration();
  }
  if (!is_finite(work.S) || !work.z.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  return reduced;
}

void ServoLaw::begin_levels(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  const bool ideal = options_.metric == ServoMetric::kIdeal;
  work.solver.begin(ideal ? &workspace.reduction_.effort_metric() : nullptr);
  work.rank = 0;
  work.condition = 1.0;
  work.damped = false;
  // Of workspaces that were not prepared: rows without effect must not pass for small ones.
  work.smallest_size = std::max(kRowRounding * work.S.norm(), std::numeric_limits<double>::min());
}

void ServoLaw::solve_level(int level, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  const Eigen::Index begin = level > 0 ? work.level_ends[static_cast<std::size_t>(level) - 1] : 0;
  Eigen::Index m = 0;
  bool forces = false;
  for (const int task : levels_[static_cast<std::size_t>(level)])
  {
    const std::size_t i = static_cast<std::size_t>(task);
    if (!workspace.enabled_[i])
    {
      continue;
    }
    const Eigen::Index count = tasks_[i].constraint->row_count();
    const Eigen::Index offset = offsets_[i];
    work.ordered_S.middleRows(begin + m, count) = work.S.middleRows(offset, count);
    work.ordered_z.segment(begin + m, count) = work.z.segment(offset, count);
    work.level_A.middleCols(m, count) =
      workspace.rows_.jacobian.middleRows(offset, count).transpose();
    for (Eigen::Index k = 0; k < count; ++k)
    {
      const double usual = workspace.row_size_(offset + k);
      const double now = work.S.row(offset + k).norm();
      work.ordered_size(begin + m + k) = usual > 0.0 ? usual : std::max(now, work.smallest_size);
    }
    forces = forces || dynamic_cast<const ForceServo *>(tasks_[i].constraint.get()) != nullptr;
    m += count;
  }
  work.level_ends[static_cast<std::size_t>(level)] = static_cast<int>(begin + m);
  if (m == 0)
  {
    return;
  }
  const int nominal =
    workspace.is_prepared() ? workspace.nominal_rank_[static_cast<std::size_t>(level)] : -1;
  LevelSolver::Rows rows{
    work.ordered_S.middleRows(begin, m), work.ordered_z.segment(begin, m),
    work.ordered_size.segment(begin, m), std::min(nominal, static_cast<int>(m)), nullptr};
  if (options_.metric == ServoMetric::kIdeal && !forces && nominal < m)
  {
    // Gauss: an error of the rows counts by the smallest change of the motion that it stands for.
    auto response = work.response.leftCols(m);
    workspace.reduction_.respond(work.level_A.leftCols(m), response);
    work.gram.topLeftCorner(m, m).noalias() = work.level_A.leftCols(m).transpose() * response;
    rows.error_metric = &work.gram;
  }
  const LevelSolver::Level found = work.solver.solve(rows, options_.singular_tolerance);
  work.rank += found.rank;
  work.condition = std::max(work.condition, found.condition);
  work.damped = work.damped || found.damped;
}

void ServoLaw::weigh_level(int level, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  const Eigen::Index begin = level > 0 ? work.level_ends[static_cast<std::size_t>(level) - 1] : 0;
  Eigen::Index m = 0;
  for (const int task : levels_[static_cast<std::size_t>(level)])
  {
    const std::size_t i = static_cast<std::size_t>(task);
    if (!workspace.enabled_[i])
    {
      continue;
    }
    if (dynamic_cast<const ForceServo *>(tasks_[i].constraint.get()) != nullptr)
    {
      return;  // errors of forces are no change of the motion
    }
    const Eigen::Index count = tasks_[i].constraint->row_count();
    work.level_A.middleCols(m, count) =
      workspace.rows_.jacobian.middleRows(offsets_[i], count).transpose();
    m += count;
  }
  if (m == 0)
  {
    return;
  }
  auto response = work.response.leftCols(m);
  workspace.reduction_.respond(work.level_A.leftCols(m), response);
  work.gram.topLeftCorner(m, m).noalias() = work.level_A.leftCols(m).transpose() * response;
  work.solver.weigh(
    work.gram, work.ordered_S.middleRows(begin, m), work.ordered_z.segment(begin, m));
}

void ServoLaw::add_null_part(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  workspace.y_ = workspace.external_null_vector_;
  if (!options_.null_space.empty())
  {
    work.force.setZero();
    for (const std::shared_ptr<const NullSpaceTerm> & term : options_.null_space)
    {
      term->add(workspace.workspace_.system_data(), work.force);
    }
    workspace.y_.noalias() += workspace.workspace_.terms().input_matrix.transpose() * work.force;
  }
  work.solver.null_part(workspace.y_, work.null_part);
  work.tau = work.solver.solution() + work.null_part;
}

void ServoLaw::limit(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  work.limited = false;
  work.cones_met = true;
  if (!work.limits)
  {
    return;
  }
  const Reduction & reduction = workspace.reduction_;
  work.limits->begin(workspace.has_last_ ? &workspace.last_ : nullptr);
  if (work.limits->admits(work.tau, reduction, workspace.workspace_))
  {
    return;
  }
  if (work.damped)
  {
    // What the damped controls do is wished, not what would take unbounded ones.
    work.ordered_z.noalias() = work.ordered_S * work.solver.solution();
  }
  const bool ideal = options_.metric == ServoMetric::kIdeal;
  for (std::size_t level = 0; ideal && level < levels_.size(); ++level)
  {
    weigh_level(static_cast<int>(level), workspace);
  }
  const Status status = work.limits->solve(
    {work.ordered_S, work.ordered_z, work.level_ends, static_cast<int>(levels_.size()),
     workspace.y_, ideal ? &reduction.effort_metric() : nullptr},
    reduction, workspace.workspace_, work.tau);
  work.limited = true;
  work.cones_met = status == Status::kOk;
}

bool ServoLaw::is_ideal(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  // (E15'): what the controls do to the motion is what forces along A_sᵀ would do.
  constexpr double kTolerance = 1e-7;
  constexpr double kRegularisation = 1e-14;
  ServoWorkspace::Scratch & work = *workspace.work_;
  Eigen::Index m = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const Eigen::Index count = tasks_[i].constraint->row_count();
    if (workspace.enabled_[i])
    {
      work.level_A.middleCols(m, count) =
        workspace.rows_.jacobian.middleRows(offsets_[i], count).transpose();
      m += count;
    }
  }
  work.motion.noalias() = workspace.reduction_.input_response() * work.tau;
  const double size = work.motion.norm();
  if (m == 0 || size == 0.0)
  {
    return size == 0.0;
  }
  auto A = work.level_A.leftCols(m);
  auto response = work.response.leftCols(m);
  auto gram = work.gram.topLeftCorner(m, m);
  auto weights = work.weights.head(m);
  workspace.reduction_.respond(A, response);
  gram.noalias() = A.transpose() * response;
  gram.diagonal().array() += kRegularisation * gram.trace();
  weights.noalias() = A.transpose() * work.motion;
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(gram);
  if (cholesky.info() != Eigen::Success)
  {
    return false;
  }
  cholesky.solveInPlace(weights);
  work.motion.noalias() -= response * weights;
  return work.motion.norm() <= kTolerance * size;
}

void ServoLaw::judge(ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  ServoWorkspace::Scratch & work = *workspace.work_;
  ServoResult & result = workspace.result_;
  result.inputs = work.tau;
  result.particular = work.limited ? work.tau : work.solver.solution();
  result.null_part = work.null_part;
  if (work.limited)
  {
    result.null_part.setZero();
  }
  result.limited = work.limited;
  result.cones_met = work.cones_met;
  for (std::size_t i = 0; i < result.at_bound.size(); ++i)
  {
    result.at_bound[i] = work.limited && work.limits->at_bound(static_cast<int>(i));
  }
  result.error = workspace.rows_.position;
  result.error_rate = workspace.rows_.velocity;
  result.residual = work.residual;
  result.rank = work.rank;
  result.null_dimension = work.solver.open_dimension();
  result.condition = work.condition;
  result.damped = work.damped;
  const double tau_size = work.tau.norm();
  bool missed = false;
  bool realised = true;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    const Eigen::Index offset = offsets_[i];
    const Eigen::Index count = tasks_[i].constraint->row_count();
    if (!workspace.enabled_[i])
    {
      result.gave_way[i] = false;
      result.error.segment(offset, count).setZero();
      result.error_rate.segment(offset, count).setZero();
      result.residual.segment(offset, count).setZero();
      continue;
    }
    const double size =
      work.z.segment(offset, count).norm() + work.S.middleRows(offset, count).norm() * tau_size;
    const double rest = result.residual.segment(offset, count).norm();
    result.gave_way[i] = rest > options_.consistency_tolerance * size;
    realised = realised && !result.gave_way[i];
    // Levels behind the first may give way: that is what levels are for.
    const std::vector<int> & first = levels_.front();
    missed = missed || (result.gave_way[i] &&
                        std::find(first.begin(), first.end(), static_cast<int>(i)) != first.end());
    if (const ForceServo * force = dynamic_cast<const ForceServo *>(tasks_[i].constraint.get()))
    {
      for (Eigen::Index k = 0; k < count; ++k)
      {
        const int row = force->passive_rows()[static_cast<std::size_t>(k)];
        result.error(offset + k) =
          workspace.workspace_.solution().multipliers(row) - workspace.references_[i].position(k);
      }
    }
    else
    {
      // e of velocity rows is an error of its own, not a rate.
      for (Eigen::Index k = 0; k < count; ++k)
      {
        if (tasks_[i].constraint->rows()[static_cast<std::size_t>(k)].level == RowLevel::kVelocity)
        {
          result.error(offset + k) = result.error_rate(offset + k);
        }
      }
    }
  }
  result.ideal = options_.metric == ServoMetric::kIdeal && realised && is_ideal(workspace);
  result.solution = missed                      ? ServoSolution::kNone
                    : result.null_dimension > 0 ? ServoSolution::kMany
                                                : ServoSolution::kOne;
}

Status ServoLaw::evaluate(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  if (!fits(workspace))
  {
    return Status::kSizeMismatch;
  }
  if (!workspace.external_null_vector_.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  const Status passive = form(time, q, u, workspace);
  if (!has_output(passive))
  {
    return passive;
  }
  begin_levels(workspace);
  for (std::size_t level = 0; level < levels_.size(); ++level)
  {
    solve_level(static_cast<int>(level), workspace);
  }
  add_null_part(workspace);
  limit(workspace);
  ServoWorkspace::Scratch & work = *workspace.work_;
  work.residual = -work.z;
  work.residual.noalias() += work.S * work.tau;
  if (!work.tau.allFinite() || !work.residual.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  const Status solved =
    passive_->solve_reduced(work.tau, workspace.reduction_, workspace.workspace_);
  if (!has_output(solved))
  {
    return solved;
  }
  judge(workspace);
  workspace.set_last_inputs(work.tau);
  const ServoResult & result = workspace.result_;
  const Status law = result.damped                             ? Status::kSingular
                     : result.limited                          ? Status::kLimited
                     : result.solution == ServoSolution::kNone ? Status::kInconsistent
                                                               : Status::kOk;
  return law == Status::kOk ? solved : law;
}

// ---- preparing ---------------------------------------------------------------------------------

void ServoLaw::prepare(const State & state, ServoWorkspace & workspace) const
{
  constexpr int kSamples = 8;
  constexpr double kSpread = 1e-2;  // as Dynamics::analyse
  // Usual sizes: far enough from a singular state that the law may start at.
  constexpr double kFarSpread = 0.3;
  constexpr unsigned kSeed = 20260102U;
  // Rows that vanish at rest (energies) are measured at speeds of this size.
  constexpr double kSpeed = 1.0;
  constexpr double kVanishing = 0.1;
  passive_->analyse(state, workspace.workspace_);
  workspace.forget_inputs();
  workspace.row_size_.setZero();
  std::fill(workspace.nominal_rank_.begin(), workspace.nominal_rank_.end(), -1);
  workspace.prepared_enabled_ = workspace.enabled_;
  for (std::size_t i = 0; i < workspace.prepared_active_.size(); ++i)
  {
    workspace.prepared_active_[i] = workspace.workspace_.is_active(static_cast<int>(i));
  }
  Status status = form(state.time, state.q, state.u, workspace);
  if (!has_output(status))
  {
    throw std::invalid_argument(
      std::string("the servo-constraints cannot be evaluated at the given state: status ") +
      to_string(status));
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    status = hold(static_cast<int>(i), workspace);
    if (status != Status::kOk)
    {
      throw std::invalid_argument(
        "servo-constraint '" + tasks_[i].constraint->name() +
        "' cannot be evaluated at the given state: status " + to_string(status));
    }
  }
  ServoWorkspace::Scratch & work = *workspace.work_;
  // Sizes in the metric that controls count in.
  const auto sizes = [&]() -> Eigen::VectorXd
  {
    begin_levels(workspace);
    return work.solver.open_rows(work.S).rowwise().norm();
  };
  const Eigen::VectorXd here = sizes();
  // What rows could be if the passive constraints left them alone; of forces what any of them is.
  Eigen::VectorXd possible = workspace.rows_.jacobian.rowwise().norm() *
                             work.solver.open_rows(workspace.reduction_.input_response()).norm();
  possible = possible.cwiseMax(here.maxCoeff());
  std::vector<State> samples{state};
  std::mt19937 generator(kSeed);
  std::normal_distribution<double> normal;
  Eigen::VectorXd moving = Eigen::VectorXd::Zero(row_count_);
  const Eigen::MatrixXd C = workspace.workspace_.terms().kinematic_matrix;
  for (int i = 0; i < 2 * kSamples; ++i)
  {
    const bool far = i >= kSamples;
    State sample = state;
    Eigen::VectorXd delta(state.u.size());
    for (Eigen::Index k = 0; k < delta.size(); ++k)
    {
      delta(k) = (far ? kFarSpread : kSpread) * normal(generator);
      sample.u(k) += kSpeed * normal(generator);
    }
    sample.q += C * delta;
    passive_->system().normalise(sample.q);
    Workspace & passive = workspace.workspace_;
    if (
      passive_->project_position(sample.time, sample.q, passive) == Status::kOk &&
      passive_->project_velocity(sample.time, sample.q, sample.u, passive) == Status::kOk &&
      has_output(form(sample.time, sample.q, sample.u, workspace)))
    {
      moving = moving.cwiseMax(sizes());
      if (!far)
      {
        samples.push_back(std::move(sample));
      }
    }
  }
  for (Eigen::Index row = 0; row < row_count_; ++row)
  {
    const double usual = here(row) >= kVanishing * moving(row) ? here(row) : moving(row);
    workspace.row_size_(row) = std::max(usual, kRowRounding * possible(row));
  }
  // Ranks, level by level, as they are as a rule: the largest seen.
  std::vector<int> largest(levels_.size(), 0);
  for (const State & sample : samples)
  {
    if (!has_output(form(sample.time, sample.q, sample.u, workspace)))
    {
      continue;
    }
    begin_levels(workspace);
    for (std::size_t level = 0; level < levels_.size(); ++level)
    {
      const int before = work.rank;
      solve_level(static_cast<int>(level), workspace);
      largest[level] = std::max(largest[level], work.rank - before);
    }
  }
  workspace.nominal_rank_ = largest;
}

Status ServoLaw::hold(int task, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  const std::size_t i = static_cast<std::size_t>(task);
  const ServoConstraint & constraint = *tasks_[i].constraint;
  const Eigen::Index offset = offsets_[i];
  const Eigen::Index count = constraint.row_count();
  Rows & rows = workspace.rows_;
  RowBlock block{
    rows.position.segment(offset, count), rows.velocity.segment(offset, count),
    rows.jacobian.middleRows(offset, count), rows.bias.segment(offset, count)};
  return constraint.measure(
    workspace.workspace_.system_data(), workspace.scratch_, block, workspace.references_[i]);
}

}  // namespace constrained_dynamics
