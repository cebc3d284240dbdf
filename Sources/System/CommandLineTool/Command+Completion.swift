/// A shell for which completion scripts can be generated.
package enum Shell: String, Sendable, CaseIterable {
    case bash
    case zsh
    case fish
}

extension Command {
    /// Returns a completion script for the program: commands, options, and the values that can be
    /// determined.
    ///
    /// The candidates that `PROGRAM completion --candidates KIND` prints may come from other users:
    /// titles and names of lists. The scripts read them line by line into arrays and quote a value
    /// before they offer it. The shell never evaluates, expands or splits a value; therefore
    /// `compgen -W`, which expands its argument, is not used.
    package func completionScript(for shell: Shell) -> String {
        switch shell {
        case .bash: bashScript
        case .zsh: zshScript
        case .fish: fishScript
        }
    }

    /// Every command with its path below the program, the program itself first. A path has the form
    /// `/transfers/pause`.
    private var allCommands: [(path: String, command: Command)] {
        func walk(_ command: Command, _ path: String) -> [(path: String, command: Command)] {
            [(path, command)] + command.subcommands.flatMap { walk($0, "\(path)/\($0.name)") }
        }
        return walk(self, "")
    }

    /// Returns the options allowed after a command: its own, those of its default subcommand, and
    /// the program's.
    private func options(of command: Command) -> [Option] {
        var all = command.options
        if let name = command.defaultSubcommand {
            all += command.subcommands.first { $0.name == name }?.options ?? []
        }
        all += options
        var seen: Set<String> = ["help"]
        return all.filter { seen.insert($0.name).inserted } + [Option("help", summary: "shows help")]
    }

    /// Returns the positions of a command's arguments with their completions, in the order in which
    /// a `case` statement must test them.
    private func places(_ command: Command) -> [(pattern: String, source: Completion)] {
        command.arguments.enumerated().map { index, argument in
            let isLast = argument.count == .some || argument.count == .any
            return (isLast ? "*" : String(index), argument.completion)
        }
    }

    private var functionName: String { "_" + name.replacing("-", with: "_") }

    // MARK: bash and zsh

    /// The branches of a `case` statement over `$command/$word` that follow the words of a command
    /// line.
    private var wordArms: String {
        var arms = ""
        for (path, command) in allCommands {
            if !path.isEmpty { arms += "      '\(path)') command='\(path)' position=0 ;;\n" }
            for option in options(of: command) where option.value != nil {
                let short = option.short.map { " | '\(path)/-\($0)'" } ?? ""
                arms += "      '\(path)/--\(option.name)'\(short)) option=--\(option.name) ;;\n"
            }
        }
        return arms + "      */-*) ;;\n      *) position=$((position + 1)) previous=$word ;;\n"
    }

    /// The branches of a `case` statement over `$command $option` and over `$command $position`.
    private var sourceArms: String {
        var arms = ""
        func arm(_ pattern: String, _ source: Completion) {
            let action: String? =
                switch source {
                case .none: nil
                case .files: "files=default"
                case .directories: "files=dirnames"
                case .words(let words): "\(functionName)_offer < <(printf '%s\\n' \(words.joined(separator: " ")))"
                case .program(let kind):
                    "\(functionName)_offer < <(\(name) completion --candidates \(kind) 2>/dev/null </dev/null)"
                case .programOfPrevious(let kind):
                    "\(functionName)_offer < <(\(name) completion --candidates \(kind) --of=\"$previous\" 2>/dev/null </dev/null)"
                }
            if let action { arms += "    \(pattern)) \(action) ;;\n" }
        }
        for (path, command) in allCommands {
            for option in options(of: command) where option.value != nil {
                arm("'\(path) --\(option.name)'", option.completion)
            }
            arms += "    '\(path) '--*) ;;\n"
            if !command.subcommands.isEmpty { arm("'\(path) 0'", .words(command.subcommands.map(\.name))) }
            for (pattern, source) in places(command) {
                arm(pattern == "*" ? "'\(path) '*" : "'\(path) \(pattern)'", source)
            }
        }
        return arms
    }

    private var flagArms: String {
        allCommands.reduce(into: "") { arms, entry in
            let flags = options(of: entry.command).map { "--\($0.name)" }.joined(separator: " ")
            arms += "    '\(entry.path)') flags='\(flags)' ;;\n"
        }
    }

    private var bashScript: String {
        """
        # bash completion for \(name)
        # Reads candidates, one a line, a tab before the description, and offers those that begin with $word.
        # They may come from other users: a value is only compared and quoted, never evaluated.
        \(functionName)_offer() {
          local line value quoted quote= typed=$word
          local -a lines=() shown=()
          case $typed in
            \\"*) quote=\\" typed=${typed:1} ;;
            \\'*) quote=\\' typed=${typed:1} ;;
          esac
          mapfile -t lines
          for line in "${lines[@]}"; do
            value=${line%%$'\\t'*}
            [[ -n $value && $value != *[[:cntrl:]]* ]] || continue
            case $quote in
              \\") [[ $value == "$typed"* && $value != *[\\"\\$\\`\\\\!]* ]] || continue; quoted=$value ;;
              \\') [[ $value == "$typed"* && $value != *\\'* ]] || continue; quoted=$value ;;
              *)
                printf -v quoted %q "$value"
                # These end a word for readline unless they are quoted.
                [[ $quoted == \\$\\'* ]] || {
                  quoted=${quoted//:/\\\\:} quoted=${quoted//=/\\\\=} quoted=${quoted//@/\\\\@}
                }
                [[ $quoted == "$typed"* || $value == "${typed//\\\\/}"* ]] || continue ;;
            esac
            COMPREPLY+=("$quoted")
            [[ $line == *$'\\t'* ]] && line="$value  (${line#*$'\\t'})"
            shown+=("$line")
          done
          # The second Tab only lists the candidates, so they can include descriptions.
          if ((${#shown[@]} > 1)) && [[ ${COMP_TYPE-} == 63 ]]; then COMPREPLY=("${shown[@]}"); fi
        }
        \(functionName)() {
          local IFS=$' \\t\\n' word command= option= flags= files= previous= i
          local -i position=0
          COMPREPLY=()
          for ((i = 1; i < COMP_CWORD; i++)); do
            [[ ${COMP_WORDS[i]} == = ]] && continue
            if [[ -n $option ]]; then
              option=
              continue
            fi
            # As the command gets it, as far as that is known without evaluating anything.
            word=${COMP_WORDS[i]//[\\\\\\"\\']}
            case $command/$word in
        \(wordArms)    esac
          done
          word=${COMP_WORDS[COMP_CWORD]}
          [[ $word == = ]] && word=
          if [[ -z $option && $word == -* ]]; then
            case $command in
        \(flagArms)    esac
            \(functionName)_offer < <(printf '%s\\n' $flags)
            return
          fi
          case "$command ${option:-$position}" in
        \(sourceArms)  esac
          [[ -z $files ]] || compopt -o "$files" 2>/dev/null
        }
        complete -F \(functionName) \(name)

        """
    }

