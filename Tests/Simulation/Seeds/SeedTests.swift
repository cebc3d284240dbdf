import Simulation
import Testing

/// The same seeds each time; `simulate` and `Tests/run.sh --soak` run others.
@Suite(.serialized) struct SeedTests {
    @Test func `the laws hold in every run`() {
        for seed in UInt64(1)...60 {
            let plan = Plan(seed: seed, actionCount: 25)
            let result = Runner.run(plan)
            if !result.violations.isEmpty {
                Issue.record("\(Runner.describe(Runner.run(Runner.shrink(plan))))")
                return
            }
        }
    }
}
