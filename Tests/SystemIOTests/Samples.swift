import SystemIO

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func code(of body: () throws -> Void) -> SystemError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? SystemError)?.code
    }
}
