// FerryCLI
