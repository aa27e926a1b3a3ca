//! Searches by populations.

mod population;
