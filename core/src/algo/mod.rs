//! Algorithms, one per file, named as their papers.
