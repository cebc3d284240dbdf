// Signing in without a password: by the link of a mail, or by a token that a program of yours makes.
//
//     swift run SignIn http://localhost:8080 /tmp/phone mail ada@example.org
//     swift run SignIn http://localhost:8080 /tmp/phone link ada@example.org "https://…oobCode=…"
//     swift run SignIn http://localhost:8080 /tmp/desk token TOKEN
//
// The server needs `--smtp` for mails, and makes the key for tokens with `ferry-server keys add
// --service-account`.

import FerryKit
import Foundation

struct Note: DocumentModel {
    static let collection = "notes"
    var text: String
    var userId: String
}

@main struct SignIn {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard arguments.count >= 4, let url = URL(string: arguments[0]) else {
            print("usage: SignIn URL DIRECTORY (mail ADDRESS | link ADDRESS LINK | token TOKEN)")
            exit(2)
        }
        let ferry = try await Ferry.open(.ferry(url), state: URL(filePath: arguments[1]), models: [Note.self])
        switch (arguments[2], arguments.count) {
        case ("mail", 4):
            // A user who tries the app writes a note before the sign-in, and keeps it.
            let user = try await ferry.account.signInAnonymously()
            try await ferry.collection(Note.self).add(Note(text: "written before", userId: user.id))
            try await ferry.account.sendSignInLink(to: arguments[3])
            print("sent")
        case ("link", 5): try await enter(ferry, .emailLink(email: arguments[3], arguments[4]))
        case ("token", 4): try await enter(ferry, .customToken(arguments[3]))
        default: print("This is not understood: \(arguments[2])")
        }
        await ferry.close()
    }

    static func enter(_ ferry: Ferry, _ credential: Credential) async throws {
        let before = await ferry.account.user
        guard try await accepts(ferry, credential, before) else { return print("The link was used already.") }
        guard let user = await ferry.account.user else { return }
        print("signed in:", user.email ?? user.id, user.id == before?.id ? "(the same id)" : "(another id)")
        let notes = try await ferry.collection(Note.self).where { $0.userId == user.id }.get(.server)
        print("notes:", notes.map(\.text).joined(separator: ", "))
    }

    /// Gives an anonymous account the credential, or signs in with it and takes along what is here.
    /// Returns false for a link that was used.
    static func accepts(_ ferry: Ferry, _ credential: Credential, _ before: User?) async throws -> Bool {
        do {
            if before?.isAnonymous == true, case .emailLink = credential {
                try await ferry.account.link(with: credential)
            } else {
                try await ferry.account.signIn(with: credential, moving: .everything)
            }
        } catch .credentialInUse(let taken) {
            try await ferry.account.signIn(with: taken, moving: .everything)
        } catch .expiredLink {
            return false
        }
        return true
    }
}
