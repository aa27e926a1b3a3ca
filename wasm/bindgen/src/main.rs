//! `quickstudy-bindgen IN.wasm OUT_DIR`: what `wasm-bindgen --target web` does, without installing it.

use anyhow::{Context, Result};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (wasm, out) = args.next().zip(args.next()).context("usage: quickstudy-bindgen IN.wasm OUT_DIR")?;
    let mut bindgen = Bindgen::new();
    bindgen.input_path(&wasm).typescript(true).web(true)?;
    bindgen.omit_default_module_path(false);
    bindgen.generate(&out)
}
