#include "constrained_dynamics/formulation.hpp"

namespace constrained_dynamics
{

FormulationData::~FormulationData() = default;
Formulation::~Formulation() = default;

Status Formulation::do_prepare(const SystemData &, FormulationData &) const noexcept CD_NONBLOCKING
{
  return Status::kOk;
}

}  // namespace constrained_dynamics
