package import SystemIO

extension TransferTask where Outcome == UploadedFile {
    /// Creates an upload outside a queue. Nothing happens before `start()`.
    ///
    /// - Parameter spool: The directory for a temporary copy of a stream.
    public convenience init(
        _ file: File, to store: any ObjectStore, namespace: ObjectNamespace,
        compression: CompressionPolicy = .automatic, spool: String = "/var/tmp"
    ) {
        self.init(
            file, to: store, namespace: namespace, compression: compression, spool: spool, sizes: .standard)
    }

    /// Creates an upload in another environment. A file of one chunk gets no manifest.
    ///
    /// - Parameters:
    ///   - earlier: The key of the manifest of an earlier version; nil if there is none. It speeds
    ///     up finding unchanged chunks.
    ///   - marks: The fingerprints of the chunks of the earlier version, or an empty list. The
    ///     outcome of a long file has those of the new version.
    ///   - replaces: Whether all objects are put even if the store has them, because those may be
    ///     damaged.
    package convenience init(
        _ file: File, to store: any ObjectStore, namespace: ObjectNamespace, compression: CompressionPolicy,
        earlier: ObjectKey? = nil, marks: ChunkFingerprints? = nil, replaces: Bool = false, inventory: ChunkInventory?,
        environment: Environment
    ) {
        // Measurements with simulated time say nothing about networks and compressors.
        let isMeasurable = environment.executor == nil
        self.init(
            file, to: store, namespace: namespace,
            compression: isMeasurable || compression != .automatic ? compression : .level(1), spool: "/var/tmp",
            sizes: .standard, earlier: earlier, marks: marks, replaces: replaces, inventory: inventory,
            namesOnlyChunk: true,
            environment: environment)
    }

    convenience init(
        _ file: File, to store: any ObjectStore, namespace: ObjectNamespace,
        compression: CompressionPolicy = .automatic, spool: String = "/var/tmp", sizes: ChunkSizes,
        earlier: ObjectKey? = nil, marks: ChunkFingerprints? = nil, replaces: Bool = false,
        inventory: ChunkInventory? = nil,
        namesOnlyChunk: Bool = false,
        environment: Environment = .system
    ) {
        let limiter = LimitedObjectStore(store, environment: environment)
        let upload = Upload(
            store: limiter, namespace: namespace, policy: compression, sizes: sizes, ledger: MemoryLedger(),
            budget: .shared, namesOnlyChunk: namesOnlyChunk, replaces: replaces, earlier: earlier, marks: marks,
            inventory: inventory)
        let source = UploadSource(file, spool: spool)
        let work = TransferWork {
            try await upload.run(file, source.open(), $0)
        } clean: {
            source.discard()
        }
        self.init(
            name: file.name, direction: .up, total: file.size, work: work, limiter: limiter, environment: environment)
    }
}

extension TransferTask where Outcome == DownloadedFile {
    /// Creates a download outside a queue. Nothing happens before `start()`.
    ///
    /// - Parameters:
    ///   - destination: The path of the file. An existing file is replaced in one step, after the
    ///     new one is verified and on disk.
    ///   - partial: The path of the partial file, on the same file system; nil for a path beside
    ///     the destination. A later download with the same manifest and partial file continues from
    ///     there.
    ///   - base: The path of a file that may contain some of the bytes, such as an earlier version;
    ///     those are not transferred.
    ///   - isSynced: Whether the file is synced to disk before it is moved to its destination;
    ///     false if `placement` does that.
    ///   - placement: Moves the finished file at a path to its destination; nil for a plain rename.
    public convenience init(
        _ manifest: ContentHash, to destination: String, from store: any ObjectStore, namespace: ObjectNamespace,
        partial: String? = nil, base: String? = nil, isSynced: Bool = true,
        placement: (@Sendable (_ finished: String) async throws -> Void)? = nil
    ) {
        self.init(
            .manifest(manifest), size: .atMost(Manifest.fileLimit), to: destination, from: store, namespace: namespace,
            partial: partial,
            base: base,
            isSynced: isSynced,
            placement: placement, environment: .system)
    }

    /// Creates a download in another environment.
    ///
    /// - Parameters:
    ///   - name: The name of the file for messages; nil for that of the destination.
    ///   - size: The expected size. Content of another size is rejected.
    ///   - sha256: The expected hash of the whole content; nil if it is not known.
    ///   - baseListing: The key of the manifest of `base`; nil if it is not known. With it, `base`
    ///     need not be read to find its chunks.
    ///   - isMarked: Whether the outcome has the fingerprints of the chunks, if the file is long.
    ///   - modified: The modification time of the file; nil for the time of the download.
    package convenience init(
        _ content: ContentReference, name: String? = nil, size: ExpectedSize, sha256: ContentHash? = nil,
        to destination: String,
        from store: any ObjectStore,
        namespace: ObjectNamespace,
        partial: String?, base: String?, baseListing: ObjectKey? = nil, isMarked: Bool = false, isSynced: Bool,
        modified: FileTime? = nil, isExecutable: Bool = false,
        placement: (@Sendable (_ finished: String) async throws -> Void)?, environment: Environment
    ) {
        let name = name ?? FileSystem.split(destination).name
        let limiter = LimitedObjectStore(store, environment: environment)
        let download = Download(
            store: limiter, namespace: namespace, content: content, name: name, destination: destination,
            partialPath: partial ?? Download.partialPath(for: destination, manifest: content.id),
            size: size, sha256: sha256, base: base, baseListing: baseListing, isMarked: isMarked, placement: placement,
            budget: .shared,
            isSynced: isSynced,
            modified: modified, isExecutable: isExecutable)
        let work = TransferWork {
            try await download.run($0)
        } clean: {
            download.discard()
        }
        self.init(
            name: name, direction: .down, total: nil, work: work, limiter: limiter, environment: environment)
    }
}