    private var zshScript: String {
        """
        #compdef \(name)
        # Reads candidates, one a line, a tab before the description, and offers them; zsh quotes what it inserts.
        # They may come from other users: a value is never evaluated.
        \(functionName)_offer() {
          local line value
          local -a values shown
          while IFS= read -r line; do
            value=${line%%$'\\t'*}
            [[ -n $value && $value != *[[:cntrl:]]* ]] || continue
            values+=("$value")
            if [[ $line == *$'\\t'* ]]; then shown+=("$value  ${line#*$'\\t'}"); else shown+=("$value"); fi
          done
          (( $#values )) && compadd -l -d shown -a -- values
        }
        \(functionName)() {
          local word command= option= flags= files= previous=
          local -i i position=0
          for ((i = 2; i < CURRENT; i++)); do
            if [[ -n $option ]]; then
              option=
              continue
            fi
            word=${(Q)words[i]}
            case $command/$word in
        \(wordArms)    esac
          done
          if [[ -z $option && $PREFIX == --*=* ]]; then
            option=${PREFIX%%\\=*}
            compset -P '*='
          elif [[ -z $option && $PREFIX == -* ]]; then
            case $command in
        \(flagArms)    esac
            compadd -- ${=flags}
            return
          fi
          case "$command ${option:-$position}" in
        \(sourceArms)  esac
          case $files in
            default) _files ;;
            dirnames) _files -/ ;;
          esac
        }
        (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
        if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then \(functionName) "$@"; else compdef \(functionName) \(name); fi

        """
    }

    // MARK: fish

    private var fishScript: String {
        let at = "_\(functionName)_at"
        var script = """
            # fish completion for \(name)
            # Whether the command line has reached the command at the path $argv[1] and, if there is a second argument,
            # the word of that number after it; * matches any.
            function \(at)
                set -l command
                set -l position 0
                set -l option
                set -l words (commandline -opc)
                for word in $words[2..-1]
                    if test -n "$option"
                        set option
                        continue
                    end
                    switch "$command/$word"

            """
        for (path, command) in allCommands {
            if !path.isEmpty {
                script += "            case '\(path)'\n                set command '\(path)'\n"
                script += "                set position 0\n"
            }
            for option in options(of: command) where option.value != nil {
                let short = option.short.map { " '\(path)/-\($0)'" } ?? ""
                script += "            case '\(path)/--\(option.name)'\(short)\n                set option yes\n"
            }
        }
        script += """
                        case '*/-*'
                        case '*'
                            set position (math $position + 1)
                            set -g \(at)_previous $word
                    end
                end
                test "$command" = "$argv[1]"; or return 1
                test (count $argv) -eq 1; or test "$argv[2]" = '*'; or test "$argv[2]" = $position
            end
            complete -c \(name) -f

            """
        for (path, command) in allCommands {
            func complete(_ place: String?, _ rest: String) {
                let place = place.map { " \($0.fishQuoted)" } ?? ""
                script += "complete -c \(name) -n \("\(at) \(path.fishQuoted)\(place)".fishQuoted) \(rest)\n"
            }
            for subcommand in command.subcommands {
                complete("0", "-a \(subcommand.name) -d \(subcommand.summary.fishQuoted)")
            }
            for option in options(of: command) {
                let short = option.short.map { " -s \($0)" } ?? ""
                let value = option.value == nil ? "" : " -r" + fish(option.completion)
                complete(nil, "-l \(option.name)\(short)\(value) -d \(option.summary.fishQuoted)")
            }
            for (pattern, source) in places(command) where source != .none { complete(pattern, fish(source)) }
        }
        return script
    }

    /// Returns the options of fish's `complete` for candidates. The output of a command in
    /// parentheses is split into lines and not evaluated further.
    private func fish(_ source: Completion) -> String {
        switch source {
        case .none: ""
        case .files: " -F"
        case .directories: " -a '(__fish_complete_directories)'"
        case .words(let words): " -a \(words.joined(separator: " ").fishQuoted)"
        case .program(let kind): " -k -a '(\(name) completion --candidates \(kind) 2>/dev/null </dev/null)'"
        case .programOfPrevious(let kind):
            " -k -a '(\(name) completion --candidates \(kind) --of=\"$_\(functionName)_at_previous\" 2>/dev/null </dev/null)'"
        }
    }
}

extension String {
    fileprivate var fishQuoted: String { "'\(replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'" }
}
