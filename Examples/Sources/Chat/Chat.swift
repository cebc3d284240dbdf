// Rooms with messages: a collection below each document, checked by the compiler, read alone or
// across all rooms.
//
//     swift run Chat http://localhost:8080 /tmp/chat

import FerryKit
import Foundation

struct Room: DocumentModel {
    static let collection = "rooms"
    var name: String
    var messageCount = 0
    var userId: String
}

struct Message: DocumentModel {
    typealias Parent = Room
    static let collection = "messages"
    var text: String
    var sentTime = ServerTime.pending
    var userId: String
}

@main struct Chat {
    static func main() async throws {
        guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[1]) else {
            print("usage: Chat URL DIRECTORY")
            exit(2)
        }
        let ferry = try await Ferry.open(.ferry(url), state: URL(filePath: CommandLine.arguments[2]))
        let user = try await ferry.account.signInAnonymously()
        let rooms = ferry.collection(Room.self)

        /// A message and the count of its room change together or not at all. Messages that are sent in
        /// one commit would have one time, so each waits for its own.
        func send(_ text: String, to room: Reference<Room>) async throws {
            try await ferry.batch { batch in
                batch.add(Message(text: text, userId: user.id), to: room.collection())
                batch.update(room) { $0.increment(\.messageCount, by: 1) }
            }.ordered()
        }

        let kitchen = try await rooms.add(Room(name: "Kitchen", userId: user.id))
        let garden = try await rooms.add(Room(name: "Garden", userId: user.id))
        for text in ["Who has the milk?", "It is on the table."] { try await send(text, to: kitchen) }
        try await send("The roses bloom.", to: garden)

        let messages = kitchen.collection(Message.self).all.order(by: \.sentTime)
        for try await snapshot in messages.snapshots where !snapshot.isFromCache && snapshot.count == 2 {
            print("kitchen:", snapshot.map(\.text).joined(separator: " | "))
            break
        }
        let mine = ferry.group(Message.self).where { $0.userId == user.id }.order(by: \.sentTime)
        print("all rooms:", try await mine.get(.server).map(\.text).joined(separator: " | "))
        print("counted:", try await mine.count())
        let room = try await kitchen.get(.server)
        print("room:", room?.name ?? "none", room?.messageCount ?? -1)
        await ferry.close()
    }
}
