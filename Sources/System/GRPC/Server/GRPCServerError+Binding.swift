import Glibc

extension GRPCServerError {
    /// Why an address could not be bound, by its number in errno(3).
    init(binding address: String, number: Int32) {
        let failure = "Cannot listen on \(address)"
        switch number {
        case EADDRINUSE:
            self.init(
                code: .addressInUse, message: "\(failure): another program does. Stop it or choose another port.")
        case EACCES, EPERM:
            self.init(
                code: .notPermitted,
                message: "\(failure): not permitted. Choose a port above 1023 or grant the privilege.")
        case EADDRNOTAVAIL:
            self.init(
                code: .addressNotAvailable,
                message: "\(failure): this machine has no such address. Check the host.")
        default:
            self.init(code: .other, message: "\(failure): \(String(cString: strerror(number))).")
        }
    }
}
