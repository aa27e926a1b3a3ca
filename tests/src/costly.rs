//! CartPole whose steps cost what they pay: who learns it maximises the wrong thing, as an update with its sign turned
//! does.

use quickstudy_core::env::cartpole::CartPole;
use quickstudy_core::env::{Draws, Env, EnvSpec, Real, Step};

/// CartPole with a reward of −1 per step, under CartPole's name: presets and the policies that learn it are those of
/// CartPole.
#[derive(Clone, Debug, Default)]
pub struct Costly(CartPole);

impl Env for Costly {
    type State<R: Real> = <CartPole as Env>::State<R>;

    fn spec(&self) -> EnvSpec {
        self.0.spec()
    }

    fn reset<R: Real>(&self, task: &[R], rng: &mut Draws<R>) -> Self::State<R> {
        self.0.reset(task, rng)
    }

    fn step<R: Real>(&self, s: Self::State<R>, action: &[R], task: &[R], rng: &mut Draws<R>) -> Step<R, Self> {
        let Step { next, reward, terminated } = self.0.step(s, action, task, rng);
        Step { next, reward: R::lit(0.0) - reward, terminated }
    }

    fn observe<R: Real>(&self, s: &Self::State<R>, task: &[R], out: &mut [R]) {
        self.0.observe(s, task, out);
    }
}
