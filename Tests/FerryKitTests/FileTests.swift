import FerryKit
import FerryKitTestSupport
import Foundation
import Testing

struct Album: DocumentModel {
    static let collection = "albums"
    var title: String
    var cover: FileReference?
    var photos: [String: FileReference] = [:]
    var userId: String?
}

@Suite(.timeLimit(.minutes(1))) struct FileTests {
    let server = MemoryServer()
    let directories = Directories()

    private func openAlbum(_ name: String = "machine") async throws -> (Ferry, Reference<Album>) {
        let (ferry, user) = try await openMachine(.memory(server), directories, name)
        return (ferry, try await ferry.collection(Album.self).add(Album(title: "Summer", userId: user.id)))
    }

    /// Opens a second machine with the documents of the first one.
    private func openOther(_ reference: Reference<Album>, as ferry: Ferry) async throws -> (Ferry, Reference<Album>) {
        try await ferry.account.link(with: .password(email: "ada@example.org", "a long password"))
        let other = try await Ferry.open(.memory(server), state: directories["other"])
        try await other.account.signIn(with: .password(email: "ada@example.org", "a long password"))
        return (other, try other.reference(to: reference.path))
    }

    private func file(_ name: String, _ content: Data) throws -> URL {
        let url = directories[name]
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try content.write(to: url)
        return url
    }

    /// Bytes that do not compress, different for each seed.
    private func noise(_ count: Int, seed: UInt64 = 1) -> Data {
        var state = seed
        return Data(
            (0..<count).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 33)
            })
    }

    @Test func `a file that one machine adds is downloaded by another`() async throws {
        let (ferry, album) = try await openAlbum()
        let content = noise(3 << 20)
        let transfer = try await album.attachments(\.photos).attach(try file("sea.jpg", content))
        #expect(transfer.isUpload && transfer.name == "sea.jpg")
        let entry = try #require(try await album.cached?.photos.values.first)
        #expect(entry.name == "sea.jpg" && entry.type == "image/jpeg" && entry.size == 3 << 20)
        var last: TransferProgress?
        for await progress in transfer.progress { last = progress }
        #expect(last?.state == .finished && last?.fraction == 1 && last?.bytesDone == 3 << 20)
        try await transfer.finished()
        let uploaded = try #require(try await album.cached?.photos.values.first)
        #expect(!uploaded.isUploading && uploaded.sha256.count == 64)
        try await album.attachment(\.cover).attach(Data("small".utf8), name: "cover.txt").finished()
        try await ferry.waitForPendingWrites()

        let (other, same) = try await openOther(album, as: ferry)
        let seen = try #require(try await same.get(.server))
        let photo = try #require(seen.photos.values.first)
        let target = directories["got.jpg"]
        #expect(try await other.files.download(photo, to: target).finished() == target)
        #expect(try Data(contentsOf: target) == content)
        let cover = try #require(seen.cover)
        #expect(try Data(contentsOf: await other.files.local(cover)) == Data("small".utf8))
        await ferry.close()
        await other.close()
    }

    @Test func `an upload waits for the network, is paused, and continues in the next run`() async throws {
        let (ferry, album) = try await openAlbum()
        try await ferry.waitForPendingWrites()
        server.setOffline(true)
        let transfer = try await album.attachment(\.cover).attach(noise(200_000), name: "sea.jpg")
        #expect(try await album.cached?.cover?.isUploading == true)
        transfer.pause()
        for await progress in transfer.progress where progress.state == .paused { break }
        server.setOffline(false)
        await ferry.close()
        await #expect(throws: FerryError.self) { try await transfer.finished() }

        let again = try await Ferry.open(.memory(server), state: directories["machine"])
        var known: Transfer?
        for await transfers in again.files.transfers where !transfers.isEmpty {
            known = transfers.first
            break
        }
        #expect(known?.id == transfer.id && known?.name == "sea.jpg")
        for await status in again.statuses where status.activeTransfers == 1 { break }
        let same = try again.reference(to: album.path, as: Album.self)
        #expect(try await same.cached?.cover?.isUploading == true)
        known?.resume()
        try await known?.finished()
        #expect(try await same.cached?.cover?.isUploading == false)
        for await transfers in again.files.transfers where transfers.isEmpty { break }
        await again.close()
    }

    @Test func `a cancelled upload leaves nothing in the document`() async throws {
        let (ferry, album) = try await openAlbum()
        server.setOffline(true)
        let photos = album.attachments(\.photos)
        let transfer = try await photos.attach(noise(1000), name: "sea.jpg")
        #expect(try await album.cached?.photos.count == 1)
        transfer.cancel()
        let error = await #expect(throws: FerryError.self) { try await transfer.finished() }
        #expect(error?.code == .file)
        #expect(try await album.cached?.photos.isEmpty == true)

        // A file that is removed from the document is not uploaded any more.
        let second = try await photos.attach(noise(1000), name: "sea.jpg")
        try await photos.remove("sea.jpg")
        await #expect(throws: FerryError.self) { try await second.finished() }
        #expect(try await album.cached?.photos.isEmpty == true)
        await ferry.close()
    }

    @Test func `a new version keeps the entry and the old content until it is there`() async throws {
        let (ferry, album) = try await openAlbum()
        let photos = album.attachments(\.photos)
        try await photos.attach(Data("one".utf8), name: "a.txt").finished()
        let before = try #require(try await album.cached?.photos)
        server.setOffline(true)
        let transfer = try await photos.attach(Data("two".utf8), name: "a.txt")
        #expect(try await album.cached?.photos == before)
        server.setOffline(false)
        await ferry.networkChanged()
        try await transfer.finished()
        let after = try #require(try await album.cached?.photos)
        #expect(after.keys == before.keys)
        let file = try #require(after.values.first)
        #expect(try Data(contentsOf: await ferry.files.local(file)) == Data("two".utf8))
        await ferry.close()
    }

    @Test func `each file of a batch has a result`() async throws {
        let (ferry, album) = try await openAlbum()
        let photos = album.attachments(\.photos)
        let doomed = try file("gone.jpg", noise(1000))
        server.setOffline(true)
        let group = try await ferry.files.batch { files in
            for number in 0..<3 { files.save(Data("\(number)".utf8), name: "\(number).txt", to: photos) }
            files.save(Data("other".utf8), name: "0.txt", to: photos)
            try files.save(doomed, to: photos)
        }
        #expect(try await album.cached?.photos.count == 5)
        group.transfers[1].cancel()
        server.setOffline(false)
        await ferry.networkChanged()
        let results = await group.results()
        #expect(results.map { (try? $0.get()) != nil } == [true, false, true, true, true])
        #expect(group.currentProgress.state == .cancelled)
        #expect(try await album.cached?.photos.values.map(\.name).sorted() == ["0.txt", "0.txt", "2.txt", "gone.jpg"])
        await #expect(throws: FerryError.self) {
            try await ferry.files.batch { files in
                files.save(Data(), name: "x.txt", to: photos)
                try files.save(directories["missing"], to: photos)
            }
        }
        #expect(try await album.cached?.photos.count == 4)
        try await ferry.files.batch { $0.remove(from: photos) }
        #expect(try await album.cached?.photos.isEmpty == true)
        await ferry.close()
    }

    @Test func `copies are shared and the oldest ones are removed above the limit`() async throws {
        let (ferry, album) = try await openAlbum()
        let photos = album.attachments(\.photos)
        for number in 1...3 {
            try await photos.attach(noise(100_000, seed: UInt64(number)), name: "\(number).bin").finished()
        }
        let files = try #require(try await album.cached?.photos.values.sorted { $0.name < $1.name })
        #expect(ferry.files.cached(files[0]) == nil)
        async let one = ferry.files.local(files[0])
        async let same = ferry.files.local(files[0])
        #expect(try await one == same)
        #expect(try await one.pathExtension == "bin")
        _ = try await ferry.files.local(files[1])
        // The first one was used last.
        #expect(ferry.files.cached(files[0]) != nil)
        try ferry.files.limitCache(toBytes: 250_000)
        _ = try await ferry.files.local(files[2])
        #expect(files.map { ferry.files.cached($0) != nil } == [true, false, true])
        server.setOffline(true)
        #expect(try Data(contentsOf: await ferry.files.local(files[2])).count == 100_000)
        await ferry.close()
    }

    @Test func `files that cannot be had are errors`() async throws {
        let (ferry, album) = try await openAlbum()
        server.setOffline(true)
        try await album.attachment(\.cover).attach(Data("x".utf8), name: "x.txt")
        let cover = try #require(try await album.cached?.cover)
        let early = await #expect(throws: FerryError.self) { try await ferry.files.local(cover) }
        #expect(early?.code == .file)
        let nowhere = await #expect(throws: FerryError.self) {
            try await album.attachment(\.cover).attach(directories["missing"])
        }
        #expect(nowhere?.code == .file)
        try await album.delete()
        let gone = await #expect(throws: FerryError.self) {
            try await album.attachment(\.cover).attach(Data("x".utf8), name: "x.txt")
        }
        #expect(gone?.code == .notFound)
        await ferry.close()
    }

    @Test func `an edit keeps what it does not know of a file`() async throws {
        let (ferry, album) = try await openAlbum()
        try await album.attachment(\.cover).attach(Data("x".utf8), name: "x.txt").finished()
        var copy = try #require(try await album.get())
        copy.photos["mine"] = copy.cover
        copy.title = "Winter"
        try await copy.save()
        let saved = try #require(try await album.cached)
        #expect(saved.photos["mine"] == saved.cover && saved.cover?.isUploading == false)
        let json = try JSONEncoder().encode(saved.cover)
        let decoded = try JSONDecoder().decode(FileReference.self, from: json)
        #expect(decoded.name == "x.txt" && decoded.sha256 == saved.cover?.sha256 && !decoded.isUploading)
        await ferry.close()
    }
}
