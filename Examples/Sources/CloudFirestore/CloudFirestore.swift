// The same code with Cloud Firestore and Firebase Authentication, and with emulators of them: that of
// ferry-server, or Google's.
//
//     swift run CloudFirestore my-project MY-API-KEY /tmp/cloud
//     swift run CloudFirestore --emulator localhost:8081 http://localhost:8080 /tmp/cloud

import FerryKit
import Foundation

struct City: DocumentModel {
    static let collection = "cities"
    var name: String
    var population: Int
    var place: GeoPoint
    var founded: Date?
    var userId: String
}

@main struct CloudFirestore {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let server: Server
        if arguments.count == 4, arguments.first == "--emulator", let accounts = URL(string: arguments[3]) {
            server = .emulator(host: arguments[2], project: "demo-project", accounts: accounts)
        } else if arguments.count == 3 {
            server = .firestore(project: arguments[1], apiKey: arguments[2])
        } else {
            print("usage: CloudFirestore PROJECT API-KEY DIRECTORY")
            print("       CloudFirestore --emulator HOST:PORT ACCOUNTS-URL DIRECTORY")
            exit(2)
        }
        let ferry = try await Ferry.open(server, state: URL(filePath: arguments.last ?? ""))
        let user = try await ferry.account.signInAnonymously()
        print("user:", user.isAnonymous ? "anonymous" : user.email ?? "")
        let cities = ferry.collection(City.self)
        let paris = cities.reference()
        func city(_ name: String, _ population: Int, _ latitude: Double, _ longitude: Double) -> City {
            City(
                name: name, population: population, place: GeoPoint(latitude: latitude, longitude: longitude),
                userId: user.id)
        }
        try await ferry.batch { batch in
            batch.set(city("Paris", 2_100_000, 48.86, 2.35), paris)
            batch.add(city("Lyon", 520_000, 45.76, 4.84), to: cities)
            batch.add(city("Nice", 350_000, 43.7, 7.27), to: cities)
        }.ordered()
        let mine = cities.where { $0.userId == user.id }
        let large = mine.where { $0.population > 400_000 }.order(by: \.population, descending: true)
        print("large:", try await large.get(.server).map(\.name).joined(separator: ", "))
        print("people:", try await mine.sum(\.population))
        let total = try await ferry.transaction { transaction in
            guard let city = try await transaction.get(paris) else { return 0 }
            try transaction.write { $0.update(paris) { $0.population = city.population + 1 } }
            return city.population + 1
        }
        print("paris:", total)
        let known = try await enter(ferry, .password(email: "ada@example.org", "a long password"))
        let count = try await cities.where { $0.userId == known.id }.get(.server).count
        print(known.id == user.id ? "linked: the same id," : "moved: another id,", count, "cities")
        await ferry.close()
    }

    /// Gives the account a credential, or takes its documents along to the account that has it.
    static func enter(_ ferry: Ferry, _ credential: Credential) async throws -> User {
        do {
            return try await ferry.account.link(with: credential)
        } catch .credentialInUse(let taken) {
            return try await ferry.account.signIn(with: taken, moving: .everything)
        }
    }
}
