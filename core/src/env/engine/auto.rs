//! One step with automatic reset: the single source of lane blocks and of traced steps.

use crate::env::draws::{Draws, RESET_BLOCK, STEP_BLOCK};
use crate::env::fields::Fields;
use crate::env::real::{Bits, Mask, Real};
use crate::env::{Env, Step};

/// The data that a step of one block of environments starts from.
pub(crate) struct Before<'a, R: Real, E: Env> {
    pub state: E::State<R>,
    /// Steps that the running episodes have taken.
    pub steps: R::Bits,
    pub action: &'a [R],
    pub task: &'a [R],
    /// Holds the time step; draws count from [`STEP_BLOCK`] and [`RESET_BLOCK`] under it.
    pub key: [R::Bits; 2],
    pub element: R::Bits,
}

/// The outcome of such a step. Where an episode ended, `state` and `steps` are those of the next one's start.
pub(crate) struct After<R: Real, E: Env> {
    pub state: E::State<R>,
    pub steps: R::Bits,
    pub reward: R,
    pub terminated: R::Mask,
    pub truncated: R::Mask,
}

/// Step, then start a new episode where one ended.
///
/// `last` gets the observation before any reset, `seen` the one after. An episode that terminates in its last allowed
/// step is not truncated.
#[inline(always)]
pub(crate) fn auto_step<R: Real, E: Env>(
    env: &E,
    horizon: u32,
    before: Before<'_, R, E>,
    last: &mut [R],
    seen: &mut [R],
) -> After<R, E> {
    let Before { state, steps, action, task, key, element } = before;
    let Step { next, reward, terminated } = env.step(state, action, task, &mut Draws::new(key, element, STEP_BLOCK));
    let steps = steps.add(R::Bits::splat(1));
    let truncated = R::count_lt(steps, R::Bits::splat(horizon)).not().and(terminated.not());
    env.observe(&next, task, last);
    let done = terminated.or(truncated);
    if done.any() {
        let fresh = first_state::<R, E>(env, task, key, element);
        let state = <E::State<R> as Fields<R>>::select(done, fresh, next);
        let steps = R::select_bits(done, R::Bits::splat(0), steps);
        env.observe(&state, task, seen);
        After { state, steps, reward, terminated, truncated }
    } else {
        seen.copy_from_slice(last);
        After { state: next, steps, reward, terminated, truncated }
    }
}

/// The first state of an episode.
#[inline(always)]
pub(crate) fn first_state<R: Real, E: Env>(env: &E, task: &[R], key: [R::Bits; 2], element: R::Bits) -> E::State<R> {
    env.reset(task, &mut Draws::new(key, element, RESET_BLOCK))
}
