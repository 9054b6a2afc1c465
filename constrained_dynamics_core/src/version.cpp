#include "constrained_dynamics/version.hpp"

namespace constrained_dynamics
{

const char * version() noexcept { return CD_VERSION; }

}  // namespace constrained_dynamics
