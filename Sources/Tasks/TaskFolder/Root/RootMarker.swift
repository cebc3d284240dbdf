/// The file `.ferry/root`, which distinguishes a tasks directory from an empty mount point or
/// another root.
///
/// The format is UTF-8 lines `key: value` with the keys `root`, `account` and `remote`, each once.
/// Lines that start with `#` and unknown keys are skipped. The file has at most 4 KiB.
package struct RootMarker: Hashable, Sendable {
    package static let path = TaskPath.privateDirectory + "/root"
    package static let limit = 4096

    /// A random id that was created when the directory was claimed.
    package var rootID: String
    /// The account for which the directory is synced.
    package var account: String
    /// The URL of the remote.
    package var remote: String

    package init(rootID: String, account: String, remote: String) {
        self.rootID = rootID
        self.account = account
        self.remote = remote
    }

    /// Parses a marker; nil if a key is missing, duplicate or without value.
    package init?(parsing bytes: [UInt8]) {
        guard bytes.count <= RootMarker.limit, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var values: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            guard !value.isEmpty, values.updateValue(String(value), forKey: String(line[..<colon])) == nil else {
                return nil
            }
        }
        guard let rootID = values["root"], let account = values["account"], let remote = values["remote"] else {
            return nil
        }
        self.init(rootID: rootID, account: account, remote: remote)
    }

    /// The content that `init(parsing:)` reads; nil if a value is empty or contains a line break.
    package var bytes: [UInt8]? {
        let values = [rootID, account, remote]
        guard values.allSatisfy({ !$0.isEmpty && !$0.hasPrefix(" ") && !$0.contains(where: \.isNewline) }) else {
            return nil
        }
        let text = """
            # Ferry syncs this directory. This file tells it from a lookalike: leave it in place.
            root: \(rootID)
            account: \(account)
            remote: \(remote)

            """
        return text.utf8.count <= RootMarker.limit ? Array(text.utf8) : nil
    }
}
