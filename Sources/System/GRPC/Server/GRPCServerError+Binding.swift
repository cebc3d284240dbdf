import Glibc

extension GRPCServerError {
    /// Reads the core's log lines, its only account of why an address could not be bound.
    init(binding address: String, errors: String) {
        // `errno:98` in `{errno:98, os_error:"Address already in use", syscall:"bind"}`.
        func has(_ number: Int32) -> Bool { errors.contains("errno:\(number),") }
        let failure = "Cannot listen on \(address)"
        if has(EADDRINUSE) {
            self.init(
                code: .addressInUse, message: "\(failure): another program does. Stop it or choose another port.")
        } else if has(EACCES) || has(EPERM) {
            self.init(
                code: .notPermitted,
                message: "\(failure): not permitted. Choose a port above 1023 or grant the privilege.")
        } else if has(EADDRNOTAVAIL) {
            self.init(
                code: .addressNotAvailable,
                message: "\(failure): this machine has no such address. Check the host.")
        } else if errors.contains("Unable to create secure server") {
            self.init(
                code: .badCertificate,
                message: "\(failure) with TLS: the certificate chain or the private key is not usable PEM, or they do "
                    + "not belong together.")
        } else if !errors.contains("errno:") {
            self.init(
                code: .addressNotAvailable, message: "\(failure): the host cannot be looked up. Check its spelling.")
        } else {
            self.init(code: .other, message: "\(failure): \(errors)")
        }
    }
}
