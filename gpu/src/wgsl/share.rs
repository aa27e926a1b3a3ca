//! Arrays in workgroup memory.

use quickstudy_kernels::tensor::NodeId;

use super::body::Shared;
use super::emit::Emitter;

impl Emitter<'_> {
    /// An array in workgroup memory, by its name: kernels that run in turn share those of one type and number.
    pub fn share(&mut self, number: usize, element: &'static str, len: usize) -> String {
        let kind = match element {
            "f32" => "floats",
            "u32" => "integers",
            "vec4<u32>" => "rows",
            _ => "vectors",
        };
        let name = format!("{kind}{number}");
        self.shared.push(Shared { name: name.clone(), element, len });
        name
    }

    /// Arrays in workgroup memory with an element of each reduction or product for each invocation, by their names.
    pub fn share_sums(&mut self, heads: &[NodeId], len: usize) -> Vec<String> {
        let mut names = Vec::with_capacity(heads.len());
        for (number, head) in heads.iter().enumerate() {
            let (_, element) = self.start_of(*head);
            names.push(self.share(number, element, len));
        }
        names
    }
}
