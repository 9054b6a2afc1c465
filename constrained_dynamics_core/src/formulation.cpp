#include "constrained_dynamics/formulation.hpp"

namespace constrained_dynamics
{

FormulationData::~FormulationData() = default;
Formulation::~Formulation() = default;

}  // namespace constrained_dynamics
