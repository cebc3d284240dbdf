/// The policy of each collection, by collection id (the last part of its path).
public struct RebasePolicies: Sendable {
    private var byCollection: [String: any RebasePolicy]
    private let others: any RebasePolicy

    /// - Parameter others: for the collections that are not named.
    public init(_ byCollection: [String: any RebasePolicy] = [:], others: any RebasePolicy = FieldwisePolicy()) {
        self.byCollection = byCollection
        self.others = others
    }

    func policy(of collectionID: String) -> any RebasePolicy { byCollection[collectionID] ?? others }
}
