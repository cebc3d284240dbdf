extension Command {
    /// Returns the help text of the last command of `chain`, which begins with the program.
    ///
    /// - Parameter width: The columns that a line may have. Examples are not broken.
    package func helpText(for chain: [Command], width: Int = 80) -> String {
        guard let command = chain.last else { return "" }
        let summary = "\(command.summary.prefix(1).uppercased())\(command.summary.dropFirst())."
        var text = wrapped(summary, width: width).joined(separator: "\n") + "\n\n"
        text += "Usage: \(command.usage(chain))\n"
        if !command.discussion.isEmpty { text += "\n\(Self.reflowed(command.discussion, width: width))\n" }
        text += section("Arguments", command.arguments.map { ($0.name, $0.summary) }, width)
        for (group, commands) in command.groupedSubcommands {
            text += section(group.isEmpty ? "Commands" : group, commands.map { ($0.name, $0.summary) }, width)
        }
        let common: [(String, String)] = [("-h, --help", "show this help")]
        text += section("Options", command.options.map { ($0.label, $0.summary) } + common, width)
        let inherited = chain.dropLast().flatMap(\.options)
        text += section("Options of every command", inherited.map { ($0.label, $0.summary) }, width)
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

    /// Joins the lines of each paragraph and breaks them again; examples stay as they are.
    private static func reflowed(_ discussion: String, width: Int) -> String {
        var lines: [String] = []
        var paragraph: [Substring] = []
        func endParagraph() {
            if !paragraph.isEmpty { lines += wrapped(paragraph.joined(separator: " "), width: width) }
            paragraph = []
        }
        for line in discussion.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.isEmpty || line.hasPrefix("    ") else {
                paragraph.append(line)
                continue
            }
            endParagraph()
            lines.append(String(line))
        }
        endParagraph()
        return lines.joined(separator: "\n")
    }

    private func section(_ title: String, _ rows: [(String, String)], _ width: Int) -> String {
        guard !rows.isEmpty else { return "" }
        let column = min(28, rows.map(\.0.count).max() ?? 0)
        let lines = rows.flatMap { name, summary in
            let indent = String(repeating: " ", count: column + 4)
            let text = wrapped(summary, width: max(20, width - column - 4))
            // A name that is too long for its column has a line of its own.
            guard name.count <= column else { return ["  \(name)"] + text.map { indent + $0 } }
            let padding = String(repeating: " ", count: column - name.count)
            return ["  \(name)\(padding)  \(text.first ?? "")"] + text.dropFirst().map { indent + $0 }
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
