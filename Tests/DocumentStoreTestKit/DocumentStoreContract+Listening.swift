import DocumentModel
import DocumentStore

extension DocumentStoreContract {
    static let listening = [
        DocumentStoreContract("a listener receives the present documents, then every commit") { test in
            try await test.set("a/1", ["u": .string("x")])
            try await test.set("a/2", ["u": .string("y")])
            var client = ListenClient(test.store)
            let mine = test.query("a", .field(try test.path("u"), .equal, .string("x")))
            await client.stream.add(ListenTarget(id: 2, selection: .query(mine)))
            try await client.advance()
            try requireEqual(client.documents(2), ["a/1"], "the first snapshot")
            try require(client.targets[2]?.isCurrent == true, "the target is current")
            var time = try await test.set("a/3", ["u": .string("x")])
            try await client.advance(through: time)
            try requireEqual(client.documents(2), ["a/1", "a/3"], "after a create")
            time = try await test.set("a/1", ["u": .string("z")])
            try await client.advance(through: time)
            try requireEqual(client.documents(2), ["a/3"], "after one left")
            time = try await test.delete("a/3")
            try await client.advance(through: time)
            try requireEqual(client.documents(2), [], "after a delete")
            await client.stream.cancel()
        },
        DocumentStoreContract("one commit is one boundary over all targets of a stream") { test in
            var client = ListenClient(test.store)
            await client.stream.add(ListenTarget(id: 2, selection: .query(test.query("a"))))
            await client.stream.add(ListenTarget(id: 4, selection: .query(test.query("b"))))
            try await client.advance(through: Timestamp(microseconds: 0))
            while client.targets.count < 2 || client.targets.values.contains(where: { !$0.isCurrent }) {
                try await client.advance()
            }
            for round in 1...10 {
                let writes = ["a", "b"].map { collection in
                    Result { Write(.update(try test.name("\(collection)/\(round)"), fields: ["n": .integer(1)])) }
                }
                let time = try await test.store.commit(try writes.map { try $0.get() }).commitTime
                while client.readTime < time { try await client.advance() }
                try requireEqual(client.documents(2).count, round, "the first target")
                try requireEqual(client.documents(4).count, round, "the second target")
            }
        },
        DocumentStoreContract("a limited query is a window that others move into") { test in
            for index in 1...5 { try await test.set("a/\(index)", ["n": .integer(Int64(index))]) }
            var client = ListenClient(test.store)
            let top = test.query("a", orders: [Query.Order(try test.path("n"))], limit: 2)
            await client.stream.add(ListenTarget(id: 2, selection: .query(top)))
            try await client.advance()
            try requireEqual(client.documents(2), ["a/1", "a/2"], "the window")
            var time = try await test.delete("a/1")
            try await client.advance(through: time)
            try requireEqual(client.documents(2), ["a/2", "a/3"], "one moved in")
            time = try await test.set("a/9", ["n": .integer(0)])
            try await client.advance(through: time)
            try requireEqual(client.documents(2), ["a/2", "a/9"], "one pushed out")
        },
        DocumentStoreContract("documents can be listened to, also missing ones") { test in
            var client = ListenClient(test.store)
            await client.stream.add(ListenTarget(id: 1, selection: .documents([try test.name("a/1")])))
            try await client.advance()
            try requireEqual(client.documents(1), [], "the missing document")
            let time = try await test.set("a/1", ["n": .integer(1)])
            try await client.advance(through: time)
            try requireEqual(client.documents(1), ["a/1"], "the document")
        },
        DocumentStoreContract("a resumed listener receives the changes and nothing else") { test in
            for index in 1...5 { try await test.set("a/\(index)", ["n": .integer(Int64(index))]) }
            var client = ListenClient(test.store)
            await client.stream.add(ListenTarget(id: 2, selection: .query(test.query("a"))))
            try await client.advance()
            let token = client.token
            await client.stream.cancel()
            try await test.delete("a/1")
            try await test.set("a/6", [:])
            let time = try await test.set("a/2", ["n": .integer(22)])
            var resumed = ListenClient(test.store)
            await resumed.stream.add(
                ListenTarget(id: 2, selection: .query(test.query("a")), resumption: .token(token), expectedCount: 5))
            try await resumed.advance(through: time)
            try requireEqual(resumed.resets, 0, "resets")
            try requireEqual(resumed.documents(2), ["a/2", "a/6"], "what was told")
            try requireEqual(resumed.gone[2]?.map(\.path), ["a/1"], "what is gone")
            try requireEqual(resumed.targets[2]?.filterCount, 5, "the count")
            try requireEqual(resumed.targets[2]?.unchanged, nil, "nothing to sort out")
        },
        DocumentStoreContract("a resuming listener with a different number of documents receives the unchanged names") {
            test in
            for index in 1...4 { try await test.set("a/\(index)", ["n": .integer(Int64(index))]) }
            for limit in [nil, 3] as [Int32?] {
                var client = ListenClient(test.store)
                let query = test.query("a", orders: [Query.Order(try test.path("n"), descending: false)], limit: limit)
                await client.stream.add(ListenTarget(id: 2, selection: .query(query)))
                try await client.advance()
                let token = client.token
                await client.stream.cancel()
                let time = try await test.set("a/2", ["n": .integer(2), "t": .integer(Int64(limit ?? 0))])
                var resumed = ListenClient(test.store)
                await resumed.stream.add(
                    ListenTarget(id: 2, selection: .query(query), resumption: .token(token), expectedCount: 7))
                try await resumed.advance(through: time)
                try requireEqual(resumed.documents(2), ["a/2"], "what was told")
                try requireEqual(resumed.targets[2]?.filterCount, limit ?? 4, "the count")
                let unchanged = resumed.targets[2]?.unchanged?.map(\.path).sorted()
                try requireEqual(unchanged, limit == nil ? ["a/1", "a/3", "a/4"] : ["a/1", "a/3"], "the unchanged")
                await resumed.stream.cancel()
            }
        },
        DocumentStoreContract("a resumed listener of single documents receives the changes") { test in
            try await test.set("a/1", [:])
            let time = try await test.set("a/2", [:])
            let names = try ["a/1", "a/2", "a/3"].map(test.name)
            try await test.set("a/3", [:])
            try await test.delete("a/2")
            var client = ListenClient(test.store)
            await client.stream.add(ListenTarget(id: 2, selection: .documents(names), resumption: .readTime(time)))
            try await client.advance()
            try requireEqual(client.documents(2), ["a/3"], "what was told")
            try requireEqual(client.gone[2]?.map(\.path), ["a/2"], "what is gone")
        },
        DocumentStoreContract("bad targets are removed with a cause and the stream goes on") { test in
            var client = ListenClient(test.store)
            let query = test.query("a")
            await client.stream.add(ListenTarget(id: 2, selection: .query(query), resumption: .token([1, 2])))
            try await client.advance(untilRemoved: 2)
            try requireEqual(client.removed[2]??.message, "bad resume token", "the cause")
            let everything = Query(parent: ParentName(test.store.database), collectionID: nil, allDescendants: true)
            await client.stream.add(ListenTarget(id: 4, selection: .query(everything)))
            try await client.advance(untilRemoved: 4)
            try requireEqual(client.removed[4]??.code, .invalidArgument, "the cause")
            await client.stream.add(ListenTarget(id: 6, selection: .query(query), resumption: .token([])))
            try await client.advance()
            try require(client.targets[6]?.isCurrent == true, "a good target is served")
            await client.stream.remove(6)
            try await client.advance(untilRemoved: 6)
            try requireEqual(client.removed[6] ?? nil, nil, "no cause")
        },
        DocumentStoreContract("a target that is removed right after it was added is told to be, in the client's order")
        { test in
            try await test.set("a/1", [:])
            var client = ListenClient(test.store)
            for id in [2, 4, 6] as [Int32] {
                await client.stream.add(ListenTarget(id: id, selection: .query(test.query("a"))))
                if id != 4 { await client.stream.remove(id) }
            }
            await client.stream.add(ListenTarget(id: 2, selection: .documents([try test.name("a/1")])))
            try await client.advance(untilRemoved: 6)
            try requireEqual(client.removed[2] ?? nil, nil, "no cause")
            try await client.advance(untilAnswered: [4])
            while client.targets[2]?.isCurrent != true { try await client.advance() }
            try requireEqual(client.targets.keys.sorted(), [2, 4], "what is left")
        },
        DocumentStoreContract("a stream takes a thousand targets and goes on without more") { test in
            var client = ListenClient(test.store)
            let stream = client.stream
            let name = try test.name("a/1")
            // The unread requests of a stream block the task that sends them.
            let adding = Task {
                for id in 1...1001 as ClosedRange<Int32> {
                    await stream.add(ListenTarget(id: id, selection: .documents([name])))
                }
            }
            try await client.advance(untilRemoved: 1001)
            await adding.value
            try requireEqual(client.removed[1001]??.code, .resourceExhausted, "the cause")
            try requireEqual(client.targets.count, 1000, "the targets")
            let time = try await test.set("a/1", [:])
            try await client.advance(through: time)
            try requireEqual(client.documents(1000), ["a/1"], "the last target")
            await stream.remove(7)
            try await client.advance(untilRemoved: 7)
            await stream.add(ListenTarget(id: 2000, selection: .documents([name])))
            try await client.advance(untilAnswered: [2000])
            try requireEqual(client.documents(2000), ["a/1"], "a target in the place of another")
            await stream.cancel()
        },
        DocumentStoreContract("a target for once is removed when it is current") { test in
            try await test.set("a/1", [:])
            var client = ListenClient(test.store)
            await client.stream.add(ListenTarget(id: 2, selection: .query(test.query("a")), once: true))
            try await client.advance(untilRemoved: 2)
            try requireEqual(client.removed[2] ?? nil, nil, "no cause")
        },
        DocumentStoreContract("a write without a change is not reported to listeners") { test in
            try await test.set("a/1", ["n": .integer(1)])
            var client = ListenClient(test.store)
            await client.stream.add(ListenTarget(id: 2, selection: .query(test.query("a"))))
            try await client.advance()
            try await test.set("a/1", ["n": .integer(1)])
            let time = try await test.set("a/2", [:])
            try await client.advance()
            try require(client.readTime >= time, "the first boundary is of the second commit")
        },
    ]
}
