//! Watching a policy play.

use quickstudy_core::train::Viewer;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::policy::RawPolicy;
use crate::scene;
use crate::thrown::{Thrown, thrown};

/// Environments that a policy plays for somebody to look at.
#[wasm_bindgen]
pub struct RawViewer {
    viewer: Viewer,
    list: Vec<f32>,
}

#[wasm_bindgen]
impl RawViewer {
    /// `count` environments at their first states.
    ///
    /// # Errors
    /// If the policy adapts to tasks, or for no environments or too many.
    pub fn open(policy: &RawPolicy, count: usize, seed: u64, deterministic: bool) -> Thrown<RawViewer> {
        let viewer = Viewer::new(policy.evaluator(), count, seed, deterministic).map_err(thrown)?;
        Ok(RawViewer { viewer, list: Vec::new() })
    }

    /// Go on with the parameters of another policy of the same run.
    ///
    /// # Errors
    /// If it has other networks.
    #[wasm_bindgen(js_name = setPolicy)]
    pub fn set_policy(&mut self, policy: &RawPolicy) -> Thrown<()> {
        self.viewer.set_policy(policy.evaluator()).map_err(thrown)
    }

    /// One step everywhere; scenes of all environments, as [`draw`](crate::scene::draw) lists them.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn advance(&mut self) -> Thrown<Vec<f32>> {
        self.viewer.advance().map_err(thrown)?;
        self.scenes().await
    }

    /// Scenes of all environments as they are.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn scenes(&mut self) -> Thrown<Vec<f32>> {
        let states = self.viewer.states().await.map_err(thrown)?;
        self.list.clear();
        for state in states.chunks(self.viewer.env().state_len()) {
            scene::append(&mut self.list, &self.viewer.env().draw(state, &[]).map_err(thrown)?);
        }
        Ok(self.list.clone())
    }
}
