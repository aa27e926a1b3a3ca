//! Presets of environments of Gymnasium, which nothing can train without Python.

use std::collections::HashMap;

use quickstudy_bridge::Recipe;
use quickstudy_core::Device;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::train::{Session, Setup, presets};

use crate::options;

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn every_preset_trains() {
    let options = options(1);
    let (mut places, mut trained) = (HashMap::new(), 0);
    for preset in presets().unwrap().into_iter().filter(|preset| preset.env.starts_with("gymnasium:")) {
        let place = || Recipe::parse(&preset.env, &options).unwrap().place().unwrap();
        let place: &EnvPlace = places.entry(preset.env.clone()).or_insert_with(place);
        let setup = Setup::resolve(preset.algorithm, place, &[0], None, &[]).unwrap();
        assert_eq!((setup.preset.as_ref(), setup.steps), (Some(&preset.name), preset.steps));
        let mut session = Session::new(&Device::cpu(1), &setup).unwrap();
        pollster::block_on(session.step()).unwrap();
        assert_eq!(session.env_steps(), setup.batch(), "{}", preset.name);
        trained += 1;
    }
    assert!(trained >= 6, "{trained} presets");
}
