//! Bytes to messages and back, for both roles, without I/O
