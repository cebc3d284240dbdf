import Glibc
import Simulation

// simulate [--seeds A-B,C,... | --first A] [--share K/N] [--minutes N] [--actions N] [--failures N]
// [--often ACTION] [--shrink] [--progress] [--shadow]
//
// Runs plans and reports each that violates a law. Without --seeds and --first it uses new seeds.
// With --share it runs the K-th of each N. With --shadow the planner plans from the state after each action of a user,
// and its differences from TaskSync are reported, which fail the run unless their reasons are known.

// A run can be repeated only if sets and dictionaries have the same order each time.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
    setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
    execv("/proc/self/exe", CommandLine.unsafeArgv)
}

func value(_ name: String) -> String? {
    guard let place = CommandLine.arguments.firstIndex(of: name), place + 1 < CommandLine.arguments.count else {
        return nil
    }
    return CommandLine.arguments[place + 1]
}

func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

func tellSeed(_ seed: UInt64) { "seed \(seed)\n".withCString { _ = write(STDERR_FILENO, $0, strlen($0)) } }

// Continuations for which a killed process waits are never resumed, so its memory is never freed.
// After this number of runs the program restarts itself with the same arguments and its counts so
// far.
let runsOfOneImage = 500
var counted = getenv("SIMULATE_COUNTED").map { String(cString: $0).split(separator: " ").compactMap { Int($0) } } ?? []
let first =
    value("--first").flatMap { UInt64($0) } ?? counted.first.map { UInt64(clamping: $0) }
    ?? UInt64.random(in: 1_000_000..<1_000_000_000)
if counted.count != 5 { counted = [Int(clamping: first), 0, 0, 0, 0] }
var (next, done, runs, failed) = (counted[1], counted[2], counted[3], counted[4])
let ranges = value("--seeds").map { list in
    list.split(separator: ",").compactMap { range -> ClosedRange<UInt64>? in
        let bounds = range.split(separator: "-").compactMap { UInt64($0) }
        guard let first = bounds.first, let last = bounds.last, first <= last else { return nil }
        return first...last
    }
}
let share = (value("--share") ?? "1/1").split(separator: "/").compactMap { Int($0) }
let (part, parts) = share.count == 2 ? (share[0], max(1, share[1])) : (1, 1)
let minutes = value("--minutes").flatMap(Double.init) ?? .infinity
let actions = value("--actions").flatMap { Int($0) } ?? Runner.defaultActionCount
let often = value("--often").flatMap { Action.Kind(rawValue: $0) }
Runner.tracesCalls = ["--story", "--trace"].allSatisfy(CommandLine.arguments.contains)
let runsBefore = runs
let isShadowed = CommandLine.arguments.contains("--shadow")
var shadow = ShadowCounts()
for (place, seed) in (ranges ?? [first...UInt64.max]).lazy.joined().enumerated()
where place % parts == part - 1 && place >= next {
    // The processor time of the process includes all its images.
    if processorSeconds() >= minutes * 60 { break }
    if runs - runsBefore == runsOfOneImage {
        if isShadowed, !shadow.kinds.isEmpty { break }
        setenv("SIMULATE_COUNTED", "\(first) \(place) \(done) \(runs) \(failed)", 1)
        fflush(nil)
        rmdir(Runner.scratch)
        execv("/proc/self/exe", CommandLine.unsafeArgv)
    }
    // Print the seed first, to identify a run that does not end.
    if CommandLine.arguments.contains("--progress") { tellSeed(seed) }
    let plan = Plan(seed: seed, actionCount: actions, often: often)
    let result = Runner.run(plan, isShadowed: isShadowed)
    shadow.add(result.shadow)
    done += result.userActionCount
    runs += 1
    if CommandLine.arguments.contains("--story") { print(Runner.describe(result)) }
    if !result.violations.isEmpty {
        failed += 1
        print("FAILED seed \(seed): \(result.violations[0])")
        print(
            "    its story: simulate --seeds \(seed) --actions \(actions)\(often.map { " --often \($0)" } ?? "") --shrink"
        )
        fflush(nil)
        if CommandLine.arguments.contains("--shrink") {
            let short = Runner.shrink(plan)
            Runner.tracesCalls = CommandLine.arguments.contains("--trace")
            print(Runner.describe(Runner.run(short)))
            Runner.tracesCalls = false
        }
        if failed >= (value("--failures").flatMap { Int($0) } ?? 1) { break }
    }
}
if isShadowed { print(shadow.text) }
let spent = processorSeconds()
print(
    "\(runs) plans of \(value("--seeds") ?? "\(first)-"), \(done) actions of users in \((spent * 10).rounded() / 10) s of processor time: \(Int(Double(done) / spent)) a second; \(failed) failed"
)
exit(failed == 0 && shadow.kinds.isEmpty ? 0 : 1)
