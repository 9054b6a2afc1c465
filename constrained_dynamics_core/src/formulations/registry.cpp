// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/registry.hpp"

#include <stdexcept>

#include "constrained_dynamics/formulations/articulated_body.hpp"
#include "constrained_dynamics/formulations/automatic.hpp"
#include "constrained_dynamics/formulations/canonical_inversion.hpp"
#include "constrained_dynamics/formulations/coordinate_partition.hpp"
#include "constrained_dynamics/formulations/kane_minimal.hpp"
#include "constrained_dynamics/formulations/kane_nonminimal.hpp"
#include "constrained_dynamics/formulations/projection.hpp"
#include "constrained_dynamics/formulations/udwadia_kalaba.hpp"

namespace constrained_dynamics
{

namespace
{

template <typename Type>
std::shared_ptr<const Formulation> make()
{
  return std::make_shared<const Type>();
}

template <CoordinatePartition::Mode mode>
std::shared_ptr<const Formulation> make_partition()
{
  return std::make_shared<const CoordinatePartition>(mode);
}

struct Entry
{
  const char * name;
  std::shared_ptr<const Formulation> (*make)();
  bool solves_all = true;
};

// A new formulation is one line here.
constexpr Entry kFormulations[] = {
  {"auto", make<Automatic>},
  {"kane_nonminimal", make<KaneNonminimal>},
  {"kane_minimal", make<KaneMinimal>},
  {"canonical_inversion", make<CanonicalInversion>},
  {"udwadia_kalaba", make<UdwadiaKalaba>},
  {"projection", make<Projection>},
  {"coordinate_partition", make_partition<CoordinatePartition::Mode::kEveryStep>},
  {"coordinate_partition_full", make_partition<CoordinatePartition::Mode::kFullCoordinates>},
  {"coordinate_partition_selected", make_partition<CoordinatePartition::Mode::kSelected>},
  {"articulated_body", make<ArticulatedBody>, false},
};

template <typename Predicate>
std::vector<std::string> names_if(const Predicate & is_wanted)
{
  std::vector<std::string> names;
  for (const Entry & entry : kFormulations)
  {
    if (is_wanted(entry))
    {
      names.emplace_back(entry.name);
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> formulation_names()
{
  return names_if([](const Entry & entry) { return entry.solves_all; });
}

std::vector<std::string> formulation_names(const ConstrainedSystem & system)
{
  return names_if([&](const Entry & entry)
                  { return entry.solves_all || entry.make()->refusal(system).empty(); });
}

std::vector<std::string> all_formulation_names()
{
  return names_if([](const Entry &) { return true; });
}

std::shared_ptr<const Formulation> make_formulation(const std::string & name)
{
  std::string allowed;
  for (const Entry & entry : kFormulations)
  {
    if (name == entry.name)
    {
      return entry.make();
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw std::invalid_argument("formulation " + name + "; allowed: " + allowed);
}

}  // namespace constrained_dynamics
