//! Text, JSON, CSV and HTML from a results directory
