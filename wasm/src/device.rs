//! The device on which programs run.

use quickstudy_core::Device;
use quickstudy_gpu::{Gpu, GpuOptions};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::thrown::{Thrown, misused, thrown};

/// The processor, or a GPU through WebGPU.
#[wasm_bindgen]
pub struct RawDevice {
    device: Device,
    gpu: Option<Gpu>,
}

#[wasm_bindgen]
impl RawDevice {
    /// Opens `cpu` or `gpu`.
    ///
    /// # Errors
    /// If there is no such device; the message says why.
    pub async fn open(kind: String) -> Thrown<RawDevice> {
        match kind.as_str() {
            "cpu" => Ok(RawDevice { device: Device::cpu(1), gpu: None }),
            "gpu" => {
                let gpu = Gpu::open(&GpuOptions::default()).await.map_err(thrown)?;
                Ok(RawDevice { device: Device::new(gpu.clone()), gpu: Some(gpu) })
            }
            other => Err(misused(&format!("device: `{other}` is neither cpu nor gpu"))),
        }
    }

    /// `cpu` or `gpu`.
    #[wasm_bindgen(getter)]
    pub fn kind(&self) -> String {
        if self.gpu.is_some() { "gpu" } else { "cpu" }.to_owned()
    }

    /// Its name for people.
    #[wasm_bindgen(getter)]
    pub fn name(&self) -> String {
        match &self.gpu {
            Some(gpu) => gpu.info().name.clone(),
            None => "WebAssembly".to_owned(),
        }
    }

    /// Why it is gone, if it is: a browser may tell after the first calls have failed for it.
    #[wasm_bindgen(getter)]
    pub fn loss(&self) -> Option<String> {
        self.gpu.as_ref().and_then(Gpu::loss).map(|error| error.to_string())
    }

    /// Gives a GPU up, as a driver that is reset does: what uses it fails from then on. Nothing happens to a processor.
    pub fn lose(&self) {
        if let Some(gpu) = &self.gpu {
            gpu.destroy();
        }
    }
}

impl RawDevice {
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }
}
