import DocumentStore

// The module FirestoreProtocol contains a type of the same name, so its other types cannot be
// qualified with the module's name. Where both modules are visible, these aliases name
// DocumentStore's types.
typealias StoreTransactionOptions = TransactionOptions
typealias StoreListenTarget = ListenTarget
