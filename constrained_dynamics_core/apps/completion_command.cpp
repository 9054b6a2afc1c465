// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "completion_command.hpp"

#include <vector>

#include <CLI/CLI.hpp>

#include "constrained_dynamics/formulations/registry.hpp"

namespace cdyn
{

namespace
{

std::string joined(const std::vector<std::string> & words)
{
  std::string text;
  for (const std::string & word : words)
  {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::vector<std::string> options_of(const CLI::App & command)
{
  std::vector<std::string> names;
  for (const CLI::Option * option : command.get_options())
  {
    for (const std::string & name : option->get_lnames())
    {
      names.push_back("--" + name);
    }
  }
  return names;
}

}  // namespace

std::string completion_script(const CLI::App & app)
{
  std::vector<std::string> commands;
  std::string cases;
  for (const CLI::App * command : app.get_subcommands({}))
  {
    commands.push_back(command->get_name());
    cases +=
      "    " + command->get_name() + ") options=\"" + joined(options_of(*command)) + "\" ;;\n";
  }
  return "# Completion of cdyn for bash; in zsh run `autoload bashcompinit; bashcompinit` before.\n"
         "_cdyn()\n"
         "{\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options=\n"
         "  COMPREPLY=()\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         joined(commands) +
         " --help --version\" -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case $before in\n"
         "    --formulation) COMPREPLY=($(compgen -W \"" +
         joined(constrained_dynamics::all_formulation_names()) +
         "\" -- \"$word\")); return ;;\n"
         "    --csv | --json | --events) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
         "    --set | --until | --step | --at | --size) return ;;\n"
         "  esac\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=($(compgen -W \"$(cdyn examples 2> /dev/null | cut -d ' ' -f 1)\" -- "
         "\"$word\")\n"
         "                  $(compgen -d -- \"$word\") $(compgen -f -X '!*.yaml' -- \"$word\")) "
         ";;\n"
         "  esac\n"
         "}\n"
         "complete -o filenames -F _cdyn cdyn\n";
}

}  // namespace cdyn
