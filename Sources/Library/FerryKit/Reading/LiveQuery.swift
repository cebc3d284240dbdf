public import Observation
import Synchronization

/// The results of a query, kept up to date for views.
///
/// A view that reads `documents` is updated by observation. The subscription ends with the object.
@MainActor public final class LiveQuery<Model: DocumentModel>: Observable {
    private let query: Query<Model>
    private let registrar = ObservationRegistrar()
    private var count: Int?
    private var latest: QuerySnapshot<Model>?
    private var failure: (any Error)?
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// Begins to watch a query.
    public init(_ query: Query<Model>) {
        self.query = query
        count = query.limitCount
        start()
    }

    deinit { task.withLock { $0.take() }?.cancel() }

    /// The results; nil until the first ones are known.
    public var documents: QuerySnapshot<Model>? {
        registrar.access(self, keyPath: \.documents)
        return latest
    }

    /// The error that ended the subscription; nil while it lasts.
    public var problem: (any Error)? {
        registrar.access(self, keyPath: \.problem)
        return failure
    }

    /// Extends a query with a limit by a number of documents.
    public func loadMore(_ more: Int) {
        guard let before = count, more > 0 else { return }
        count = before + min(more, Int(Int32.max) - before)
        start()
    }

    private func start() {
        let query = count.map { self.query.limited(to: $0) } ?? self.query
        let new = Task { [weak self] in
            do {
                for try await snapshot in query.snapshots { self?.show(snapshot) }
            } catch {
                self?.fail(error)
            }
        }
        let old = task.withLock { task in
            defer { task = new }
            return task
        }
        old?.cancel()
    }

    private func show(_ snapshot: QuerySnapshot<Model>) {
        registrar.withMutation(of: self, keyPath: \.documents) { latest = snapshot }
    }

    private func fail(_ error: any Error) {
        registrar.withMutation(of: self, keyPath: \.problem) { failure = error }
    }
}
