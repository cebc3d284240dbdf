import CommandLineTool
import Glibc
import HTTPClient
import HTTPMessages
import ServerData
import SystemIO

extension Command {
    static let health: Command = Command(
        "health", summary: "tells whether the server on the data directory answers",
        discussion: """
            Asks the running server for /healthz and ends with 0 if it can do its work, for the health check of a container or a
            monitor. Of a server with TLS only that its port answers is looked at: the certificate is for another name than
            this machine's loopback.

                ferry-server health --data /srv/ferry
            """,
        group: "Care", options: [.data, .config],
        action: { arguments in
            let path = try ConfigurationReader(arguments).administeredDirectory()
            guard let (address, isSecure) = DataDirectory.listening(of: path) else {
                throw ServerError(.notFound, "No server is ready on \(path).")
            }
            var place = address
            if place.isAny { place.host = place.host == "::" ? "::1" : "127.0.0.1" }
            let url = "\(isSecure ? "https" : "http")://\(place)/healthz"
            let timeouts = HTTPRequest.Timeouts(connect: .seconds(5), stall: .seconds(5), total: .seconds(10))
            do {
                let response = try await HTTPClient().send(HTTPRequest(.get, url, timeouts: timeouts))
                guard response.status == .ok else {
                    throw ServerError(.failed, "The server at \(place) answers \(response.status): see its log.")
                }
            } catch let error as HTTPError where isSecure && error.code == .insecure {
            } catch let error as HTTPError {
                throw ServerError(.failed, "The server at \(place) does not answer: \(error.message)", cause: error)
            }
            Console().print("ok")
            return .success
        })
}
