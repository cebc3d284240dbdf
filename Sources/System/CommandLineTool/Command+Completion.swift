/// A shell that completions can be made for.
package enum Shell: String, Sendable, CaseIterable {
    case bash
    case zsh
    case fish
}

extension Command {
    /// A completion script for the program: commands, options, and the values that can be known.
    package func completionScript(for shell: Shell) -> String {
        switch shell {
        case .bash: bashScript
        case .zsh: zshScript
        case .fish: fishScript
        }
    }

    /// Every command with its path below the program, the program itself first.
    private var allCommands: [(path: [String], command: Command)] {
        func walk(_ command: Command, _ path: [String]) -> [(path: [String], command: Command)] {
            [(path, command)] + command.subcommands.flatMap { walk($0, path + [$0.name]) }
        }
        return walk(self, [])
    }

    /// What may follow the words of `path`, as a command that prints candidates, one a line.
    private func candidates(_ command: Command) -> String {
        var words = command.subcommands.map(\.name)
        var commands: [String] = []
        for argument in command.arguments {
            switch argument.completion {
            case .none, .files, .directories: break
            case .words(let more): words += more
            case .program(let kind): commands.append("\(name) completion --candidates \(kind) 2>/dev/null")
            }
        }
        if !words.isEmpty { commands.insert("printf '%s\\n' \(words.joined(separator: " "))", at: 0) }
        return commands.joined(separator: "; ")
    }

    private func takesFiles(_ command: Command) -> Bool {
        command.arguments.contains { $0.completion == .files || $0.completion == .directories }
    }

    private func function(_ path: [String]) -> String { path.joined(separator: "_") }

    private var bashScript: String {
        let function = "_\(name.replacing("-", with: "_"))"
        var script = "# bash completion for \(name)\n\(function)() {\n"
        script += "  local word=${COMP_WORDS[COMP_CWORD]} path= i\n"
        script += "  for ((i = 1; i < COMP_CWORD; i++)); do\n    case \"$path/${COMP_WORDS[i]}\" in\n"
        for (path, _) in allCommands where !path.isEmpty {
            script += "      /\(path.joined(separator: "/"))) path=\"/\(path.joined(separator: "/"))\" ;;\n"
        }
        script += "    esac\n  done\n  local IFS=$'\\n'\n  case \"$path\" in\n"
        for (path, command) in allCommands {
            let flags = (command.options + (path.isEmpty ? [] : options)).map { "--\($0.name)" } + ["--help"]
            script += "    '\(path.isEmpty ? "" : "/" + path.joined(separator: "/"))')\n"
            script += "      if [[ $word == -* ]]; then\n"
            script +=
                "        COMPREPLY=($(compgen -W $'\(flags.joined(separator: "\\n"))' -- \"$word\"))\n      else\n"
            let source = candidates(command)
            if !source.isEmpty {
                script +=
                    "        COMPREPLY=($(compgen -W \"$(\(source.replacing("2>/dev/null", with: "2>/dev/null | cut -f1")))\""
                script += " -- \"$word\"))\n"
            }
            if takesFiles(command) { script += "        COMPREPLY+=($(compgen -f -- \"$word\"))\n" }
            script += source.isEmpty && !takesFiles(command) ? "        :\n" : ""
            script += "      fi ;;\n"
        }
        return script + "  esac\n}\ncomplete -o filenames -F \(function) \(name)\n"
    }

    private var zshScript: String {
        "#compdef \(name)\nautoload -U +X bashcompinit && bashcompinit\n" + bashScript
    }

    private var fishScript: String {
        var script = "# fish completion for \(name)\ncomplete -c \(name) -f\n"
        for (path, command) in allCommands {
            let condition =
                path.isEmpty ? "__fish_use_subcommand" : "__fish_seen_subcommand_from \(path[path.count - 1])"
            for subcommand in command.subcommands {
                script +=
                    "complete -c \(name) -n '\(condition)' -a \(subcommand.name) -d '\(subcommand.summary.fishQuoted)'\n"
            }
            for option in command.options {
                let short = option.short.map { " -s \($0)" } ?? ""
                script +=
                    "complete -c \(name) -n '\(condition)' -l \(option.name)\(short)\(option.value == nil ? "" : " -r")"
                script += " -d '\(option.summary.fishQuoted)'\n"
            }
            for argument in command.arguments {
                switch argument.completion {
                case .none: break
                case .files, .directories: script += "complete -c \(name) -n '\(condition)' -F\n"
                case .words(let words):
                    script += "complete -c \(name) -n '\(condition)' -a '\(words.joined(separator: " "))'\n"
                case .program(let kind):
                    script += "complete -c \(name) -n '\(condition)' -a '(\(name) completion --candidates \(kind))'\n"
                }
            }
        }
        return script
    }
}

extension String {
    fileprivate var fishQuoted: String { replacing("'", with: "\\'") }
}
