import FerryKit
import FerryKitTestSupport
import Foundation
import Testing

/// What an anonymous user has made comes along to the account that the user has elsewhere.
@Suite(.timeLimit(.minutes(1))) struct MoveTests {
    let server = MemoryServer()
    let directories = Directories()
    let credential = Credential.password(email: "ada@example.org", "a long password")

    /// Makes an account with a task, and returns its id.
    private func makeAccount() async throws -> String {
        let (ferry, user) = try await openMachine(.memory(server), directories, "first")
        try await ferry.account.link(with: credential)
        try await ferry.collection(Item.self).add(Item(title: "Theirs", userId: user.id))
        try await ferry.waitForPendingWrites()
        await ferry.close()
        return user.id
    }

    private func titles(_ ferry: Ferry, _ user: String) async throws -> [String] {
        try await ferry.collection(Item.self).where { $0.userId == user }.get(.server).map(\.title).sorted()
    }

    @Test func `documents, those below them and files get another owner and keep their ids`() async throws {
        let owner = try await makeAccount()
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let lists = ferry.collection(TaskList.self)
        let list = lists["\(user.id).inbox"]
        try await list.set(TaskList(name: "Inbox", userId: user.id))
        let milk = try await ferry.collection(Item.self).add(
            Item(title: "Milk", tags: [user.id, "a"], listId: list, userId: user.id))
        let rye = try await milk.collection(Subtask.self).add(Subtask(name: "rye", userId: user.id))
        let album = try await ferry.collection(Album.self).add(Album(title: "Summer", userId: user.id))
        try await album.attachment(\.cover).attach(Data("cover".utf8), name: "a.txt").finished()
        try await ferry.waitForPendingWrites()
        // The server does not have this one before the move.
        server.setOffline(true)
        try await ferry.collection(Item.self).add(Item(title: "Bread", userId: user.id))
        server.setOffline(false)

        await #expect(throws: AccountError.self) { try await ferry.account.link(with: credential) }
        let signedIn = try await ferry.account.signIn(with: credential, moving: .everything)
        #expect(signedIn.id == owner && !signedIn.isAnonymous)
        let item = try #require(try await milk.get())
        #expect(item.title == "Milk" && item.userId == owner && item.tags == [owner, "a"])
        #expect(item.listId?.path == "lists/\(owner).inbox")
        #expect(try await item.listId?.get()?.name == "Inbox")
        #expect(try await rye.get()?.userId == owner)
        let cover = try #require(try await album.get()?.cover)
        #expect(try Data(contentsOf: await ferry.files.local(cover)) == Data("cover".utf8))
        try await ferry.waitForPendingWrites()
        #expect(try await ferry.refusals.isEmpty)
        #expect(try await titles(ferry, owner) == ["Bread", "Milk", "Theirs"])
        #expect(try await titles(ferry, user.id).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: directories["machine"].appending(path: "user-\(user.id)").path))
        await ferry.close()

        // Also for the next run of the program.
        let again = try await Ferry.open(.memory(server), state: directories["machine"])
        #expect(await again.account.user?.id == owner)
        await again.close()
    }

    @Test func `the user is asked, and an account with a credential keeps its documents`() async throws {
        let owner = try await makeAccount()
        let (ferry, user) = try await openMachine(.memory(server), directories)
        try await ferry.collection(Item.self).add(Item(title: "Milk", userId: user.id))
        try await ferry.account.signIn(
            with: credential,
            moving: .choose { count in
                #expect(count == 1)
                return false
            })
        #expect(try await titles(ferry, owner) == ["Theirs"])

        let other = Credential.openID(provider: "apple.com", idToken: "token", nonce: Account.nonce().raw)
        let second = try await ferry.account.signIn(with: other, moving: .everything)
        #expect(second.providers == ["apple.com"] && !second.isAnonymous && second.email == nil)
        #expect(try await titles(ferry, second.id).isEmpty)
        await ferry.close()
    }

    @Test func `nothing is moved while the server is away, and then everything`() async throws {
        let owner = try await makeAccount()
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let milk = try await ferry.collection(Item.self).add(Item(title: "Milk", userId: user.id))
        server.setOffline(true)
        await #expect(throws: AccountError.self) {
            try await ferry.account.signIn(with: credential, moving: .everything)
        }
        #expect(await ferry.account.user?.id == user.id)
        #expect(try await milk.get()?.title == "Milk")
        server.setOffline(false)

        // An upload that has not ended would be lost.
        let album = try await ferry.collection(Album.self).add(Album(title: "Summer", userId: user.id))
        server.setOffline(true)
        let transfer = try await album.attachment(\.cover).attach(Data("x".utf8), name: "a.txt")
        // A pause does not stop an attempt that has begun. After the first failure none is running.
        for await progress in transfer.progress where progress.problem != nil { break }
        transfer.pause()
        server.setOffline(false)
        await #expect(throws: AccountError.self) {
            try await ferry.account.signIn(with: credential, moving: .everything)
        }
        #expect(await ferry.account.user?.id == user.id)
        transfer.resume()
        try await transfer.finished()
        try await ferry.account.signIn(with: credential, moving: .everything)
        #expect(try await titles(ferry, owner) == ["Milk", "Theirs"])
        await ferry.close()
    }

    @Test func `a move that ended before its end is repeated`() async throws {
        let owner = try await makeAccount()
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let tasks = ferry.collection(Item.self)
        for title in ["Milk", "Bread"] { try await tasks.add(Item(title: title, userId: user.id)) }
        try await ferry.waitForPendingWrites()
        server.refuseWrites { _ in true }
        await #expect(throws: AccountError.self) {
            try await ferry.account.signIn(with: credential, moving: .everything)
        }
        #expect(try await titles(ferry, user.id) == ["Bread", "Milk"])
        server.refuseWrites { _ in false }
        try await ferry.account.signIn(with: credential, moving: .everything)
        try await ferry.waitForPendingWrites()
        #expect(try await titles(ferry, owner) == ["Bread", "Milk", "Theirs"])
        #expect(try await ferry.refusals.isEmpty)
        await ferry.close()
    }

    @Test func `providers are linked and unlinked`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let (raw, hash) = Account.nonce()
        #expect(raw.count == 64 && hash.count == 64 && raw != hash)
        let apple = Credential.openID(provider: "apple.com", idToken: "token", nonce: raw)
        let linked = try await ferry.account.link(with: apple)
        #expect(linked.id == user.id && !linked.isAnonymous && linked.providers == ["apple.com"])
        try await ferry.account.link(with: credential)
        #expect(await ferry.account.user?.providers == ["apple.com", "password"])
        let unlinked = try await ferry.account.unlink("apple.com")
        #expect(unlinked.providers == ["password"])
        await ferry.close()
    }
}
