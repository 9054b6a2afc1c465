// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

namespace CLI
{
class App;
}

namespace cdyn
{

/// The script that completes words of `cdyn` in bash (and zsh, after bashcompinit), made from the
/// subcommands and options of the program.
std::string completion_script(const CLI::App & app);

}  // namespace cdyn
