import HTTP
import Synchronization

/// Small objects that are put at the same time travel as one archive: a request has its price, on both sides.
extension S3ObjectStore {
    /// Objects up to this size may travel together.
    static let smallSize = 256 << 10
    /// Their contents have at most so many bytes together; with their headers that is what both sides have buffers for.
    static let archiveSize = 896 << 10
    /// Asks the store to take the body apart.
    package static let archiveHeader = "x-amz-meta-snowball-auto-extract"
    /// Of the answer: how many objects were in the archive.
    package static let foundHeader = "x-ferry-objects"

    /// Puts objects as one archive; one by one where there is but one, and where the store refuses or does not know archives.
    func put(_ puts: [PutQueue.Put]) async -> [Result<Void, any Error>] {
        guard puts.count > 1, let first = puts.first, takesArchives.withLock({ $0 }) else {
            return await putSingly(puts)
        }
        var archive = BufferPool.shared.take(TarArchive.size(of: puts.lazy.map(\.content.count)))
        for put in puts { TarArchive.append(put.content, named: put.key.text, to: &archive) }
        TarArchive.end(&archive)
        defer { BufferPool.shared.give(archive) }
        let call = S3Call(
            .put, key: ObjectKey(unchecked: "\(first.key).tar"),
            headers: ["Content-Type": "application/x-tar", Self.archiveHeader: "true"], content: archive)
        do {
            let answer = try await put(call, hash: nil)
            if answer[Self.foundHeader] == "\(puts.count)" { return puts.map { _ in .success(()) } }
            // It is an object now like any other.
            takesArchives.withLock { $0 = false }
            if let key = call.key { try? await delete(key) }
        } catch let error as ObjectStorageError where !error.code.isTransient {
            // One of them may be to blame, and is to be named.
        } catch {
            return puts.map { _ in .failure(error) }
        }
        return await putSingly(puts)
    }

    private func putSingly(_ puts: [PutQueue.Put]) async -> [Result<Void, any Error>] {
        var results: [Result<Void, any Error>] = []
        for put in puts {
            let call = S3Call(
                .put, key: put.key, headers: ["Content-Type": "\(MIMEType.octetStream)"], content: put.content)
            do {
                try await self.put(call, hash: nil)
                results.append(.success(()))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }
}
