import Testing

@testable import SQLite

struct RowSumTests {
    private func database() throws -> SQLiteDatabase {
        let database = try SQLiteDatabase(path: ":memory:")
        try database.executeScript("CREATE TABLE t(a, b, sum INTEGER)")
        return database
    }

    private func isIntact(_ database: SQLiteDatabase) throws -> Bool? {
        try database.first("SELECT a, b, sum FROM t") { $0.isIntact(0..<2, sum: 2) }
    }

    /// Sums are stored on disk, so they must be the same on every processor and in every version.
    @Test func `the sum of known values is the known one`() throws {
        let values: [(String, Int64)] = [
            ("1", 0xBD02_AB6F), ("'abc'", 0xB9C3_8E2F), ("x'616263'", 0x2F96_A2BF), ("NULL", 0x2AF1_147B),
            ("1.5", 0x5AEF_4232), ("1, 'abc', x'', NULL", 0xABE5_AE53), ("zeroblob(1000)", 0xE4DF_1BF3),
        ]
        let database = try database()
        for (value, sum) in values {
            #expect(try database.first("SELECT row_sum(\(value))") { $0.int64(0) } == sum, "\(value)")
        }
    }

    @Test(arguments: ["1, 2", "'a', x'00'", "'', NULL", "1.5, zeroblob(300000)", "-1, 'zwölf'"])
    func `stored rows are intact`(values: String) throws {
        let database = try database()
        try database.executeScript("INSERT INTO t VALUES(\(values), row_sum(\(values)))")
        #expect(try isIntact(database) == true)
    }

    @Test func `each flipped bit is noticed`() throws {
        let database = try database()
        let bytes = Array("precious words".utf8)
        try database.execute("INSERT INTO t VALUES(7, ?1, row_sum(7, ?1))", [.blob(bytes)])
        for position in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[position / 8] ^= 1 << UInt8(position % 8)
            try database.execute("UPDATE t SET b=?", [.blob(flipped)])
            #expect(try isIntact(database) == false)
        }
        try database.execute("UPDATE t SET b=?, a=8", [.blob(bytes)])
        #expect(try isIntact(database) == false)
        try database.execute("UPDATE t SET a=7")
        #expect(try isIntact(database) == true)
    }

    @Test(arguments: [
        ("'a', 'bc'", "'ab', 'c'"), ("1, NULL", "'1', NULL"), ("'', 0", "NULL, 0"), ("x'61', 0", "'a', 0"),
        ("0, ''", "'', 0"),
    ])
    func `values that look alike have other sums`(left: String, right: String) throws {
        let database = try database()
        let isSame = try database.first("SELECT row_sum(\(left)) = row_sum(\(right))") { $0.bool(0) }
        #expect(isSame == false)
    }

    @Test func `a row without a sum counts as damaged, and says where`() throws {
        let database = try database()
        try database.execute("INSERT INTO t VALUES(1, 2, NULL)")
        #expect(try isIntact(database) == false)
        #expect {
            try database.query("SELECT a, b, sum FROM t") { try $0.checkIntact(0..<2, sum: 2) }
        } throws: { error in
            (error as? SQLiteError)?.code == .damagedRow && "\(error)".contains(":memory:")
        }
    }

    @Test(
        arguments: [
            (10, 28, true, SQLiteError.Code.full), (10, 122, true, .full), (10, 5, true, .inputOutput),
            (10, 0, true, .inputOutput), (10, 0, false, .full), (13, 0, true, .full), (14, 28, true, .full),
            (14, 2, true, .cannotOpen), (4874, 5, false, .full), (11, 28, false, .corrupt), (779, 0, true, .damagedRow),
        ] as [(Int32, Int32, Bool, SQLiteError.Code)])
    func `every SQLite code of a full disk is recognized`(
        result: Int32, number: Int32, hasSpace: Bool, code: SQLiteError.Code
    ) {
        #expect(SQLiteError.Code(resultCode: result, systemError: number, hasSpace: hasSpace) == code)
    }
}
