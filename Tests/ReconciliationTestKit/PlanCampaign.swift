/// Many random cases in a row.
package struct PlanCampaign: Sendable {
    package var cases = 0
    package var plans = 0
    /// The failed cases, each with its seed, the laws that it breaks, and its smallest form.
    package var failures: [String] = []

    /// Plays cases from a seed on until `plans` plans were made or a few cases have failed.
    package static func run(from first: UInt64, plans: Int) -> PlanCampaign {
        var campaign = PlanCampaign()
        var seed = first
        while campaign.plans < plans, campaign.failures.count < 5 {
            let treeCase = TreeCase.random(seed: seed)
            let broken = PlanLaws.broken(by: treeCase, plans: &campaign.plans)
            if !broken.isEmpty { campaign.failures.append(failure(seed, treeCase)) }
            campaign.cases += 1
            seed += 1
        }
        return campaign
    }

    /// Plays worlds of several machines from a seed on, until `plans` plans were made or a few have failed.
    package static func playWorlds(from first: UInt64, plans: Int, steps: Int = 30) -> PlanCampaign {
        var campaign = PlanCampaign()
        var seed = first
        while campaign.plans < plans, campaign.failures.count < 3 {
            let broken = ModelWorld.play(seed: seed, steps: steps, plans: &campaign.plans)
            if !broken.isEmpty { campaign.failures.append(shortestWorld(seed, steps)) }
            campaign.cases += 1
            seed += 1
        }
        return campaign
    }

    /// The smallest number of steps after which the world of a seed breaks a law.
    private static func shortestWorld(_ seed: UInt64, _ steps: Int) -> String {
        var plans = 0
        let shortest = (1...steps).first { !ModelWorld.play(seed: seed, steps: $0, plans: &plans).isEmpty } ?? steps
        let broken = ModelWorld.play(seed: seed, steps: shortest, plans: &plans)
        return "world \(seed) of \(shortest) steps:\n" + broken.map { "  \($0)\n" }.joined()
    }

    private static func failure(_ seed: UInt64, _ treeCase: TreeCase) -> String {
        let smallest = PlanLaws.shrunk(treeCase)
        var plans = 0
        let broken = PlanLaws.broken(by: smallest, plans: &plans)
        return "seed \(seed):\n\(smallest)\n" + broken.prefix(2).map { "  \($0)\n" }.joined()
    }

    package var text: String {
        (failures + ["\(cases) cases, \(plans) plans, \(failures.count) failed"]).joined(separator: "\n")
    }
}
