import Glibc
import SystemIO
import SystemTestKit

extension TemporaryDirectory {
    struct Failure: Error {}

    func file(_ name: String, _ content: [UInt8]) throws -> String {
        let path = "\(self.path)/\(name)"
        guard let file = fopen(path, "w") else { throw Failure() }
        defer { fclose(file) }
        guard fwrite(content, 1, content.count, file) == content.count else { throw Failure() }
        return path
    }

    /// Creates a file with old times, so that any later change shows in its times.
    func restingFile(_ name: String, _ content: [UInt8]) throws -> String {
        let path = try file(name, content)
        var times = [timeval(tv_sec: 1_000_000_000, tv_usec: 0), timeval(tv_sec: 1_000_000_000, tv_usec: 0)]
        guard utimes(path, &times) == 0 else { throw Failure() }
        return path
    }

    func read(_ name: String) throws -> [UInt8] {
        guard let file = fopen("\(path)/\(name)", "r") else { throw Failure() }
        defer { fclose(file) }
        var content: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = fread(&part, 1, part.count, file), count > 0 { content += part[..<count] }
        return content
    }

    /// Returns all files below, with paths relative to this directory.
    func names(below directory: String = "") -> [String] {
        guard let stream = opendir(path + "/" + directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name != ".", name != ".." else { continue }
            let relative = directory.isEmpty ? name : "\(directory)/\(name)"
            names += Int32(entry.pointee.d_type) == Int32(DT_DIR) ? self.names(below: relative) : [relative]
        }
        return names.sorted()
    }
}
