package import SQLite

/// The bytes of objects, and of parts of unfinished uploads, that each user keeps, and the number of
/// these objects: the table `usage`.
///
/// Triggers maintain the table, so it stays correct whatever changes the index, including a command
/// that runs beside the server. The user is the first part of the key; keys without a slash count
/// for no user.
package enum ObjectUsage {
    /// Returns the user that a key counts for; nil if it counts for none.
    package static func owner(of key: String) -> String? {
        guard let slash = key.utf8.firstIndex(of: UInt8(ascii: "/")), slash != key.utf8.startIndex else { return nil }
        return String(key[..<slash])
    }

    static let schema = """
        CREATE TABLE usage(owner TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        INSERT INTO usage SELECT substr(key, 1, instr(key, '/') - 1) AS owner, sum(size) FROM (
                SELECT key, size FROM object UNION ALL SELECT key, size FROM part JOIN upload ON upload.id = part.upload)
            WHERE instr(key, '/') > 1 GROUP BY owner;
        CREATE TRIGGER object_added AFTER INSERT ON object WHEN instr(NEW.key, '/') > 1 BEGIN
            INSERT INTO usage VALUES (substr(NEW.key, 1, instr(NEW.key, '/') - 1), NEW.size)
                ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes;
        END;
        CREATE TRIGGER object_replaced AFTER UPDATE OF size ON object WHEN NEW.size != OLD.size BEGIN
            UPDATE usage SET bytes = bytes + NEW.size - OLD.size WHERE owner = substr(NEW.key, 1, instr(NEW.key, '/') - 1);
        END;
        CREATE TRIGGER object_removed AFTER DELETE ON object BEGIN
            UPDATE usage SET bytes = bytes - OLD.size WHERE owner = substr(OLD.key, 1, instr(OLD.key, '/') - 1);
        END;
        CREATE TRIGGER part_added AFTER INSERT ON part BEGIN
            INSERT INTO usage SELECT substr(key, 1, instr(key, '/') - 1), NEW.size FROM upload
                WHERE id = NEW.upload AND instr(key, '/') > 1
                ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes;
        END;
        CREATE TRIGGER part_replaced AFTER UPDATE OF size ON part WHEN NEW.size != OLD.size BEGIN
            UPDATE usage SET bytes = bytes + NEW.size - OLD.size
                WHERE owner = (SELECT substr(key, 1, instr(key, '/') - 1) FROM upload WHERE id = NEW.upload);
        END;
        CREATE TRIGGER part_removed AFTER DELETE ON part BEGIN
            UPDATE usage SET bytes = bytes - OLD.size
                WHERE owner = (SELECT substr(key, 1, instr(key, '/') - 1) FROM upload WHERE id = OLD.upload);
        END;
        -- Before the upload goes, while its key still says whose the parts are.
        CREATE TRIGGER upload_removed BEFORE DELETE ON upload BEGIN
            DELETE FROM part WHERE upload = OLD.id;
        END;
        """

    /// Counts the objects, too. Each costs its key and its metadata, even one without bytes.
    static let objectCounts = """
        ALTER TABLE usage ADD COLUMN objects INTEGER NOT NULL DEFAULT 0;
        INSERT INTO usage(owner, bytes, objects) SELECT substr(key, 1, instr(key, '/') - 1) AS owner, 0, count(*)
            FROM object WHERE instr(key, '/') > 1 GROUP BY owner
            ON CONFLICT (owner) DO UPDATE SET objects = excluded.objects;
        DROP TRIGGER object_added;
        CREATE TRIGGER object_added AFTER INSERT ON object WHEN instr(NEW.key, '/') > 1 BEGIN
            INSERT INTO usage(owner, bytes, objects) VALUES (substr(NEW.key, 1, instr(NEW.key, '/') - 1), NEW.size, 1)
                ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes, objects = objects + 1;
        END;
        DROP TRIGGER object_removed;
        CREATE TRIGGER object_removed AFTER DELETE ON object BEGIN
            UPDATE usage SET bytes = bytes - OLD.size, objects = objects - 1
                WHERE owner = substr(OLD.key, 1, instr(OLD.key, '/') - 1);
        END;
        DROP TRIGGER part_added;
        CREATE TRIGGER part_added AFTER INSERT ON part BEGIN
            INSERT INTO usage(owner, bytes) SELECT substr(key, 1, instr(key, '/') - 1), NEW.size FROM upload
                WHERE id = NEW.upload AND instr(key, '/') > 1
                ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes;
        END;
        """
}

extension SQLiteDatabase {
    /// Returns the bytes that a user keeps.
    package func usage(of owner: String) throws -> Int64 {
        try first("SELECT bytes FROM usage WHERE owner = ?", [.text(owner)]) { $0.int64(0) } ?? 0
    }

    /// Returns the bytes and the number of objects that a user keeps.
    package func use(by owner: String) throws -> (bytes: Int64, objects: Int64) {
        try first("SELECT bytes, objects FROM usage WHERE owner = ?", [.text(owner)]) { ($0.int64(0), $0.int64(1)) }
            ?? (0, 0)
    }
}
