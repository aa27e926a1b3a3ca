//! Pipelines, one per text of a shader.

use std::rc::Rc;

use quickstudy_kernels::Result;

use crate::context::Context;

impl Context {
    /// The pipeline of a shader with that layout of storage buffers and that many loops around. `name` is that of its
    /// kernel.
    ///
    /// # Errors
    /// If the shader is refused: the error names the kernel. A browser says so later, by the next error that is asked
    /// for.
    pub fn pipeline(
        &self,
        name: &str,
        text: &str,
        layout: &wgpu::BindGroupLayout,
        levels: usize,
    ) -> Result<Rc<wgpu::ComputePipeline>> {
        if let Some(found) = self.pipelines.borrow().get(text) {
            return Ok(found.clone());
        }
        let source = wgpu::ShaderSource::Wgsl(text.into());
        let module = self.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some(name), source });
        let uniform = self.uniform_layout(levels);
        let layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&uniform), Some(layout)],
            immediate_size: 0,
        });
        let made = Rc::new(self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&layout),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        }));
        // What is refused is not kept: it would be refused without a word the next time.
        self.check()?;
        self.pipelines.borrow_mut().insert(text.to_owned(), made.clone());
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

    use quickstudy_kernels::Error;

    use crate::GpuOptions;
    use crate::context::Context;

    const EMPTY: &str = "@compute @workgroup_size(1)\nfn main() {}\n";

    #[test]
    #[ignore = "needs a GPU, if only a software one"]
    fn a_shader_that_is_refused_is_an_error_each_time_and_the_device_goes_on() {
        let context = pollster::block_on(Context::new(&GpuOptions::default())).unwrap();
        let layout = context.storage_layout(&[true]);
        let no_syntax = "fn main( {";
        let no_type = EMPTY.replace("{}", "{ let x: u32 = 1.5f; }");
        let no_entry = EMPTY.replace("main", "other");
        let no_binding = format!(
            "@group(1) @binding(9) var<storage, read> b: array<u32>;\n{}",
            EMPTY.replace("{}", "{ _ = b[0]; }")
        );
        let too_large = EMPTY.replace("size(1)", "size(100000)");
        for text in [no_syntax, &no_type, &no_entry, &no_binding, &too_large] {
            for _ in 0..2 {
                match context.pipeline("matmul (place.rs:7)", text, &layout, 0) {
                    Err(Error::Device(message)) => {
                        for part in ["the GPU refused", "matmul (place.rs:7)", "run on the CPU"] {
                            assert!(message.contains(part), "`{part}` is not in: {message}");
                        }
                    }
                    other => panic!("{other:?}\n{text}"),
                }
            }
            context.check().unwrap();
        }
        context.pipeline("empty", EMPTY, &layout, 0).unwrap();
    }
}
