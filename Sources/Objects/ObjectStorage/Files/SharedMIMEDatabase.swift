import Glibc

/// The file names that freedesktop.org's shared MIME database knows (`globs2`: lines of
/// `weight:type:glob[:flags]`).
///
/// Plain names and `*.extension` are kept, which is nearly all of them; patterns with other
/// wildcards are skipped.
struct SharedMIMEDatabase: Sendable {
    private struct Entry {
        var weight: Int
        var type: MIMEType
    }

    static let system = SharedMIMEDatabase(reading: "/usr/share/mime/globs2")

    private var byExtension: [String: Entry] = [:]
    private var byName: [String: Entry] = [:]

    /// Reads a database from a file; it is empty if there is no such file.
    init(reading path: String) {
        guard let file = fopen(path, "re") else { return }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        defer { free(line) }
        while getline(&line, &capacity, file) > 0, let start = line {
            add(String(cString: start))
        }
    }

    init(_ text: String) {
        for line in text.split(separator: "\n") { add(String(line)) }
    }

    func type(ofExtension name: String) -> MIMEType? { byExtension[name]?.type }

    func type(ofName name: String) -> MIMEType? { byName[name]?.type }

    private mutating func add(_ line: String) {
        let fields = line.prefix { $0 != "\n" }.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count >= 3, let weight = Int(fields[0]), let type = MIMEType(fields[1]) else { return }
        let glob = fields[2].lowercased()
        let isExtension = glob.hasPrefix("*.")
        let name = isExtension ? String(glob.dropFirst(2)) : glob
        guard !name.isEmpty, !name.contains(where: { "*?[\\".contains($0) }) else { return }
        let entry = Entry(weight: weight, type: type)
        // The entry with the greater weight wins; among equals the first in the file, which the
        // tools of the database sort.
        if isExtension {
            if (byExtension[name]?.weight ?? -1) < weight { byExtension[name] = entry }
        } else if (byName[name]?.weight ?? -1) < weight {
            byName[name] = entry
        }
    }
}
