/// The policies of the collections, by collection id (the last part of a collection's path).
public struct RebasePolicies: Sendable {
    private var byCollection: [String: any RebasePolicy]
    private let others: any RebasePolicy

    /// Creates a set of policies.
    ///
    /// - Parameter others: the policy of collections that are not named.
    public init(_ byCollection: [String: any RebasePolicy] = [:], others: any RebasePolicy = FieldwisePolicy()) {
        self.byCollection = byCollection
        self.others = others
    }

    func policy(of collectionID: String) -> any RebasePolicy { byCollection[collectionID] ?? others }
}
