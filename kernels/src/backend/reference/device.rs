//! The interpreter as a device. It runs the graph of a trace.

use std::any::Any;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::{Data, Value, evaluate};
use crate::backend::{Backend, Buffer, BufferData, Caps, Executable, ReadFuture, ScalarValue};
use crate::program::{Role, Trace};
use crate::{DType, Error, Result};

/// The f64 reference as a backend. An element has 8 bytes: an f64, or a u32 as u64.
#[derive(Clone, Copy, Debug)]
pub struct Reference;

#[derive(Debug)]
struct ReferenceBuffer(RefCell<Data>);

impl BufferData for ReferenceBuffer {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn memory(buffer: &Buffer) -> Result<&RefCell<Data>> {
    let found = buffer.data.as_any().downcast_ref::<ReferenceBuffer>().map(|m| &m.0);
    found.ok_or_else(|| Error::Device("a buffer of another backend was passed to the reference".to_owned()))
}

fn outside() -> Error {
    Error::Device("elements outside of a buffer were asked for".to_owned())
}

impl Backend for Reference {
    fn caps(&self) -> Caps {
        Caps { name: "reference (f64)".to_owned(), is_cpu: true, element_bytes: 8, max_bindings: usize::MAX }
    }

    fn alloc(&self, dtype: DType, len: usize) -> Result<Rc<dyn BufferData>> {
        Ok(Rc::new(ReferenceBuffer(RefCell::new(match dtype {
            DType::F32 => Data::F64(vec![0.0; len]),
            DType::U32 => Data::U32(vec![0; len]),
        }))))
    }

    fn write(&self, buffer: &Buffer, first: usize, bytes: &[u8]) -> Result<()> {
        let at = first..first.saturating_add(bytes.len() / 8);
        match &mut *memory(buffer)?.borrow_mut() {
            Data::F64(x) => {
                x.get_mut(at).ok_or_else(outside)?.copy_from_slice(&bytemuck::pod_collect_to_vec::<u8, f64>(bytes));
            }
            Data::U32(x) => {
                let new = bytemuck::pod_collect_to_vec::<u8, u64>(bytes);
                x.get_mut(at).ok_or_else(outside)?.iter_mut().zip(new).for_each(|(old, new)| *old = new as u32);
            }
        }
        Ok(())
    }

    fn read(&self, buffer: &Buffer, elements: Range<usize>) -> ReadFuture {
        let bytes = memory(buffer).and_then(|m| match &*m.borrow() {
            Data::F64(x) => Ok(bytemuck::cast_slice(x.get(elements).ok_or_else(outside)?).to_vec()),
            Data::U32(x) => {
                let some = x.get(elements).ok_or_else(outside)?;
                Ok(bytemuck::pod_collect_to_vec(&some.iter().map(|v| u64::from(*v)).collect::<Vec<_>>()))
            }
        });
        Box::pin(std::future::ready(bytes))
    }

    fn compile(&self, trace: Arc<Trace>) -> Result<Box<dyn Executable>> {
        Ok(Box::new(Interpreted(trace)))
    }
}

struct Interpreted(Arc<Trace>);

impl Executable for Interpreted {
    fn run(&mut self, args: &[Buffer], scalars: &[ScalarValue]) -> Result<()> {
        let trace = &self.0;
        if args.len() != trace.args.len() {
            return Err(Error::Program(format!("the program has {} arguments, got {}", trace.args.len(), args.len())));
        }
        let mut inputs = Vec::with_capacity(args.len());
        for (arg, buffer) in trace.args.iter().zip(args) {
            // An output is not read.
            let data = match arg.role {
                Role::Output => Data::U32(Vec::new()),
                Role::Input | Role::State => memory(buffer)?.borrow().clone(),
            };
            inputs.push(Value { shape: arg.shape.clone(), data });
        }
        let values = evaluate(&trace.graph, &trace.outs(), &inputs, scalars)?;
        // All are computed from the old states before any is overwritten.
        for ((_, arg), value) in trace.results.iter().zip(values) {
            *memory(&args[*arg])?.borrow_mut() = value.data;
        }
        Ok(())
    }
}
