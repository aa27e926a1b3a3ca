//! Reading back: a copy takes its place in the queue at once, its bytes arrive later.

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use quickstudy_kernels::{Error, Result};

use crate::buffer::GpuBuffer;
use crate::context::Context;

#[derive(Default)]
struct Arrival {
    done: Option<std::result::Result<(), wgpu::BufferAsyncError>>,
    waker: Option<Waker>,
}

/// Bytes of a buffer, once the GPU has delivered them.
pub(crate) struct Read {
    context: Rc<Context>,
    staging: wgpu::Buffer,
    arrival: Arc<Mutex<Arrival>>,
}

impl Read {
    pub fn new(context: &Rc<Context>, buffer: &GpuBuffer, bytes: Range<u64>) -> Read {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let size = bytes.end - bytes.start;
        let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
        let staging = context.device.create_buffer(&descriptor);
        context.record(|encoder| encoder.copy_buffer_to_buffer(&buffer.buffer, bytes.start, &staging, 0, size));
        context.submit();
        let arrival = Arc::new(Mutex::new(Arrival::default()));
        let there = arrival.clone();
        staging.map_async(wgpu::MapMode::Read, .., move |result| {
            if let Ok(mut arrival) = there.lock() {
                arrival.done = Some(result);
                if let Some(waker) = arrival.waker.take() {
                    waker.wake();
                }
            }
        });
        Read { context: context.clone(), staging, arrival }
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let view = self.staging.get_mapped_range(..).map_err(|e| Error::Device(format!("reading failed: {e}")))?;
        let bytes = view.to_vec();
        drop(view);
        self.staging.unmap();
        Ok(bytes)
    }
}

impl Future for Read {
    type Output = Result<Vec<u8>>;

    fn poll(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let done = |arrival: &Mutex<Arrival>| arrival.lock().map_or(None, |mut a| a.done.take());
        let mut result = done(&self.arrival);
        // Natively nothing happens unless somebody waits; in a browser the event loop does.
        while result.is_none() && !cfg!(target_arch = "wasm32") {
            let waited = self.context.wait().and_then(|some| match some {
                true => Ok(true),
                false => self.context.device.poll(wgpu::PollType::wait_indefinitely()).map(|_| false),
            });
            result = done(&self.arrival);
            match waited {
                Ok(true) => {}
                Ok(false) => break,
                Err(e) => return Poll::Ready(Err(Error::Device(format!("waiting for the GPU failed: {e}")))),
            }
        }
        match result {
            Some(Ok(())) => Poll::Ready(self.context.check().and_then(|()| self.bytes())),
            Some(Err(e)) => {
                let failed = Error::Device(format!("reading from the GPU failed: {e}"));
                Poll::Ready(Err(self.context.check().err().unwrap_or(failed)))
            }
            None => {
                if let Ok(mut arrival) = self.arrival.lock() {
                    arrival.waker = Some(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}
