import ServerData
import SystemIO
import SystemService

extension CollectionService {
    /// Creates the collections of the server's own objects, and of those in another store if the
    /// server has its keys.
    init(_ configuration: ServerConfiguration, logger: Logger) throws {
        let layout = DataLayout(path: configuration.data)
        var collections: [Collection] = []
        // What is needed here is read from the documents in the data directory.
        if configuration.database == nil {
            collections.append {
                try await SerialThread.runOnce { isCancelled in
                    try ObjectCollection(
                        layout: layout, now: WallClock.microseconds(),
                        grace: ObjectCollection.microseconds(days: configuration.objectsGraceDays),
                        keepsAttachments: configuration.objects == nil, isCancelled: isCancelled
                    ).run(changes: true)
                }
            }
        }
        if let collection = try ForeignCollection(configuration) {
            collections.append { try await collection.run(changes: true) }
        }
        self.init(collections, logger: logger)
    }
}
