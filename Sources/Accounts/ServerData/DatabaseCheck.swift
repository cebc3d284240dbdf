import DocumentModel
import IdentityServer
package import PostgreSQL
import PostgresStore

/// A check of documents and accounts in PostgreSQL, while servers use them or not. PostgreSQL's own
/// tools, such as pg_amcheck, check its files.
package struct DatabaseCheck {
    private let database: DatabaseName
    private let server: PostgresConfiguration

    package init(project: String, _ server: PostgresConfiguration) {
        database = DatabaseName(project: project)
        self.server = server
    }

    /// Calls `report` with each problem.
    ///
    /// - Throws: `ServerError` with `.damaged` if there are any.
    package func run(_ report: (String) -> Void) async throws {
        let problems =
            try PostgresDocuments(database, server).problems().map { "documents: \($0)" }
            + (try await IdentityService.check(server).map { "accounts: \($0)" })
        for problem in problems { report(problem) }
        guard problems.isEmpty else {
            throw ServerError(.damaged, "The database is damaged. Restore it from a copy of PostgreSQL's own tools.")
        }
    }
}
