/// The state of the root when it was last examined.
package struct RootState: Hashable, Sendable {
    /// The content of `.ferry/root`.
    package enum Marker: Hashable, Sendable {
        case none
        case valid(RootMarker)
        /// The file exists, but is not a valid marker or cannot be read, so nothing is known.
        case unreadable
    }

    package var identity: RootIdentity
    package var marker: Marker

    package init(identity: RootIdentity, marker: Marker) {
        self.identity = identity
        self.marker = marker
    }

    /// The result of comparing this root with a remembered one.
    package enum Verdict: Hashable, Sendable {
        /// The known root: files that are absent were removed.
        case known
        /// The marker is right but the directory is another one: restored, copied or moved to
        /// another disk. No delete may be inferred until the user has confirmed it.
        case elsewhere
        /// There is no marker, or a damaged one: the directory is an empty mount point, or the user
        /// removed `.ferry`.
        case unmarked
        /// The marker of another root.
        case other(RootMarker)
    }

    /// Compares this root with that of an earlier run.
    package func verdict(rootID: String, remembered: RootIdentity) -> Verdict {
        switch marker {
        case .valid(let marker) where marker.rootID != rootID: .other(marker)
        case .valid: identity.isSame(as: remembered) ? .known : .elsewhere
        case .none, .unreadable: .unmarked
        }
    }
}
