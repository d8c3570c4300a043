//! Plan, design, run and the results directory
