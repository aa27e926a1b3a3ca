//! Tells tests whether there is a Vulkan driver, so that those which need a GPU are shown as ignored without one.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders below which the loader looks for `vulkan/icd.d`, the descriptions of drivers.
const SHARES: [&str; 3] = ["/usr/share", "/usr/local/share", "/etc"];
/// Folders with libraries, or with a folder of them per kind of processor.
const LIBRARIES: [&str; 4] = ["/usr/lib", "/usr/lib64", "/lib", "/usr/local/lib"];
/// Variables that name drivers to the loader.
const NAMED: [&str; 3] = ["VK_DRIVER_FILES", "VK_ADD_DRIVER_FILES", "VK_ICD_FILENAMES"];

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

fn has_driver() -> bool {
    let is_loader = |folder: &Path| folder.join("libvulkan.so.1").exists();
    let loader = LIBRARIES.iter().any(|path| {
        let folder = Path::new(path);
        is_loader(folder) || entries(folder).iter().any(|below| is_loader(below))
    });
    let named = NAMED.iter().any(|name| env::var_os(name).is_some());
    loader && (named || SHARES.iter().any(|share| !entries(&Path::new(share).join("vulkan/icd.d")).is_empty()))
}

fn main() {
    println!("cargo::rustc-check-cfg=cfg(without_gpu)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=QUICKSTUDY_REQUIRE_GPU");
    for share in SHARES.iter().filter(|share| Path::new(share).join("vulkan/icd.d").exists()) {
        println!("cargo::rerun-if-changed={share}/vulkan/icd.d");
    }
    let required = env::var("QUICKSTUDY_REQUIRE_GPU").is_ok_and(|value| value == "1");
    if cfg!(target_os = "linux") && !required && !has_driver() {
        println!("cargo::rustc-cfg=without_gpu");
    }
}
