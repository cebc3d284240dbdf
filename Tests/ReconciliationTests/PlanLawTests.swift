import Reconciliation
import ReconciliationTestKit
import Testing

/// The laws of plans on random trees and worlds. `reconcile` of the release build plays a million plans.
@Suite struct PlanLawTests {
    @Test func `plans of random trees keep the laws`() {
        let campaign = PlanCampaign.run(from: 1, plans: 20_000)
        #expect(campaign.failures == [])
    }

    @Test func `machines that exchange their changes in any order come to the same files`() {
        let campaign = PlanCampaign.playWorlds(from: 1, plans: 10_000)
        #expect(campaign.failures == [])
    }

    @Test func `planning node by node comes to rest as planning all of them does`() {
        for seed: UInt64 in 1...500 {
            let trees = TreeCase.random(seed: seed).trees
            var (replica, server) = (ModelReplica(trees), ModelServer(trees.remote))
            var rounds = 0
            while !Planner.plan(replica.trees, replica.conditions).operations.isEmpty, rounds < 12 {
                for id in replica.trees.ids.sorted().reversed() {
                    let plan = Planner.plan(replica.trees, dirty: [id], replica.conditions)
                    #expect(replica.perform(plan.operations, on: &server) == [], "seed \(seed)")
                }
                rounds += 1
            }
            #expect(rounds < 12, "seed \(seed)")
        }
    }

    @Test func `files that a user moved, swapped, edited, and copied are recognized`() {
        let wrong = (1...20_000).lazy.flatMap { IdentificationCase.misidentified(seed: $0) }.prefix(3)
        #expect(Array(wrong) == [])
    }

    @Test func `equal seeds give equal plans`() {
        for seed: UInt64 in 1...200 {
            let (first, second) = (TreeCase.random(seed: seed), TreeCase.random(seed: seed))
            #expect(first == second)
            #expect(Planner.plan(first.trees) == Planner.plan(second.trees))
        }
    }
}
