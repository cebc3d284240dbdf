import HTTPMessages
package import SystemIO

extension HTTPServer {
    /// Creates a server that answers `/metrics` in the format that Prometheus reads.
    package convenience init(for metrics: Metrics, host: String, port: Int) {
        self.init(.tcp(host: host, port: port)) { request in
            guard request.target.path == "/metrics" else { return HTTPResponse(.notFound) }
            return HTTPResponse(headers: ["Content-Type": Metrics.contentType], body: .text(metrics.text))
        }
    }
}
