//! Time to change and to read rows of a small and of a large memory, as off-policy learning does at each step.
//!
//! `cargo bench -p quickstudy-core --features bench --bench memory`. With `-- --table` it prints instead the least time
//! of many runs, which is steadier on a shared machine, and the ratio of the large memory to the small one. Random rows
//! of a large memory are not in the processor's caches, so that some of its time is theirs.

#[path = "shared/memory.rs"]
mod memory;

use quickstudy_core::Device;

fn main() {
    memory::run(&Device::cpu(1), memory::SIZES);
}
