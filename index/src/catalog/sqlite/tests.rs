//! What is SQLite's own: files, processes, versions. The rest is in the conformance suite.
