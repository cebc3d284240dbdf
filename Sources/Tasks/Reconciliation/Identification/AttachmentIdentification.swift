package import TaskModel

/// A file in the directory of a task's attachments that was looked at.
package struct ObservedAttachment: Hashable, Sendable {
    package var name: FileName
    package var stamp: Stamp
    package var digest: ContentDigest

    package init(_ name: FileName, stamp: Stamp, digest: ContentDigest) {
        self.name = name
        self.stamp = stamp
        self.digest = digest
    }
}

/// The file of an attachment, as it was last read or written.
package struct KnownAttachment: Hashable, Sendable {
    package var attachment: AttachmentID
    package var name: FileName
    package var stamp: Stamp
    package var digest: ContentDigest

    package init(_ attachment: AttachmentID, _ name: FileName, stamp: Stamp, digest: ContentDigest) {
        self.attachment = attachment
        self.name = name
        self.stamp = stamp
        self.digest = digest
    }
}

/// The evidence that a file is that of a known attachment, strongest first.
package enum AttachmentEvidence: Int, Hashable, Sendable, CaseIterable {
    case sameVersion
    case sameFileInPlace
    case unchangedFile
    case contents
    case place
    case document

    /// The observed facts.
    package var facts: String {
        switch self {
        case .sameVersion: "The known name, with the known stamp."
        case .sameFileInPlace: "The known name and file number."
        case .unchangedFile: "The known file number, size, and time of modification."
        case .contents: "The contents of an attachment whose file is gone."
        case .place: "The known name."
        case .document: "The name and the contents of an attachment that has no file here."
        }
    }

    /// The situation that leaves this evidence.
    package var situation: String {
        switch self {
        case .sameVersion: "Nothing happened."
        case .sameFileInPlace: "A program wrote into the file."
        case .unchangedFile: "The file was renamed."
        case .contents: "The file was renamed by a copy and a delete."
        case .place: "A program saved by a rename."
        case .document: "The state was lost, or two machines attached the same file."
        }
    }

    /// The table in Markdown, as it stands in `Sources/Documentation/reconciliation.md`.
    package static var markdown: String {
        let rows = allCases.map { "| \($0.rawValue + 1) | `\($0)` | \($0.facts) | \($0.situation) |" }
        return (["| | evidence | facts | for example |", "|---|---|---|---|"] + rows).joined(separator: "\n")
    }
}

/// The attachments of the files of one task.
package struct AttachmentIdentities: Hashable, Sendable {
    /// The attachment of each file. A file without one is a new attachment.
    package var files: [FileName: AttachmentID] = [:]
    package var evidence: [FileName: AttachmentEvidence] = [:]
    /// The known attachments whose files are gone.
    package var missing: Set<AttachmentID> = []

    package init() {}
}

/// Decides for all files of one task at once which attachments they are.
///
/// A file that moves to another task is a new attachment there, since an attachment is a part of
/// its task's document.
package enum AttachmentIdentification {
    /// Returns the attachment of each file.
    ///
    /// - Parameters:
    ///   - observed: all files in the task's directory.
    ///   - known: the attachments that had files there.
    ///   - unfiled: attachments of the document that have no file here, with their names and contents.
    package static func identify(
        _ observed: [ObservedAttachment], known: [KnownAttachment], unfiled: [KnownAttachment] = []
    ) -> AttachmentIdentities {
        var result = AttachmentIdentities()
        var free = known.sorted { $0.attachment < $1.attachment }
        let files = observed.sorted { $0.name < $1.name }
        for evidence in AttachmentEvidence.allCases {
            if evidence == .document { free = unfiled.sorted { $0.attachment < $1.attachment } }
            for file in files where result.files[file.name] == nil {
                guard let index = free.firstIndex(where: { holds(evidence, file, $0) }) else { continue }
                result.files[file.name] = free.remove(at: index).attachment
                result.evidence[file.name] = evidence
            }
        }
        result.missing = Set(known.map(\.attachment)).subtracting(result.files.values)
        return result
    }

    private static func holds(
        _ evidence: AttachmentEvidence, _ file: ObservedAttachment, _ known: KnownAttachment
    ) -> Bool {
        switch evidence {
        case .sameVersion: file.name == known.name && file.stamp == known.stamp
        case .sameFileInPlace: file.name == known.name && file.stamp.file == known.stamp.file
        case .unchangedFile: file.stamp.hasContents(of: known.stamp)
        // An empty file says nothing that could identify it.
        case .contents: file.digest == known.digest && file.stamp.size > 0
        case .place: file.name == known.name
        case .document: file.name == known.name && file.digest == known.digest
        }
    }
}
