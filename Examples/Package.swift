// swift-tools-version: 6.2
import PackageDescription

// Apps on FerryKit. An app of your own depends on it in the same way, with the address of the
// repository in place of the path.

func example(_ name: String) -> Target {
    .executableTarget(
        name: name,
        dependencies: [
            .product(name: "FerryKit", package: "ferry"), .product(name: "FerryKitTestSupport", package: "ferry"),
        ])
}

let package = Package(
    name: "Examples",
    dependencies: [.package(name: "ferry", path: "..")],
    targets: [
        example("MakeItSo"), example("Repository"), example("Chat"), example("Migration"), example("SignIn"),
        example("CloudFirestore"),
    ])
