/// Changes single settings of `ferryd.yaml` and leaves everything else as its user wrote it.
struct SettingsFile: Hashable {
    private(set) var text: String

    init(_ text: String) { self.text = text }

    /// Sets a key of the top level to a text: in the place of its line, or else in a line at the end.
    mutating func set(_ key: String, to value: String) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last == "" { lines.removeLast() }
        let line = "\(key): \(Self.quoted(value))"
        if let index = lines.firstIndex(where: { $0.hasPrefix("\(key):") }) {
            lines[index] = line
        } else {
            lines.append(line)
        }
        text = lines.joined(separator: "\n") + "\n"
    }

    /// A YAML scalar in double quotes.
    private static func quoted(_ text: String) -> String {
        "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}
