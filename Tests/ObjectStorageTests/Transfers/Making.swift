import SystemIO

@testable import ObjectStorage

extension TransferTask where Outcome == UploadedFile {
    convenience init(
        _ file: File, to store: any ObjectStore, namespace: ObjectNamespace,
        compression: CompressionPolicy = .automatic, sizes: ChunkSizes,
        earlier: ObjectKey? = nil, marks: ChunkFingerprints? = nil, environment: Environment = .system
    ) {
        var options = UploadOptions()
        (options.compression, options.sizes, options.earlier, options.marks) = (compression, sizes, earlier, marks)
        self.init(file, to: store, namespace: namespace, options: options, environment: environment)
    }
}

extension DownloadOptions {
    init(_ change: (inout DownloadOptions) -> Void) {
        self.init()
        change(&self)
    }
}
