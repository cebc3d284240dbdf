import DocumentClient

/// Changes that the server refuses because the account has reached its quota. They are kept and
/// retried from time to time, because the server does not report when there is room again.
extension DocumentDatabase {
    /// Returns the server's reasons for each refusal.
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

    /// Sends the refused changes again, at most `limit` of them.
    func retryRefusedForQuota(limit: Int = .max) throws {
        let refused = try pendingMutations(parkedOnly: true).filter {
            $0.parkedReason?.hasPrefix("\(RemoteError.Code.quota):") == true
        }
        for mutation in refused.prefix(limit) { try retry(mutation.id) }
    }
}
