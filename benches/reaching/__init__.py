"""Hosts, launchers and faults of benches/reach."""
