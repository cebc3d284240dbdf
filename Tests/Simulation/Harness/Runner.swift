import Glibc

/// Runs plans, and shortens those that fail.
package enum Runner {
    /// The result of a run.
    package struct Result: Sendable {
        package let seed: UInt64
        package let violations: [String]
        package let story: [String]
        package let userActionCount: Int
        package let jobCount: Int
        package var shadow = ShadowCounts()
    }

    package static let defaultActionCount = 150
    /// Whether stories include Ferry's calls of the disk.
    nonisolated(unsafe) package static var tracesCalls = false

    /// Runs a plan.
    ///
    /// - Parameter isShadowed: Whether the planner plans from the states after actions of users.
    package static func run(_ plan: Plan, isShadowed: Bool = false) -> Result {
        let scheduler = Scheduler(seed: plan.seed)
        return scheduler.takingOver {
            do {
                let simulation = try Simulation(plan, scheduler, scratch: scratch, isShadowed: isShadowed)
                simulation.run()
                let shadow = simulation.shadow()
                return Result(
                    seed: plan.seed, violations: simulation.violations, story: simulation.story,
                    userActionCount: simulation.userActionCount, jobCount: scheduler.jobCount, shadow: shadow)
            } catch {
                return Result(
                    seed: plan.seed, violations: ["cannot begin: \(error)"], story: [], userActionCount: 0, jobCount: 0)
            }
        }
    }

    /// A directory in memory for state files.
    package static let scratch: String = {
        for parent in ["/dev/shm", "/tmp"] {
            var template = Array("\(parent)/ferry-simulation-XXXXXX".utf8CString)
            if mkdtemp(&template) != nil {
                // Each run removes its own files.
                atexit { _ = rmdir(Runner.scratch) }
                return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
        return "/tmp"
    }()

    /// Returns the kind of a violation, without the names in it.
    private static func law(_ violation: String) -> String {
        [
            "comes to rest", "lost:", "unseen", "is back", "is in the trash", "times instead", "a restart", "by itself",
            "has ",
        ].first { violation.contains($0) } ?? ""
    }

    /// Returns the shortest plan found that still fails in the same way. Ever smaller parts are
    /// left out as long as that works.
    package static func shrink(_ plan: Plan, attempts: Int = 400) -> Plan {
        let wanted = run(plan).violations.first.map(law)
        var plan = plan
        var attempts = attempts
        var size = max(1, plan.actions.count / 2)
        while attempts > 0 {
            var start = 0
            var hasShrunk = false
            while start < plan.actions.count, attempts > 0 {
                var shorter = plan
                shorter.actions.removeSubrange(start..<min(start + size, plan.actions.count))
                attempts -= 1
                if run(shorter).violations.first.map(law) == wanted {
                    plan = shorter
                    hasShrunk = true
                } else {
                    start += size
                }
            }
            if size == 1, !hasShrunk { break }
            size = max(1, size / 2)
        }
        return plan
    }

    /// Returns a failed run as text for people.
    package static func describe(_ result: Result) -> String {
        "seed \(result.seed):\n  " + result.violations.prefix(12).joined(separator: "\n  ") + "\n"
            + result.story.map { "    \($0)" }.joined(separator: "\n")
    }
}
