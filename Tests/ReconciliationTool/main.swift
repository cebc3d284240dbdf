import Glibc
import Reconciliation
import ReconciliationTestKit

// Plans random trees and plays random worlds, `reconcile FIRST-SEED PLANS`; each makes half of the plans.
// Prints each case that breaks a law, made smaller, and exits with 1 if there is one.

let arguments = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
guard arguments.count == 2 else {
    print("usage: reconcile FIRST-SEED PLANS")
    exit(2)
}
let plans = Int(clamping: arguments[1]) / 2
var isBroken = false
for campaign in [PlanCampaign.run, { PlanCampaign.playWorlds(from: $0, plans: $1) }] {
    let start = clock()
    let report = campaign(arguments[0], plans)
    let seconds = max(Double(clock() - start), 1) / 1_000_000
    print("\(report.text), \(Int(Double(report.plans) / seconds)) plans a second of processor time")
    isBroken = isBroken || !report.failures.isEmpty
}
let trees = (0..<2_000).map { TreeCase.random(seed: arguments[0] &+ UInt64($0)).trees }
let start = clock()
for _ in 0..<5 { for tree in trees { _ = Planner.plan(tree) } }
let seconds = max(Double(clock() - start), 1) / 1_000_000
print("planning alone: \(Int(Double(5 * trees.count) / seconds)) plans a second of processor time")
exit(isBroken ? 1 : 0)
