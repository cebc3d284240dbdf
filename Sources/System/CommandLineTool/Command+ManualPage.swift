extension Command {
    /// Returns a manual page in man(7) macros for the program with all its commands.
    ///
    /// - Parameters:
    ///   - section: the section of the manual: 1 for commands, 8 for daemons.
    ///   - date: the date of the release in RFC 3339.
    ///   - extra: further sections, with text in the form of `discussion`.
    package func manualPage(section: Int, version: String, date: String, extra: [(title: String, text: String)] = [])
        -> String
    {
        var page =
            ".TH \(Roff.quote(name.uppercased())) \(section) \(Roff.quote(date)) \(Roff.quote("Ferry \(version)"))\n"
        page += ".SH NAME\n\(Roff.escape(name)) \\- \(Roff.escape(summary))\n"
        page += ".SH SYNOPSIS\n.B \(Roff.escape(name))\n\(Roff.escape(usage([])))\n"
        if !discussion.isEmpty { page += ".SH DESCRIPTION\n\(Roff.paragraphs(discussion))" }
        page += Roff.options(options, title: ".SH OPTIONS")
        for (group, commands) in groupedSubcommands {
            page += ".SH \(Roff.quote((group.isEmpty ? "Commands" : group).uppercased()))\n"
            for command in commands { page += command.manualEntry([command.name]) }
        }
        for (title, text) in extra { page += ".SH \(Roff.quote(title.uppercased()))\n\(Roff.paragraphs(text))" }
        return page
    }

    private func manualEntry(_ path: [String]) -> String {
        var words = path
        words += arguments.map(\.usage)
        var entry = ".SS \(Roff.quote(words.joined(separator: " ")))\n"
        entry += Roff.escape("\(summary.prefix(1).uppercased())\(summary.dropFirst()).") + "\n"
        if !discussion.isEmpty { entry += ".PP\n\(Roff.paragraphs(discussion))" }
        for argument in arguments where !argument.summary.isEmpty {
            entry += ".TP\n.I \(Roff.escape(argument.name))\n\(Roff.escape(argument.summary))\n"
        }
        entry += Roff.options(options, title: nil)
        for command in subcommands { entry += command.manualEntry(path + [command.name]) }
        return entry
    }
}

private enum Roff {
    static func escape(_ text: some StringProtocol) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "…": escaped += "..."
            default: escaped.append(character)
            }
        }
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }

    static func quote(_ text: String) -> String { "\"" + escape(text).replacing("\"", with: "\\(dq") + "\"" }

    static func paragraphs(_ text: String) -> String {
        var lines = ""
        var inExample = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let isExample = line.hasPrefix("    ")
            if isExample != inExample { lines += isExample ? ".PP\n.nf\n.RS\n" : ".RE\n.fi\n" }
            inExample = isExample
            lines += line.isEmpty ? ".PP\n" : escape(isExample ? line.dropFirst(4) : line) + "\n"
        }
        return lines + (inExample ? ".RE\n.fi\n" : "")
    }

    static func options(_ options: [Option], title: String?) -> String {
        guard !options.isEmpty else { return "" }
        let entries = options.map { option in
            let short = option.short.map { "\\-\($0), " } ?? ""
            let value = option.value.map { " \\fI\(escape($0))\\fR" } ?? ""
            return ".TP\n\(short)\\fB\\-\\-\(escape(option.name))\\fR\(value)\n\(escape(option.summary))\n"
        }
        return (title.map { "\($0)\n" } ?? "") + entries.joined()
    }
}
