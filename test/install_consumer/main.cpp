// Uses the installed library as a stranger would; returns 0 only when its answers are right.
#include <cstdio>
#include <string>

#include "constrained_dynamics/version.hpp"

namespace
{

bool version_is_known()
{
  const std::string version = constrained_dynamics::version();
  std::printf("constrained_dynamics_core %s\n", version.c_str());
  return !version.empty();
}

}  // namespace

int main()
{
  // One line for each thing that a consumer must be able to do.
  bool good = true;
  good = version_is_known() && good;
  return good ? 0 : 1;
}
