/// The places from which documents are read.
public enum Source: Sendable, Hashable {
    /// This machine only.
    case cache
    /// The server only. Local changes that it has not received are applied to its answer.
    case server
    /// This machine, if it knows the document or the whole result; otherwise the server.
    case cacheElseServer
    /// The server, or this machine if the server cannot be reached.
    case serverElseCache
    /// This machine, if it knows the document or the whole result, which is then renewed from the
    /// server in the background; otherwise the server.
    case cacheThenServer
}
