package import SystemIO

extension TransferTask where Outcome == UploadedFile {
    /// An upload of its own. Nothing happens before `start()`.
    ///
    /// - Parameter spool: where the bytes of a stream are kept meanwhile.
    public convenience init(
        _ file: File, to store: any ObjectStore, namespace: ObjectNamespace,
        compression: CompressionPolicy = .automatic, spool: String = "/var/tmp"
    ) {
        self.init(
            file, to: store, namespace: namespace, compression: compression, spool: spool, sizes: .standard)
    }

    /// The same in other surroundings, and without a manifest for a file of one chunk.
    ///
    /// - Parameters:
    ///   - earlier: the manifest of an earlier version, if there is one: what comes again is found sooner.
    ///   - marks: of its chunks, or none yet; the outcome has those of the new version, if that is long.
    ///   - replaces: whether everything is put, whatever the store says that it has: what it has may be damaged.
    package convenience init(
        _ file: File, to store: any ObjectStore, namespace: ObjectNamespace, compression: CompressionPolicy,
        earlier: ObjectKey? = nil, marks: ChunkMarks? = nil, replaces: Bool = false, inventory: ChunkInventory?,
        surroundings: Surroundings
    ) {
        // Made-up time says nothing of links and compressors.
        let isMeasurable = surroundings.executor == nil
        self.init(
            file, to: store, namespace: namespace,
            compression: isMeasurable || compression != .automatic ? compression : .level(1), spool: "/var/tmp",
            sizes: .standard, earlier: earlier, marks: marks, replaces: replaces, inventory: inventory,
            namesOnlyChunk: true,
            surroundings: surroundings)
    }

    convenience init(
        _ file: File, to store: any ObjectStore, namespace: ObjectNamespace,
        compression: CompressionPolicy = .automatic, spool: String = "/var/tmp", sizes: ChunkSizes,
        earlier: ObjectKey? = nil, marks: ChunkMarks? = nil, replaces: Bool = false, inventory: ChunkInventory? = nil,
        namesOnlyChunk: Bool = false,
        surroundings: Surroundings = .system
    ) {
        let limiter = LimitedObjectStore(store, surroundings: surroundings)
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
            name: file.name, direction: .up, total: file.size, work: work, limiter: limiter, surroundings: surroundings)
    }
}

extension TransferTask where Outcome == DownloadedFile {
    /// A download of its own. Nothing happens before `start()`.
    ///
    /// - Parameters:
    ///   - destination: what is there is replaced in one step, once the whole is verified and on the disk.
    ///   - partial: where it grows meanwhile, on the same file system; nil for beside the destination. A later download
    ///     with the same manifest and partial file goes on from there.
    ///   - base: a file that may have some of the bytes, such as an earlier version: what is in it does not travel.
    ///   - isSynced: whether the finished file is on the disk before it is placed; false where whoever places it sees to that.
    ///   - placement: instead of the rename; gets the path of the finished file and takes it away.
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
            placement: placement, surroundings: .system)
    }

    /// The same in other surroundings.
    ///
    /// - Parameters:
    ///   - name: of the file, for messages; nil for that of the destination.
    ///   - size: how many bytes there will be, as far as that is known. Content of another size is refused.
    ///   - baseListing: the manifest of what is in `base`, as far as that is known: then it need not be looked through.
    ///   - isMarked: whether the outcome has the marks of the chunks, if the file is long.
    ///   - sha256: of the whole content, as far as it is known: what comes must have it.
    ///   - modified: the time that the file gets; nil for that of its coming.
    package convenience init(
        _ content: ContentReference, name: String? = nil, size: ExpectedSize, sha256: ContentHash? = nil,
        to destination: String,
        from store: any ObjectStore,
        namespace: ObjectNamespace,
        partial: String?, base: String?, baseListing: ObjectKey? = nil, isMarked: Bool = false, isSynced: Bool,
        modified: FileTime? = nil, isExecutable: Bool = false,
        placement: (@Sendable (_ finished: String) async throws -> Void)?, surroundings: Surroundings
    ) {
        let name = name ?? FileSystem.split(destination).name
        let limiter = LimitedObjectStore(store, surroundings: surroundings)
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
            name: name, direction: .down, total: nil, work: work, limiter: limiter, surroundings: surroundings)
    }
}
