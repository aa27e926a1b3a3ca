//! Algorithms that search by populations.

mod population;
