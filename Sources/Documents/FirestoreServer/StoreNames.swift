import DocumentStore

// The module has the name of its protocol, so where FirestoreProtocol's types of the same names are
// in sight these cannot be written out.
typealias StoreTransactionOptions = TransactionOptions
typealias StoreListenTarget = ListenTarget
