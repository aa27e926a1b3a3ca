//! Plays that an iteration asks the host for.

use super::{ActorSpec, Amount, Cast, HostAct, HostPlay, Iteration, Keys, PolicyActor, Recorded, Room};
use crate::env::EnvSpec;
use crate::policy::How;
use crate::program::Context;
use crate::task::TaskSource;
use crate::tensor::{Named, Tree, fail};
use crate::{DType, Error, Tensor};

/// A play that an iteration asks the host for.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub how: How,
    pub steps: Room,
    /// The amount of whole episodes; none for a play that continues the running episodes.
    pub episodes: Option<Amount>,
    /// The steps for which noise lasts, as in [`Until::lasting`].
    pub lasting: Option<usize>,
    pub tasks: Option<(TaskSource, usize)>,
}

impl Iteration<'_> {
    /// Asks the host to play; `memory` is the policy's, if the play continues running episodes. Gives the first
    /// observations `[K, N, O]` of new episodes or the memory after the play, and the recorded steps.
    #[track_caller]
    pub(super) fn ask(
        &mut self,
        spec: &EnvSpec,
        cast: Cast<'_>,
        keys: Keys,
        memory: &Named,
        request: Request,
    ) -> (Vec<Tensor>, Recorded) {
        let (Cast { policy, acting, rows }, Request { how, steps, episodes, lasting, tasks }) = (cast, request);
        let ([k, n], o, a) = (rows, spec.observation.len(), spec.action.dim());
        let room = steps;
        let steps = room.steps;
        if self.cx.tries() {
            return (vec![Tensor::poison()], Recorded::poison());
        }
        let Some(device) = self.device else {
            fail(Error::Program("a policy needs a device to act in environments of the host".to_owned()));
            return (vec![Tensor::poison()], Recorded::poison());
        };
        let mut asks = acting.flat();
        // Programs of the acting policy know nothing of this trace.
        let shapes: Vec<(Vec<usize>, DType)> = asks.iter().map(|x| (x.shape(), x.dtype())).collect();
        let names: Vec<String> = (0..shapes.len()).map(|i| format!("acting {i}")).collect();
        let spec = ActorSpec { policy, sizes: [k, n, o, a], how, lasting: lasting.is_some(), info: &[] };
        let actor = PolicyActor::new(device, spec, &|cx: &mut Context| {
            let one = |(name, (shape, dtype)): (&String, &(Vec<usize>, DType))| cx.input(name, shape, *dtype);
            acting.with(&names.iter().zip(&shapes).map(one).collect::<Vec<_>>())
        });
        match actor {
            Ok(mut actor) => {
                actor.lasts = lasting.unwrap_or(0);
                self.acts.push(HostAct::Play(HostPlay { actor, acting: names, rows, room, episodes, tasks }));
            }
            Err(error) => {
                fail(error);
            }
        }
        asks.extend(memory.flat());
        asks.extend([keys.action, keys.lasting].map(|words| Tensor::concat(&words, 1)));
        // The host reads these as one array.
        asks.push(Tensor::concat(&[Tensor::concat(&keys.env, 1).reshape(&[2 * k]), keys.first.reshape(&[1])], 0));
        let wide = |width: usize, dtype: DType| (vec![steps, k, n, width], dtype);
        let flat = |dtype: DType| (vec![steps, k, n], dtype);
        let mut answers = vec![
            wide(a, DType::F32),
            flat(DType::F32),
            flat(DType::U32),
            flat(DType::U32),
            wide(o, DType::F32),
            wide(o, DType::F32),
        ];
        answers.extend(episodes.map(|_| (vec![k, n, o], DType::F32)));
        answers.extend(memory.flat().iter().map(|x| (x.shape(), x.dtype())));
        let given = self.cx.ask(&asks, &answers);
        let [action, reward, terminated, truncated, last_observation, observation, rest @ ..] = &given[..] else {
            return (vec![Tensor::poison()], Recorded::poison());
        };
        let recorded = Recorded {
            action: *action,
            reward: *reward,
            terminated: *terminated,
            truncated: *truncated,
            last_observation: *last_observation,
            observation: *observation,
        };
        (rest.to_vec(), recorded)
    }
}
