import Simulation
import Testing

/// Runs of fixed seeds. `simulate` and `Tests/run.sh --soak` run others.
@Suite(.serialized) struct SeedTests {
    @Test func `the laws hold in every run`() {
        for seed in UInt64(1)...300 {
            let plan = Plan(seed: seed, actionCount: 40)
            let result = Runner.run(plan)
            if !result.violations.isEmpty {
                Issue.record("\(Runner.describe(Runner.run(Runner.shrink(plan))))")
                return
            }
        }
    }

    @Test func `the planner makes of each state what TaskSync makes of it, or its reason is known`() {
        var shadow = ShadowCounts()
        for seed in UInt64(1)...25 {
            shadow.add(Runner.run(Plan(seed: seed, actionCount: 40), isShadowed: true).shadow)
        }
        #expect(shadow.kinds.isEmpty, "\(shadow.text)")
        #expect(shadow.stateCount > 500)
    }

    @Test func `a run is the same alone and after others, down to each call of the disk`() {
        Runner.tracesCalls = true
        defer { Runner.tracesCalls = false }
        let plans = (UInt64(1)...5).map { Plan(seed: $0, actionCount: 30) }
        let stories = plans.map { Runner.run($0).story }
        for (plan, story) in zip(plans, stories).reversed() {
            let again = Runner.run(plan).story
            let differing = zip(story, again).first { $0 != $1 }
            #expect(story == again, "seed \(plan.seed): \(differing.map { "\($0)" } ?? "one goes on")")
        }
    }
}
