// The same code with a database that speaks the protocol of Cloud Firestore: an emulator, that of
// ferry-server or Google's.
//
//     ferry-server --emulator --documents localhost:8081 …
//     swift run CloudFirestore localhost:8081 demo-project /tmp/cloud

import FerryKit
import Foundation

struct City: DocumentModel {
    static let collection = "cities"
    var name: String
    var population: Int
    var place: GeoPoint
    var founded: Date?
}

@main struct CloudFirestore {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4 else {
            print("usage: CloudFirestore HOST:PORT PROJECT DIRECTORY")
            exit(2)
        }
        let ferry = try await Ferry.open(
            .emulator(host: arguments[1], project: arguments[2]), state: URL(filePath: arguments[3]))
        let cities = ferry.collection(City.self)
        try await ferry.batch { batch in
            batch.set(
                City(name: "Paris", population: 2_100_000, place: GeoPoint(latitude: 48.86, longitude: 2.35)),
                cities["paris"])
            batch.set(
                City(name: "Lyon", population: 520_000, place: GeoPoint(latitude: 45.76, longitude: 4.84)),
                cities["lyon"])
            batch.set(
                City(name: "Nice", population: 350_000, place: GeoPoint(latitude: 43.7, longitude: 7.27)),
                cities["nice"])
        }.ordered()
        let large = cities.where { $0.population > 400_000 }.order(by: \.population, descending: true)
        print("large:", try await large.get(.server).map(\.name).joined(separator: ", "))
        print("people:", try await cities.all.sum(\.population))
        let total = try await ferry.transaction { transaction in
            guard let paris = try await transaction.get(cities["paris"]) else { return 0 }
            try transaction.write { $0.update(cities["paris"]) { $0.population = paris.population + 1 } }
            return paris.population + 1
        }
        print("paris:", total)
        await ferry.close()
    }
}
