import CPQ

/// The server to connect to.
package struct PostgresConfiguration: Sendable {
    /// A URL as of libpq: `postgres://user@host1:5432,host2:5432/database?target_session_attrs=read-write`.
    ///
    /// Several hosts are tried in order, and a host that is not a primary is skipped, unless the URL
    /// says otherwise.
    package var url: String
    /// The password; nil if the server asks for none, or libpq finds it elsewhere.
    package var password: String?
    /// The time to wait for each host.
    package var connectTimeout: Duration = .seconds(3)
    /// The time to wait for the answer to a statement of a session, after which the connection is
    /// given up: a server that is stopped, and not ended, keeps its connections open. Nil for statements
    /// that look at all rows.
    package var answerTimeout: Duration? = .seconds(10)
    /// Shown in the server's list of connections.
    package var applicationName = "ferry-server"

    package init(url: String, password: String? = nil) {
        self.url = url
        self.password = password
    }

    /// The keywords of `PQconnectdbParams` in order; the later one of two with the same name wins.
    ///
    /// - Parameter failed: The host to try last.
    func keywords(after failed: PostgresHost? = nil) -> [(name: String, value: String)] {
        var keywords = [
            ("target_session_attrs", "read-write"), ("connect_timeout", "\(max(2, connectTimeout.components.seconds))"),
            // A host that vanishes is noticed after about this time, rather than after hours.
            ("keepalives_idle", "5"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", "15000"), ("application_name", applicationName), ("client_encoding", "UTF8"),
            ("dbname", url),
        ]
        if let password { keywords.append(("password", password)) }
        if let failed {
            let hosts = PostgresHost.all(ofURL: url)
            if let place = hosts.firstIndex(of: failed), hosts.count > 1 {
                let ordered = hosts[(place + 1)...] + hosts[...place]
                keywords.append(("host", ordered.map(\.name).joined(separator: ",")))
                keywords.append(("port", ordered.map(\.port).joined(separator: ",")))
            }
        }
        return keywords
    }

    /// Whether the URL contains a password, which belongs into a file.
    package var hasPasswordInURL: Bool {
        guard let start = url.range(of: "://") else { return false }
        let rest = url[start.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        if let user = authority.lastIndex(of: "@"), authority[..<user].contains(":") { return true }
        return rest.split(separator: "?").dropFirst().joined(separator: "?").split(separator: "&")
            .contains { $0.hasPrefix("password=") }
    }
}

/// One of the servers of a URL.
package struct PostgresHost: Sendable, Hashable {
    let name: String
    let port: String

    /// Returns the hosts of a URL in order; none if they are given as addresses.
    static func all(ofURL url: String) -> [PostgresHost] {
        guard let options = PQconninfoParse(url, nil) else { return [] }
        defer { PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { values[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        guard values["hostaddr"] == nil, let hosts = values["host"]?.split(separator: ",").map(String.init) else {
            return []
        }
        let ports = values["port"]?.split(separator: ",").map(String.init) ?? ["5432"]
        guard ports.count == 1 || ports.count == hosts.count else { return [] }
        return hosts.indices.map { PostgresHost(name: hosts[$0], port: ports.count == 1 ? ports[0] : ports[$0]) }
    }
}

extension String {
    /// Returns the range of the first occurrence of `text`.
    fileprivate func range(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
