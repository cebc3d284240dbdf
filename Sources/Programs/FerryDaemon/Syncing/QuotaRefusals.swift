import DocumentClient

/// The changes that the server refuses because the account uses as much as it may. They are kept,
/// and sent again once in a while, because nothing tells when there is room.
extension DocumentDatabase {
    /// Why each of them was refused, in the server's words.
    func refusedForQuota() throws -> [String] {
        try pendingMutations(parkedOnly: true).compactMap { mutation in
            guard let reason = mutation.parkedReason, let range = reason.firstRange(of: RemoteError.quotaPrefix),
                reason.hasPrefix("\(RemoteError.Code.quota):")
            else { return nil }
            let text = reason[range.lowerBound...]
            let sentence = text.dropFirst(RemoteError.quotaPrefix.count + 2)
            return sentence.isEmpty ? String(text) : sentence.prefix(1).uppercased() + sentence.dropFirst()
        }
    }

    /// Sends them again.
    func retryRefusedForQuota(limit: Int = .max) throws {
        let refused = try pendingMutations(parkedOnly: true).filter {
            $0.parkedReason?.hasPrefix("\(RemoteError.Code.quota):") == true
        }
        for mutation in refused.prefix(limit) { try retry(mutation.id) }
    }
}
