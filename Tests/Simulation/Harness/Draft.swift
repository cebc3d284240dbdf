/// A task file as a user sees it in an editor: lines without knowledge of their meaning for Ferry.
struct Draft {
    /// The lines between the two `---`; nil without front matter.
    var head: [String]?
    var body: [String]

    init(_ bytes: [UInt8]) {
        var lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        if lines.last == "" { lines.removeLast() }
        if lines.first == "---", let end = lines.dropFirst().firstIndex(of: "---") {
            head = Array(lines[1..<end])
            body = Array(lines[(end + 1)...])
        } else {
            body = lines
        }
    }

    var bytes: [UInt8] {
        var lines = body
        if let head, !head.isEmpty { lines = ["---"] + head + ["---"] + body }
        return Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    /// Sets a key of the front matter; nil removes its line.
    mutating func set(_ key: String, _ value: String?) {
        var lines = head ?? []
        let place = lines.firstIndex { $0.hasPrefix(key + ":") }
        switch (place, value) {
        case (let place?, let value?): lines[place] = "\(key): \(value)"
        case (let place?, nil): lines.remove(at: place)
        case (nil, let value?): lines.append("\(key): \(value)")
        case (nil, nil): break
        }
        head = lines
    }

    func value(_ key: String) -> String? {
        guard let line = head?.first(where: { $0.hasPrefix(key + ": ") }) else { return nil }
        return String(line.dropFirst(key.utf8.count + 2))
    }

    /// The indices of the lines of the body that may be edited.
    var places: [Int] { body.indices.filter { !body[$0].hasPrefix("born ") } }

    mutating func edit(_ random: inout SeededRandom, _ word: String) -> String {
        switch random.below(14) {
        case 0...3:
            body.insert("line \(word)", at: random.below(body.count + 1))
            return "adds a line \(word)"
        case 4...5:
            guard let place = random.pick(places) else { return "looks at it" }
            body[place] = "line \(word)"
            return "changes a line to \(word)"
        case 6:
            guard let place = random.pick(places) else { return "looks at it" }
            return "removes the line '\(body.remove(at: place))'"
        case 7:
            let value = random.pick(["high", "medium", "low", nil]) ?? nil
            set("priority", value)
            return "sets the priority to \(value ?? "none")"
        case 8:
            let value = random.pick(["true", nil]) ?? nil
            set("completed", value)
            return "sets completed to \(value ?? "false")"
        case 9:
            let value = random.pick(["2026-11-30", "2027-01-01", "2026-12-24T17:00+01:00", nil]) ?? nil
            set("due", value)
            return "sets due to \(value ?? "none")"
        case 10...11:
            var tags = (value("tags") ?? "").split { "[], ".contains($0) }.map(String.init)
            if !tags.isEmpty, random.chance(30) {
                let tag = tags.remove(at: random.below(tags.count))
                set("tags", tags.isEmpty ? nil : "[\(tags.joined(separator: ", "))]")
                return "removes the tag \(tag)"
            }
            tags.append(word)
            set("tags", "[\(tags.joined(separator: ", "))]")
            return "adds the tag \(word)"
        default:
            let key = "k\(random.below(2))"
            if random.chance(20) {
                set(key, nil)
                return "removes \(key)"
            }
            set(key, word)
            return "sets \(key) to \(word)"
        }
    }
}
