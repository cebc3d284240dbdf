import Cryptography
import HTTPMessages
import Synchronization
import Ustar

/// Archives: small objects that are put or read at the same time are sent together, because each
/// request has a fixed cost on both sides.
extension S3ObjectStore {
    /// The maximum size in bytes of an object in an archive.
    static let smallSize = 256 << 10
    /// The maximum number of bytes of content in one uploaded archive. With its headers it fills
    /// the buffers on both sides.
    static let archiveSize = 1792 << 10
    /// The maximum number of bytes that are requested as one archive; objects that are compressed
    /// have fewer.
    static let answerSize = 1792 << 10
    /// The maximum number of objects that are requested as one archive.
    package static let namesLimit = 256
    /// The header field that asks the store to unpack the body.
    package static let archiveHeader = "x-amz-meta-snowball-auto-extract"
    /// The header field of a response with the number of objects in the archive.
    package static let foundHeader = "x-ferry-objects"
    /// The query item that asks a bucket of `ferry-server` for the objects that the body names, one
    /// per line. The response is an archive in that order, without the objects that do not exist,
    /// cannot be read, or would make the archive too long.
    package static let archiveQuery = "x-ferry-archive"

    struct SmallPut: Sendable {
        let key: ObjectKey
        let content: [UInt8]
    }

    struct SmallRead: Sendable {
        let key: ObjectKey
        /// The maximum number of bytes.
        let limit: Int
    }

    static func canTravelTogether(_ key: ObjectKey, _ size: Int) -> Bool {
        size <= smallSize && Ustar.canName(key.text) && !key.text.utf8.contains(UInt8(ascii: "\n"))
    }

    /// Puts objects as one archive. They are put one by one if there is only one, or if the store
    /// rejects archives or does not support them.
    func put(_ puts: [SmallPut]) async -> [Result<Void, any Error>] {
        guard puts.count > 1, let first = puts.first, takesArchives.withLock({ $0 }) else {
            return await singly(puts, putSingly)
        }
        var archive = BufferPool.shared.take(Ustar.size(of: puts.lazy.map(\.content.count)))
        for put in puts { Ustar.append(put.content, named: put.key.text, to: &archive) }
        Ustar.end(&archive)
        defer { BufferPool.shared.give(archive) }
        let call = S3Call(
            .put, key: ObjectKey(unchecked: "\(first.key).tar"),
            headers: ["Content-Type": "application/x-tar", Self.archiveHeader: "true"], content: archive)
        do {
            let answer = try await put(call, hash: nil)
            if answer[Self.foundHeader] == "\(puts.count)" { return puts.map { _ in .success(()) } }
            // The store does not unpack archives and has stored this one as an ordinary object.
            takesArchives.withLock { $0 = false }
            if let key = call.key { try? await delete(key) }
        } catch let error as ObjectStorageError where !error.code.isTransient {
            // One of the objects may be the cause. Putting them one by one finds out which.
        } catch {
            return puts.map { _ in .failure(error) }
        }
        return await singly(puts, putSingly)
    }

    private func putSingly(_ put: SmallPut) async throws {
        let call = S3Call(
            .put, key: put.key, headers: ["Content-Type": "\(MIMEType.octetStream)"], content: put.content)
        try await self.put(call, hash: nil)
    }

    /// Reads objects as one archive. They are read one by one if there is only one, if the store
    /// rejects archives or does not support them, or if they are missing from the response.
    func read(_ reads: [SmallRead]) async -> [Result<[UInt8], any Error>] {
        guard reads.count > 1, givesArchives.withLock({ $0 }) else { return await singly(reads, readSingly) }
        var found: [String: [UInt8]]
        do {
            found = try await readArchive(reads)
        } catch let error as ObjectStorageError where !error.code.isTransient {
            found = [:]
        } catch {
            return reads.map { _ in .failure(error) }
        }
        var results: [Result<[UInt8], any Error>] = []
        for read in reads {
            if let content = found[read.key.text], content.count <= read.limit {
                results.append(.success(content))
            } else {
                // A separate request tells why the object cannot be read.
                results += await singly([read], readSingly)
            }
        }
        return results
    }

    private func readArchive(_ reads: [SmallRead]) async throws -> [String: [UInt8]] {
        let what = "cannot get \(reads.count) objects"
        let names = Array(reads.lazy.map(\.key.text).joined(separator: "\n").utf8)
        var call = S3Call(
            .post, query: [(Self.archiveQuery, "")], headers: ["Content-Type": "text/plain"], content: names)
        call.payload = .signed(SHA256.hash(names))
        let response = try await send(call, what)
        guard response.status == .ok, response.headers[Self.foundHeader] != nil,
            let length = response.headers.contentLength
        else {
            // A server of an earlier version.
            if response.status == .methodNotAllowed { givesArchives.withLock { $0 = false } }
            throw try await refusal(response).error(what)
        }
        guard length <= Ustar.size(of: reads.lazy.map(\.limit)) else {
            throw ObjectStorageError(.invalid, "\(what): they have \(length) bytes together, more than expected")
        }
        var archive = BufferPool.shared.take(length)
        defer { BufferPool.shared.give(archive) }
        do {
            try await response.body.appendRest(to: &archive)
        } catch let error as HTTPError {
            throw Self.error(error, what)
        }
        do {
            return Dictionary(try Ustar.files(in: archive).map { ($0.name, Array($0.content)) }) { $1 }
        } catch {
            throw ObjectStorageError(.invalid, error.message)
        }
    }

    private func readSingly(_ read: SmallRead) async throws -> [UInt8] {
        try await get(read.key, range: nil).collect(limit: read.limit)
    }

    private func singly<Request, Answer>(
        _ requests: [Request], _ send: (Request) async throws -> Answer
    ) async -> [Result<Answer, any Error>] {
        var results: [Result<Answer, any Error>] = []
        for request in requests {
            do { results.append(.success(try await send(request))) } catch { results.append(.failure(error)) }
        }
        return results
    }
}
