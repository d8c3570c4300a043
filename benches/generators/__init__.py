"""The engine's bench: see `benches/compare-generators`."""
