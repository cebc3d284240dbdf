// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The layers, lowest first. A target may depend on targets of lower layers only. Tests/steps/build.sh builds with
// `--explicit-target-dependency-import-check error`, so the compiler enforces the lists below.

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// A module map over one C library of Debian's; holds no Swift.
func cLibrary(_ name: String) -> Target {
    .systemLibrary(name: name, path: "Sources/C/\(name)")
}

func target(_ name: String, in layer: String, uses dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(layer)/\(name)", swiftSettings: settings)
}

func program(_ name: String, runs body: String) -> Target {
    .executableTarget(
        name: name, dependencies: [.byName(name: body), "CommandLineTool"], path: "Sources/Programs/\(name)",
        swiftSettings: settings)
}

func tests(_ name: String, uses dependencies: [Target.Dependency] = [], reads data: [String] = []) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: [.byName(name: name), "SystemTestKit"] + dependencies,
        path: "Tests/\(name)Tests", exclude: data, swiftSettings: settings)
}

/// The contract of a protocol as a library of checks that every implementation's tests run.
func testKit(_ name: String, uses dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: settings)
}

let package = Package(
    name: "ferry",
    products: [
        .executable(name: "ferryd", targets: ["ferryd"]),
        .executable(name: "ferry", targets: ["ferry"]),
        .executable(name: "ferry-server", targets: ["ferry-server"]),
        .library(name: "FerryKit", targets: ["FerryKit"]),
        .library(name: "FerryKitTestSupport", targets: ["FerryKitTestSupport"]),
        .library(name: "DocumentClient", targets: ["DocumentClient", "DocumentModel"]),
        .library(name: "ObjectStorage", targets: ["ObjectStorage"]),
        .library(name: "TaskModel", targets: ["TaskModel"]),
    ],
    targets: [
        // C
        cLibrary("CSQLite"), cLibrary("CDeflate"), cLibrary("CISAL"), cLibrary("CZlib"), cLibrary("CCurl"),
        cLibrary("CNGHTTP2"), cLibrary("CMicroHTTPD"), cLibrary("COpenSSL"), cLibrary("CYAML"),
        cLibrary("CExpat"), cLibrary("CPCRE2"), cLibrary("CPQ"),
        cLibrary("CSystemd"), cLibrary("CLinux"), cLibrary("CGear"), cLibrary("CMultiBufferHash"),

        // System
        target("JSON", in: "System"),
        target("CivilTime", in: "System"),
        target("SystemIO", in: "System", uses: ["CLinux", "CivilTime"]),
        target("SystemService", in: "System", uses: ["CSystemd", "CivilTime", "SystemIO"]),
        target("MessageBus", in: "System", uses: ["CSystemd", "SystemIO"]),
        target("SQLite", in: "System", uses: ["CSQLite", "SystemIO"]),
        target("PostgreSQL", in: "System", uses: ["CPQ", "Cryptography", "SystemIO"]),
        target("YAML", in: "System", uses: ["CYAML"]),
        target("XML", in: "System", uses: ["CExpat"]),
        target("Ustar", in: "System"),
        target("RegularExpressions", in: "System", uses: ["CPCRE2"]),
        target("Compression", in: "System", uses: ["CDeflate", "CISAL"]),
        target("Cryptography", in: "System", uses: ["CISAL", "CMultiBufferHash", "COpenSSL"]),
        target("HTTPMessages", in: "System"),
        target("HTTPClient", in: "System", uses: ["CCurl", "HTTPMessages", "SystemIO"]),
        target("SMTPClient", in: "System", uses: ["CCurl", "SystemIO"]),
        target("HTTPServer", in: "System", uses: ["CLinux", "CMicroHTTPD", "HTTPMessages", "SystemIO"]),
        target("GRPCProtocol", in: "System", uses: ["CNGHTTP2", "COpenSSL", "Compression", "Cryptography"]),
        target(
            "GRPCClient", in: "System", uses: ["CNGHTTP2", "COpenSSL", "Cryptography", "GRPCProtocol", "SystemIO"]),
        target("GRPCServer", in: "System", uses: ["CNGHTTP2", "COpenSSL", "GRPCProtocol", "SystemIO"]),
        target("CommandLineTool", in: "System"),

        // Model
        target("DocumentModel", in: "Model"),
        target("DocumentCoding", in: "Model", uses: ["DocumentModel"]),
        target("FirestoreProtocol", in: "Model", uses: ["CivilTime", "Cryptography", "DocumentModel", "JSON"]),
        target("IdentityProtocol", in: "Model", uses: ["JSON"]),
        target("Recurrence", in: "Model", uses: ["CivilTime"]),
        target("TaskModel", in: "Model", uses: ["CivilTime", "DocumentModel", "Merge", "Recurrence", "YAML"]),
        target("Merge", in: "Model", uses: ["DocumentModel"]),

        // Documents
        target(
            "DocumentStore", in: "Documents",
            uses: ["Cryptography", "DocumentModel", "FirestoreProtocol", "SQLite", "SystemIO"]),
        target(
            "DocumentClient", in: "Documents",
            uses: [
                "DocumentModel", "FirestoreProtocol", "GRPCClient", "GRPCProtocol", "Merge", "SQLite", "SystemIO",
                "SystemService",
            ]),

        target(
            "FirestoreServer", in: "Documents",
            uses: [
                "Cryptography", "DocumentModel", "DocumentStore", "FirestoreProtocol", "GRPCProtocol", "GRPCServer",
                "HTTPMessages", "HTTPServer", "JSON", "SystemIO",
            ]),

        target(
            "PostgresStore", in: "Documents",
            uses: [
                "Cryptography", "DocumentModel", "DocumentStore", "FirestoreProtocol", "PostgreSQL", "SystemIO",
            ]),

        // Objects
        target(
            "ObjectStorage", in: "Objects",
            uses: [
                "CGear", "CivilTime", "Compression", "Cryptography", "HTTPClient", "HTTPMessages", "JSON", "SQLite",
                "SystemIO", "Ustar", "XML",
            ]),
        target(
            "BucketStore", in: "Objects",
            uses: ["Cryptography", "JSON", "ObjectStorage", "SQLite", "SystemIO"]),
        target(
            "S3Server", in: "Objects",
            uses: [
                "BucketStore", "CivilTime", "Cryptography", "HTTPMessages", "HTTPServer", "JSON", "ObjectStorage",
                "SQLite", "SystemIO", "Ustar", "XML",
            ]),

        // Accounts
        target(
            "AccountClient", in: "Accounts",
            uses: ["HTTPClient", "HTTPMessages", "IdentityProtocol", "JSON", "SystemIO", "XML"]),
        target(
            "RulesLanguage", in: "Accounts",
            uses: ["CivilTime", "Cryptography", "DocumentModel", "JSON", "RegularExpressions"]),
        target("SecurityRules", in: "Accounts", uses: ["DocumentModel"]),
        target(
            "IdentityServer", in: "Accounts",
            uses: [
                "CivilTime", "Cryptography", "HTTPClient", "HTTPMessages", "HTTPServer", "IdentityProtocol", "JSON",
                "PostgreSQL", "SQLite", "SystemIO", "XML",
            ]),

        target(
            "AccessControl", in: "Accounts",
            uses: [
                "DocumentModel", "DocumentStore", "FirestoreProtocol", "FirestoreServer", "IdentityProtocol",
                "IdentityServer", "JSON", "ObjectStorage", "RulesLanguage", "SecurityRules",
            ]),

        target(
            "ServerData", in: "Accounts",
            uses: [
                "AccessControl", "BucketStore", "Cryptography", "DocumentModel", "DocumentStore", "FirestoreServer",
                "HTTPClient", "HTTPMessages", "HTTPServer", "IdentityProtocol", "IdentityServer", "JSON",
                "ObjectStorage", "PostgreSQL", "PostgresStore", "RulesLanguage", "S3Server", "SQLite", "SystemIO",
                "SystemService",
            ]),

        // Library
        target(
            "FerryKit", in: "Library",
            uses: [
                "AccountClient", "Cryptography", "DocumentClient", "DocumentCoding", "DocumentModel", "HTTPClient",
                "HTTPMessages", "IdentityProtocol", "JSON", "Merge", "ObjectStorage", "SQLite", "SystemIO",
            ]),
        target(
            "FerryKitTestSupport", in: "Library",
            uses: [
                "AccountClient", "DocumentClient", "DocumentModel", "FerryKit", "FirestoreProtocol", "IdentityProtocol",
                "ObjectStorage",
            ]),

        // Tasks
        target("TaskFolder", in: "Tasks", uses: ["SystemIO"]),
        target("Reconciliation", in: "Tasks", uses: ["DocumentModel", "Merge", "TaskModel"]),
        target(
            "TaskSync", in: "Tasks",
            uses: [
                "CivilTime", "TaskFolder", "TaskModel", "Merge", "DocumentModel", "DocumentClient", "FirestoreProtocol",
                "ObjectStorage", "Reconciliation", "SQLite", "SystemIO", "SystemService", "Cryptography",
            ]),

        target(
            "MorningMail", in: "Tasks",
            uses: [
                "CivilTime", "DocumentModel", "DocumentStore", "FirestoreProtocol", "IdentityServer", "SMTPClient",
                "SystemIO", "SystemService", "TaskModel",
            ]),

        // Control
        target("Control", in: "Control", uses: ["HTTPMessages", "JSON", "SystemIO"]),

        // Programs
        target(
            "FerryDaemon", in: "Programs",
            uses: [
                "AccountClient", "CivilTime", "CommandLineTool", "Control", "Cryptography", "DocumentClient",
                "DocumentModel", "HTTPClient", "HTTPMessages", "HTTPServer", "IdentityProtocol", "JSON",
                "MessageBus", "ObjectStorage", "SQLite",
                "Recurrence", "SystemIO", "SystemService", "TaskFolder", "TaskModel", "TaskSync", "YAML",
            ]),
        target(
            "FerryCLI", in: "Programs",
            uses: ["CivilTime", "CommandLineTool", "Control", "JSON", "Recurrence", "SystemIO", "Ustar"]),
        target(
            "FerryServer", in: "Programs",
            uses: [
                "AccessControl", "BucketStore", "CivilTime", "CommandLineTool", "Cryptography", "DocumentModel",
                "DocumentStore", "FirestoreProtocol", "FirestoreServer", "GRPCProtocol", "GRPCServer", "HTTPClient",
                "HTTPMessages",
                "HTTPServer", "IdentityProtocol", "IdentityServer", "JSON", "MorningMail",
                "ObjectStorage", "PostgreSQL", "PostgresStore", "RulesLanguage", "S3Server", "SMTPClient", "SQLite",
                "ServerData", "SystemIO", "SystemService", "YAML",
            ]),
        program("ferryd", runs: "FerryDaemon"),
        program("ferry", runs: "FerryCLI"),
        program("ferry-server", runs: "FerryServer"),

        // Tests
        .executableTarget(
            name: "ferry-bench",
            dependencies: [
                "CommandLineTool", "Cryptography", "DocumentModel", "FirestoreProtocol", "GRPCClient", "GRPCProtocol",
                "ObjectStorage", "PostgresTestKit", "RulesLanguage", "SQLite", "SystemIO",
            ],
            path: "Tests/Benchmark/ferry-bench", swiftSettings: settings),
        testKit("SystemTestKit", uses: ["SystemIO"]),
        testKit("DocumentStoreTestKit", uses: ["DocumentModel", "DocumentStore", "FirestoreProtocol"]),
        testKit("PostgresTestKit", uses: ["PostgreSQL"]),
        testKit("ObjectStoreTestKit", uses: ["ObjectStorage"]),
        testKit("ReconciliationTestKit", uses: ["DocumentModel", "Merge", "Reconciliation", "TaskModel"]),
        .executableTarget(
            name: "reconcile", dependencies: ["Reconciliation", "ReconciliationTestKit"],
            path: "Tests/ReconciliationTool", exclude: ["mutations.py"], swiftSettings: settings),
        testKit("HTTPTestKit", uses: ["HTTPMessages", "HTTPServer", "SystemIO"]),
        testKit("GRPCTestKit", uses: ["GRPCClient", "GRPCProtocol", "GRPCServer"]),
        testKit(
            "IdentityTestKit",
            uses: [
                "AccountClient", "HTTPClient", "HTTPMessages", "HTTPServer", "IdentityProtocol", "IdentityServer",
                "JSON", "PostgreSQL", "PostgresTestKit", "SystemIO", "SystemTestKit",
            ]),
        tests("JSON"), tests("CivilTime"), tests("SystemIO"), tests("SystemService"),
        tests("MessageBus", uses: ["SystemIO"]),
        tests("SQLite", uses: ["SystemIO"]), tests("YAML"),
        tests("XML"), tests("Ustar"),
        tests("RegularExpressions"),
        tests("Compression", uses: ["CZlib"]), tests("Cryptography", uses: ["CMultiBufferHash"]),
        tests("HTTPMessages"), tests("HTTPClient", uses: ["HTTPMessages", "HTTPServer", "HTTPTestKit"]),
        tests("HTTPServer", uses: ["HTTPClient", "HTTPMessages", "HTTPTestKit", "SystemIO"]),
        tests("GRPCProtocol"), tests("GRPCClient", uses: ["GRPCProtocol", "GRPCServer", "GRPCTestKit"]),
        tests("GRPCServer", uses: ["GRPCClient", "GRPCProtocol", "GRPCTestKit", "SystemIO"]),
        tests("CommandLineTool"),
        tests("DocumentModel"),
        tests("DocumentCoding", uses: ["DocumentModel"]),
        tests("FirestoreProtocol", uses: ["DocumentModel", "JSON"], reads: ["Golden"]),
        tests("IdentityProtocol", uses: ["JSON"]),
        tests("Recurrence", uses: ["CivilTime"], reads: ["Vectors"]),
        .executableTarget(
            name: "recurrence", dependencies: ["CivilTime", "Recurrence"], path: "Tests/RecurrenceTool",
            swiftSettings: settings),
        tests("TaskModel", uses: ["CivilTime", "DocumentModel", "YAML"]),
        tests("Merge", uses: ["DocumentModel"]),
        tests(
            "DocumentStore", uses: ["DocumentModel", "DocumentStoreTestKit", "FirestoreProtocol", "SQLite", "SystemIO"]),
        tests("PostgreSQL", uses: ["PostgresTestKit", "SystemIO"]),
        tests(
            "PostgresStore",
            uses: [
                "DocumentModel", "DocumentStore", "DocumentStoreTestKit", "FirestoreProtocol", "PostgreSQL",
                "PostgresTestKit", "SystemIO",
            ]),
        tests("DocumentClient", uses: ["DocumentModel", "DocumentStore", "FerryKitTestSupport", "Merge", "SQLite"]),
        tests(
            "ObjectStorage",
            uses: [
                "CGear", "ObjectStoreTestKit", "HTTPClient", "HTTPMessages", "HTTPServer", "Cryptography",
                "Compression",
                "SQLite", "SystemIO", "Ustar",
            ]),
        tests("BucketStore", uses: ["Cryptography", "SQLite", "SystemIO"]),
        tests(
            "S3Server",
            uses: [
                "BucketStore", "Cryptography", "HTTPMessages", "HTTPServer", "ObjectStorage", "SQLite", "SystemIO",
                "XML",
            ]),
        tests(
            "FirestoreServer",
            uses: [
                "DocumentModel", "DocumentStore", "FirestoreProtocol", "GRPCProtocol", "HTTPMessages", "JSON",
                "SystemIO",
            ]),
        tests(
            "AccessControl",
            uses: [
                "AccountClient", "DocumentClient", "DocumentModel", "DocumentStore", "FirestoreServer", "GRPCProtocol",
                "GRPCServer", "IdentityProtocol", "IdentityServer", "IdentityTestKit", "ObjectStorage", "RulesLanguage",
                "SecurityRules", "SystemIO",
            ]),
        tests(
            "AccountClient",
            uses: [
                "Cryptography", "HTTPClient", "HTTPMessages", "HTTPServer", "IdentityProtocol", "IdentityServer",
                "IdentityTestKit", "JSON",
            ]),
        tests("RulesLanguage", uses: ["DocumentModel", "JSON", "SecurityRules"]),
        tests("SecurityRules", uses: ["DocumentModel"]),
        tests(
            "IdentityServer",
            uses: [
                "AccountClient", "Cryptography", "HTTPClient", "HTTPMessages", "HTTPServer", "IdentityProtocol",
                "IdentityTestKit", "JSON", "PostgreSQL", "PostgresTestKit", "SystemIO",
            ]),
        tests(
            "ServerData",
            uses: [
                "BucketStore", "Cryptography", "DocumentModel", "DocumentStore", "HTTPMessages", "HTTPServer",
                "HTTPTestKit", "JSON", "ObjectStorage", "SQLite", "SystemIO",
            ]),
        tests("FerryKit", uses: ["DocumentClient", "DocumentCoding", "DocumentModel", "FerryKitTestSupport"]),
        tests("TaskFolder", uses: ["SystemIO"]),
        tests(
            "Reconciliation",
            uses: ["CivilTime", "DocumentModel", "Merge", "ReconciliationTestKit", "TaskModel"]),
        tests(
            "TaskSync",
            uses: [
                "TaskFolder", "TaskModel", "Merge", "DocumentModel", "DocumentClient", "DocumentStore", "ObjectStorage",
                "FirestoreProtocol", "Reconciliation", "Simulation", "SystemIO", "SystemService",
            ]),
        .systemLibrary(name: "CSwiftRuntime", path: "Tests/Simulation/Runtime"),
        .target(
            name: "Simulation",
            dependencies: [
                "CSwiftRuntime", "CivilTime", "Reconciliation", "ReconciliationTestKit",
                "TaskFolder", "TaskModel", "TaskSync", "Cryptography", "DocumentModel", "DocumentClient",
                "DocumentStore",
                "FirestoreProtocol", "ObjectStorage", "SecurityRules", "SQLite", "SystemIO", "SystemService",
            ], path: "Tests/Simulation/Harness", swiftSettings: settings),
        .executableTarget(
            name: "simulate", dependencies: ["Simulation"], path: "Tests/Simulation/Tool", swiftSettings: settings),
        .testTarget(
            name: "SimulationTests", dependencies: ["Simulation"], path: "Tests/Simulation/Seeds",
            exclude: ["regressions.txt"],
            swiftSettings: settings),
        tests(
            "MorningMail",
            uses: [
                "CivilTime", "DocumentModel", "DocumentStore", "IdentityProtocol", "IdentityServer", "PostgreSQL",
                "PostgresTestKit", "SMTPClient", "SystemIO", "SystemService", "TaskModel",
            ], reads: ["smtp_server.py"]),
        tests("SMTPClient"),
        tests("Control", uses: ["HTTPMessages", "HTTPServer", "JSON", "SystemIO"]),
        tests(
            "FerryServer",
            uses: [
                "AccessControl", "BucketStore", "CommandLineTool", "DocumentModel", "DocumentStore", "FirestoreServer",
                "HTTPMessages", "HTTPServer", "IdentityProtocol", "IdentityServer", "JSON", "ObjectStorage",
                "PostgreSQL", "PostgresStore", "PostgresTestKit", "S3Server", "SQLite", "ServerData", "SystemIO",
            ]),
        tests("FerryCLI", uses: ["CivilTime", "Control", "CommandLineTool", "JSON", "Recurrence", "SystemIO"]),
        tests(
            "FerryDaemon",
            uses: [
                "CommandLineTool", "Control", "DocumentClient", "DocumentModel", "JSON", "ObjectStorage", "SystemIO",
                "SystemService", "TaskModel", "TaskSync",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// For work on one target: FERRY_TARGETS=SQLite,SQLiteTests keeps these targets and their dependencies.
if let names = ProcessInfo.processInfo.environment["FERRY_TARGETS"] {
    // The decoders for libFuzzer, which brings its own main: see Tests/Fuzz/run.sh.
    package.targets.append(
        .target(
            name: "Fuzz",
            dependencies: [
                "BucketStore", "Control", "Cryptography", "DocumentClient", "DocumentModel", "DocumentStore",
                "FerryCLI", "FerryServer", "FirestoreProtocol", "FirestoreServer", "GRPCClient", "GRPCProtocol",
                "GRPCServer", "HTTPMessages", "HTTPServer", "IdentityServer",
                "JSON", "ObjectStorage", "RulesLanguage", "S3Server", "TaskModel", "Ustar", "XML", "YAML",
            ], path: "Tests/Fuzz/Decoders", swiftSettings: settings))
    var kept = Set<String>()
    func keep(_ name: String) {
        guard kept.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else { return }
        for dependency in target.dependencies {
            switch dependency {
            case .byNameItem(let name, _), .targetItem(let name, _): keep(name)
            default: break
            }
        }
    }
    names.split(separator: ",").forEach { keep(String($0)) }
    package.targets.removeAll { !kept.contains($0.name) }
    package.products = []
}
