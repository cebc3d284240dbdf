import FerryKit
import FerryKitTestSupport
import Foundation
import Observation
import Testing

@Suite(.timeLimit(.minutes(1))) struct QueryTests {
    let server = MemoryServer()
    let directories = Directories()

    /// Opens a machine with tasks `t0` … `t9`; the views of each are its number.
    private func openWithTasks() async throws -> (Ferry, DocumentCollection<Item>) {
        let (ferry, user) = try await openMachine(.memory(server), directories)
        let tasks = ferry.collection(Item.self)
        try await ferry.batch { batch in
            for number in 0..<10 {
                let due = number < 5 ? Date(timeIntervalSince1970: Double(number)) : nil
                batch.set(
                    Item(
                        title: "t\(number)", priority: number.isMultiple(of: 2) ? .high : .low,
                        isDone: number >= 8, tags: ["tag\(number % 3)"], views: number,
                        detail: .init(due: due), userId: user.id), tasks["t\(number)"])
            }
        }
        try await ferry.waitForPendingWrites()
        return (ferry, tasks)
    }

    private func titles(_ query: Query<Item>, _ source: Source = .server) async throws -> [String] {
        let found = try await query.get(source)
        #expect(found.undecodable.isEmpty)
        return found.map(\.title)
    }

    @Test func `conditions find documents here and on the server`() async throws {
        let (ferry, tasks) = try await openWithTasks()
        let threshold = Date(timeIntervalSince1970: 2)
        let expected: [(Query<Item>, [String])] = [
            (tasks.where { $0.views == 3 }, ["t3"]),
            (tasks.where { $0.isDone == true }, ["t8", "t9"]),
            (tasks.where { $0.views > 6 && $0.priority == .high }, ["t8"]),
            (tasks.where { $0.views == 1 || $0.views == 5 }, ["t1", "t5"]),
            (tasks.where { $0.detail.due < threshold }, ["t0", "t1"]),
            (tasks.where { ($0.detail.due >= threshold || $0.views == 3) && $0.priority == .low }, ["t3"]),
            (tasks.where { $0.tags.contains("tag1") && $0.views < 5 }, ["t1", "t4"]),
            (tasks.where { $0.tags.containsAny(of: ["tag0", "tag1"]) && $0.views <= 1 }, ["t0", "t1"]),
            (tasks.where { $0.title.isIn(["t2", "t7", "x"]) }, ["t2", "t7"]),
            (tasks.where { $0.views.isNotIn([0, 1, 2, 3, 4, 5, 6, 7]) }, ["t8", "t9"]),
            (tasks.where { $0.views != 0 }.order(by: \.views).limit(2), ["t1", "t2"]),
            (tasks.where { 2..<4 ~= $0.views }, ["t2", "t3"]),
            (tasks.where { $0.views > 1 }.where { $0.views < 4 }, ["t2", "t3"]),
        ]
        for (query, wanted) in expected {
            #expect(try await titles(query) == wanted)
            #expect(try await titles(query, .cache) == wanted)
        }
        await ferry.close()
    }

    @Test func `the nearest vectors are found here and on the server`() async throws {
        let (ferry, _) = try await openMachine(.memory(server), directories)
        let notes = ferry.collection(Note.self)
        let meanings: [VectorValue?] = [[1, 0], [0, 2], [3, 3], nil, [1, 2, 3], [-1, 0.5]]
        try await ferry.batch { batch in
            for (number, meaning) in meanings.enumerated() {
                batch.set(Note(text: "n\(number)", meaning: meaning, place: [Double(number)]), notes["n\(number)"])
            }
        }
        #expect(try await notes["n1"].get()?.meaning == [0, 2])
        try await ferry.waitForPendingWrites()
        for source in [Source.server, .cache, .cacheElseServer] {
            let near = try await notes.all.nearest(3, to: [1, 0], in: \.meaning, from: source)
            #expect(near.map(\.id) == ["n0", "n5", "n1"])
            #expect(near.map(\.distance) == [0, 4.25.squareRoot(), 5.0.squareRoot()])
            let greatest = try await notes.all.nearest(
                5, to: [0, 1], in: \.meaning, by: .dotProduct, within: 1, from: source)
            #expect(greatest.map(\.id) == ["n2", "n1"])
            let angles = try await notes.all.nearest(1, to: [2, 2], in: \.meaning, by: .cosine, from: source)
            #expect(angles.map(\.document.text) == ["n2"] && abs(angles[0].distance) < 1e-9)
            let some = notes.where { $0.text.isIn(["n1", "n4"]) }
            #expect(try await some.nearest(9, to: [4], in: \.place, from: source).map(\.id) == ["n4", "n1"])
        }
        // The distance is no field of the document, and a local change counts at once.
        #expect(try await notes["n0"].get(.cache)?.data == Note(text: "n0", meaning: [1, 0], place: [0]))
        server.setOffline(true)
        try await notes["n3"].update { $0.meaning = [1, 0.1] }
        #expect(try await notes.all.nearest(2, to: [1, 0], in: \.meaning).map(\.id) == ["n0", "n3"])
        await #expect(throws: FerryError.self) { try await notes.all.nearest(1001, to: [1], in: \.place, from: .cache) }
        await #expect(throws: FerryError.self) { try await notes.all.nearest(1, to: [], in: \.place, from: .cache) }
        await ferry.close()
    }

    @Test func `orders, limits and cursors cut out a part`() async throws {
        let (ferry, tasks) = try await openWithTasks()
        let byViews = tasks.all.order(by: \.views)
        let five = try #require(try await tasks["t5"].get())
        let expected: [(Query<Item>, [String])] = [
            (byViews.limit(2), ["t0", "t1"]),
            (byViews.limit(toLast: 2), ["t8", "t9"]),
            (tasks.all.order(by: \.views, descending: true).limit(1), ["t9"]),
            (tasks.all.limit(toLast: 1), ["t9"]),
            (byViews.start(at: 8), ["t8", "t9"]),
            (byViews.start(after: 8), ["t9"]),
            (byViews.end(at: 1), ["t0", "t1"]),
            (byViews.end(before: 1), ["t0"]),
            (byViews.start(at: five).limit(2), ["t5", "t6"]),
            (byViews.start(after: five).end(before: 8), ["t6", "t7"]),
            (byViews.end(at: five).limit(toLast: 2), ["t4", "t5"]),
            (byViews.end(before: five).limit(toLast: 2), ["t3", "t4"]),
            (tasks.all.start(after: five).limit(1), ["t6"]),
            (
                tasks.all.order(by: \.priority).order(by: \.views, descending: true).start(after: Priority.high, 4)
                    .limit(3), ["t2", "t0", "t9"]
            ),
        ]
        for (query, wanted) in expected {
            #expect(try await titles(query) == wanted)
            #expect(try await titles(query, .cache) == wanted)
        }
        var pages: [[String]] = []
        for try await page in byViews.pages(of: 4) { pages.append(page.map(\.title)) }
        #expect(pages.map(\.count) == [4, 4, 2] && pages.joined().elementsEqual((0..<10).map { "t\($0)" }))
        pages = []
        for try await page in byViews.limit(6).pages(of: 4) { pages.append(page.map(\.title)) }
        #expect(pages == [["t0", "t1", "t2", "t3"], ["t4", "t5"]])
        var last = byViews.limit(toLast: 2).pages(of: 4).makeAsyncIterator()
        await #expect(throws: FerryError.self) { try await last.next() }
        await ferry.close()
    }

    @Test func `aggregates are computed`() async throws {
        let (ferry, tasks) = try await openWithTasks()
        #expect(try await tasks.all.count() == 10)
        #expect(try await tasks.where { $0.isDone == true }.count() == 2)
        #expect(try await tasks.all.sum(\.views) == 45)
        #expect(try await tasks.all.average(\.views) == 4.5)
        #expect(try await tasks.where { $0.views > 100 }.average(\.views) == nil)
        await ferry.close()
    }

    @Test func `a collection group spans parents`() async throws {
        let (ferry, tasks) = try await openWithTasks()
        try await ferry.batch { batch in
            batch.set(Subtask(name: "a", userId: "u"), tasks["t1"].collection(Subtask.self)["s"])
            batch.set(Subtask(name: "b", userId: "u"), tasks["t2"].collection(Subtask.self)["s"])
            batch.set(Subtask(name: "c", userId: "v"), tasks["t3"].collection(Subtask.self)["s"])
        }
        let found = try await ferry.group(Subtask.self).where { $0.userId == "u" }.get(.cache)
        #expect(found.map(\.name) == ["a", "b"])
        #expect(found.first?.reference.path == "tasks/t1/subtasks/s")
        await ferry.close()
    }

    @Test func `snapshots follow changes and tell what differs`() async throws {
        let (ferry, tasks) = try await openWithTasks()
        let query = tasks.where { $0.views < 3 }.order(by: \.views)
        var snapshots = query.snapshots.makeAsyncIterator()
        let initial = try #require(try await snapshots.next())
        #expect(initial.map(\.title) == ["t0", "t1", "t2"] && initial.insertions == [0, 1, 2])
        try await tasks["t1"].update { $0.title = "changed" }
        var next = try #require(try await snapshots.next())
        while next.modifications.isEmpty { next = try #require(try await snapshots.next()) }
        #expect(next[1].title == "changed" && next.modifications == [1] && next.insertions.isEmpty)
        // That the server has the change is a modification of its own, which may not join those below.
        while next.hasPendingWrites { next = try #require(try await snapshots.next()) }
        try await tasks["t0"].update { $0.views = 7 }
        while next.deletions.isEmpty { next = try #require(try await snapshots.next()) }
        #expect(next.map(\.id) == ["t1", "t2"] && next.deletions == [0])
        #expect(next.difference.removals.count == 1 && next.difference.insertions.isEmpty)
        try await tasks["t2"].update { $0.views = 0 }
        while next.first?.id != "t2" { next = try #require(try await snapshots.next()) }
        #expect(next.map(\.id) == ["t2", "t1"] && next.modifications == [0])
        await ferry.close()
        while try await snapshots.next() != nil {}
    }

    @Test func `the last results are followed in order`() async throws {
        let (ferry, tasks) = try await openWithTasks()
        let query = tasks.all.order(by: \.views).limit(toLast: 2)
        _ = try await first(of: query.snapshots) { $0.map(\.title) == ["t8", "t9"] }
        var snapshots = query.snapshots.makeAsyncIterator()
        _ = try await snapshots.next()
        try await tasks["t10"].set(Item(title: "t10", views: 10))
        var next = try #require(try await snapshots.next())
        while next.last?.title != "t10" { next = try #require(try await snapshots.next()) }
        #expect(next.map(\.title) == ["t9", "t10"] && next.insertions == [1] && next.deletions == [0])
        await ferry.close()
    }

    @Test func `a document that does not fit is told and skipped`() async throws {
        struct Loose: DocumentModel {
            static let collection = "tasks"
            var title: Int
        }
        let (ferry, tasks) = try await openWithTasks()
        try await ferry.reference(to: "tasks/odd", as: Loose.self).set(Loose(title: 3))
        let found = try await tasks.all.get(.cache)
        #expect(found.count == 10 && found.undecodable.map(\.path) == ["tasks/odd"])
        // Pages go on after documents that do not fit, also after one with no other.
        for id in ["t2a", "t2b", "t2c"] {
            try await ferry.reference(to: "tasks/\(id)", as: Loose.self).set(Loose(title: 3))
        }
        try await ferry.waitForPendingWrites()
        var titles: [String] = []
        for try await page in tasks.all.pages(of: 2) { titles += page.map(\.title) }
        #expect(titles == (0..<10).map { "t\($0)" })
        await #expect(throws: DecodingError.self) { try await tasks["odd"].get() }
        await ferry.close()
    }

    @Test func `a document is watched`() async throws {
        let (ferry, tasks) = try await openWithTasks()
        let two = try await Ferry.open(.memory(server), state: directories["two"])
        try await two.account.signInAnonymously()
        let there = try two.reference(to: "tasks/t4", as: Item.self)
        var snapshots = tasks["t4"].snapshots.makeAsyncIterator()
        #expect(try await snapshots.next()??.title == "t4")
        try await there.update { $0.title = "far" }
        while try await snapshots.next()??.title != "far" {}
        try await there.delete()
        while let next = try await snapshots.next(), next != nil {}
        await ferry.close()
        await two.close()
    }

    @Test func `sources decide where documents are read`() async throws {
        let (one, user) = try await openMachine(.memory(server), directories, "one")
        let far = try await one.collection(Item.self).add(Item(title: "far", userId: user.id))
        try await one.waitForPendingWrites()
        let (two, _) = try await openMachine(.memory(server), directories, "two")
        let near = try two.reference(to: far.path, as: Item.self)
        #expect(try await near.get(.cache) == nil)
        #expect(try await near.get(.cacheElseServer)?.title == "far")
        #expect(try await near.cached?.title == "far")
        _ = try await far.update { $0.title = "newer" }.ordered()
        #expect(try await near.get()?.title == "far")
        #expect(try await near.get(.serverElseCache)?.title == "newer")
        server.setOffline(true)
        #expect(try await near.get(.serverElseCache)?.title == "newer")
        let error = await #expect(throws: FerryError.self) { try await near.get(.server) }
        #expect(error?.code == .offline && error?.isTransient == true)
        await one.close()
        await two.close()
    }

    @Test @MainActor func `a live query is observed`() async throws {
        let (ferry, tasks) = try await openWithTasks()
        let live = LiveQuery(tasks.all.order(by: \.views).limit(3))
        func wait(until isReached: @MainActor () -> Bool) async {
            while !isReached() {
                await withCheckedContinuation { continuation in
                    withObservationTracking {
                        _ = live.documents
                    } onChange: {
                        continuation.resume()
                    }
                }
                await Task.yield()
            }
        }
        await wait { live.documents?.map(\.title) == ["t0", "t1", "t2"] }
        try await tasks["t0"].update { $0.title = "first" }
        await wait { live.documents?.first?.title == "first" }
        live.loadMore(2)
        await wait { live.documents?.count == 5 }
        #expect(live.problem == nil)
        await ferry.close()
    }
}
