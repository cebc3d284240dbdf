import FerryKit
import FerryKitTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(1))) struct AccountTests {
    let server = MemoryServer()
    let directories = Directories()

    @Test func `without an account there are no documents`() async throws {
        let ferry = try await Ferry.open(.memory(server), state: directories["machine"])
        #expect(ferry.status.connection == .needsSignIn)
        let error = await #expect(throws: FerryError.self) {
            try await ferry.collection(TaskList.self).add(TaskList(name: "a"))
        }
        #expect(error?.code == .notSignedIn)
        await ferry.close()
    }

    @Test func `an anonymous account becomes a lasting one and keeps its documents`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let milk = try await ferry.collection(Item.self).add(Item(title: "Milk", userId: user.id))
        #expect(user.isAnonymous)
        let linked = try await ferry.account.link(with: .password(email: "ada@example.org", "secret"))
        #expect(linked.id == user.id && !linked.isAnonymous && linked.email == "ada@example.org")
        #expect(try await milk.get()?.title == "Milk")
        let named = try await ferry.account.setDisplayName("Ada")
        #expect(named.displayName == "Ada")
        try await ferry.waitForPendingWrites()
        await ferry.close()

        let other = try await Ferry.open(.memory(server), state: directories["other"])
        let same = try await other.account.signIn(with: .password(email: "ada@example.org", "secret"))
        #expect(same.id == user.id)
        #expect(try await other.reference(to: milk.path, as: Item.self).get()?.title == "Milk")
        await other.close()
    }

    @Test func `a credential in use is told`() async throws {
        let (one, _) = try await openMachine(.memory(server), directories, "one")
        let credential = Credential.password(email: "ada@example.org", "secret")
        try await one.account.link(with: credential)
        let (two, _) = try await openMachine(.memory(server), directories, "two")
        do {
            try await two.account.link(with: credential)
            Issue.record("The credential was accepted twice.")
        } catch .credentialInUse(let used) {
            #expect(used == credential)
        }
        let wrong = await #expect(throws: AccountError.self) {
            try await two.account.signIn(with: .password(email: "ada@example.org", "guess"))
        }
        guard case .wrongCredential? = wrong else { throw try #require(wrong) }
        await one.close()
        await two.close()
    }

    @Test func `a link in a mail signs in, and gives an anonymous account its address`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let email = "ada@example.org"
        try await ferry.account.sendSignInLink(to: email)
        let link = try #require(server.signInLink(to: email))
        #expect(Account.isSignInLink(try #require(URL(string: link))))
        #expect(!Account.isSignInLink(try #require(URL(string: "https://memory.invalid/?mode=verifyEmail&oobCode=x"))))
        let linked = try await ferry.account.link(with: .emailLink(email: email, link))
        #expect(linked.id == user.id && linked.email == email && linked.providers == ["password"])
        await ferry.close()

        let (other, _) = try await openMachine(.memory(server), directories, "other")
        let used = await #expect(throws: AccountError.self) {
            try await other.account.signIn(with: .emailLink(email: email, link))
        }
        guard case .expiredLink? = used else { throw try #require(used) }
        // The address is in use; the same link signs in to its account, with what is here.
        let milk = try await other.collection(Item.self).add(
            Item(title: "Milk", userId: try #require(await other.account.user?.id)))
        try await other.account.sendSignInLink(to: email)
        let second = Credential.emailLink(email: email, try #require(server.signInLink(to: email)))
        let refusal = await #expect(throws: AccountError.self) { try await other.account.link(with: second) }
        guard case .credentialInUse(let taken)? = refusal else { throw try #require(refusal) }
        server.refuseWrites { _ in true }
        await #expect(throws: AccountError.self) { try await other.account.signIn(with: taken, moving: .everything) }
        server.refuseWrites { _ in false }
        // The link was used by the call that failed, and is not needed again.
        #expect(try await other.account.signIn(with: taken, moving: .everything).id == user.id)
        #expect(try await milk.get()?.userId == user.id)
        await other.close()
    }

    @Test func `a question that is answered with no uses a link once`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        try await ferry.collection(Item.self).add(Item(title: "Milk", userId: user.id))
        try await ferry.account.sendSignInLink(to: "ada@example.org")
        let link = try #require(server.signInLink(to: "ada@example.org"))
        let signedIn = try await ferry.account.signIn(
            with: .emailLink(email: "ada@example.org", link), moving: .choose { _ in false })
        #expect(signedIn.id != user.id && signedIn.email == "ada@example.org")
        await ferry.close()
    }

    @Test func `a custom token signs in to its account, even to the one that is signed in`() async throws {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let milk = try await ferry.collection(Item.self).add(Item(title: "Milk", userId: user.id))
        let known = try await ferry.account.signIn(with: .customToken(user.id), moving: .everything)
        #expect(known.id == user.id && !known.isAnonymous && known.providers == ["custom"])
        #expect(try await milk.get(.server)?.title == "Milk")
        await #expect(throws: AccountError.self) { try await ferry.account.link(with: .customToken("ada")) }
        #expect(try await ferry.account.signIn(with: .customToken("ada")).id == "ada")
        #expect(try await milk.get(.cache) == nil)
        await ferry.close()
    }

    @Test func `accounts of one machine do not see each other's documents`() async throws {
        let (ferry, first) = try await openMachine(.memory(server), directories)
        try await ferry.account.link(with: .password(email: "ada@example.org", "secret"))
        let milk = try await ferry.collection(Item.self).add(Item(title: "Milk", userId: first.id))
        try await ferry.account.signOut()
        #expect(await ferry.account.user == nil)
        let second = try await ferry.account.signInAnonymously()
        #expect(second.id != first.id)
        #expect(try await ferry.reference(to: milk.path, as: Item.self).cached == nil)
        try await ferry.account.signIn(with: .password(email: "ada@example.org", "secret"))
        #expect(try await ferry.reference(to: milk.path, as: Item.self).cached?.title == "Milk")
        try await ferry.account.signOut(erasing: true)
        try await ferry.account.signIn(with: .password(email: "ada@example.org", "secret"))
        #expect(try await ferry.reference(to: milk.path, as: Item.self).cached == nil)
        await ferry.close()
    }

    @Test func `users reports each change`() async throws {
        let ferry = try await Ferry.open(.memory(server), state: directories["machine"])
        var users = ferry.account.users.makeAsyncIterator()
        #expect(await users.next() == .some(nil))
        let user = try await ferry.account.signInAnonymously()
        #expect(await users.next() == user)
        try await ferry.account.delete()
        #expect(await users.next() == .some(nil))
        await ferry.close()
    }
}
