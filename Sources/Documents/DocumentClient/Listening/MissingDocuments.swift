import DocumentModel

/// The documents that are to be read because a target lost them without a reason. A value: decides
/// which to ask for next, and what an answer means.
struct MissingDocuments: Sendable {
    private static let limit = 300

    private var names: [DocumentName] = []
    /// Documents that are asked for alone, because one of those asked for with them is damaged.
    private var alone: [DocumentName] = []
    /// Whether the remote does not answer now.
    private var isWaiting = false
    private var nameCount = Self.limit

    /// Adds documents, with which all are asked for again.
    mutating func add(_ more: [DocumentName]) {
        names += more
        isWaiting = false
    }

    /// Returns the documents to ask for next; nil if there are none now.
    mutating func next() -> [DocumentName]? {
        if let name = alone.popLast() { return [name] }
        guard !names.isEmpty, !isWaiting else { return nil }
        let next = Array(names.prefix(nameCount))
        names.removeFirst(next.count)
        return next
    }

    /// Takes the answer to a question. Returns the answers to apply; nil stands for documents that
    /// the remote does not show.
    mutating func answered(
        _ question: [DocumentName], _ outcome: ReadOutcome
    ) -> [(names: [DocumentName], answer: RemoteRead?)] {
        switch outcome {
        case .later:
            names += question
            isWaiting = true
            return []
        case .refused(.permission) where question.count > 1:
            // One that the account may not read hides the others, so fewer are asked for.
            names = question + names
            nameCount = question.count / 2
            return []
        case .refused(.damaged):
            // One of them is damaged. Its local copy is kept.
            if question.count > 1 { alone = question }
            return []
        case .read(let answer):
            nameCount = min(Self.limit, nameCount * 2)
            return [(question, answer)]
        case .refused:
            nameCount = min(Self.limit, nameCount * 2)
            return [(question, nil)]
        }
    }
}
