extension Command {
    /// Returns the help text of the last command of `chain`, which begins with the program.
    package func helpText(for chain: [Command]) -> String {
        guard let command = chain.last else { return "" }
        var text = "\(command.summary.prefix(1).uppercased())\(command.summary.dropFirst()).\n\n"
        text += "Usage: \(command.usage(chain))\n"
        if !command.discussion.isEmpty { text += "\n\(command.discussion)\n" }
        text += command.section("Arguments", command.arguments.map { ($0.name, $0.summary) })
        for (group, commands) in command.groupedSubcommands {
            text += command.section(group.isEmpty ? "Commands" : group, commands.map { ($0.name, $0.summary) })
        }
        let common: [(String, String)] = [("-h, --help", "show this help")]
        text += command.section("Options", command.options.map { ($0.label, $0.summary) } + common)
        let inherited = chain.dropLast().flatMap(\.options)
        text += command.section("Options of every command", inherited.map { ($0.label, $0.summary) })
        if !command.subcommands.isEmpty {
            let path = chain.map(\.name).joined(separator: " ")
            text += "\n'\(path) COMMAND --help' says more about a command.\n"
        }
        return text
    }

    /// Returns a usage line such as `ferry attach TASK FILE… [options]`.
    func usage(_ chain: [Command]) -> String {
        var words = chain.map(\.name)
        words += arguments.map(\.usage)
        if !subcommands.isEmpty { words.append(action == nil && defaultSubcommand == nil ? "COMMAND" : "[COMMAND]") }
        if !options.isEmpty { words.append("[options]") }
        return words.joined(separator: " ")
    }

    /// The subcommands by group, in the order of first appearance.
    var groupedSubcommands: [(group: String, commands: [Command])] {
        var groups: [(group: String, commands: [Command])] = []
        for command in subcommands {
            if let index = groups.firstIndex(where: { $0.group == command.group }) {
                groups[index].commands.append(command)
            } else {
                groups.append((command.group, [command]))
            }
        }
        return groups
    }

    private func section(_ title: String, _ rows: [(String, String)]) -> String {
        guard !rows.isEmpty else { return "" }
        let width = min(28, rows.map(\.0.count).max() ?? 0)
        let lines = rows.map { name, summary in
            let padding = String(repeating: " ", count: max(0, width - name.count))
            return "  \(name)\(padding)  \(summary)"
        }
        return "\n\(title):\n" + lines.joined(separator: "\n") + "\n"
    }
}

extension Argument {
    var usage: String {
        switch count {
        case .one: name
        case .optional: "[\(name)]"
        case .some: "\(name)…"
        case .any: "[\(name)…]"
        }
    }
}

extension Option {
    /// The label in help texts, such as `-n, --name VALUE`.
    var label: String {
        (short.map { "-\($0), " } ?? "    ") + "--\(name)" + (value.map { " \($0)" } ?? "")
    }
}
