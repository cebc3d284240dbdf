package import RulesLanguage
import Synchronization
import SystemIO

/// The rules that the operator has written, as they were last read.
package final class RulesFile: Sendable {
    private let path: String
    private let rules: Mutex<Ruleset>

    /// Reads the rules.
    ///
    /// - Throws: `ServerError` with `.configuration`, which names the line of a mistake.
    package init(_ path: String) throws {
        self.path = path
        rules = Mutex(try Self.read(path))
    }

    /// The rules in force.
    package var current: Ruleset { rules.withLock { $0 } }

    /// Reads the file again. When it throws, the rules stay as they are.
    package func reload() throws {
        let new = try Self.read(path)
        rules.withLock { $0 = new }
    }

    package static func read(_ path: String) throws -> Ruleset {
        do {
            let bytes = try FileSystem.read(path, limit: 1 << 20)
            guard let source = String(validating: bytes, as: UTF8.self) else {
                throw ServerError(.configuration, "The rules in \(path) are not UTF-8.")
            }
            return try Ruleset(parsing: source)
        } catch let error as RulesSyntaxError {
            throw ServerError(
                .configuration, "\(path):\(error.position.line):\(error.position.column): \(error.message)",
                cause: error)
        } catch let error as ServerError {
            throw error
        } catch {
            throw ServerError(.configuration, "The rules in \(path) cannot be read: \(error)", cause: error)
        }
    }
}
