import Testing

@testable import Control

@Suite struct ControlRouteTests {
    private static let routes: [ControlRoute] = [
        .status, .tasks, .addTask, .removeTasks, .task("Work/Ship 1.0.md"), .changeTask("a"), .lists,
        .attach(task: "a b"),
        .detach(task: "a", attachment: "b/c"), .fetch(task: "a", attachment: "b"), .transfers, .changeTransfers(.pause),
        .changeTransfers(.cancel), .sync, .pause, .deletes, .decideDeletes(.approve), .decideDeletes(.restore), .trash,
        .restore, .conflicts, .resolveConflicts(.theirs), .history(task: "a b"),
        .explanation(task: "Work/Ship 1.0.md"), .undo, .devices, .health, .log, .configuration, .checkConfiguration,
        .account, .signIn, .link, .changePassword, .usage, .signOut, .events,
    ]

    @Test(arguments: routes) func `a call is found by the method and path it is sent with`(route: ControlRoute) {
        #expect(ControlRoute(method: route.method, segments: route.segments) == route)
    }

    @Test(arguments: [
        ("GET", ["v1", "nothing"]), ("GET", ["v2", "status"]), ("POST", ["v1", "status"]), ("GET", []),
        ("POST", ["v1", "transfers", "explode"]), ("POST", ["v1", "conflicts", ""]),
        ("GET", ["v1", "tasks", "a", "b"]),
    ])
    func `other requests are not calls`(method: String, segments: [String]) {
        #expect(ControlRoute(method: method, segments: segments) == nil)
    }
}
