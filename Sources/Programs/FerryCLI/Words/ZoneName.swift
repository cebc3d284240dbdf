import Glibc
import SystemIO

/// The name of a time zone.
enum ZoneName {
    /// Returns the name of this machine's zone; nil if it has none, such as a zone that is a copied file.
    static var ofThisMachine: String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/etc/localtime", &buffer, buffer.count)
        let link = count < 0 ? "" : String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name(variable: ProcessEnvironment["TZ"], link: link)
    }

    /// - Parameters:
    ///   - variable: The variable `TZ`.
    ///   - link: The target of the link `/etc/localtime`.
    static func name(variable: String?, link: String) -> String? {
        if let variable, !variable.isEmpty {
            let name = variable.drop { $0 == ":" }
            // A rule such as `CET-1CEST` or a path is no name.
            return name.first?.isLetter == true && !name.contains(where: { ",<".contains($0) })
                && (name.contains("/") || name == "UTC") ? String(name) : nil
        }
        let parts = link.split(separator: "/")
        guard let start = parts.firstIndex(of: "zoneinfo"), start + 1 < parts.count else { return nil }
        return parts[(start + 1)...].joined(separator: "/")
    }
}
