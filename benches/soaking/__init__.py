"""What `benches/soak` and `benches/scale` share."""
