//! When requests are sent and over which connection
