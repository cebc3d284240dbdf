package import SystemIO

extension TransferTask where Outcome == UploadedFile {
    /// Creates an upload outside a queue. Nothing happens before `start()`.
    ///
    /// - Parameter spool: The directory for a temporary copy of a stream.
    public convenience init(
        _ file: File, to store: any ObjectStore, namespace: ObjectNamespace,
        compression: CompressionPolicy = .automatic, spool: String = "/var/tmp"
    ) {
        var options = UploadOptions()
        options.compression = compression
        self.init(file, to: store, namespace: namespace, options: options, spool: spool, environment: .system)
    }

    /// Creates an upload with options in an environment.
    package convenience init(
        _ file: File, to store: any ObjectStore, namespace: ObjectNamespace, options: UploadOptions,
        spool: String = "/var/tmp", environment: Environment
    ) {
        let limiter = LimitedObjectStore(store, environment: environment)
        let upload = Upload(
            store: limiter, namespace: namespace, options: options, ledger: MemoryLedger(), budget: .shared,
            environment: environment)
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
        var options = DownloadOptions()
        (options.partial, options.base, options.isSynced, options.placement) = (partial, base, isSynced, placement)
        self.init(
            .manifest(manifest), to: destination, from: store, namespace: namespace, options: options,
            environment: .system)
    }

    /// Creates a download with options in an environment.
    package convenience init(
        _ content: ContentReference, to destination: String, from store: any ObjectStore,
        namespace: ObjectNamespace, options: DownloadOptions, environment: Environment
    ) {
        let name = options.name ?? FileSystem.split(destination).name
        let limiter = LimitedObjectStore(store, environment: environment)
        let download = Download(
            store: limiter, namespace: namespace, content: content, name: name, destination: destination,
            options: options, budget: .shared)
        let work = TransferWork {
            try await download.run($0)
        } clean: {
            download.discard()
        }
        self.init(
            name: name, direction: .down, total: nil, work: work, limiter: limiter, environment: environment)
    }
}
