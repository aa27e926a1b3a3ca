//! Tests that no preset loses the kernels that make its speed.

use toml::{Table, Value};

use crate::Device;
use crate::algo::Training;
use crate::backend::Census;
use crate::env::builtin;
use crate::train::{Preset, Setup, presets};

/// The kernels of a preset, where they differ from those of most presets.
struct Kernels(Table);

impl Kernels {
    fn of(preset: &Preset) -> Kernels {
        let table = toml::from_str::<Table>(preset.text).unwrap().remove("kernels");
        let kernels = table.map_or_else(Table::new, |kernels| kernels.as_table().unwrap().clone());
        const KEYS: [&str; 5] = ["gradient_norms", "lane_layers", "optimiser_steps", "plays_by_steps", "row_layers"];
        assert!(kernels.keys().all(|key| KEYS.contains(&key.as_str())), "{}", preset.name);
        Kernels(kernels)
    }

    /// Tells whether there are some: an optimiser of gradients, of parameters enough for a kernel; a norm of gradients
    /// that the tile sums which writes the last of them, which no product too wide for a tile does and nothing of which
    /// parts are known to be 0; wide layers whose candidates have no matrices of their own.
    fn has(&self, key: &str) -> bool {
        self.0.get(key).is_none_or(|has| has.as_bool().unwrap())
    }

    /// The most wide layers that stay on lanes: those of widths that fill no registers (DDPG's and TD3's 400 and 300,
    /// PEARL's 300), the gates of recurrent units, rows that episodes mask, and products of statistics.
    fn lane_layers(&self) -> usize {
        self.0.get("lane_layers").map_or(0, |most| most.as_integer().unwrap().try_into().unwrap())
    }

    /// Tells whether it plays step by step, as it learns between steps. All others play a rollout in one tile.
    fn plays_by_steps(&self) -> bool {
        self.0.get("plays_by_steps") == Some(&Value::Boolean(true))
    }
}

#[test]
fn presets_have_the_kernels_that_make_their_speed() {
    let device = Device::cpu(1);
    for preset in presets().unwrap().into_iter().filter(Preset::is_builtin) {
        let setup = Setup::resolve(preset.algorithm, builtin(&preset.env).unwrap(), &[0], None, &[]).unwrap();
        let traces = Training::traces(&**setup.fitted(), setup.env.clone(), 1).unwrap();
        let mut census = Census::default();
        traces.into_iter().for_each(|trace| census += device.compile(trace.into()).unwrap().census());
        let (name, kernels) = (&preset.name, Kernels::of(&preset));
        assert_eq!(census.optimiser_steps > 0, kernels.has("optimiser_steps"), "{name}: {census:?}");
        assert_eq!(census.gradient_norms > 0, kernels.has("gradient_norms"), "{name}: {census:?}");
        assert_eq!(census.row_layers > 0, kernels.has("row_layers"), "{name}: {census:?}");
        assert!(census.lane_layers <= kernels.lane_layers(), "{name}: {census:?}");
        let by_steps = kernels.plays_by_steps();
        assert_eq!(census.plays_by_steps > 0, by_steps, "{name}: {census:?}");
        assert!(by_steps || census.plays_in_tiles > 0, "{name}: {census:?}");
    }
}
