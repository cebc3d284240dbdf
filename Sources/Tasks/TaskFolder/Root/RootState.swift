/// The root as it was found a moment ago.
package struct RootState: Hashable, Sendable {
    /// What stands in `.ferry/root`.
    package enum Marker: Hashable, Sendable {
        case none
        case valid(RootMarker)
        /// There, but no marker that Ferry wrote, or not readable: nothing is known.
        case unreadable
    }

    package var identity: RootIdentity
    package var marker: Marker

    package init(identity: RootIdentity, marker: Marker) {
        self.identity = identity
        self.marker = marker
    }

    /// What a replica that remembers a root may think of this one.
    package enum Verdict: Hashable, Sendable {
        /// The known root: what is absent here is absent.
        case known
        /// The marker is right but the directory is another one: restored, copied or moved to another disk. No delete
        /// may be inferred until the user has confirmed it.
        case elsewhere
        /// No marker, or a damaged one: an empty mount point, or the user removed `.ferry`.
        case unmarked
        /// The marker of another root.
        case other(RootMarker)
    }

    /// Compares with the root of an earlier run.
    package func verdict(rootID: String, remembered: RootIdentity) -> Verdict {
        switch marker {
        case .valid(let marker) where marker.rootID != rootID: .other(marker)
        case .valid: identity.isSame(as: remembered) ? .known : .elsewhere
        case .none, .unreadable: .unmarked
        }
    }
}
