// An app that begins without asking for anything, and a user who has an account elsewhere already:
// what was made before the sign-in comes along.
//
//     swift run Migration http://localhost:8080 /tmp/phone ada@example.org "a long password"
//     swift run Migration http://localhost:8080 /tmp/tablet ada@example.org "a long password"

import FerryKit
import Foundation

struct Trip: DocumentModel {
    static let collection = "trips"
    var name: String
    var ticket: FileReference?
    var userId: String
}

struct Stop: DocumentModel {
    typealias Parent = Trip
    static let collection = "stops"
    var place: String
    var userId: String
}

@main struct Migration {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let url = URL(string: arguments[1]) else {
            print("usage: Migration URL DIRECTORY EMAIL PASSWORD")
            exit(2)
        }
        let directory = URL(filePath: arguments[2])
        // All models are given, so that all documents are found.
        let ferry = try await Ferry.open(.ferry(url), state: directory, models: [Trip.self, Stop.self])
        let user = try await ferry.account.signInAnonymously()

        let trip = try await ferry.collection(Trip.self).add(
            Trip(name: "Trip of \(directory.lastPathComponent)", userId: user.id))
        try await trip.collection(Stop.self).add(Stop(place: "Oslo", userId: user.id))
        try await trip.attachment(\.ticket).attach(Data("ticket".utf8), name: "ticket.txt").finished()

        try await signIn(ferry, with: .password(email: arguments[3], arguments[4]))
        guard let owner = await ferry.account.user else { return }
        try await ferry.waitForPendingWrites()
        let trips = ferry.collection(Trip.self).where { $0.userId == owner.id }.order(by: \.name)
        for trip in try await trips.get(.server) {
            let stops = try await trip.reference.collection(Stop.self).all.get(.server)
            var ticket = "none"
            if let file = trip.ticket {
                ticket = try String(contentsOf: await ferry.files.local(file), encoding: .utf8)
            }
            print("\(trip.name): \(stops.map(\.place).joined(separator: ", ")), \(ticket)")
        }
        for refusal in try await ferry.refusals { print("refused:", refusal.path, refusal.reason) }
        await ferry.close()
    }
    /// Gives the account a credential, or moves to the account that has it already.
    private static func signIn(_ ferry: Ferry, with credential: Credential) async throws {
        let before = await ferry.account.user
        do {
            try await ferry.account.link(with: credential)
            print("linked:", await ferry.account.user?.id == before?.id ? "the same id" : "another id")
        } catch .credentialInUse(let taken) {
            let owner = try await ferry.account.signIn(with: taken, moving: .choose(ask))
            print("signed in:", owner.id == before?.id ? "the same id" : "another id")
        }
    }

    /// An app would ask the user.
    private static func ask(_ count: Int) async -> Bool {
        print("moving \(count) documents")
        return true
    }
}
