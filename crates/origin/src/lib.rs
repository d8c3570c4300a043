//! Origin-server simulator
