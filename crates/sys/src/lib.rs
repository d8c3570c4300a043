//! The only room with unsafe code: drivers, CPU clocks, pinning, spawning
