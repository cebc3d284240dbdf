import CommandLineTool
import IdentityServer
import ServerData
import SystemIO
import SystemService

extension AccountRemoval {
    /// Waits until the running server has removed an account's data, or removes it here if no
    /// server runs.
    static func finish(of id: String, _ arguments: ParsedArguments) async throws {
        let path = try Administration.dataDirectory(arguments)
        let configuration = try ConfigurationReader(arguments).configuration(administering: path)
        while DataDirectory.server(of: path) != nil {
            var rest: [String] = []
            _ = try await Administration.run(arguments, changes: false) { rest = try await $0.accounts.removals() }
            if !rest.contains(id) { return }
            try await Task.sleep(for: .milliseconds(200))
        }
        let directory = try DataDirectory(path: path)
        let stores = try await Stores(directory, configuration, Metrics(), Logger(label: "documents", level: .warning))
        let settings = IdentityService.Configuration(issuer: "", project: "")
        let identity = try await IdentityService(directory: directory.accounts, settings, now: WallClock.seconds)
        do {
            try await stores.removal(in: identity).run()
        } catch {
            await identity.close()
            await stores.close()
            throw error
        }
        await identity.close()
        await stores.close()
    }
}

extension Stores {
    /// Returns the removal of accounts that were deleted with their data.
    func removal(in identity: IdentityService) -> AccountRemoval {
        AccountRemoval(catalog: catalog, buckets: buckets, identity: identity, manifest: manifest)
    }
}
